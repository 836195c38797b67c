# SPDX-License-Identifier: Apache-2.0
"""fio's logs of one section: interval logs, summed over its jobs onto one time grid, and put away once a batch is done
(two small files a visit become one compressed archive); and of paced loads with constant gaps one row for each I/O, and
from it the latency since each was due.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ioatlas.load.fio.figures import buckets
from ioatlas.model.cell import Cell
from ioatlas.model.visit import Histogram, Part, Series
from ioatlas.stats.openloop import OpenLoop, intended_latency
from ioatlas.store import confined

DIRECTIONS = ("read", "write", "trim")
Floats = NDArray[np.float64]
GAP = 1.5
"""Intervals between two samples of a job from which one without an I/O lies between them."""
DAY_MS = 86_400_000
"""No section takes so long."""
NOT_ONE_MORE = 0.1
"""I/Os by which a sample of a late clock may seem to hold more."""
CERTAIN = 4.0
"""I/Os of all jobs in an interval from which the one before it had some too."""
FEW_IOS = 2
"""I/Os of a job in an interval below which intervals without one are to be expected,"""
TOO_MANY = 1.03
"""and times what was moved from which samples that are drawn over their gaps add up to too much."""


@dataclass(frozen=True)
class SectionSeries:
    """Series by direction; when the load started and last completed an I/O (ms since the epoch, None without logs)."""

    start_ms: int | None
    end_ms: int | None
    by_direction: dict[str, Series]


def load_rows(path: Path, columns: tuple[int, ...] = (0, 1, 2)) -> NDArray[np.int64]:
    """Rows of (time ms, value, direction), and with column 3 the block size; empty when the log is missing, empty or
    cut off in its first line. Rows that no I/O made are left out: fio 3.33 sent one at the end of a client's log, of
    195 ms since the epoch, with a direction of 160224448.
    """
    empty = np.empty((0, len(columns)), dtype=np.int64)
    try:
        lines = confined.read_text(path).splitlines()
    except OSError:
        return empty
    rows = [line for line in lines if line.count(",") >= 4]
    if not rows:
        return empty
    read = np.loadtxt(rows, delimiter=",", usecols=columns, dtype=np.int64, ndmin=2)
    known = np.abs(read[:, 0] - np.median(read[:, 0])) < DAY_MS
    if 2 in columns:
        known &= np.isin(read[:, columns.index(2)], range(len(DIRECTIONS)))
    return read[known]


def jobs_of(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Split one direction's rows into jobs: every job appends its own rows in time order."""
    breaks = np.nonzero(np.diff(rows[:, 0]) < 0)[0] + 1
    return np.split(rows, breaks)


@dataclass(frozen=True)
class Moved:
    """What a section moved in one direction by fio's own count."""

    io_bytes: int
    ios: int


def read_series(
    directory: Path, name: str, *, interval_ms: int, runtime_ms: int, moved: Mapping[str, Moved] | None = None
) -> SectionSeries:
    """Series of section `name` from its `_bw` and `_lat` logs in `directory`.

    A bandwidth sample (KiB/s) is the mean over fio's last interval, which makes no sample when no I/O came back in it.
    moved: by direction; tells slow I/Os, between which such intervals lie, from a clock of fio that was late.
    A latency sample (ns) is the mean of one interval; jobs count equally.
    """
    bandwidth = load_rows(directory / f"{name}_bw.log")
    latency = load_rows(directory / f"{name}_lat.log")
    if not len(latency):
        return SectionSeries(None, None, {})
    start_ms = _start_ms(latency, bandwidth, interval_ms)
    end_ms = int(latency[:, 0].max())
    n = max(1, runtime_ms // interval_ms)
    edges = np.arange(n + 1, dtype=np.float64) * interval_ms
    series = {}
    for index, direction in enumerate(DIRECTIONS):
        lat_rows = latency[latency[:, 2] == index]
        bw_rows = bandwidth[bandwidth[:, 2] == index]
        if not len(lat_rows):
            continue
        jobs = jobs_of(bw_rows - [start_ms, 0, 0]) if len(bw_rows) else []
        counted = (moved or {}).get(direction)
        unlogged = sum(job[-1, 0] < start_ms + runtime_ms for job in jobs_of(lat_rows))  # the last one of a job
        if counted is not None and 0 <= counted.ios - len(lat_rows) <= unlogged:
            # Each came alone: its sample has its very time.
            came = np.sort(lat_rows[:, 0] - start_ms)
            if not (came[-2:-1] > edges[-1]).any():  # of several it is what was in flight when the time was up
                came[-1] = min(came[-1], edges[-1])
            done = np.asarray(np.searchsorted(came, edges, "right") * (counted.io_bytes / counted.ios))
        else:
            done = _done(jobs, np.append(edges, max(edges[-1], runtime_ms)), interval_ms, counted)[:-1]
        slot = np.clip((lat_rows[:, 0] - start_ms - 1) // interval_ms, 0, n - 1)
        series[direction] = series_of(interval_ms, np.diff(done), means_of(slot, lat_rows[:, 1], n))
    return SectionSeries(start_ms, end_ms, series)


def means_of(slot: NDArray[np.int64], values: NDArray[np.int64], n: int) -> Floats:
    """Means of the values in each of `n` slots; 0 where there is none."""
    counts, sums = np.bincount(slot, minlength=n), np.bincount(slot, values.astype(np.float64), n)
    return np.divide(sums, counts, out=np.zeros(n), where=counts > 0)


def series_of(interval_ms: int, moved: NDArray[Any], lat_mean_ns: Floats) -> Series:
    """From the bytes moved and the mean latency of each interval."""
    ends = tuple(interval_ms * (place + 1) for place in range(len(moved)))
    return Series(interval_ms, ends, tuple((moved * 1000 / interval_ms).tolist()), tuple(lat_mean_ns.tolist()))


def _start_ms(latency: NDArray[np.int64], bandwidth: NDArray[np.int64], interval_ms: int) -> int:
    """When a load began, ms: what its first sample waited for was asked for then. A sample is of no less than an
    interval, of slow I/Os of the time that they took.
    """
    first = latency[np.argmin(latency[:, 0])]
    begun = int(first[0]) - max(interval_ms, int(first[1] / 1e6))
    return min(begun, int(bandwidth[:, 0].min()) - interval_ms) if len(bandwidth) else begun


def _done(jobs: Sequence[NDArray[np.int64]], edges: Floats, interval_ms: int, moved: Moved | None) -> Floats:
    """Bytes that all jobs moved up to each edge, shape of `edges`; the last is when the last I/O came back.

    A sample after a gap is of the whole gap where fio's clock was late, of no more than an interval where nothing came
    back in between: of slow I/Os, and of what a throttle lets pass in slices. What was moved tells which. Of the latter
    what has no sample is put back: before the first, which may be late, at the end, of which fio logs nothing, and over
    the whole, since nobody knows where samples hold less than was moved.
    """
    last = float(max((job[-1, 0] for job in jobs), default=0))
    places = np.append(edges, max(last, float(edges[-1])))
    rows = np.concatenate(jobs) if jobs else np.zeros((0, 2), dtype=np.int64)
    ticks, which = np.unique(rows[:, 0].astype(np.float64), return_inverse=True)
    rates = np.bincount(which.ravel(), rows[:, 1] * 1.024, ticks.size)

    def logged_of(io_bytes: float, *, steady: bool = True) -> Floats:
        full = rates * interval_ms >= (CERTAIN * io_bytes if steady else math.inf)
        found = (_of_job(job, places, interval_ms, io_bytes, ticks, full) for job in jobs)
        return sum(found, np.zeros(places.size))

    logged = logged_of(0.0)
    few = moved is not None and moved.ios * interval_ms < FEW_IOS * len(jobs) * edges[-1]
    if moved is None or not moved.ios or last <= 0 or not (few or logged[-1] > TOO_MANY * moved.io_bytes):
        return np.asarray(logged[:-1])
    logged = logged_of(moved.io_bytes / moved.ios)
    if logged[-1] > TOO_MANY * moved.io_bytes:  # they come in slices
        logged = logged_of(moved.io_bytes / moved.ios, steady=False)
    done, rest = logged[:-1], moved.io_bytes - float(logged[-1])
    if rest <= 0:
        return np.asarray(done)
    begun, left = max(0.0, float(ticks[0] - interval_ms)), max(0.0, float(edges[-1]) - last)
    bare = np.clip(edges, 0.0, begun) + np.clip(edges - last, 0.0, left)
    each = min(float(logged[-1]) / max(last - begun, 1.0), rest / max(begun + left, 1.0))
    whole = done + each * bare
    return np.asarray(whole * (moved.io_bytes / whole[-1])) if whole[-1] > 0 else whole


def _of_job(
    job: NDArray[np.int64], edges: Floats, interval_ms: int, io_bytes: float, ticks: Floats, full: NDArray[np.bool_]
) -> Floats:
    """One job's bytes up to each edge, interpolated between its samples. io_bytes: of an I/O where gaps hold intervals
    without one, else 0. ticks: ms at which fio took samples of any job; full: of which there are so many I/Os that none
    is missing before it.

    A sample is fio's mean since the tick before it. Where ticks may be missing it is of no less than an interval, often
    more: its I/Os are whole, so its rate tells how long.
    """
    ends = job[:, 0].astype(np.float64)
    begins = np.concatenate(([0.0], ends[:-1]))
    after_gap = (ends - begins > GAP * interval_ms) & (io_bytes > 0)
    rates = job[:, 1] * 1.024  # bytes/ms
    ios = np.maximum(1.0, np.ceil(rates * interval_ms / max(io_bytes, 1.0) - NOT_ONE_MORE))
    gaps = ends - np.maximum(begins, np.append(0.0, ticks)[np.searchsorted(ticks, ends - interval_ms / 2, "right")])
    sure = (gaps <= GAP * interval_ms) | full[np.searchsorted(ticks, ends)]
    gaps[0], sure[0] = ends[0], False  # the first is of all since its job began
    lasted = np.where(sure, gaps, np.minimum(ios * io_bytes / np.maximum(rates, 1e-9), gaps))
    begins = np.where(after_gap, ends - lasted, begins)
    moved = rates * (ends - begins)
    total = np.concatenate(([0.0], np.cumsum(moved)))
    # Two places a sample: where it begins with what was moved before, and where it ends.
    times = np.concatenate(([0.0], np.column_stack([begins, ends]).ravel()))
    heights = np.concatenate(([0.0], np.column_stack([total[:-1], total[1:]]).ravel()))
    step = float(ends[-1] - begins[-1])
    # Beyond its last sample a job goes on at its last rate for at most one interval, unless its I/Os come one by one.
    tail = min(float(interval_ms), float(edges[-1] - times[-1]))
    if tail > 0 and step > 0 and not after_gap[-1]:
        times = np.append(times, times[-1] + tail)
        heights = np.append(heights, heights[-1] + moved[-1] * tail / step)
    return np.asarray(np.interp(edges, times, heights))


ARCHIVE = "logs.zip"


def pack_logs(directory: Path) -> int:
    """Move the interval logs of a finished batch into `logs.zip` beside them; returns how many. Safe to repeat after a
    crash.
    """
    logs = sorted(directory.glob("*.log"))
    if not logs:
        return 0
    new = directory / f"{ARCHIVE}.new"
    with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for log in logs:
            archive.write(log, log.name)
    new.replace(directory / ARCHIVE)
    for log in logs:
        log.unlink()
    return len(logs)


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
