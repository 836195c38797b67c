# SPDX-License-Identifier: Apache-2.0
"""A rate limit that was set for a target, told by its burst credit: what it refills at is what it holds loads to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ioatlas.analysis.burst import Burst, BurstUnit
from ioatlas.analysis.causes import Cause, Share
from ioatlas.analysis.shape import Case
from ioatlas.model.units import format_count, format_rate

WORD = "rate limit (token bucket)"
TOLERANCE = 1.15
"""How far above the refill rate a value may lie: what is faster was not held to it."""
SPREAD = 0.05
"""How exactly a refill rate is known, as a standard deviation of its logarithm."""
SAME = 0.25
"""How far apart the rates of reads and writes may lie for writes to be held by a bucket too."""


@dataclass(frozen=True)
class Refill:
    """What the credit of one target and direction comes back at, in bytes or I/Os a second."""

    unit: BurstUnit
    per_s: float


Refills = Mapping[tuple[str, str], Refill]
"""By target and direction."""


def refills_of(bursts: Iterable[Burst]) -> Refills:
    """Of bursts that only a bucket explains.

    A drive's write cache shows one too, to writes alone: they count only where reads fall to the same rate.
    """
    found = {(one.target, one.direction): Refill(one.unit, one.sustained_bytes_per_s) for one in bursts}
    return {place: one for place, one in found.items() if place[1] == "read" or _as_read(one, found, place[0])}


def _as_read(one: Refill, found: Refills, target: str) -> bool:
    read = found.get((target, "read"))
    return read is not None and read.unit is one.unit and abs(one.per_s - read.per_s) <= SAME * read.per_s


def refill_shares(case: Case, refills: Refills) -> list[Share]:
    """How much of the refill rate a value uses; nothing where none is known, or the value is above it."""
    e = case.estimate
    refill = refills.get((e.cell.target, e.direction))
    if refill is None or e.cell.directions != (e.direction,):
        return []
    in_bytes = refill.unit is BurstUnit.BYTES
    share = (case.rate if in_bytes else case.iops) / refill.per_s
    if share > TOLERANCE:
        return []
    rate = format_rate(refill.per_s) if in_bytes else f"{format_count(refill.per_s)} IOPS"
    words = f"{share:.0%} of the rate at which its burst credit comes back ({rate})"
    cause = Cause.REFILL_BYTES if in_bytes else Cause.REFILL_IOS
    return [Share(cause, WORD, share, words, tolerance=TOLERANCE, spread=SPREAD)]
