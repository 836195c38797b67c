# SPDX-License-Identifier: Apache-2.0
"""From visits to estimates: what each visit says once its warm-up is cut, and from that a value, an interval over
visits and a verdict for every cell and direction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from statistics import fmean

import numpy as np

from ioatlas.answer.analysis.best import NUMBER_WIDTH, STEADY_WIDTH, edge_share
from ioatlas.answer.analysis.shares import AMONG_CLIENTS, AMONG_TARGETS, fewer_note
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate, LatKind
from ioatlas.model.fixed_work import tool_of
from ioatlas.model.units import format_latency, grouped
from ioatlas.model.verdict import VerdictCode, sentences
from ioatlas.model.visit import Flush, Histogram, Part, Purpose, Visit
from ioatlas.plan.stopping import Grade
from ioatlas.stats.gates import offered_in
from ioatlas.stats.intervals import Interval, PooledVariance, bounded, pool_variance
from ioatlas.stats.verdict import FEWEST

MOSTLY_CUT = 0.5
"""Share of the bytes after a cut below which the intervals there are taken as they are."""
STRETCHES = 8
"""Parts of a window whose scatter says how well its mean is known."""
COARSE_BYTES_PER_S = 1 << 20
"""Rate below which rounding in the logs may matter: a thousand times a step of it."""


@dataclass(frozen=True)
class WindowValues:
    """One direction of one visit over its window. Latencies are None where the source has none.

    lat_p99_ns covers the whole run, warm-up included, where something was cut: fio keeps one histogram a run.
    """

    bw_bytes_per_s: float
    iops: float
    lat_mean_ns: float | None
    lat_p99_ns: float | None
    seconds: float


def window_values(part: Part, cut_ms: int = 0) -> WindowValues:
    """Values of `part` after its first `cut_ms` milliseconds.

    Without a cut they are fio's own totals. With one, the totals are divided in the proportions of the interval
    series, so that rounding in the logs (whole KiB/s) cannot shift a level. Where most of the bytes lie in the cut, and
    rounding is of no account, the intervals after it stand for themselves. The mean latency follows from that by
    Little's law, as many I/Os being in flight after the cut as before: the logs of latencies and of bytes have other
    intervals, so that a slow I/O may stand beside the bytes of many fast ones.
    """
    seconds = part.runtime_ms / 1000
    if seconds <= 0:
        return WindowValues(0.0, 0.0, part.lat_mean_ns, part.histogram.percentile_ns(99), 0.0)
    share, lat_mean_ns = 1.0, part.lat_mean_ns
    series = part.series
    first = next((i for i, end in enumerate(series.end_ms) if end > cut_ms), 0) if cut_ms else 0
    total = sum(series.bw_bytes_per_s)
    if first and total > 0:
        # The intervals end up to one interval before the run does: that rest is steady and stays in.
        rest_ms = max(0, part.runtime_ms - series.end_ms[-1])
        mean = total / len(series.bw_bytes_per_s)
        lost = sum(series.bw_bytes_per_s[:first]) * series.interval_ms
        share = 1 - lost / (total * series.interval_ms + mean * rest_ms)
        seconds -= series.end_ms[first - 1] / 1000
        kept = sum(series.bw_bytes_per_s[first:]) / max(1, len(series.bw_bytes_per_s) - first)
        if share < MOSTLY_CUT and kept > COARSE_BYTES_PER_S:
            # Intervals of a burst are a few per cent wrong, which in proportion is much of what little comes after it.
            share = kept * seconds / part.io_bytes if part.io_bytes else share
        if lat_mean_ns is not None and share > 0 and part.lat_kind != "intended":
            lat_mean_ns *= seconds * 1000 / part.runtime_ms / share
    return WindowValues(
        part.io_bytes * share / seconds,
        part.total_ios * share / seconds,
        lat_mean_ns,
        part.histogram.percentile_ns(99),
        seconds,
    )


WORK_BOUNDED = "work-bounded: the time of a fixed amount of work, no window and no steady state"
OPEN_LOOP = "open loop: latencies are lower bounds, fio's clock starts after its rate sleep"
INTENDED = (
    "open loop: latencies count from the time each I/O was due, short by 2 ms at most (intended-constant/1). "
    "With several in flight they are short by what 95% of I/Os take (intended-drained/1)"
)
REPLAYED = (
    "open loop: latencies count from the due time in the trace, in whole ms (intended-trace/1), short by 2 ms at most"
)
MOST_REASONS = 3
MUCH_LONGER = 1.4
"""How many times as long a window has to be to outweigh one that was too short for a verdict."""
WAVES = 10
_QUANTITIES = ("bw_bytes_per_s", "lat_mean_ns", "lat_p99_ns")
_WORST_FIRST = (
    VerdictCode.UNSTABLE,
    VerdictCode.BISTABLE,
    VerdictCode.DRIFTING,
    VerdictCode.SLOWDOWN,
    VerdictCode.OVERLOADED,
    VerdictCode.UNACCOUNTED,
    VerdictCode.CLIENT_LIMITED,
    VerdictCode.WARM_UP,
    VerdictCode.TOO_SHORT,
)


@dataclass(frozen=True)
class VisitReading:
    """One direction of one kept visit."""

    visit: Visit
    part: Part
    values: WindowValues

    @property
    def rates(self) -> list[float]:
        """Throughput of the intervals within its window."""
        series, start = self.part.series, self.visit.window_start_ms
        return [rate for end, rate in zip(series.end_ms, series.bw_bytes_per_s, strict=True) if end > start]

    @cached_property
    def within(self) -> float:
        """Variance of the logarithm of what this visit gives by what is seen inside it: that of the mean of STRETCHES
        equal parts of its window (batch means: Schmeiser 1982, Operations Research 30(3)). Latencies follow the rate.
        """
        rates = np.array(self.rates)
        if rates.size < 2 * STRETCHES or not rates.any():
            return 0.0
        means = [part.mean() for part in np.array_split(rates, STRETCHES)]
        return float(np.var(means, ddof=1) / STRETCHES / rates.mean() ** 2)


def estimate_cells(
    cells: Mapping[str, Cell], visits: Iterable[Visit], purpose: Purpose = Purpose.SWEEP, grade: Grade | None = None
) -> tuple[Estimate, ...]:
    """Estimates of all cells that have a finished visit, in the order of `cells`.

    cells: by key. visits: all of the campaign; discarded ones are counted, those of other purposes left out. The
    variance between visits is pooled over cells of the same target, separately for each quantity; always from the
    visits of the sweep.
    grade: the precision asked for, which decides on the interval.
    """
    grade = grade or Grade()
    made = [visit for visit in visits if visit.cell_key in cells]
    swept = readings_of(visit for visit in made if visit.purpose is Purpose.SWEEP)
    wanted = [visit for visit in made if visit.purpose is purpose]
    readings = swept if purpose is Purpose.SWEEP else readings_of(wanted)
    discarded = Counter(visit.cell_key for visit in wanted if visit.discarded)
    pools = _pools(cells, swept)
    estimates = []
    for key, cell in cells.items():
        for direction in cell.directions:
            rows = readings.get((key, direction), [])
            if rows:
                estimates.append(_estimate(cell, direction, rows, pools, discarded[key], grade))
            elif discarded[key]:
                lost = [visit for visit in wanted if visit.cell_key == key and visit.discarded]
                why = tuple(dict.fromkeys(f"discarded: {sentences(visit.discarded)}" for visit in lost))[:MOST_REASONS]
                seeds = tuple(visit.seed for visit in lost)
                estimates.append(
                    Estimate(
                        cell,
                        direction,
                        "measured",
                        0,
                        verdict=VerdictCode.DISCARDED,
                        n_discarded=discarded[key],
                        seeds=seeds,
                        notes=why,
                    )
                )
    return tuple(estimates)


_Rows = dict[tuple[str, str], list[VisitReading]]
_Pools = dict[tuple[str, str], PooledVariance | None]


def judged_visits(visits: Sequence[Visit]) -> list[Visit]:
    """Of the visits of one cell those that count: not those that were too short for a verdict, once others were much
    longer. One of a slow load that held WAVES answers to each I/O in flight tells its mean all the same.
    """
    longest_ms = max((part.runtime_ms for visit in visits for part in visit.parts), default=0)
    return [
        visit
        for visit in visits
        if visit.verdict.code is not VerdictCode.TOO_SHORT
        or MUCH_LONGER * max((part.runtime_ms for part in visit.parts), default=0) > longest_ms
        or all(
            len(part.series.bw_bytes_per_s) >= FEWEST and part.runtime_ms >= WAVES * (part.lat_mean_ns or inf) / 1e6
            for part in visit.parts
        )
    ]


def readings_of(visits: Iterable[Visit]) -> _Rows:
    """What the kept visits say, by cell key and direction."""
    kept = grouped((visit.cell_key, visit) for visit in visits if not visit.discarded)
    return grouped(
        ((key, part.direction), VisitReading(visit, part, window_values(part, visit.window_start_ms)))
        for key, mine in kept.items()
        for visit in judged_visits(mine)
        for part in visit.parts
    )


def _pool_of(cell: Cell) -> str:
    """Cells that share a variance between visits: those of one target, made by one tool."""
    return f"{cell.target} {tool_of(cell)}"


def _pools(cells: Mapping[str, Cell], readings: Mapping[tuple[str, str], Sequence[VisitReading]]) -> _Pools:
    samples: dict[tuple[str, str], list[tuple[list[float], float]]] = {}
    for (key, _), rows in readings.items():
        for quantity in _QUANTITIES if len(rows) > 1 else ():
            values = [getattr(row.values, quantity) for row in rows]
            if all(values):
                samples.setdefault((_pool_of(cells[key]), quantity), []).append(
                    (values, fmean(row.within for row in rows))
                )
    return {place: pool_variance(*zip(*lists, strict=True)) for place, lists in samples.items()}


def _pool_at(pools: _Pools, cell: Cell, rows: Sequence[VisitReading], quantity: str) -> PooledVariance | None:
    """For a cell with these visits."""
    pool = pools.get((_pool_of(cell), quantity))
    return pool and pool.beside(fmean(row.within for row in rows))


def _estimate(
    cell: Cell, direction: str, rows: Sequence[VisitReading], pools: _Pools, n_discarded: int, grade: Grade
) -> Estimate:
    rates = [row.values.bw_bytes_per_s for row in rows]
    rate = grade.interval(rates, _pool_at(pools, cell, rows, "bw_bytes_per_s"))
    value = rate.estimate or 0.0
    shown = bounded(rate, rates, _stretches(rows))
    low, high = _with_edges(cell, rows, shown)
    # One set of visits moves bytes and I/Os in the same proportion: one interval serves both.
    total_bytes = sum(row.part.io_bytes for row in rows)
    per_io = total_bytes / max(1, sum(row.part.total_ios for row in rows))
    means = [row.values.lat_mean_ns for row in rows if row.values.lat_mean_ns]
    tails = [row.values.lat_p99_ns for row in rows if row.values.lat_p99_ns]
    merged = Histogram.merge(row.part.histogram for row in rows)
    p99 = merged.percentile_ns(99)
    ios = merged.ends_ns
    mean = bounded(grade.interval(means, _pool_at(pools, cell, rows, "lat_mean_ns")), means, ios) if means else None
    tail = _tail(rows, tails, grade.interval(tails, _pool_at(pools, cell, rows, "lat_p99_ns")), p99) if tails else None
    shares = AMONG_CLIENTS.shares(cell, direction, [row.visit for row in rows])
    notes = tuple(
        note
        for note in (
            _loop_note(cell, direction, rows),
            _flush_note(rows),
            WORK_BOUNDED if any(row.visit.verdict.code is VerdictCode.WORK_BOUNDED for row in rows) else "",
            shown.reason,
            f"99th percentile: {tail.reason}" if tail is not None and tail.apart else "",
            fewer_note(shares),
        )
        if note
    )
    return Estimate(
        cell,
        direction,
        "measured",
        len(rows),
        value,
        low,
        high,
        value / per_io if per_io else None,
        low / per_io if low is not None and per_io else None,
        high / per_io if high is not None and per_io else None,
        mean.estimate if mean else None,
        mean.low if mean else None,
        mean.high if mean else None,
        p99,
        tail.low if tail else None,
        tail.high if tail else None,
        _lat_kind(rows),
        cell_verdict([row.visit.verdict.code for row in rows], rate),
        shown.method,
        sum(row.values.seconds for row in rows) / len(rows),
        sum(row.visit.window_start_ms for row in rows) / len(rows) / 1000,
        n_discarded,
        tuple(row.visit.seed for row in rows),
        notes,
        shares=shares,
        targets=AMONG_TARGETS.shares(cell, direction, [row.visit for row in rows]),
        bw_seen=(min(rates), max(rates)),
    )


def _with_edges(cell: Cell, rows: Sequence[VisitReading], rate: Interval) -> tuple[float | None, float | None]:
    """The interval, no narrower than what was in flight at the start of windows that were too short for a verdict.

    Visits that are cut alike are wrong alike: that their values agree says nothing of it.
    """
    if rate.low is None or rate.high is None or rate.estimate is None:
        return rate.low, rate.high
    short = all(row.visit.verdict.code is VerdictCode.TOO_SHORT and row.visit.window_start_ms for row in rows)
    if not short:
        return rate.low, rate.high
    ios = sum(row.values.iops * row.values.seconds for row in rows) / len(rows)
    edge = edge_share(cell, ios, len(rows))
    return min(rate.low, rate.estimate * (1 - edge)), max(rate.high, rate.estimate * (1 + edge))


def _stretches(rows: Sequence[VisitReading]) -> tuple[float, ...]:
    """Throughput of the slowest and the fastest interval within the windows of these visits."""
    rates = [rate for row in rows for rate in row.rates]
    return (min(rates), max(rates)) if rates else ()


def _tail(rows: Sequence[VisitReading], tails: Sequence[float], interval: Interval, p99: float | None) -> Interval:
    """Interval of the 99th percentile, which holds that of all I/Os together: no less than the median of a visit, no
    more than its slowest I/O.
    """
    if interval.low is not None and interval.high is not None and p99 is not None:
        interval = replace(interval, low=min(interval.low, p99), high=max(interval.high, p99))
    histograms = [row.part.histogram for row in rows]
    medians = [value for one in histograms if (value := one.percentile_ns(50)) is not None]
    return bounded(interval, tails, [*medians, *(one.ends_ns[1] for one in histograms if one.bins)])


def _lat_kind(rows: Sequence[VisitReading]) -> LatKind:
    """The least that all of them cover."""
    kinds = {row.part.lat_kind for row in rows}
    if "completion" in kinds:
        return "completion"
    return "intended" if kinds == {"intended"} else "flushed" if kinds == {"flushed"} else "total"


def _loop_note(cell: Cell, direction: str, rows: Sequence[VisitReading]) -> str:
    """What an open loop's latencies are, and how many I/Os its generator was behind at the end of a visit."""
    if cell.loop == "closed":
        return ""
    offered = offered_in(cell, direction)
    behind = [max(0.0, offered * row.part.runtime_ms / 1000 - row.part.total_ios) for row in rows] if offered else []
    backlog = f"; backlog at the end of a visit: {max(behind):.0f} I/Os at most" if behind else ""
    if cell.trace:
        return REPLAYED if _lat_kind(rows) == "intended" else OPEN_LOOP
    return (INTENDED if _lat_kind(rows) == "intended" else OPEN_LOOP) + backlog


def _flush_note(rows: Sequence[VisitReading]) -> str:
    """What a write takes without its flush, and what the flush takes."""
    flush = Flush.joined(row.part.flush for row in rows)
    if flush is None:
        return ""
    alone = _typical(flush.write_mean_ns, flush.write_histogram)
    held = _typical(flush.mean_ns, flush.histogram)
    often = "" if flush.of_a_write == 1 else f", of which there are {flush.of_a_write:.2g} a write"
    return f"latencies are those of a write with its flush: the write alone took {alone}, a flush {held}{often}"


def _typical(mean_ns: float, histogram: Histogram) -> str:
    p99 = histogram.percentile_ns(99)
    return format_latency(mean_ns) + (f" (99% within {format_latency(p99)})" if p99 is not None else "")


def undecided(cells: Mapping[str, Cell], visits: Iterable[Visit], grade: Grade, least: int = 0) -> dict[str, int]:
    """{cell key: visits to its next look} of the cells that have not reached the precision asked for, or have fewer
    visits that count than `least`, and may be visited more.
    """
    readings = readings_of(visit for visit in visits if visit.purpose is Purpose.SWEEP and visit.cell_key in cells)
    pools = _pools(cells, readings)
    waiting: dict[str, int] = {}
    for (key, _), rows in readings.items():
        pooled = _pool_at(pools, cells[key], rows, "bw_bytes_per_s")
        decision = grade.decide([row.values.bw_bytes_per_s for row in rows], pooled)
        if (more := max(decision.next_visits, least - len(rows))) > 0:
            waiting[key] = max(waiting.get(key, 0), more)
    return waiting


_MAY_BE_STEADY = frozenset({VerdictCode.STEADY, VerdictCode.WARM_UP, VerdictCode.SLOWDOWN, VerdictCode.TOO_SHORT})


def cell_verdict(verdicts: Sequence[VerdictCode], rate: Interval) -> VerdictCode:
    """The least steady of the verdicts on a cell's visits. What is steady within each visit is not called so when the
    visits lie too far apart.
    """
    if set(verdicts) == {VerdictCode.WORK_BOUNDED}:
        return VerdictCode.WORK_BOUNDED
    worst = next((code for code in _WORST_FIRST if code in verdicts), VerdictCode.STEADY)
    if worst in _MAY_BE_STEADY:
        width = 0.0 if rate.withheld else rate.relative_half_width
        if rate.apart or (width > NUMBER_WIDTH and rate.n > 1):  # one visit disagrees with none
            return VerdictCode.RUNS_DISAGREE
        if width > STEADY_WIDTH and worst is not VerdictCode.TOO_SHORT:
            return VerdictCode.UNCERTAIN
    # A cut of the warm-up leaves a steady window.
    return VerdictCode.STEADY if worst is VerdictCode.WARM_UP else worst
