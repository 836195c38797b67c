# SPDX-License-Identifier: Apache-2.0
"""What was checked beside the values: other traffic on a target's path, and blind checks of the map's model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OtherTraffic:
    """Bytes that a path moved beyond what the load and its protocol take, in one direction.

    share: of the bytes that the load moved. batches: those with such bytes; judged: all that could be judged.
    """

    path: str
    direction: str
    excess_bytes: float
    share: float
    batches: int
    judged: int


@dataclass(frozen=True)
class BlindCheck:
    """Random cells of a target that were predicted before they were measured.

    n: how many. median: their middle error, a share, with its 95% interval; None where they are too few.
    """

    target: str
    n: int
    median: float | None
    low: float | None = None
    high: float | None = None
