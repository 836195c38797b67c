# SPDX-License-Identifier: Apache-2.0
"""Paced loads with constant gaps: one log row for each I/O, and from it the latency since each was due."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ioatlas.fio.figures import buckets
from ioatlas.fio.series import DIRECTIONS, SectionSeries, jobs_of, load_rows, means_of, series_of
from ioatlas.model.cell import Cell
from ioatlas.model.histogram import Histogram
from ioatlas.model.visit import Part, Series
from ioatlas.stats.openloop import OpenLoop, intended_latency

MOST_ROWS = 200_000
"""I/Os of one visit that are logged one by one (about 8 MB of text); a faster load keeps interval logs and lower
bounds.
"""
RESOLUTION_NS = 1e6
"""fio's log tells the time of a completion in whole milliseconds; its latency in nanoseconds."""
INTENDED = "intended"


def paced_iops(cell: Cell, direction: str) -> float | None:
    """I/Os a second of one job in one direction when they are due at constant gaps; None when they are not, or not
    known to be.

    fio's `rate` counts bytes: with one block size its gaps are constant too.
    """
    if (
        cell.streams
        or cell.option.get("rate_process", "linear") != "linear"
        or cell.option.get("thinktime")
        or cell.work_bounded
    ):
        return None
    place = DIRECTIONS.index(direction)
    for name in ("rate_iops", "rate"):
        given = [float(part) if part else 0.0 for part in str(cell.option.get(name) or "").split(",")]
        rate = given[min(place, len(given) - 1)]
        if rate and name == "rate_iops":
            return rate
        if (
            rate
            and not any(cell.option.get(mixed) for mixed in ("bssplit", "bsrange"))
            and "," not in str(cell.option.get("bs", 4096))
        ):
            return rate / cell.bs_bytes
    return None


def logs_each_io(cell: Cell, runtime_ms: int) -> bool:
    """Whether a visit's I/Os are logged one by one: all directions paced, and not too many of them."""
    rates = [paced_iops(cell, direction) for direction in cell.directions]
    return all(rates) and sum(rate or 0.0 for rate in rates) * cell.numjobs * runtime_ms / 1000 <= MOST_ROWS


@dataclass(frozen=True)
class IoLog:
    """A section's log read back: series as from interval logs, and the open-loop view of each direction (jobs one after
    the other).

    spent_ms: from the first start to the last completion, where fio's own time holds a wait before the first I/O.
    """

    series: SectionSeries
    open_loops: dict[str, tuple[OpenLoop, ...]]
    spent_ms: int | None = None

    @property
    def overloaded(self) -> str:
        """Why the generator fell behind in some job, or ''."""
        return next((one.reason for several in self.open_loops.values() for one in several if one.overloaded), "")

    def intended(self, part: Part) -> Part:
        """The part with its latencies counted from the time each I/O was due; unchanged when its log does not hold all
        of its I/Os.
        """
        loops = self.open_loops.get(part.direction, ())
        latency = np.concatenate([loop.latency_ns for loop in loops]) if loops else np.empty(0)
        if latency.size != part.total_ios or not latency.size:
            return part
        spent_ms = part.runtime_ms if self.spent_ms is None else self.spent_ms
        return replace(
            part,
            runtime_ms=spent_ms,
            lat_mean_ns=float(latency.mean()),
            histogram=_histogram(latency),
            lat_kind=INTENDED,
        )


def read_io_log(directory: Path, name: str, cell: Cell, *, interval_ms: int, runtime_ms: int) -> IoLog:
    """The log of section `name`. Bandwidth is that of completions; latency in the series is the one fio saw."""
    rows = load_rows(directory / f"{name}_lat.log", columns=(0, 1, 2, 3))
    if not len(rows):
        return IoLog(SectionSeries(None, None, {}), {})
    start_ms = int((rows[:, 0] - rows[:, 1] // 1_000_000).min())
    n = max(1, runtime_ms // interval_ms)
    series: dict[str, Series] = {}
    loops: dict[str, tuple[OpenLoop, ...]] = {}
    for index, direction in enumerate(DIRECTIONS):
        mine = rows[rows[:, 2] == index]
        rate = paced_iops(cell, direction)
        if not len(mine) or rate is None:
            continue
        series[direction] = series_of_rows(mine, start_ms, interval_ms, n)
        loops[direction] = tuple(
            intended_latency(
                job[:, 0] * 1e6,
                job[:, 1].astype(float),
                rate,
                resolution_ns=RESOLUTION_NS,
                drains=cell.integer("iodepth", 1) > 1 and cell.option.get("io_submit_mode") != "offload",
            )
            for job in jobs_of(mine)
        )
    return IoLog(SectionSeries(start_ms, int(rows[:, 0].max()), series), loops)


def series_of_rows(rows: NDArray[np.int64], start_ms: int, interval_ms: int, n: int) -> Series:
    """`n` intervals from rows of (completion ms, latency ns, direction, bytes), one for each I/O."""
    slot = np.clip((rows[:, 0] - start_ms) // interval_ms, 0, n - 1)
    moved = np.bincount(slot, weights=rows[:, 3].astype(np.float64), minlength=n)
    return series_of(interval_ms, moved, means_of(slot, rows[:, 1], n))


def _histogram(latency_ns: NDArray[np.float64]) -> Histogram:
    """Counts in fio's buckets, each named by its middle."""
    names, counts = np.unique(buckets(np.maximum(latency_ns, 1.0).astype(np.int64)), return_counts=True)
    return Histogram(tuple(zip(names.tolist(), counts.tolist(), strict=True)))
