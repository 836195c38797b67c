# SPDX-License-Identifier: Apache-2.0
"""What a sweep saw of its target moving: baseline readings with their control chart, and the replicates."""

from __future__ import annotations

from dataclasses import dataclass

from ioatlas.model.visit import REPLICATES_OF_A_SET_UP, set_up_of


def ordinal(replicate: int) -> str:
    """As people count: the first replicate is 1. Journals and tables count from 0."""
    return counted(replicate, 1)


def counted(replicate: int, first: int = 0) -> str:
    """Its number in its set-up, which is named where it is not the first."""
    number = set_up_of(replicate)
    within = str(replicate - number * REPLICATES_OF_A_SET_UP + first)
    return f"{within} of set-up {number + 1}" if number else within


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


@dataclass(frozen=True)
class Wander:
    """A target whose level did not stay, inside replicates or between them. low, high: shares against the middle of the
    sweep, and when (s since its first reading).
    """

    target: str
    low: float
    high: float
    low_seconds: float
    high_seconds: float
    method: str
