# SPDX-License-Identifier: Apache-2.0
"""Whether all clients of a batch still run it: their connections to the controller, and what each transport knows.

fio itself waits 44 s for a client that is cut off, and takes no notice of one that left early.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path

LOOK_SECONDS = 0.5
CONNECT_SECONDS = 10.0
"""How long it may take until all clients are connected."""
LATE_SECONDS = 10.0
"""How long after the end of the last section a client may still be at work."""
EARLY_SECONDS = 1.0
"""How long before that end a connection may close."""
NAMING_SECONDS = 2.0
"""How long a transport may take to say why a connection closed."""


def connections(pid: int) -> frozenset[int]:
    """Descriptors of a process that are sockets; empty when it is gone."""
    found = set()
    place = Path(f"/proc/{pid}/fd")
    with contextlib.suppress(OSError):
        for entry in os.scandir(place):
            with contextlib.suppress(OSError):
                if str(Path(entry.path).readlink()).startswith("socket:"):
                    found.add(int(entry.name))
    return frozenset(found)


class Watch:
    """One batch on its clients, in the order in which the controller was told of them.

    trouble:      asks each transport why its client is lost; '' when it is not.
    span_seconds: how long the sections take from their common start.
    sockets:      looks at a process' connections; another one in tests.
    """

    def __init__(
        self,
        trouble: Mapping[str, Callable[[], str]],
        span_seconds: float,
        sockets: Callable[[int], frozenset[int]] = connections,
    ) -> None:
        self.lost: dict[str, str] = {}
        self.ended_early: tuple[str, ...] = ()
        self._trouble = trouble
        self._span = span_seconds
        self._sockets = sockets
        self._names: dict[int, str] = {}
        self._all_since: float | None = None
        self._dropped_at: float | None = None
        self._looked_at = -LOOK_SECONDS

    def look(self, pid: int, seconds: float) -> bool:
        """Whether the batch has to be ended. pid: of the controller; seconds: since its start. Looks now and then."""
        if seconds - self._looked_at < LOOK_SECONDS:
            return False
        self._looked_at = seconds
        self.lost |= {name: why for name, ask in self._trouble.items() if (why := ask())}
        open_now = self._sockets(pid)
        if self.lost:
            return True
        if self._all_since is None:
            return self._connecting(open_now, seconds)
        running = seconds - self._all_since
        left = [name for number, name in self._names.items() if number not in open_now]
        if running > self._span + LATE_SECONDS and 0 < len(left) < len(self._names):
            late = f"it was still at work {LATE_SECONDS:g} s after the load should have ended"
            self.lost = {name: late for number, name in self._names.items() if number in open_now}
            return True
        if left and open_now and running < self._span - EARLY_SECONDS:
            return self._left_early(tuple(left), seconds)
        return False

    def _connecting(self, open_now: frozenset[int], seconds: float) -> bool:
        if len(open_now) == len(self._trouble):
            # fio connects to its clients in the reverse of the order in which it was told of them.
            self._names = dict(zip(sorted(open_now), reversed(list(self._trouble)), strict=True))
            self._all_since = seconds
        elif seconds > CONNECT_SECONDS and open_now:
            missing = len(self._trouble) - len(open_now)
            self.ended_early = (f"{missing} of {len(self._trouble)} clients did not connect",)
            return True
        return False

    def _left_early(self, names: tuple[str, ...], seconds: float) -> bool:
        """A connection closed too soon: its transport gets a moment to say why."""
        self._dropped_at = seconds if self._dropped_at is None else self._dropped_at
        if seconds - self._dropped_at < NAMING_SECONDS:
            return False
        self.ended_early = names
        return True
