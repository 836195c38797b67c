# SPDX-License-Identifier: Apache-2.0
"""What one change of a load gains: more jobs, more in flight, another engine, larger blocks.

Smaller changes come first. The law that they teach foretells what each change gains before it is tried. Then each is
visited in turn with the load as it is: the visits of one replicate lie close in time, so that what drifts meanwhile
moves both. Of a slow target windows are shorter, turns fewer, and what takes longest is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from ioatlas.answer.analysis.estimates import window_values
from ioatlas.answer.law.read import courses_by_target
from ioatlas.answer.law.told import tell
from ioatlas.answer.results.by_law import fitted
from ioatlas.answer.results.parts import ResultParts
from ioatlas.load.machine.typed_in import testbeds
from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.factors import Configuration, Factor
from ioatlas.model.finding import Finding, FindingCode, Value
from ioatlas.model.outcomes import KeptRecord, LaidOuts
from ioatlas.model.result import CampaignResult
from ioatlas.model.testbed import Testbed
from ioatlas.model.units import round_budget
from ioatlas.model.visit import Visit
from ioatlas.plan.options import Constants
from ioatlas.plan.spec import CampaignSpec
from ioatlas.stats.intervals import log_t_interval
from ioatlas.store.journal import Journal

if TYPE_CHECKING:
    from ioatlas.answer.law.fit import Fit

LOOKS, VISITS, WINDOW_SECONDS = 2, 6, 1.0
"""Visits of a load that teaches the law, and of one that is tried."""
FEWEST, LOOKS_END = 3, 0.4
"""Visits of a load that is tried, and the share of a budget by which the law is taught."""
TIMES = {"numjobs": 8, "iodepth": 16}
BLOCK_BYTES = 1 << 20
SET_UPS = 3
"""Times that a command of the user is run, VISITS being made in all."""
FIRST_TIMES = 4
"""How far the smaller changes of jobs and depth go; that of the block goes half of the way, by its logarithm."""
RISK = 0.05
"""That any of the intervals misses."""
LEAST_GAIN = 1.05
KNOWN = 1.5
"""Ends of what is foretold that lie further apart, one over the other, have no middle that is told."""
USUAL: Mapping[str, OptionValue] = {"numjobs": 1, "iodepth": 1, "bs": 4096}


@dataclass(frozen=True)
class Foretold:
    """How many times the throughput a change gives by the law."""

    gain: float
    low: float
    high: float

    def __str__(self) -> str:
        ends = f"{self.low:.3g} to {self.high:.3g}"
        if self.high <= KNOWN * self.low:
            return f"{self.gain:.3g} ({ends})"
        return ends if self.low > LEAST_GAIN else f"at most {self.high:.3g}"


@dataclass(frozen=True)
class Foretellings(KeptRecord):
    """What was foretold before it was tried, by the option that changes."""

    NAME, CONTENT = "advice", "foretold"
    foretold: Mapping[str, Foretold] = field(default_factory=dict)


@dataclass(frozen=True)
class Gain:
    """One changed option. gain: of bytes a second, over the load as it is; None where no visit counts. low, high: None
    where too few turns do.
    """

    option: str
    value: OptionValue
    gain: float | None
    low: float | None
    high: float | None
    foretold: Foretold | None = None
    turns: int = 0

    @property
    def proved(self) -> bool:
        return (self.low or 0.0) > LEAST_GAIN

    @property
    def words(self) -> str:
        low, high, told = self.low or 0.0, self.high or math.inf, self.foretold
        ends = f"({low:.3g} to {high:.3g})" if low and self.high else f"in {self.turns} of {FEWEST} turns"
        text = f"{self.gain:.3g} times the throughput {ends}" if self.gain else "could not be measured"
        if told is None:
            return text
        against = ": less than foretold" if high < told.low else ": more than foretold" if low > told.high else ""
        return f"{text}; foretold {told}{against}"


def with_changes(spec: CampaignSpec, engine: str | None) -> CampaignSpec:
    """The campaign that visits the load as it is, its first pattern, and with each change, the smaller ones too.
    engine: that of the target, which has no other; None of a path.
    """
    now: dict[str, OptionValue] = {**USUAL, **({} if engine else {"ioengine": "libaio"}), **spec.constants}
    base = {name: now[name] for name in (*USUAL, *([] if engine else ["ioengine"]))}
    patterns = (base | {name: value} for one in (_smaller(base), _changes(base)) for name, value in one.items())
    return replace(
        spec,
        constants={name: value for name, value in now.items() if name not in base},
        patterns=tuple({tuple(one.items()): one for one in (base, *patterns)}.values()),
        visits=VISITS,
        window_seconds=WINDOW_SECONDS,
    )


def with_command(spec: CampaignSpec, engine: str | None, cure: str, undo: str) -> CampaignSpec:
    """The campaign that measures the load as it is and after a command that changes a setting of the client, in turns.
    undo: sets it back.
    """
    whole, ((_, place),) = with_changes(spec, engine), spec.targets
    ways = {"as it is": undo, "changed": cure}
    return replace(
        whole,
        patterns=(),
        constants={**whole.constants, **whole.patterns[0]},
        targets=tuple((name, place) for name in ways),
        configurations=tuple(
            Configuration(name, place, {"setting": Factor(name)}, before=command, after=undo, folder=str(Path.cwd()))
            for name, command in ways.items()
        ),
        blocks=SET_UPS,
    )


def _changes(base: Constants) -> dict[str, OptionValue]:
    """The changes to be tried, by their option."""
    more: dict[str, OptionValue] = {name: times * int(base[name]) for name, times in TIMES.items()}
    if "ioengine" in base:
        more["ioengine"] = "libaio" if base["ioengine"] == "io_uring" else "io_uring"
    return more | ({"bs": BLOCK_BYTES} if base["bs"] != BLOCK_BYTES else {})


def _smaller(base: Constants) -> dict[str, OptionValue]:
    times = {name: FIRST_TIMES * int(base[name]) for name in TIMES}
    return {**times, "bs": 1 << (int(base["bs"]) * BLOCK_BYTES).bit_length() // 2}


def loads(cells: Sequence[Cell], base: Constants) -> tuple[Cell, dict[str, Cell]]:
    """The load as it is, and with each change, by the option that changes."""

    def of(options: Constants) -> Cell:
        return next(cell for cell in cells if options.items() <= cell.option.items())

    return of(base), {name: of({**base, name: value}) for name, value in _changes(base).items()}


def foretell(base: Cell, changed: Mapping[str, Cell], journal: Journal) -> dict[str, Foretold]:
    """What the law says of each change, by the smaller ones that were made. More jobs and more depth are more in flight
    to it, so each is foretold by the loads that have as much of the other as the load as it is.
    """
    visits = [visit for visit in journal.visits(with_series=True) if visit.replicate < LOOKS]
    cells = {cell.key: cell for cell, _ in journal.cells()}
    seen = courses_by_target(visits, cells, journal.asked_ms(), journal.kept(LaidOuts).files)
    found: dict[str, Foretold] = {}
    for name, cell in changed.items():
        same = {"numjobs": "iodepth", "iodepth": "numjobs", "bs": "numjobs"}.get(name, "")
        courses = [
            replace(one, counted=one.counted and one.cell.option.get(same) == base.option[same])
            for one in seen.get(base.target, ())
            if same
        ]
        fit = fitted(courses) if any(one.counted for one in courses) else None
        if fit is not None:
            less = [one.cell for one in courses if one.cell.option == base.option | {name: _smaller(base.option)[name]}]
            told, *least = (_times(fit, base, one) for one in (cell, *less[:1]))
            # What a smaller change gives is the least that a larger one does.
            found[name] = replace(told, low=max([told.low, *(min(one.low, told.gain) for one in least)]))
    return found


def _times(fit: Fit, base: Cell, cell: Cell) -> Foretold:
    """The throughput of a cell over that of another: no more than it has more bytes in flight."""
    now, then = (tell(fit, one, one.directions[0]) for one in (base, cell))
    most = cell.outstanding * cell.bs_bytes / (base.outstanding * base.bs_bytes)
    gain = then.value / now.value * cell.bs_bytes / base.bs_bytes
    down = math.hypot(math.log(then.value / then.low), math.log(now.high / now.value))
    up = math.hypot(math.log(then.high / then.value), math.log(now.value / now.low))
    return Foretold(*(min(most, gain * math.exp(by)) for by in (0.0, -down, up)))


def _rates(visits: Sequence[Visit], cell: Cell) -> dict[int, float]:
    """Bytes a second of a load, by turn."""
    return {
        one.replicate: sum(window_values(part, one.window_start_ms).bw_bytes_per_s for part in one.parts)
        for one in visits
        if one.cell_key == cell.key and one.replicate >= LOOKS and not one.discarded
    }


def gains(cells: Sequence[Cell], visits: Sequence[Visit], base: Constants) -> list[Gain]:
    """Of each change, the largest first; larger blocks are another load, and come last. visits: with their series."""
    now, changed = loads(cells, base)
    before, found = _rates(visits, now), []
    for name, cell in changed.items():
        after = _rates(visits, cell)
        ratios = [after[k] / before[k] for k in sorted(before.keys() & after.keys()) if before[k] and after[k]]
        ratio = log_t_interval(ratios, 1 - RISK / len(changed))
        found.append(Gain(name, cell.option[name], ratio.estimate, ratio.low, ratio.high, turns=len(ratios)))
    return sorted(found, key=lambda one: (one.option == "bs", -(one.low or 0.0)))


def load_gains(journal: Journal, base: Constants) -> list[Gain]:
    """Those of a campaign, with what was foretold of them."""
    told = journal.kept(Foretellings).foretold
    found = gains([cell for cell, _ in journal.cells()], journal.visits(with_series=True), base)
    return [replace(one, foretold=told.get(one.option)) for one in found]


def cure(found: Sequence[Gain], spec: CampaignSpec) -> dict[str, Value]:
    """What to do; and by how many turns there were, what gives the intervals that are missing."""
    helps = next((one.option for one in found if one.proved), None)
    buffered = (spec.constants.get("rw"), spec.constants.get("direct")) == ("read", 0)
    # A read in sequence through the page cache asks the target for as much at once as its read-ahead allows.
    values: dict[str, Value] = {
        "cure": helps,
        "read_ahead": buffered and any(one.proved and one.option == "bs" for one in found),
    }
    if any(one.low is None for one in found) and spec.budget_seconds:
        made = sum(min(FEWEST, one.turns) for one in found)
        longer = round_budget(spec.budget_seconds * FEWEST * len(found) / max(1, made))
        values |= {"n_turns": FEWEST, "budget": longer}
    return values


JUMBO_BYTES, CONNECTIONS = 9000, 8
HEADER_BYTES = 52
"""Of IP and TCP with timestamps, in each packet."""


def of_the_path(bed: Testbed, bs_bytes: int, rate: float, found: Sequence[Gain]) -> Iterator[str]:
    """Where more depth gains nothing: what a network path could be set to, what that gains at most, and how it is
    measured; whoever measures it agrees to it. What each packet costs is saved with larger ones, and what a connection
    holds back with more of them; the link is the end of both.
    """
    if bed.value("route.local") is True or any(one.proved and one.option == "iodepth" for one in found):
        return
    link = (bed.number("nic.speed") or math.inf) / 8 / max(1.0, rate)
    name, mtu = bed.value("nic.name"), int(bed.number("nic.mtu") or JUMBO_BYTES)
    gain = min(link, (JUMBO_BYTES - HEADER_BYTES) / (mtu - HEADER_BYTES))
    if name and bs_bytes > mtu and gain > LEAST_GAIN:
        command = f"ip link set dev {name} mtu"
        yield (
            f"Packets of {JUMBO_BYTES} bytes, where all of the path takes them, instead of {mtu}: at most {gain:.3g} "
            f"times the throughput. --cure '{command} {JUMBO_BYTES}' --undo '{command} {mtu}' measures it."
        )
    if bed.number("nfs.connections") == 1 and (gain := min(link, CONNECTIONS)) > LEAST_GAIN:
        more = f"nconnect={CONNECTIONS} instead of one connection: at most {gain:.3g} times the throughput"
        yield f"{more}. A mount with it as --cure, and one without as --undo, measure it."


def load_settings(journal: Journal, base: Constants, found: Sequence[Gain]) -> list[str]:
    """Those of a campaign."""
    now, _ = loads([cell for cell, _ in journal.cells()], base)
    rates = _rates(journal.visits(with_series=True), now).values()
    bed = testbeds(journal.latest_testbed(), journal.directory).get(now.target)
    return list(of_the_path(bed, now.bs_bytes, median(rates), found)) if bed and rates else []


class AdviceParts(ResultParts):
    """What helps stands above what a map finds."""

    def findings(self, result: CampaignResult) -> tuple[Finding, ...]:
        found = load_gains(self.journal, self.spec.patterns[0])
        told = [{"option": one.option, "value": one.value, "gain": one.words} for one in found]
        settings = [one.removesuffix(".") for one in load_settings(self.journal, self.spec.patterns[0], found)]
        values = {**cure(found, self.spec), "gains": told, "settings": settings}
        return (Finding(FindingCode.HIGHEST_LOAD, values, place="map"), *super().findings(result))
