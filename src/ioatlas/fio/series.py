# SPDX-License-Identifier: Apache-2.0
"""fio's interval logs of one section, summed over its jobs onto one time grid."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ioatlas import beneath
from ioatlas.model.visit import Series

DIRECTIONS = ("read", "write", "trim")


@dataclass(frozen=True)
class SectionSeries:
    """Series by direction; when the load started and last completed an I/O (ms since the epoch, None without logs)."""

    start_ms: int | None
    end_ms: int | None
    by_direction: dict[str, Series]


def load_rows(path: Path, columns: tuple[int, ...] = (0, 1, 2)) -> NDArray[np.int64]:
    """Rows of (time ms, value, direction), and with column 3 the block size; empty when the log is missing, empty or
    cut off in its first line.
    """
    empty = np.empty((0, len(columns)), dtype=np.int64)
    try:
        lines = beneath.read_text(path).splitlines()
    except OSError:
        return empty
    rows = [line for line in lines if line.count(",") >= 4]
    if not rows:
        return empty
    return np.loadtxt(rows, delimiter=",", usecols=columns, dtype=np.int64, ndmin=2)


def jobs_of(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Split one direction's rows into jobs: every job appends its own rows in time order."""
    breaks = np.nonzero(np.diff(rows[:, 0]) < 0)[0] + 1
    return np.split(rows, breaks)


def read_series(directory: Path, name: str, *, interval_ms: int, runtime_ms: int) -> SectionSeries:
    """Series of section `name` from its `_bw` and `_lat` logs in `directory`.

    A bandwidth sample (KiB/s) is the mean since the job's previous one, so cumulated bytes are exact at sample times
    and are interpolated between them. A latency sample (ns) is the mean of one interval; jobs count equally.
    """
    bandwidth = load_rows(directory / f"{name}_bw.log")
    latency = load_rows(directory / f"{name}_lat.log")
    if not len(latency):
        return SectionSeries(None, None, {})
    start_ms = int(latency[:, 0].min()) - interval_ms
    end_ms = int(latency[:, 0].max())
    n = max(1, runtime_ms // interval_ms)
    edges = np.arange(n + 1, dtype=np.float64) * interval_ms
    series = {}
    for index, direction in enumerate(DIRECTIONS):
        lat_rows = latency[latency[:, 2] == index]
        bw_rows = bandwidth[bandwidth[:, 2] == index]
        if not len(lat_rows):
            continue
        done = np.zeros(n + 1)
        for job in jobs_of(bw_rows) if len(bw_rows) else []:
            times = np.concatenate(([0.0], np.maximum(job[:, 0] - start_ms, 0)))
            total = np.concatenate(([0.0], np.cumsum(job[:, 1] * 1024.0 * np.diff(times) / 1000)))
            rate_last = total[-1] - total[-2]
            step = times[-1] - times[-2]
            # Beyond its last sample a job goes on at its last rate for at most one interval.
            tail = min(float(interval_ms), edges[-1] - times[-1])
            if tail > 0 and step > 0:
                times = np.append(times, times[-1] + tail)
                total = np.append(total, total[-1] + rate_last * tail / step)
            done += np.interp(edges, times, total)
        slot = np.clip((lat_rows[:, 0] - start_ms - 1) // interval_ms, 0, n - 1)
        counts = np.bincount(slot, minlength=n)
        sums = np.bincount(slot, weights=lat_rows[:, 1].astype(np.float64), minlength=n)
        means = np.divide(sums, counts, out=np.zeros(n), where=counts > 0)
        series[direction] = Series(
            interval_ms,
            tuple(int(edge) for edge in edges[1:]),
            tuple(float(value) for value in np.diff(done) * 1000 / interval_ms),
            tuple(float(value) for value in means),
        )
    return SectionSeries(start_ms, end_ms, series)
