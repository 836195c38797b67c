# SPDX-License-Identifier: Apache-2.0
"""A visit: one independent start of the load for one cell, and what was recorded of it."""

from __future__ import annotations

from dataclasses import dataclass

from ioatlas.model.histogram import Histogram
from ioatlas.model.purpose import Purpose
from ioatlas.model.reason import Reason
from ioatlas.model.verdict import NO_VERDICT, Verdict


@dataclass(frozen=True)
class Series:
    """Interval series of one part, summed over jobs. All tuples have the same length.

    end_ms:      end of each interval, milliseconds since the visit's load started.
    bw_bytes_per_s, lat_mean_ns: over the interval; lat_mean_ns is 0 where no I/O completed.
    """

    interval_ms: int
    end_ms: tuple[int, ...] = ()
    bw_bytes_per_s: tuple[float, ...] = ()
    lat_mean_ns: tuple[float, ...] = ()


@dataclass(frozen=True)
class Part:
    """Totals of one direction of one visit, over the whole time its load ran (`runtime_ms`; whole milliseconds where
    fio counted them).

    stream: which of several streams at once; '' when the load is one.
    """

    direction: str
    io_bytes: int
    total_ios: int
    runtime_ms: float
    lat_mean_ns: float | None
    histogram: Histogram
    series: Series
    lat_kind: str = "total"
    short_ios: int = 0
    drop_ios: int = 0
    stream: str = ""


@dataclass(frozen=True)
class Visit:
    """What one section of one fio process did. `window_start_ms` is where the warm-up was cut (0: nothing was cut)."""

    visit_id: int
    cell_key: str
    batch_id: int
    section: int
    replicate: int
    seed: int
    started_at: float
    parts: tuple[Part, ...]
    error: int = 0
    cpu_percent: float | None = None
    purpose: Purpose = Purpose.SWEEP
    window_start_ms: int = 0
    verdict: Verdict = NO_VERDICT
    discarded: tuple[Reason, ...] = ()
