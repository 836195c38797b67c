# SPDX-License-Identifier: Apache-2.0
"""Tests in rounds: the tracked value of each round, the measurement window, and estimates from the window's rounds
only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import Literal

from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode, Value
from ioatlas.model.panel import Dot, Panel, Series, Table
from ioatlas.model.summary import Advice, Doubt, DoubtCode, Headline, Trust
from ioatlas.model.units import format_count, format_latency, format_rate, format_size, format_size_rounded
from ioatlas.model.verdict import VerdictCode
from ioatlas.model.visit import Histogram, Part, Purpose, Visit
from ioatlas.plan.snia import METHOD, PROCEDURES, SATURATION_CAPACITIES, SATURATION_SECONDS, Procedure, Test
from ioatlas.stats.intervals import t_half_width
from ioatlas.stats.steadystate import MOST_ROUNDS, RANGE_LIMIT, SLOPE_LIMIT, WINDOW, SteadyState, steady_state

FEWEST_FOR_INTERVAL = 3
Quantity = Literal["iops", "bw_bytes_per_s", "lat_mean_ns"]


@dataclass(frozen=True)
class RoundsCell:
    """One cell of a round. read_percent: share of its I/Os that are reads. value: average over the measurement window,
    None where a round lacks it.
    """

    key: str
    rw: str
    bs_bytes: int
    read_percent: int
    value: float | None
    tracked: bool = False


@dataclass(frozen=True)
class RoundsResult:
    """One test on one target.

    part:        what is apart in a purge, fill and rounds of its own ('bs 128 KiB'), or ''.
    quantity:    what is tracked and reported, in its unit; tracked: the cell that is tracked, in words.
    values:      the tracked value of every round, in order. first: number (from 1) of the first round after the last
                 preparation; those before it belong to a session that was interrupted, and no window spans both.
    met:         steady state was reached. ended: why no further round is run ('' while the test goes on).
    window:      numbers of the first and last round of the measurement window; None with fewer than five rounds.
    average, range_share, slope_share, line: over the window; line: best-fit values at its first and last round.
    written_bytes: by the rounds, up to the end of each.
    deviations:  what is not as the specification says.
    """

    target: str
    test: str
    title: str
    part: str
    quantity: Quantity
    tracked: str
    values: tuple[float, ...]
    first: int
    met: bool
    ended: str
    reason: str
    window: tuple[int, int] | None
    average: float | None
    range_share: float | None
    slope_share: float | None
    line: tuple[float, float] | None
    cells: tuple[RoundsCell, ...]
    written_bytes: tuple[int, ...] = ()
    footprint_bytes: int = 0
    purge: str = ""
    deviations: tuple[str, ...] = ()
    method: str = ""


@dataclass(frozen=True)
class Rounds:
    """What is known of one pass so far: its visits by round.

    first: round (block number, from 0) with which the last preparation begins.
    """

    procedure: Procedure
    cells: tuple[Cell, ...]
    by_round: tuple[Mapping[str, Visit], ...]
    first: int = 0

    @property
    def tracked(self) -> Cell:
        return next(cell for cell in self.cells if self.procedure.tracks(cell))

    @property
    def complete(self) -> int:
        """Rounds in which every cell has a value, from the first on without a gap."""
        for number, visits in enumerate(self.by_round):
            if len(visits) < len(self.cells):
                return number
        return len(self.by_round)

    def missing(self, number: int) -> list[Cell]:
        """Cells of a round that have no value yet, in its order."""
        made = self.by_round[number] if number < len(self.by_round) else {}
        return [cell for cell in self.cells if cell.key not in made]

    def values(self) -> list[float]:
        """The tracked value of every complete round, those before `first` too."""
        key = self.tracked.key
        return [value_of(visits[key], self.procedure.quantity) for visits in self.by_round[: self.complete]]

    def written_bytes(self) -> list[int]:
        """By the visits of each complete round, added up from the last preparation on."""
        total, sums = 0, []
        for number, visits in enumerate(self.by_round[: self.complete]):
            here = sum(part.io_bytes for visit in visits.values() for part in visit.parts if part.direction == "write")
            total = here if number == self.first else total + here
            sums.append(total)
        return sums

    def state(self) -> SteadyState:
        """Steady state over the rounds since the last preparation. The write saturation test looks at its last five
        rounds only.
        """
        values = self.values()[self.first :]
        if self.procedure.test != "saturation" or len(values) <= WINDOW:
            return steady_state(values[:MOST_ROUNDS])
        return replace(steady_state(values[-WINDOW:]), round_number=len(values))

    def ended(self, window_seconds: float) -> str:
        """Why no further round is to be run; '' while there is one."""
        rounds = self.complete - self.first
        if self.procedure.test != "saturation":
            state = self.state()
            return (
                ""
                if not state.finished
                else "steady state met"
                if state.met
                else f"no steady state in {MOST_ROUNDS} rounds"
            )
        written = self.written_bytes()
        footprint = max(cell.footprint_bytes for cell in self.cells)
        if rounds > 0 and written[-1] >= SATURATION_CAPACITIES * footprint:
            return f"{SATURATION_CAPACITIES} times the range was written"
        return f"{SATURATION_SECONDS // 3600} hours are over" if rounds * window_seconds >= SATURATION_SECONDS else ""


def rounds_of(test: Test, cells: Sequence[Cell], visits: Iterable[Visit], first: int = 0) -> Rounds:
    """The rounds of one pass from the journal's visits; a visit's block is its round. Discarded ones do not count."""
    keys = {cell.key for cell in cells}
    by_round: dict[int, dict[str, Visit]] = {}
    for visit in visits:
        if visit.cell_key in keys and visit.purpose is Purpose.SWEEP and not visit.discarded:
            by_round.setdefault(visit.replicate, {})[visit.cell_key] = visit
    count = max(by_round, default=-1) + 1
    return Rounds(PROCEDURES[test], tuple(cells), tuple(by_round.get(number, {}) for number in range(count)), first)


def value_of(visit: Visit, quantity: Quantity) -> float:
    """A whole round's value of one cell, both directions together: nothing is cut from it, as the specification has
    it.
    """
    ios = sum(part.total_ios for part in visit.parts)
    seconds = max((part.runtime_ms for part in visit.parts), default=0) / 1000
    if quantity == "lat_mean_ns":
        return sum((part.lat_mean_ns or 0.0) * part.total_ios for part in visit.parts) / ios if ios else 0.0
    amount = ios if quantity == "iops" else sum(part.io_bytes for part in visit.parts)
    return amount / seconds if seconds else 0.0


def format_value(value: float, quantity: Quantity) -> str:
    if quantity == "iops":
        return f"{format_count(value)} IOPS"
    return format_rate(value) if quantity == "bw_bytes_per_s" else format_latency(value)


def result_of(rounds: Rounds, *, ended: str, part: str, purge: str, deviations: tuple[str, ...]) -> RoundsResult:
    """One pass as the report shows it."""
    procedure, tracked = rounds.procedure, rounds.tracked
    state, values = rounds.state(), rounds.values()
    last = rounds.first + state.round_number
    window = (last - WINDOW + 1, last) if state.average is not None else None
    chosen = rounds.by_round[window[0] - 1 : window[1]] if window else ()
    cells = []
    for cell in rounds.cells:
        there = [value_of(visits[cell.key], procedure.quantity) for visits in chosen]
        average = mean(there) if there else None
        cells.append(RoundsCell(cell.key, cell.rw, cell.bs_bytes, read_percent(cell), average, procedure.tracks(cell)))
    reason = state.reason
    if window is not None and state.range_share is not None and state.slope_share is not None:
        reason = f"rounds {window[0]} to {window[1]}: {_spread(state.range_share, state.slope_share)}"
    return RoundsResult(
        tracked.target,
        procedure.test,
        procedure.title,
        part,
        procedure.quantity,
        words(tracked),
        tuple(values),
        rounds.first + 1,
        state.met,
        ended,
        reason,
        window,
        state.average,
        state.range_share,
        state.slope_share,
        state.line,
        tuple(cells),
        tuple(rounds.written_bytes()),
        max(cell.footprint_bytes for cell in rounds.cells),
        purge,
        deviations,
        METHOD,
    )


def read_percent(cell: Cell) -> int:
    if len(cell.directions) > 1:
        return cell.integer("rwmixread", 50)
    return 100 if "read" in cell.directions else 0


def words(cell: Cell) -> str:
    """A cell of a round in words."""
    order = "random" if "rand" in cell.rw else "sequential"
    share = read_percent(cell)
    return (
        f"{format_size(cell.bs_bytes)} {order} "
        f"{'read' if share == 100 else 'write' if share == 0 else f'{share}/{100 - share} read/write'}"
    )


def rounds_estimates(rounds: Rounds, result: RoundsResult) -> Iterator[Estimate]:
    """An estimate for every cell and direction: the average of the measurement window's rounds, or of all rounds
    where there is no window.

    The interval is Student's over those rounds. They follow each other in a fixed order, as the specification has
    it, so it says nothing of another day.
    """
    first, last = result.window or (result.first, rounds.complete)
    chosen = rounds.by_round[first - 1 : last]
    verdict = VerdictCode.STEADY if result.met else VerdictCode.NO_STEADY_STATE
    note = f"average of rounds {first} to {last} of the {result.title}; its rounds have a fixed order"
    for cell in rounds.cells:
        visits = [visits[cell.key] for visits in chosen if cell.key in visits]
        for direction in cell.directions:
            parts = [part for visit in visits for part in visit.parts if part.direction == direction]
            if parts:
                seeds = tuple(visit.seed for visit in visits)
                yield _estimate(cell, direction, parts, seeds, verdict, note)


def _estimate(
    cell: Cell, direction: str, parts: Sequence[Part], seeds: tuple[int, ...], verdict: VerdictCode, note: str
) -> Estimate:
    bw = _mean([part.io_bytes * 1000 / part.runtime_ms for part in parts if part.runtime_ms])
    iops = _mean([part.total_ios * 1000 / part.runtime_ms for part in parts if part.runtime_ms])
    lat = _mean([part.lat_mean_ns for part in parts if part.lat_mean_ns])
    tail = _mean([p99 for part in parts if (p99 := part.histogram.percentile_ns(99))])
    return Estimate(
        cell,
        direction,
        "measured",
        len(parts),
        *bw,
        *iops,
        *lat,
        Histogram.merge(part.histogram for part in parts).percentile_ns(99),
        tail[1],
        tail[2],
        "completion" if any(part.lat_kind == "completion" for part in parts) else "total",
        verdict,
        METHOD,
        mean(part.runtime_ms for part in parts) / 1000,
        0.0,
        0,
        seeds,
        (note,),
    )


def _mean(values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Arithmetic mean with Student's 95% interval, cut at 0."""
    if not values:
        return None, None, None
    centre = mean(values)
    if len(values) < FEWEST_FOR_INTERVAL:
        return centre, None, None
    half = t_half_width(values)
    return centre, max(0.0, centre - half), centre + half


def rounds_finding(result: RoundsResult, keys: tuple[str, ...]) -> Finding:
    """The test's outcome."""
    unit = {"iops": "IOPS", "bw_bytes_per_s": "B/s"}.get(result.quantity, "ns")
    values: dict[str, Value] = {
        "test": result.title,
        "part": result.part,
        "n_rounds": len(result.values),
        "least_rounds": WINDOW,
        "met": result.met,
        "ended": None if result.met else result.ended or "the test was not finished",
        "reason": result.reason,
        "tracked": result.tracked,
    }
    if result.average is not None:
        values["average"] = {"value": result.average, "unit": unit}
        if result.test == "saturation":
            values["first"] = {"value": result.values[result.first - 1], "unit": unit}
            values["written_bytes"] = result.written_bytes[-1] if result.written_bytes else 0
    return Finding(FindingCode.ROUNDS, values, keys, target=result.target)


def rounds_headline(test: RoundsResult, *, several: bool) -> Headline:
    """several: whether the campaign has more than one target."""
    where = ", ".join(text for text in (test.part, test.target if several else "") if text)
    if not test.met:
        where += f"{'; ' if where else ''}no steady state"
    if test.window and not where:
        where = f"steady, rounds {test.window[0]}-{test.window[1]}"
    return Headline(test.title, test.target, "", test.quantity, test.average or 0.0, where=where)


def rounds_doubts(tests: Sequence[RoundsResult]) -> tuple[Doubt, ...]:
    missed = [test for test in tests if not test.met and test.test != "saturation"]
    values, advice = {"n_missed": len(missed), "n_tests": len(tests)}, Advice("more-rounds")
    return (Doubt(DoubtCode.NO_STEADY_STATE, Trust.LOW, values, advice),) if missed else ()


def _spread(range_share: float | None, slope_share: float | None) -> str:
    """What decides about the steady state, in words."""
    return (
        f"range {range_share or 0:.1%} of the average (limit {RANGE_LIMIT:.0%}), "
        f"slope {slope_share or 0:.1%} (limit {SLOPE_LIMIT:.0%})"
    )


# -- charts and tables -----------------------------------------------------------------------------------------------

OFF = 0.10
"""The specification draws lines this far above and below the average of the window."""
_DRAWN: dict[Quantity, tuple[str, str]] = {
    "iops": ("I/Os per second", "1/s"),
    "bw_bytes_per_s": ("throughput", "B/s"),
    "lat_mean_ns": ("mean response time", "ns"),
}
"""Name and unit of what is tracked."""


def rounds_chart(test: RoundsResult) -> Panel:
    """The tracked value over the rounds; in the measurement window its average, the lines 10% off it, the best fit."""
    state = "" if test.test == "saturation" else f"Steady state {'met' if test.met else 'not met'}: "
    name, unit = _DRAWN[test.quantity]
    series = [Series("each round", tuple(Dot(float(n), value, n=1) for n, value in enumerate(test.values, 1)))]
    if test.window is not None and test.average is not None:
        average = test.average
        series += [
            Series("average of the window", _straight(test.window, (average, average)), "line"),
            Series("10% above it", _straight(test.window, (average * (1 + OFF),) * 2), "dotted"),
            Series("10% below it", _straight(test.window, (average * (1 - OFF),) * 2), "dotted"),
        ]
    if test.window is not None and test.line is not None:
        series.append(Series("best fit", _straight(test.window, test.line), "dashed"))
    return Panel(
        f"{_pass(test)}: {test.tracked}",
        tuple(series),
        tuple((float(n), str(n)) for n in range(1, max(len(test.values), 5) + 1)),
        band=None if test.window is None else (test.window[0] - 0.5, test.window[1] + 0.5),
        x_name="round",
        y_name=name,
        y_unit=unit,
        note=f"{state}{test.reason}.{'' if test.window is None else ' Shaded: the measurement window.'}",
    )


def _straight(window: tuple[int, int], ends: tuple[float, ...]) -> tuple[Dot, ...]:
    return tuple(Dot(float(x), y) for x, y in zip(window, ends, strict=True))


def _pass(test: RoundsResult) -> str:
    return f"SNIA {test.title}, {test.target}{f', {test.part}' if test.part else ''}"


def rounds_table(test: RoundsResult) -> Table:
    """Averages over the measurement window, block sizes down and read shares across, the tracked one marked; with how
    the test was made.
    """
    shares = sorted({cell.read_percent for cell in test.cells}, reverse=True)
    cells = {(cell.bs_bytes, cell.read_percent): cell for cell in test.cells}
    rows = tuple(
        (format_size(block), *(_average(cells.get((block, share)), test.quantity) for share in shares))
        for block in sorted({cell.bs_bytes for cell in test.cells})
    )
    window = f"rounds {test.window[0]} to {test.window[1]}" if test.window else "no window yet"
    title = f"{_pass(test)}: average of the window ({window}), reads/writes in per cent of I/Os, * tracked"
    made = f"Not as the specification says: {' '.join(test.deviations)}" if test.deviations else "As specified."
    written = format_size_rounded(test.written_bytes[-1] if test.written_bytes else 0)
    note = f"Purge: {test.purge or 'none'}. Written in the rounds: {written}. {made}"
    return Table(title, ("block", *(f"{share}/{100 - share}" for share in shares)), rows, note)


def _average(cell: RoundsCell | None, quantity: Quantity) -> str:
    if cell is None or cell.value is None:
        return ""
    return format_value(cell.value, quantity) + (" *" if cell.tracked else "")
