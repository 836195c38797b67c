# SPDX-License-Identifier: Apache-2.0
"""How long fixed work takes, by what was seen of the same operation with other records."""

from __future__ import annotations

from collections.abc import Hashable
from statistics import median


class Speeds:
    """Time of one I/O by kind of load and size of the record."""

    def __init__(self) -> None:
        self._seen: dict[Hashable, dict[int, list[float]]] = {}
        self._spent: list[float] = []

    def add(self, kind: Hashable, record_bytes: int, seconds_per_io: float) -> None:
        self._seen.setdefault(kind, {}).setdefault(record_bytes, []).append(seconds_per_io)

    def add_overhead(self, starts: int, seconds: float) -> None:
        """A round's wall time with so many starts of a load generator."""
        self._spent.append(seconds / max(1, starts))

    def overhead(self, default: float) -> float:
        """Least wall time that one start took, or the default: what a start costs besides its work."""
        return min([default, *self._spent])

    def per_io(self, kind: Hashable, record_bytes: int) -> float | None:
        """Seconds of one I/O: linear in the record between those seen, proportional above the largest, constant
        below the smallest.

        None when the kind was never seen.
        """
        points = sorted((record, median(times)) for record, times in self._seen.get(kind, {}).items())
        if not points:
            return None
        below = [point for point in points if point[0] <= record_bytes]
        above = [point for point in points if point[0] >= record_bytes]
        if not below:
            return above[0][1]
        if not above:
            record, seconds = below[-1]
            return seconds * record_bytes / record
        (low, slow), (high, fast) = below[-1], above[0]
        return slow if high == low else slow + (fast - slow) * (record_bytes - low) / (high - low)
