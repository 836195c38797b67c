# SPDX-License-Identifier: Apache-2.0
"""From visits of several streams at once to the curve of response time against load, in total and by stream; and what
fixed request rate to size by, from a paced curve: safe, borderline, too much. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from ioatlas.answer.analysis.estimates import cell_verdict, window_values
from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.load_curve import LATENCY_NOTE, LoadPoint, Sizing, Spread, StreamPoint
from ioatlas.model.units import format_count, grouped
from ioatlas.model.verdict import VerdictCode
from ioatlas.model.visit import Histogram, Part, Series, Visit
from ioatlas.stats.distributions import Z95
from ioatlas.stats.gates import offered_by_direction, offered_iops, stream_backlog
from ioatlas.stats.intervals import Interval, bounded, few_visits_interval, log_t_interval

PHASE, LOAD, OFFERED, STREAM = "phase", "load", "load_iops", "stream"
"""Labels of a cell that are no fio options."""
ALL = "all"
"""The stream's name of all of them together."""


def mean_latency_ns(visit: Visit) -> float | None:
    """Mean over all I/Os of a visit's window, all streams and directions together; None without latencies."""
    weighed = [
        (values.iops, values.lat_mean_ns)
        for part in visit.parts
        for values in [window_values(part, visit.window_start_ms)]
    ]
    total = sum(iops for iops, mean in weighed if mean is not None)
    return sum(iops * mean for iops, mean in weighed if mean is not None) / total if total else None


_NOTED = frozenset({VerdictCode.OVERLOADED, VerdictCode.CLIENT_LIMITED})
"""Verdicts whose figures belong to a load point."""


def load_point(cell: Cell, visits: Sequence[Visit], watts: Mapping[int, Mapping[str, float]]) -> LoadPoint | None:
    """One load from its kept visits; None when there is none. watts: by visit_id and meter."""
    kept = [visit for visit in visits if not visit.discarded and visit.parts]
    if not kept:
        return None
    behind = [stream_backlog(cell, visit.parts, _seconds(visit)) for visit in kept]
    known = [one for one in behind if one is not None]
    worst = max(known, key=lambda one: one.behind, default=None)
    rates = log_t_interval([_rate(visit, "iops") for visit in kept])
    offered = offered_iops(cell) or None
    meters = grouped(read for visit in kept for read in watts.get(visit.visit_id, {}).items())
    overloaded = any(visit.verdict.code is VerdictCode.OVERLOADED for visit in kept)
    notes = [LATENCY_NOTE] if cell.loop == "open" else []
    notes += sorted({visit.verdict.text for visit in kept if visit.verdict.code in _NOTED})
    return LoadPoint(
        str(cell.option.get(PHASE, "")),
        float(cell.option[LOAD]) if LOAD in cell.option else None,
        cell.loop,
        offered,
        float(cell.option[OFFERED]) if OFFERED in cell.option else None,
        _spread(few_visits_interval([_rate(visit, "iops") for visit in kept])),
        _spread(few_visits_interval([_rate(visit, "bw_bytes_per_s") for visit in kept])),
        _over(kept, mean_latency_ns),
        _percentile(kept, 95),
        _percentile(kept, 99),
        overloaded,
        worst.behind if worst else None,
        worst.chance if worst else None,
        cell_verdict([visit.verdict.code for visit in kept], rates),
        len(kept),
        sum(bool(visit.discarded) for visit in visits),
        sum(_seconds(visit) for visit in kept) / len(kept),
        tuple(_streams(cell, kept)),
        tuple((name, sum(values) / len(values)) for name, values in sorted(meters.items())),
        tuple(notes),
    )


def _seconds(visit: Visit) -> float:
    return max((part.runtime_ms for part in visit.parts), default=0) / 1000


def _rate(visit: Visit, name: str) -> float:
    return float(sum(getattr(window_values(part, visit.window_start_ms), name) for part in visit.parts))


def _merged(visit: Visit) -> Histogram:
    return Histogram.merge(part.histogram for part in visit.parts)


def _spread(interval: Interval) -> Spread:
    return Spread(interval.estimate or 0.0, interval.low, interval.high)


def _over(visits: Sequence[Visit], read: Callable[[Visit], float | None]) -> Spread | None:
    values = [value for visit in visits if (value := read(visit)) is not None]
    ios = [end for visit in visits for end in _merged(visit).ends_ns]
    return _spread(bounded(log_t_interval(values), values, ios)) if values else None


def _percentile(visits: Sequence[Visit], percent: float) -> Spread | None:
    """Of all I/Os of all visits, from their merged counts; its interval is over the visits' own percentiles."""
    value = Histogram.merge(_merged(visit) for visit in visits).percentile_ns(percent)
    over = _over(visits, lambda visit: _merged(visit).percentile_ns(percent))
    if value is None or over is None or over.low is None or over.high is None:
        return None if value is None else Spread(value)
    return Spread(value, min(over.low, value), max(over.high, value))


def _streams(cell: Cell, visits: Sequence[Visit]) -> Iterator[StreamPoint]:
    total = sum(part.total_ios for visit in visits for part in visit.parts)
    for (name, _), member in zip(cell.streams, cell.members, strict=True):
        offered = offered_by_direction(member)
        for direction in member.directions:
            parts = [
                (visit, part)
                for visit in visits
                for part in visit.parts
                if (part.stream, part.direction) == (name, direction)
            ]
            values = [window_values(part, visit.window_start_ms) for visit, part in parts]
            ios = sum(part.total_ios for _, part in parts)
            merged = Histogram.merge(part.histogram for _, part in parts)
            means = [value.lat_mean_ns for value in values if value.lat_mean_ns]
            # A stream without an I/O in a visit did zero there, it is not left out of the mean.
            yield StreamPoint(
                name,
                direction,
                offered.get(direction),
                sum(value.iops for value in values) / len(visits),
                sum(value.bw_bytes_per_s for value in values) / len(visits),
                ios / total if total else 0.0,
                log_t_interval(means).estimate if means else None,
                merged.percentile_ns(95),
                merged.percentile_ns(99),
            )


# -- rows of the map: one for each stream, and one for all of them -------------------------------------------


def apart(cells: Iterable[Cell], visits: Iterable[Visit]) -> tuple[dict[str, Cell], list[Visit]]:
    """Cells and visits of each stream by itself and of all together, as if each had been a load of its own.

    Only what is measured of a stream while the others run; a row's label `stream` says which, `all` which is their sum.
    """
    made: dict[str, list[Cell]] = {}
    rows: dict[str, Cell] = {}
    for cell in cells:
        labels = dict(cell.options)
        mine = []
        for (name, _), member in zip(cell.streams, cell.members, strict=True):
            mine.append(
                Cell.of(cell.target, {**member.option, **labels, STREAM: name}, sharing=cell.sharing, state=cell.state)
            )
        mine.append(
            Cell.of(cell.target, {**_summary(cell), **labels, STREAM: ALL}, sharing=cell.sharing, state=cell.state)
        )
        made[cell.key] = mine
        rows |= {one.key: one for one in mine}
    found = []
    for visit in visits:
        for one in made.get(visit.cell_key, ()):
            stream = str(one.option[STREAM])
            parts = (
                together(visit.parts) if stream == ALL else tuple(part for part in visit.parts if part.stream == stream)
            )
            # Rows of one visit are no independent readings: no block's level may be judged by them.
            found.append(
                replace(visit, cell_key=one.key, replicate=0, parts=tuple(replace(part, stream="") for part in parts))
            )
    return rows, found


def _summary(cell: Cell) -> dict[str, OptionValue]:
    """What all streams have in common, as options; numbers that add up, and the extent of all."""
    summary: dict[str, OptionValue] = {
        "rw": cell.rw,
        "size": cell.end_bytes,
        "numjobs": cell.numjobs,
        "iodepth": cell.iodepth,
    }
    shared = set.intersection(*(set(member.options) for member in cell.members))
    summary |= dict(shared)
    if "bs" not in summary:
        # A mix without shares: which sizes there are.
        summary["bssplit"] = ":".join(str(size) for size in cell.block_sizes)
    rate = offered_iops(cell)
    return {**summary, "rate_iops": round(rate)} if rate else summary


def together(parts: Iterable[Part]) -> Iterator[Part]:
    """Parts of several streams as one for each direction; interval series are added where they have the same grid."""
    groups = grouped((part.direction, part) for part in parts)
    for direction, mine in groups.items():
        ios = sum(part.total_ios for part in mine)
        means = [(part.total_ios, part.lat_mean_ns) for part in mine if part.lat_mean_ns is not None]
        weight = sum(n for n, _ in means)
        yield Part(
            direction,
            sum(part.io_bytes for part in mine),
            ios,
            max(part.runtime_ms for part in mine),
            sum(n * mean for n, mean in means) / weight if weight else None,
            Histogram.merge(part.histogram for part in mine),
            _added([part.series for part in mine]),
            mine[0].lat_kind,
            sum(part.short_ios for part in mine),
            sum(part.drop_ios for part in mine),
        )


def _added(series: Sequence[Series]) -> Series:
    grids = {one.interval_ms for one in series if one.end_ms}
    if len(grids) != 1:
        return Series(0)
    longest = max((one.end_ms for one in series), key=len)
    rates = [sum(one.bw_bytes_per_s[i] for one in series if i < len(one.bw_bytes_per_s)) for i in range(len(longest))]
    latencies = []
    for i in range(len(longest)):
        here = [
            (one.bw_bytes_per_s[i], one.lat_mean_ns[i])
            for one in series
            if i < len(one.lat_mean_ns) and one.lat_mean_ns[i] > 0
        ]
        weight = sum(rate for rate, _ in here)
        latencies.append(sum(rate * mean for rate, mean in here) / weight if weight else 0.0)
    return Series(grids.pop(), longest, tuple(rates), tuple(latencies))


class RateState(StrEnum):
    """What one rate did to the latency. The texts stand in exports."""

    WITHIN = "within"
    BORDERLINE = "borderline"
    OVER = "over"

    @classmethod
    def of(
        cls, low_ns: float | None, high_ns: float | None, limit_ns: float | None, *, n_visits: int, n_overloaded: int
    ) -> RateState:
        """low_ns, high_ns: 95% interval of the latency that is limited; None where it is not known."""
        if 2 * n_overloaded > n_visits:
            return cls.OVER
        if limit_ns is not None and low_ns is not None and low_ns > limit_ns:
            return cls.OVER
        kept = limit_ns is None or (high_ns is not None and high_ns <= limit_ns)
        return cls.WITHIN if kept and not n_overloaded else cls.BORDERLINE


@dataclass(frozen=True)
class Rate:
    """One rate of a curve."""

    offered_iops: float
    state: RateState
    overloaded: bool


def size_up(rates: Sequence[Rate]) -> Sizing | None:
    """A rate is safe when no lower one was worse, and too much when no higher one was better. None without rates."""
    ordered = sorted(rates, key=lambda one: one.offered_iops)
    if not ordered:
        return None
    safe = next((n for n, one in enumerate(ordered) if one.state is not RateState.WITHIN), len(ordered))
    over = len(ordered)
    while over > safe and ordered[over - 1].state is RateState.OVER:
        over -= 1
    between = [one.offered_iops for one in ordered[safe:over]]
    return Sizing(
        ordered[safe - 1].offered_iops if safe else None,
        (between[0], between[-1]) if between else None,
        ordered[over].offered_iops if over < len(ordered) else None,
        overloaded=over < len(ordered) and ordered[over].overloaded,
        highest_iops=ordered[-1].offered_iops,
    )


def rates_text(sizing: Sizing) -> str:
    """'safe to 37 k IOPS, borderline 43 k to 50 k, overloaded at 56 k'."""
    parts = []
    if sizing.safe_iops is not None:
        top = ", the highest rate tried" if sizing.safe_iops == sizing.highest_iops else ""
        parts.append(f"safe to {format_count(sizing.safe_iops)} IOPS{top}")
    else:
        parts.append("no rate tried was safe")
    if sizing.borderline_iops is not None:
        low, high = sizing.borderline_iops
        text = f"borderline {format_count(low)}" + (f" to {format_count(high)}" if high > low else "")
        parts.append(f"{text}, the highest rate tried" if sizing.over_iops is None else text)
    if sizing.over_iops is not None:
        word = "overloaded" if sizing.overloaded else "over the limit"
        parts.append(f"{word} at {format_count(sizing.over_iops)}")
    return ", ".join(parts)


def advice(sizing: Sizing) -> str:
    """What to size by."""
    if sizing.safe_iops is not None:
        return f"Size applications for {format_count(sizing.safe_iops)} IOPS."
    lowest = sizing.borderline_iops[0] if sizing.borderline_iops else sizing.over_iops or 0.0
    return f"Size applications for less than {format_count(lowest)} IOPS, and measure again."


def percentile_interval(histogram: Histogram, percent: float) -> tuple[float, float]:
    """95% interval of a percentile from the ranks around it, as if I/Os were independent.

    Where there are too few I/Os for the upper rank the slowest one stands for it.
    """
    share, n = percent / 100, histogram.count
    half = Z95 * math.sqrt(n * share * (1 - share))
    low, high = (
        histogram.percentile_ns(min(100.0, max(1.0, rank) * 100 / n)) or 0.0
        for rank in (math.floor(n * share - half), math.ceil(n * share + half) + 1)
    )
    return low, high


def mean_interval(histogram: Histogram) -> tuple[float, float]:
    """95% interval of the mean, as if I/Os were independent."""
    n, mean = histogram.count, histogram.mean_ns or 0.0
    variance = sum(count * (ns - mean) ** 2 for ns, count in histogram.bins) / max(1, n - 1)
    half = Z95 * math.sqrt(variance / n)
    return mean - half, mean + half
