# SPDX-License-Identifier: Apache-2.0
"""A client's clock against ours, from round trips over the control channel, as NTP does it.

The client reads its clock somewhere between our question and its answer. So its offset is the reading less the middle
of both, and off by half the round trip at most. The shortest round trip of several says most.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ioatlas.fleet.client import ClockOffset

ROUND_TRIPS = 8


@dataclass(frozen=True)
class Exchange:
    """One question after the time, in seconds since the epoch: sent and received by our clock, `theirs` by the
    client's. resolution_seconds: of the reading.
    """

    sent: float
    theirs: float
    received: float
    resolution_seconds: float = 0.0


def offset_of(exchanges: Iterable[Exchange]) -> ClockOffset | None:
    """The offset by the shortest round trip; None without any."""
    best = min(exchanges, key=lambda one: one.received - one.sent + one.resolution_seconds, default=None)
    if best is None:
        return None
    offset = best.theirs - (best.sent + best.received) / 2
    error = (best.received - best.sent) / 2 + best.resolution_seconds
    return ClockOffset(offset * 1000, error * 1000)
