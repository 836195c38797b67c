# SPDX-License-Identifier: Apache-2.0
"""What each of several clients, or of several targets loaded together, got of a cell, and how evenly."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Share:
    """One client's or target's part of an estimate: means over the visits in which it took part.

    share: of the sum of all, over those visits. done_ms: how long after the first one it was done.
    """

    name: str
    n_visits: int
    bw_bytes_per_s: float
    iops: float
    share: float
    lat_mean_ns: float | None = None
    lat_p99_ns: float | None = None
    done_ms: float = 0.0


@dataclass(frozen=True)
class Shares:
    """All parts of one cell and direction, in the order of their names.

    skew_ms: between the first and the last start, the largest of all visits; finish_spread_ms: likewise of the ends.
    wanted:  how many were to take part at once. fewest: how many did, in the visit with the fewest.
    """

    parts: tuple[Share, ...]
    skew_ms: float
    finish_spread_ms: float
    wanted: int
    fewest: int

    @property
    def rates(self) -> list[float]:
        return [one.bw_bytes_per_s for one in self.parts]

    @property
    def jain_index(self) -> float:
        """Jain's fairness index of their throughputs: 1 when all get the same, 1/n when one gets all."""
        squares = sum(rate * rate for rate in self.rates)
        return sum(self.rates) ** 2 / (len(self.rates) * squares) if squares else 1.0

    @property
    def least(self) -> float:
        """What the one with the least gets, as a share of an even part."""
        total = sum(self.rates)
        return min(self.rates) * len(self.rates) / total if total else 1.0

    @property
    def first_done(self) -> str:
        """The one that is done first, on average."""
        return min(self.parts, key=lambda one: one.done_ms).name

    @property
    def last_done(self) -> str:
        """The one that is done last, on average."""
        return max(self.parts, key=lambda one: one.done_ms).name
