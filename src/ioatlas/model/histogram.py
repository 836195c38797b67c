# SPDX-License-Identifier: Apache-2.0
"""Latency histograms: merged by count. Percentiles are read off the merged counts, never averaged."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate


@dataclass(frozen=True)
class Histogram:
    """I/Os by latency. `bins` is sorted: (latency_ns, count); the latency is the one that stands for the bucket."""

    bins: tuple[tuple[int, int], ...] = ()

    @classmethod
    def from_counts(cls, counts: Mapping[int, int]) -> Histogram:
        return cls(tuple(sorted((int(ns), int(n)) for ns, n in counts.items() if n > 0)))

    @classmethod
    def merge(cls, histograms: Iterable[Histogram]) -> Histogram:
        counts: dict[int, int] = {}
        for histogram in histograms:
            for ns, n in histogram.bins:
                counts[ns] = counts.get(ns, 0) + n
        return cls.from_counts(counts)

    @cached_property
    def _up_to(self) -> tuple[int, ...]:
        """How many I/Os took no longer than each bin; it is asked for again and again."""
        return tuple(accumulate(n for _, n in self.bins))

    @property
    def count(self) -> int:
        return self._up_to[-1] if self.bins else 0

    @property
    def ends_ns(self) -> tuple[float, ...]:
        """Latencies of the fastest and the slowest I/O; nothing where it is empty."""
        return (float(self.bins[0][0]), float(self.bins[-1][0])) if self.bins else ()

    @property
    def mean_ns(self) -> float | None:
        total = self.count
        return sum(ns * n for ns, n in self.bins) / total if total else None

    def percentile_ns(self, percent: float) -> float | None:
        """Nearest-rank percentile, 0 < percent <= 100; None when the histogram is empty."""
        total = self.count
        if not total:
            return None
        rank = max(1.0, total * percent / 100)
        place = min(bisect_left(self._up_to, rank), len(self.bins) - 1)
        return float(self.bins[place][0])
