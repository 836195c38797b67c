# SPDX-License-Identifier: Apache-2.0
"""Kernel counters against the load generator's claims, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from ioatlas.model.result import Finding
from ioatlas.model.units import format_size_rounded
from ioatlas.stats.gates import COUNTER_TOLERANCE, counter_gate

FEWEST_BYTES = 64 << 20
"""A batch that moved less says too little: other traffic of the device would decide."""


@dataclass(frozen=True)
class BatchCount:
    """One direction of one batch: bytes fio claims and bytes the device under the target counted, over `seconds`."""

    direction: str
    claimed_bytes: int
    counted_bytes: int
    seconds: float

    @property
    def failed(self) -> bool:
        return bool(counter_gate(self.claimed_bytes, self.counted_bytes, self.seconds * 1000))


def counter_findings(device: str, counts: Sequence[BatchCount]) -> tuple[Finding, ...]:
    """What the counters of one target's device say about each direction. Fewer bytes counted than claimed prove a cache in between."""
    found = []
    for direction in ("read", "write"):
        judged = [count for count in counts if count.direction == direction and count.claimed_bytes >= FEWEST_BYTES]
        if not judged:
            continue
        share = median(count.counted_bytes / count.claimed_bytes for count in judged)
        short = [count for count in judged if count.failed and count.counted_bytes < count.claimed_bytes]
        over = [count for count in judged if count.failed and count.counted_bytes > count.claimed_bytes]
        noun = "reads" if direction == "read" else "writes"
        if short:
            missing = sum(count.claimed_bytes - count.counted_bytes for count in short)
            share = sum(count.counted_bytes for count in short) / sum(count.claimed_bytes for count in short)
            sentence = f"In {len(short)} of {len(judged)} batches {device} saw only {share:.1%} of the bytes claimed by {noun}: "
            sentence += f"a cache answered {format_size_rounded(missing)} before they reached the device."
            found.append(Finding("cache", sentence))
        elif over:
            sentence = (
                f"{device} moved {share:.1%} of the bytes claimed by {noun} (middle of {len(judged)} batches), in {len(over)} of them over "
            )
            sentence += f"{1 + COUNTER_TOLERANCE:.0%}: another load was on it, or the file system adds its own."
            found.append(Finding("counters", sentence))
        else:
            found.append(
                Finding(
                    "counters",
                    f"{device} counted {share:.1%} of the bytes claimed by {noun} (middle of {len(judged)} batches): no cache in between.",
                )
            )
    return tuple(found)
