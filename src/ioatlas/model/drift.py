# SPDX-License-Identifier: Apache-2.0
"""What a sweep saw of its target moving: baseline readings with their control chart, and the replicates."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BaselinePoint:
    """One reading of a baseline.

    seconds: since the first reading. value: over the chart's centre; smoothed: the chart's statistic on that scale;
             low, high: its limits there.
    signal: the statistic is beyond a limit, and far enough to matter. voided: the reading belongs to a replicate that
            was voided.
    """

    seconds: float
    replicate: int
    value: float
    smoothed: float
    low: float
    high: float
    signal: bool
    voided: bool = False


@dataclass(frozen=True)
class BaselineChart:
    """Readings of one cell that came back at regular places of the sweep; centre in bytes per second."""

    target: str
    cell: str
    """The cell's key."""
    label: str
    direction: str
    centre_bytes_per_s: float
    noise: float
    """Standard deviation of one reading, a share of its value."""
    points: tuple[BaselinePoint, ...]
    method: str


@dataclass(frozen=True)
class ReplicateRow:
    """One random order of the sweep. effect, error: level against the mean of the replicates and its standard error,
    shares; note: what became of it. voided: it was, and another one repeats it: it is out of every value.
    """

    target: str
    replicate: int
    n_visits: int
    n_discarded: int
    effect: float | None
    error: float | None
    note: str = ""
    voided: bool = False
