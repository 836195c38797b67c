# SPDX-License-Identifier: Apache-2.0
"""Sides compared: in which conditions they differ, which has to be known before their figures are held against each
other, and every pair's cells and maps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Literal

from ioatlas.answer.analysis.compare import TOLERANCE, CellComparison, MapComparison, Outcome, between_campaigns
from ioatlas.answer.analysis.many import ManyComparison, Pair, Place, compare_many
from ioatlas.answer.results.sides import Aligned, Side, align, read_campaign, read_sides
from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.quantities import LOWER_IS_BETTER
from ioatlas.model.units import format_size_rounded, grouped

MOST_SIDES = 40
GATE_LEVEL = 0.001
"""Chance that a build fails whose sides do not differ. A gate is asked many times: 5% would stop a build a week."""
ONE_SET_UP = (
    "Configurations were measured one after another, each set up once. What drifted meanwhile counts as a difference; "
    "`blocks = 2` in the campaign file tells it apart."
)


@dataclass(frozen=True)
class Standing:
    """A side against the base. place: among all, where they are ranked. pair: with the base; None for the base itself.

    better, worse, same, open: counts of cells; open where neither can be shown.
    """

    side: int
    place: Place | None
    pair: Pair | None
    better: int
    worse: int
    same: int
    open: int

    @property
    def rank(self) -> str:
        """'2-3' where the data cannot tell which."""
        if self.place is None:
            return ""
        best, worst = self.place.best, self.place.worst
        return str(best) if best == worst else f"{best}-{worst}"

    def counts(self) -> tuple[str, ...]:
        """As texts of a table; of the base itself nothing."""
        return tuple(map(str, (self.better, self.worse, self.same, self.open))) if self.pair else ("",) * 4


@dataclass(frozen=True)
class SidesComparison:
    """quantity: 'bw', 'iops', 'lat_mean' or 'lat_p99'. apart: in which conditions the sides differ.
    campaign_sd: how far campaigns of the first side's unchanged target lie apart, where repeats told it.
    """

    quantity: str
    loads: Aligned
    result: ManyComparison
    apart: tuple[Apart, ...]
    campaign_sd: float | None = None

    @property
    def sides(self) -> tuple[Side, ...]:
        return self.loads.sides

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(side.name for side in self.sides)

    @property
    def set_ups(self) -> int:
        """How often each configuration of a campaign was set up, where several are compared; 0 where none was."""
        counts: dict[Path, int] = {}
        sides: dict[Path, int] = {}
        for side in self.sides:
            if side.set_ups:
                counts[side.directory] = side.set_ups
                sides[side.directory] = sides.get(side.directory, 0) + 1
        return min((counts[one] for one, number in sides.items() if number > 1), default=0)

    @property
    def notes(self) -> tuple[str, ...]:
        """What has to be known of how the sides were measured: how often each was set up."""
        if not self.set_ups:
            return ()
        if self.set_ups == 1:
            return (ONE_SET_UP,)
        return (f"Each configuration was set up {self.set_ups} times. What moved between set-ups is in all intervals.",)

    @property
    def base(self) -> int:
        """The side whose level is 100% in tables and maps: the reference, else the first."""
        return self.result.reference or 0

    @property
    def worse(self) -> Outcome:
        """The outcome of a pair whose second side is worse."""
        return "higher" if self.quantity in LOWER_IS_BETTER else "lower"

    def fails(self, one: CellComparison | MapComparison) -> bool:
        """Whether a gate fails on a cell or map: it is worse, at GATE_LEVEL for all that is tested against the base."""
        of_map, of_cell = self._gate_cuts
        cut = of_map if isinstance(one, MapComparison) else of_cell
        return one.outcome == self.worse and one.p is not None and one.p <= cut

    @cached_property
    def _gate_cuts(self) -> tuple[float, float]:
        """The p of a map and of a cell at which a gate fails: half of GATE_LEVEL for either, by Bonferroni. A p holds
        both directions and only the worse one fails, which leaves all of it.
        """
        maps = sum(pair.whole is not None for pair in self.against_base)
        cells = sum(cell.p is not None for pair in self.against_base for cell in pair.cells)
        return GATE_LEVEL / max(1, maps), GATE_LEVEL / max(1, cells)

    @property
    def against_base(self) -> list[Pair]:
        """The pairs of all others with the side that stands for 100%."""
        others = (side for side in range(len(self.sides)) if side != self.base)
        return [pair for side in others if (pair := self.result.pair(self.base, side)) is not None]

    @property
    def standings(self) -> list[Standing]:
        """The best first where they are ranked, else the base and then the others."""
        pairs = {pair.second: pair for pair in self.against_base}
        places = {place.side: place for place in self.result.ranking}
        sign = 1 if self.worse == "higher" else -1
        order = places or [self.base, *sorted(pairs, key=lambda side: sign * (pairs[side].ratio or 0.0))]
        better: Outcome = "lower" if self.worse == "higher" else "higher"
        return [
            Standing(
                side,
                places.get(side),
                pair,
                pair.count(better) if pair else 0,
                pair.count(self.worse) if pair else 0,
                pair.count("same") if pair else 0,
                pair.count("not different", "not comparable") + len(pair.untested) if pair else 0,
            )
            for side in order
            for pair in (pairs.get(side),)
        ]


def compare_sides(
    arguments: Sequence[Path],
    quantity: str = "bw",
    *,
    tolerance: float = TOLERANCE,
    reference: str = "",
    by_target: bool = False,
    same: Sequence[Path] = (),
) -> SidesComparison:
    """Compare what the arguments name. reference: the side that the others are held against; all pairs without one.
    same: at least two further campaigns of the first one's unchanged target, which show how much campaigns differ by
    themselves; for two campaigns.

    Raises UsageError for fewer than two sides, an unknown reference, or no load that two of them have.
    """
    sides = read_sides(arguments, quantity, by_target=by_target)
    if len(sides) < 2:
        raise UsageError(
            f"there is nothing to compare {sides[0].name} with",
            where=str(arguments[0]),
            remedy="name two sides or more, or --by target for the targets of one campaign",
        )
    if len(sides) > MOST_SIDES:
        raise UsageError(f"{len(sides)} sides are too many", remedy=f"compare up to {MOST_SIDES} at once")
    at = _reference(sides, reference)
    apart = conditions_apart(sides)
    whole = align([*sides, *_repeats(same, sides, quantity)])
    loads = whole.of(len(sides))
    if not any(set(one) & set(other) for i, one in enumerate(loads.readings) for other in loads.readings[:i]):
        raise _nothing_in_common(loads, apart)
    between = (0.0, inf)
    if same:
        campaigns = [whole.readings[0], *whole.readings[len(sides) :]]
        between = between_campaigns([[one for values in each.values() for one in values] for each in campaigns])
    result = compare_many(
        loads.readings,
        visits=[side.repeated for side in sides],
        campaigns=[side.directory for side in sides],
        reference=at,
        tolerance=tolerance,
        higher_is_better=quantity not in LOWER_IS_BETTER,
        between=between,
    )
    return SidesComparison(quantity, loads, result, apart, between[0] if same else None)


def _repeats(same: Sequence[Path], sides: Sequence[Side], quantity: str) -> list[Side]:
    if same and (len(sides) != 2 or not all(side.repeated for side in sides)):
        raise UsageError(
            "--same is for two campaigns",
            where="--same",
            remedy="leave it out, or name the repeats as sides: those that do not differ share a letter",
        )
    if len(same) == 1:
        raise UsageError(
            "one further campaign says too little about how campaigns differ", where="--same", remedy="give two or more"
        )
    return [read_campaign(directory, quantity) for directory in same]


def _nothing_in_common(loads: Aligned, apart: Sequence[Apart]) -> UsageError:
    sides = loads.sides
    told = [one.sentence([side.name for side in sides]) for one in apart if one.group == "method"]
    if len(sides) == 2:
        told = [*options_apart(*([row.cell for row in side.rows.values()] for side in sides)), *told]
    why = f"; they differ in {'; '.join(told)}" if told else ""
    if loads.told_apart:
        why += f"; {loads.told_apart} loads have several counterparts"
    return UsageError(
        f"they have no measured cell in common{why}",
        where=" and ".join(side.origin for side in sides),
        remedy="measure them with the same sweep, options and file sharing; `ioatlas show DIR --cells` lists loads",
    )


def _reference(sides: Sequence[Side], name: str) -> int | None:
    if not name:
        return None
    for at, side in enumerate(sides):
        if name in (side.name, side.origin):
            return at
    raise UsageError(
        f"{name!r} is not one of the sides",
        where="--reference",
        remedy=f"name one of {', '.join(side.name for side in sides)}",
    )


Group = Literal["method", "unknown", "version", "testbed"]
_METHOD = (
    "method",
    "tool",
    "page cache",
    "preparation",
    "files",
    "engine",
    "statistic",
    "mean latency",
    "p99 latency",
    "running time",
    "units",
)
_VERSIONS = ("ioatlas", "fio", "tool.", "fio.", "host.kernel", "host.os")
_DEVICE = "device."
MOST_LETTERS = 60
MOST_VALUES = 4


@dataclass(frozen=True)
class Apart:
    """One condition that is not the same on all sides.

    group: 'method': another way to measure, so that figures are not comparable as they are; 'unknown': the same, where
    some side does not tell; 'version' of ioatlas, fio, system or firmware; 'testbed': another client, path or device.
    values: of each side, '' where it does not tell.
    """

    group: Group
    name: str
    values: tuple[str, ...]

    def sentence(self, names: Sequence[str]) -> str:
        """`page cache: direct (a, b), buffered (c)`."""
        sides = grouped((value or "not told", name) for name, value in zip(names, self.values, strict=True))
        told = ", ".join(f"{_short(value)} ({', '.join(who)})" for value, who in sides.items())
        return f"{self.name}: {told}"


def conditions_apart(sides: Sequence[Side]) -> tuple[Apart, ...]:
    """What differs, the weightiest first. A fact of the testbed counts only where all sides tell it: what one client
    cannot read is no difference.
    """
    facts = [_common_names(side) for side in sides]
    found = []
    for name in dict.fromkeys(name for told in facts for name in told):
        values = tuple(told.get(name, "") for told in facts)
        group = _group(name)
        if len(set(filter(None, values))) > 1 and (group == "method" or all(values)):
            found.append(Apart(group, name, values))
        elif group == "method" and not all(values):
            found.append(Apart("unknown", name, values))
    order: dict[Group, int] = {"method": 0, "unknown": 1, "version": 2, "testbed": 3}
    return tuple(sorted(found, key=lambda apart: order[apart.group]))


def options_apart(first: Sequence[Cell], second: Sequence[Cell]) -> list[str]:
    """Options of which two sets of cells have no value in common, with the values: 'size 64 MiB and 1 GiB'."""
    ours, theirs = (_values(cells) for cells in (first, second))
    return [
        f"{name} {_listed(name, ours[name])} and {_listed(name, theirs[name])}"
        for name in ours
        if name in theirs and not set(ours[name]) & set(theirs[name])
    ]


def _values(cells: Sequence[Cell]) -> dict[str, dict[OptionValue, None]]:
    found: dict[str, dict[OptionValue, None]] = {}
    for cell in cells:
        for name, value in cell.options:
            found.setdefault(name, {})[value] = None
    return found


def _listed(name: str, values: Iterable[OptionValue]) -> str:
    sizes = name in ("bs", "size")
    told = [format_size_rounded(value) if sizes and isinstance(value, int) else str(value) for value in values]
    return ", ".join(told[:MOST_VALUES]) + (", ..." if len(told) > MOST_VALUES else "")


def _group(name: str) -> Group:
    plain = name.rsplit(": ", 1)[-1]
    if plain in _METHOD:
        return "method"
    return "version" if plain.startswith(_VERSIONS) or "firmware" in plain else "testbed"


def _common_names(side: Side) -> dict[str, str]:
    """Facts by names that do not hold the device's own, where a side has but one device."""
    devices = {name.split(".")[1] for name in side.facts if name.startswith(_DEVICE) and name.count(".") >= 2}
    if len(devices) != 1:
        return dict(side.facts)
    (device,) = devices
    prefix = f"{_DEVICE}{device}."
    return {
        f"{_DEVICE}{name.removeprefix(prefix)}" if name.startswith(prefix) else name: value
        for name, value in side.facts.items()
    }


def _short(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"
