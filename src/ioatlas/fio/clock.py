# SPDX-License-Identifier: Apache-2.0
"""Time inside a session, which follows the monotonic clock: the wall clock may be set by anybody at any moment.

fio stamps its logs by the wall clock. Where that parts from a session's time while a batch runs, the batch's directory
holds how far and since when, and its stamps are read by that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ioatlas import beneath
from ioatlas.fio.executor import Clock

FILE = "clock.json"
PARTED_SECONDS = 0.5
"""A wall clock that is further off was set; less is its usual correction."""


class SessionTime:
    """Seconds since the epoch by the wall clock as it was at the start, moved on by the monotonic clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = clock.time() - clock.monotonic()

    def now(self) -> float:
        return self.at(self._clock.monotonic())

    def at(self, monotonic_seconds: float) -> float:
        """The session's time of a moment of the monotonic clock."""
        return self._began + monotonic_seconds

    @property
    def parted(self) -> float:
        """How far the wall clock is ahead now."""
        return self._clock.time() - self.now()


@dataclass(frozen=True)
class BatchClock:
    """How far the wall clock was ahead of the session's time while a batch ran.

    steps: (since when in the session's time, seconds ahead), the first one at the batch's begin. end: of the batch.
    """

    steps: tuple[tuple[float, float], ...] = ()
    end: float = 0.0

    @classmethod
    def of(cls, seen: Iterable[tuple[float, float]]) -> BatchClock:
        """Of (session's time, seconds ahead) as it was looked at again and again; no steps where it was never set."""
        told = sorted(seen)
        steps = [told[0]]
        for one in told[1:]:
            if abs(one[1] - steps[-1][1]) > PARTED_SECONDS:
                steps.append(one)
        parted = any(abs(ahead) > PARTED_SECONDS for _, ahead in steps)
        return cls(tuple(steps), told[-1][0]) if parted else cls()

    @property
    def furthest(self) -> float:
        """How far the wall clock was ahead (below 0: behind) where it was furthest off."""
        return max((ahead for _, ahead in self.steps), key=abs, default=0.0)

    def session(self, wall: float) -> float:
        """The session's time of a moment of the wall clock."""
        if not self.steps:
            return wall
        for place, (_, ahead) in enumerate(self.steps):
            # A step is seen a little after it was made: it lies between two looks at the clock.
            since = self.steps[max(0, place - 1)][0]
            until = self.steps[place + 1][0] if place + 1 < len(self.steps) else self.end
            if since - PARTED_SECONDS <= wall - ahead <= until + PARTED_SECONDS:
                return wall - ahead
        return wall - self.steps[-1][1]

    def write(self, directory: Path) -> None:
        beneath.write_text(directory / FILE, json.dumps({"steps": self.steps, "end": self.end}) + "\n")


def read_clock(directory: Path) -> BatchClock:
    """The clock of a batch; one that was never set where nothing is told, or what is told cannot be read."""
    path = directory / FILE
    if not beneath.is_ordinary(path):
        return BatchClock()
    try:
        stored = json.loads(beneath.read_text(path))
        return BatchClock(tuple((float(since), float(ahead)) for since, ahead in stored["steps"]), float(stored["end"]))
    except (OSError, ValueError, KeyError, TypeError):
        return BatchClock()
