# SPDX-License-Identifier: Apache-2.0
"""What one visit says once its warm-up is cut: the values that intervals over visits are computed from."""

from __future__ import annotations

from dataclasses import dataclass

from ioatlas.model.visit import Part

MOSTLY_CUT = 0.5
"""Share of the bytes after a cut below which the intervals there are taken as they are."""
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
