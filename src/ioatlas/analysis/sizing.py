# SPDX-License-Identifier: Apache-2.0
"""What fixed request rate to size by, from a paced curve: safe, borderline, too much. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ioatlas.model.histogram import Histogram
from ioatlas.model.load_curve import Sizing
from ioatlas.model.units import format_count

Z95 = 1.96
"""Standard deviations to each side of a 95% interval."""


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
