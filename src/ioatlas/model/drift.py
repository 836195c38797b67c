# SPDX-License-Identifier: Apache-2.0
"""What a sweep saw of its target moving: sentinel readings with their control chart, and the blocks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SentinelPoint:
    """One reading of a sentinel.

    seconds: since the first reading. value: over the chart's centre; smoothed: the chart's statistic on that scale; low, high: its limits there.
    signal: the statistic is beyond a limit, and far enough to matter. voided: the reading belongs to a block that was voided.
    """

    seconds: float
    block: int
    value: float
    smoothed: float
    low: float
    high: float
    signal: bool
    voided: bool = False


@dataclass(frozen=True)
class SentinelChart:
    """Readings of one cell that came back at regular places of the sweep; centre in bytes per second."""

    target: str
    cell: str
    """The cell's key."""
    label: str
    direction: str
    centre_bytes_per_s: float
    noise: float
    """Standard deviation of one reading, a share of its value."""
    points: tuple[SentinelPoint, ...]
    method: str


@dataclass(frozen=True)
class BlockRow:
    """One random order of the sweep. effect, error: level against the mean of the blocks and its standard error, shares; note: what became of it."""

    target: str
    block: int
    n_visits: int
    n_discarded: int
    effect: float | None
    error: float | None
    note: str = ""
