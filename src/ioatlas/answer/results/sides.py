# SPDX-License-Identifier: Apache-2.0
"""A side: one thing held against others. A campaign, one target of a campaign, imported results, or a table or JSON
document that `ioatlas export` wrote.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import Literal

from ioatlas.answer.analysis.compare import Reading
from ioatlas.answer.analysis.estimates import readings_of
from ioatlas.answer.analysis.imported import Load, counterparts, load_of, told_by_one
from ioatlas.answer.analysis.small_files import TELLING_SECONDS
from ioatlas.answer.law.cells import foretold, measured
from ioatlas.answer.law.read import can_be_told
from ioatlas.answer.results.by_law import are_chosen, laws_of
from ioatlas.answer.results.imported import read_imported
from ioatlas.answer.results.library import shown
from ioatlas.answer.results.result import loaded_targets, session_facts
from ioatlas.model.cell import Cell
from ioatlas.model.errors import UsageError
from ioatlas.model.estimate import Estimate
from ioatlas.model.factors import Factor
from ioatlas.model.quantities import QUANTITIES
from ioatlas.model.target import URI_ENGINES
from ioatlas.model.tree import is_tree
from ioatlas.model.units import format_size, format_size_rounded
from ioatlas.model.verdict import ASIDE, UnmeasuredCode
from ioatlas.model.visit import Purpose, Visit, set_up_of
from ioatlas.plan.spec import CampaignSpec
from ioatlas.stats.distributions import Z95
from ioatlas.store.imported import FILE_NAME as IMPORTED
from ioatlas.store.imported import is_imported
from ioatlas.store.journal import FILE_NAME as JOURNAL
from ioatlas.store.journal import Journal

_PROTOCOLS = frozenset(URI_ENGINES.values())
"""Engines that follow from how a target is reached."""

Place = tuple[str, str]
"""Key of a cell, and direction."""
SideKind = Literal["measured", "imported"]


@dataclass(frozen=True)
class Row:
    """One cell and direction, by the name the readings carry."""

    cell: Cell
    direction: str
    label: str = ""


@dataclass(frozen=True)
class Side:
    """One of the things compared.

    name:     what tables call it. origin: as the user wrote it. directory: where it was read.
    targets:  the targets it holds; more than one when a whole campaign of several targets is one side.
    factors:  what was set on purpose, by name, such as drives = 7.
    facts:    conditions under which it was measured, in the order to tell them: method, state, versions, testbed.
    rows, readings: every load with its values, by cell key and direction.
    factors_of: of each target, where the campaign has configurations. set_ups: how often each configuration was set up
    and measured; 0 where they were not measured one after another.
    guesses:  what its model, or the law of its targets, tells of loads that it did not measure.
    """

    name: str
    origin: str
    directory: Path
    targets: tuple[str, ...]
    kind: SideKind
    readings: Mapping[Place, tuple[Reading, ...]]
    rows: Mapping[Place, Row]
    factors: Mapping[str, Factor] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    guesses: Mapping[Place, tuple[Row, Reading]] = field(default_factory=dict)
    factors_of: Mapping[str, Mapping[str, Factor]] = field(default_factory=dict)
    set_ups: int = 0

    @property
    def by_law(self) -> bool:
        """Whether the law of the target says what a cell gives."""
        return any(one.by_law for values in self.readings.values() for one in values)

    @property
    def repeated(self) -> bool:
        """Whether its values are visits, which have a time and whose order was drawn."""
        return self.kind == "measured"


def read_sides(arguments: Sequence[Path], quantity: str = "bw", *, by_target: bool = False) -> list[Side]:
    """The sides that arguments name, each with a name of its own: `DIR` or `DIR:TARGET`.

    by_target: each target of each argument is a side. Raises UsageError for what cannot be read, or has no value.
    """
    sides = [side for argument in arguments for side in _sides_of(argument, quantity, by_target=by_target)]
    return _called_apart(sides, by_target=by_target)


def _called_apart(sides: Sequence[Side], *, by_target: bool) -> list[Side]:
    """Sides called the same get the name of their directory, or all of how they were named, with the target where the
    user did not name it.
    """
    names = [side.name for side in sides]
    short, full = [], []
    for side in sides:
        target = f":{side.targets[0]}" if by_target and ":" not in side.origin else ""
        short.append(f"{Path(side.origin).name}{target}")
        full.append(f"{side.origin}{target}")
    for longer in (short, full):
        names = [name if names.count(name) == 1 else longer[at] for at, name in enumerate(names)]
    return [replace(side, name=name) for side, name in zip(sides, names, strict=True)]


def place_and_target(argument: Path) -> tuple[Path, str]:
    """`DIR:TARGET` as a directory and the name of a target in it; the name is '' for all of them."""
    text = str(argument)
    if argument.exists() or ":" not in text:
        return argument, ""
    cuts = [at for at, letter in enumerate(text) if letter == ":"]
    for at in reversed(cuts):
        if text[:at] and Path(text[:at]).exists():
            return Path(text[:at]), text[at + 1 :]
    return argument, ""


def _sides_of(argument: Path, quantity: str, *, by_target: bool) -> list[Side]:
    place, target = place_and_target(argument)
    if place.suffix.lower() in (".csv", ".json") and place.is_file():
        raise UsageError(
            "a file of results is imported first", where=str(place), remedy="`ioatlas import FILE -o DIR`, and name DIR"
        )
    whole = _imported_side(place, quantity) if only_imported(place) else read_campaign(place, quantity)
    whole = replace(whole, origin=shown(argument))
    if target:
        if target not in whole.targets:
            raise UsageError(
                f"it has no target {target!r}", where=str(place), remedy=f"name one of {', '.join(whole.targets)}"
            )
        return [of_target(whole, target)]
    if by_target:
        return [of_target(whole, name) for name in whole.targets]
    return [whole]


def of_target(side: Side, target: str) -> Side:
    """The part of a side that was measured on one of its targets."""
    kept = {place for place, row in side.rows.items() if row.cell.target == target}
    several = len(side.targets) > 1
    prefix = f"{target}: "
    facts = {
        name.removeprefix(prefix): value
        for name, value in side.facts.items()
        if not several or name.startswith(prefix) or not any(name.startswith(f"{one}: ") for one in side.targets)
    }
    found = replace(
        side,
        name=target if several else side.name,
        factors=side.factors or side.factors_of.get(target, {}),
        targets=(target,),
        readings={place: values for place, values in side.readings.items() if place in kept},
        rows={place: row for place, row in side.rows.items() if place in kept},
        facts=facts,
        guesses={place: guess for place, guess in side.guesses.items() if guess[0].cell.target == target},
    )
    if not found.readings:
        raise UsageError(f"target {target!r} has no value", where=side.origin, remedy="finish it with `ioatlas resume`")
    return found


def only_imported(place: Path) -> bool:
    """A directory without a journal, or the file of imported readings itself, which stands beside a journal."""
    return is_imported(place) and not (place / JOURNAL).exists()


def read_campaign(directory: Path, quantity: str, *, lawful: bool = True) -> Side:
    """A campaign with the accepted visits of its sweep; lawful: by what the law of its target says of their cells,
    where their loads were chosen. Raises UsageError when it has none.
    """
    with closing(Journal.open(directory)) as journal:
        name = str(journal.campaign().name)
        cells = {cell.key: cell for cell, reason in journal.cells() if reason != UnmeasuredCode.BESIDE}
        visits = journal.visits(with_series=True)
        spec = CampaignSpec.from_record(journal.plan()["spec"])
        targets = tuple(target.name for target in loaded_targets(journal.targets(), spec))
        facts = _conditions(journal, cells)
        factors = {one.name: one.factors for one in spec.configurations}
        by_law: dict[Place, Reading] = {}
        guesses: dict[Place, tuple[Row, Reading]] = {}
        if lawful and quantity != "lat_p99":
            by_law, guesses = _by_law(journal, visits, quantity)
    readings: dict[Place, list[Reading]] = {}
    field = QUANTITIES[quantity].field
    swept = (visit for visit in visits if visit.cell_key in cells and visit.purpose is Purpose.SWEEP)
    for place, made in readings_of(swept).items():
        for one in made:
            if (value := getattr(one.values, field)) is not None:
                readings.setdefault(place, []).append(
                    Reading(
                        "/".join(place),
                        float(value),
                        one.visit.started_at,
                        set_up_of(one.visit.replicate),
                        brief=is_tree(cells[place[0]]) and one.part.runtime_ms < 1000 * TELLING_SECONDS,
                        within=one.within,
                    )
                )
    if not readings:
        raise UsageError("it has no visit to compare", where=shown(directory), remedy="finish it with `ioatlas resume`")
    rows = {place: Row(cells[place[0]], place[1]) for place in readings}
    told = {place: (by_law[place],) if place in by_law else tuple(values) for place, values in readings.items()}
    facts |= {"statistic": "the law of the target", "method": "loads chosen by the law"} if by_law else {}
    open_guesses = {place: guess for place, guess in guesses.items() if place not in told}
    own = factors.get(targets[0], {}) if len(targets) == 1 else {}
    set_ups = spec.set_ups if spec.blocked else 0
    return Side(
        name, shown(directory), directory, targets, "measured", told, rows, own, facts, open_guesses, factors, set_ups
    )


def _by_law(
    journal: Journal, visits: Sequence[Visit], quantity: str
) -> tuple[dict[Place, Reading], dict[Place, tuple[Row, Reading]]]:
    """What the law tells of a map whose loads were chosen, by them and beyond them."""
    if not are_chosen(journal):
        return {}, {}
    cells = {cell.key: cell for cell, reason in journal.cells() if reason not in ASIDE}
    fits = laws_of(journal, cells, visits)
    made = {visit.cell_key for visit in visits}
    able = [cell for key, cell in cells.items() if key in made and cell.target in fits and can_be_told(cell)]
    told = _guesses((measured(cell, fits[cell.target]) for cell in able), quantity)
    open_cells = (cell for key, cell in cells.items() if key not in made)
    return {place: one for place, (_, one) in told.items()}, _guesses(foretold(open_cells, fits), quantity)


def _guesses(estimates: Iterable[Estimate], quantity: str) -> dict[Place, tuple[Row, Reading]]:
    """What a law says, with its error."""
    found, shown = {}, QUANTITIES[quantity]
    for e in estimates:
        place = (e.cell.key, e.direction)
        value, (low, high) = shown.value(e), shown.bounds(e)
        if value and low and high and min(value, low, high) > 0:
            reading = Reading("/".join(place), value, 0.0, error=log(high / low) / 2 / Z95, visits=e.n_visits)
            found[place] = (Row(e.cell, e.direction), reading)
    return found


_PASSING = (
    "host.load_1min",
    "host.uptime_seconds",
    "ram.available_bytes",
    "fs.free_bytes",
    "fs.used_bytes",
    "path.round_trip",
    "measured.",
)
"""Beginnings of the names of facts that change by themselves, or come with an error of their own."""


def _conditions(journal: Journal, cells: Mapping[str, Cell]) -> dict[str, str]:
    """How a campaign was measured, and on what: what makes two of them comparable, or not."""
    spec = CampaignSpec.from_record(journal.plan()["spec"])
    direct = {"direct" if cell.option.get("direct") else "buffered" for cell in cells.values()}
    engines = {str(cell.option["ioengine"]) for cell in cells.values() if "ioengine" in cell.option}
    sizes = {cell.size_bytes for cell in cells.values() if "size" in cell.option}
    facts = {
        "tool": "ioatlas with fio",
        "statistic": "visits, each an independent start",
        "method": f"visits of {spec.window_seconds:g} s and more",
        "page cache": ", ".join(sorted(direct)),
        "preparation": ", ".join(sorted({cell.state for cell in cells.values()})),
        "files": "one for all jobs" if spec.sharing == "shared" else "one for each job",
        "engine": ", ".join(sorted(engines)),
        "file size": format_size_rounded(min(sizes)) if len(sizes) == 1 else "",
    }
    told = session_facts(journal.latest_testbed()) if journal.sessions() else {}
    bed = {name: value for name, value in told.items() if not name.split(": ")[-1].startswith(_PASSING)}
    return {name: value for name, value in (facts | bed).items() if value}


def _imported_side(place: Path, quantity: str) -> Side:
    found = read_imported(place)
    readings: dict[Place, list[Reading]] = {}
    rows: dict[Place, Row] = {}
    for e in found.estimates:
        value = QUANTITIES[quantity].value(e)
        if value is None:
            continue
        where = (e.cell.key, e.direction)
        rows.setdefault(where, Row(e.cell, e.direction))
        readings.setdefault(where, []).append(Reading("/".join(where), float(value), 0.0))
    if not readings:
        raise UsageError(f"no value of {quantity} to compare", where=str(place), remedy="choose another --quantity")
    several = len(found.series) > 1
    facts = {
        (f"{series}: {name}" if several else name): value
        for series, told in found.methods.items()
        for name, value in told.items()
    }
    name = place.parent.name if place.name == IMPORTED else place.resolve().name
    told = {where: tuple(values) for where, values in readings.items()}
    return Side(name, str(place), place, found.series, "imported", told, rows, {}, facts)


def identity(cell: Cell, direction: str, *, by_target: bool, aside: frozenset[str] = frozenset()) -> str:
    """What two campaigns' cells have in common when they are the same: the name of a row of the comparison.

    aside: options that are no part of the load.
    """
    options = [one for one in cell.options if one[0] not in aside]
    return json.dumps(
        [cell.target if by_target else "", options, cell.sharing, cell.state, direction], separators=(",", ":")
    )


def set_aside(sides: Sequence[Side], *, by_target: bool) -> frozenset[str]:
    """Options that are no part of a load. The engine, where it tells how a side is reached: by its protocol, such as
    NBD, while another is mounted, unless a side has the same load by two engines. The size, where each side has one of
    its own, as a budget leaves room for it: it is told as a condition.
    """
    cells = [[(row.cell, row.direction) for row in side.rows.values()] for side in sides]
    sizes = [{cell.option.get("size") for cell, _ in each} for each in cells]
    aside = frozenset({"size"} if all(len(one) == 1 for one in sizes) and len(set().union(*sizes)) > 1 else ())
    engines = {frozenset(cell.option.get("ioengine") for cell, _ in each) for each in cells}
    if len(engines) < 2 or not any(each & _PROTOCOLS for each in engines):
        return aside
    both = aside | {"ioengine"}
    alone = ({identity(cell, way, by_target=by_target, aside=both) for cell, way in each} for each in cells)
    return both if all(len(names) == len(each) for names, each in zip(alone, cells, strict=True)) else aside


@dataclass(frozen=True)
class Aligned:
    """Sides whose loads go by common names: readings of each by the name of the load. What one of them measured another
    may only tell.

    by_target: whether the target's name is part of a load's name. rows: by name, the first side's words win.
    names: of each side the name of every load, by cell key and direction.
    told_apart: loads that were left out, because a source does not tell what tells them apart.
    """

    sides: tuple[Side, ...]
    readings: tuple[Mapping[str, tuple[Reading, ...]], ...]
    rows: Mapping[str, Row]
    names: tuple[Mapping[Place, str], ...]
    by_target: bool
    told_apart: int = 0

    def of(self, count: int) -> Aligned:
        """The first so many sides alone."""
        return replace(self, sides=self.sides[:count], readings=self.readings[:count], names=self.names[:count])

    def value(self, side: int, load: str) -> float | None:
        """Geometric mean of what a side measured; None where that is nothing, or a stall."""
        values = [reading.value for reading in self.readings[side].get(load, ())]
        return exp(fmean(map(log, values))) if values and min(values) > 0 else None

    def alone(self, first: int, second: int) -> int:
        """How many loads the first has and the second has not."""
        return len(self.readings[first].keys() - self.readings[second].keys())

    def told_by_one(self, first: int, second: int) -> dict[str, tuple[str, ...]]:
        """By load the options that one of two sides does not tell, and that were taken as equal."""
        loads = [
            {self.names[at][place]: _load(self.sides[at], row) for place, row in self.sides[at].rows.items()}
            for at in (first, second)
        ]
        return {name: told_by_one(load, loads[1][name]) for name, load in loads[0].items() if name in loads[1]}


def align(sides: Sequence[Side]) -> Aligned:
    """The sides' loads by common names.

    Campaigns' cells are the same when all options that are not set aside, file sharing and state are; a target's name
    counts where a side has several. As soon as one side was not measured by ioatlas, loads are matched by what the
    sources tell: an option that one does not tell fits any value, if that leaves one counterpart among the first side's
    loads.
    """
    by_target = any(len(side.targets) > 1 for side in sides if side.repeated)
    aside = set_aside(sides, by_target=by_target)
    every = [{place: (row.cell, row.direction) for place, row in _all_rows(side)} for side in sides]
    names = [{place: identity(*one, by_target=by_target, aside=aside) for place, one in each.items()} for each in every]
    told_apart = 0
    if not all(side.repeated for side in sides):
        names, told_apart = _loose_names(sides)
    readings: list[dict[str, tuple[Reading, ...]]] = []
    rows: dict[str, Row] = {}
    for side, named in zip(sides, names, strict=True):
        mine: dict[str, tuple[Reading, ...]] = {}
        for place, values in side.readings.items():
            if (name := named.get(place)) is not None:
                mine[name] = (*mine.get(name, ()), *(replace(value, cell=name) for value in values))
                rows.setdefault(name, side.rows[place])
        readings.append(mine)
    for side, named, mine in zip(sides, names, readings, strict=True):
        for place, (_, guess) in side.guesses.items():
            if (name := named.get(place, "")) in rows:
                mine.setdefault(name, (replace(guess, cell=name),))
    return Aligned(tuple(sides), tuple(readings), labelled(rows), tuple(names), by_target, told_apart)


def _all_rows(side: Side) -> Iterable[tuple[Place, Row]]:
    yield from side.rows.items()
    yield from ((place, row) for place, (row, _) in side.guesses.items())


def _loose_names(sides: Sequence[Side]) -> tuple[list[dict[Place, str]], int]:
    """Names after the first side's loads, where exactly one fits; else a load keeps its own."""
    loads = [{place: _load(side, row) for place, row in _all_rows(side)} for side in sides]
    names: list[dict[Place, str]] = []
    lost = 0
    for mine in loads:
        fits, ambiguous = counterparts(loads[0].values(), mine.values())
        found = {theirs: ours for ours, theirs in fits}
        lost += ambiguous
        names.append({place: json.dumps(found.get(load, load)) for place, load in mine.items()})
    return names, lost


def _load(side: Side, row: Row) -> Load:
    """With fio's own defaults where a cell of ours does not set them."""
    options = {"iodepth": 1, "numjobs": 1, **row.cell.option} if side.repeated else row.cell.option
    return load_of(replace(row.cell, options=tuple(options.items())), row.direction)


def labelled(rows: Mapping[str, Row]) -> dict[str, Row]:
    """Rows with a label of rw and the options in which they differ."""
    cells = [row.cell for row in rows.values()]
    values: dict[str, set[str]] = {}
    for cell in cells:
        for name, value in cell.option.items():
            values.setdefault(name, set()).add(str(value))
    count = {name: sum(name in cell.option for cell in cells) for name in values}
    names = sorted(
        {name for name, told in values.items() if len(told) > 1 or count[name] < len(cells)} - {"rw", "operation"}
    )
    targets = len({row.cell.target for row in rows.values()}) > 1

    def words(row: Row) -> str:
        cell = row.cell
        told = [
            f"{name} {format_size(value) if name in ('bs', 'size') and isinstance(value, int) else value}"
            for name in names
            if (value := cell.option.get(name)) is not None
        ]
        return ", ".join([*([cell.target] if targets else []), _operation(row), *told])

    return {name: replace(row, label=words(row)) for name, row in rows.items()}


def _operation(row: Row) -> str:
    """What is done, and in which direction where that does not follow."""
    cell = row.cell
    if "operation" not in cell.option and (cell.streams or "rw" in cell.option):
        return cell.rw if len(cell.directions) == 1 else f"{cell.rw} ({row.direction})"
    told = str(cell.option.get("operation", row.direction))
    return told if told in ("read", "write", row.direction) else f"{told} ({row.direction})"
