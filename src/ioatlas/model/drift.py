# SPDX-License-Identifier: Apache-2.0
"""What a sweep saw of its target moving, by replicate."""

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
class ReplicateRow:
    """One random order of the sweep. effect, error: level against the mean of the replicates and its standard error,
    shares; note: what is to be said of it, or became of it; in_doubt: it is that of two nobody knows which one moved.
    voided: it was, and another one repeats it: it is out of every value.
    """

    target: str
    replicate: int
    n_visits: int
    n_discarded: int
    effect: float | None
    error: float | None
    note: str = ""
    voided: bool = False
    in_doubt: bool = False


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
