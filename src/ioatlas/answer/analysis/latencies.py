# SPDX-License-Identifier: Apache-2.0
"""Latency percentiles of the cells, and the visits over time, for people to look at."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ioatlas.model.cell import Cell
from ioatlas.model.result import PERCENTS, LatencyCurve, TimeCourse
from ioatlas.model.verdict import VerdictCode
from ioatlas.model.visit import COUNTED, Histogram, Part, Purpose, Visit

FEWEST_BEYOND = 5
"""I/Os that must lie beyond a percentile, on its thinner side, for it to be told."""

MOST_POINTS = 120
"""Points of one visit's time course; a longer one has neighbours joined."""


def latency_curves(
    cells: Mapping[str, Cell], visits: Sequence[Visit], afresh: Collection[tuple[str, str]] = ()
) -> tuple[LatencyCurve, ...]:
    """A curve for each cell and direction whose visits have a histogram. afresh: cells and directions whose values are
    those of their fresh visits, not of the sweep.
    """
    histograms: dict[tuple[str, str], list[Histogram]] = {}
    for visit in visits:
        if visit.discarded or visit.cell_key not in cells:
            continue
        for part in visit.parts:
            wanted = Purpose.FRESH if (visit.cell_key, part.direction) in afresh else Purpose.SWEEP
            if visit.purpose is wanted:
                histograms.setdefault((visit.cell_key, part.direction), []).append(part.histogram)
    curves = []
    for (key, direction), each in histograms.items():
        merged = Histogram.merge(each)
        if merged.count:
            curves.append(LatencyCurve(key, direction, merged.count, _percentiles(merged)))
    return tuple(curves)


def _percentiles(histogram: Histogram) -> tuple[float | None, ...]:
    count = histogram.count
    return tuple(
        histogram.percentile_ns(percent) if count * min(percent, 100 - percent) / 100 >= FEWEST_BEYOND else None
        for percent in PERCENTS
    )


def time_courses(cells: Mapping[str, Cell], visits: Sequence[Visit]) -> tuple[TimeCourse, ...]:
    """The course of every visit of the sweep and of those made afresh, the discarded ones too."""
    shown = [visit for visit in visits if visit.purpose in COUNTED and visit.cell_key in cells]
    first = min((visit.started_at for visit in shown), default=0.0)
    return tuple(
        _course(visit, part, visit.started_at - first) for visit in shown for part in visit.parts if part.series.end_ms
    )


def _course(visit: Visit, part: Part, started_seconds: float) -> TimeCourse:
    every = -(-len(part.series.end_ms) // MOST_POINTS)
    ends, rates, latencies = [], [], []
    for at in range(0, len(part.series.end_ms), every):
        several = slice(at, at + every)
        bw, lat = part.series.bw_bytes_per_s[several], part.series.lat_mean_ns[several]
        ends.append(part.series.end_ms[several][-1])
        rates.append(sum(bw) / len(bw))
        # Weighted by what was moved: the mean over the I/Os of the joined intervals.
        moved = sum(rate for rate, ns in zip(bw, lat, strict=True) if ns)
        latencies.append(sum(rate * ns for rate, ns in zip(bw, lat, strict=True)) / moved if moved else 0.0)
    return TimeCourse(
        visit.cell_key,
        part.direction,
        visit.visit_id,
        visit.purpose.value,
        started_seconds,
        visit.window_start_ms,
        (VerdictCode.STEADY if visit.verdict.code is VerdictCode.FLAT else visit.verdict.code).value,
        "; ".join(reason.code.text for reason in visit.discarded),
        tuple(ends),
        tuple(rates),
        tuple(latencies),
    )
