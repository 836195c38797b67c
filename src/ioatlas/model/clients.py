# SPDX-License-Identifier: Apache-2.0
"""What each of several clients got of a cell, and how evenly."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ClientShare:
    """One client's part of an estimate: means over the visits in which it took part.

    share: of the sum of all, over those visits.
    """

    client: str
    n_visits: int
    bw_bytes_per_s: float
    iops: float
    share: float
    lat_mean_ns: float | None = None
    lat_p99_ns: float | None = None


@dataclass(frozen=True)
class ClientShares:
    """The clients of one cell and direction, in the order of the fleet.

    skew_ms: between the first and the last start, the largest of all visits; finish_spread_ms: likewise of the ends.
    wanted:  how many were to take part. fewest: how many did, in the visit with the fewest.
    """

    clients: tuple[ClientShare, ...]
    skew_ms: float
    finish_spread_ms: float
    wanted: int
    fewest: int

    @property
    def jain_index(self) -> float:
        """Jain's fairness index of their throughputs: 1 when all get the same, 1/n when one gets all."""
        rates = [one.bw_bytes_per_s for one in self.clients]
        squares = sum(rate * rate for rate in rates)
        return sum(rates) ** 2 / (len(rates) * squares) if squares else 1.0

    @property
    def spread(self) -> float:
        """How many times as much as the last one the first one gets; infinite where the last one gets nothing."""
        rates = [one.bw_bytes_per_s for one in self.clients]
        return max(rates) / min(rates) if min(rates) > 0 else float("inf")
