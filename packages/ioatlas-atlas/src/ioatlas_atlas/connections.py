# SPDX-License-Identifier: Apache-2.0
"""Connections of the service: none is held by a client that does not say what it wants, or does not take its answer."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 20.0
"""From the connection, or the answer before, to the last byte of a request's headers."""
STUCK_SECONDS = 60.0
"""For which an answer waits until the client takes some more of it."""
MOST, AT_ONCE = 400, 100
"""Connections, and how many are accepted before any is looked at: below what a process may have open of files."""


class Guarded(H11Protocol):
    """uvicorn's protocol limits neither. Where there are too many, the one that waits longest for headers gives way.

    Bodies of requests have limits of their own (`bodies`, `api.upload`).
    """

    _timer: asyncio.TimerHandle | None = None
    _stuck: asyncio.TimerHandle | None = None

    # -- what asyncio and uvicorn call ---------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST:
            waiting = [one for one in self.connections if isinstance(one, Guarded) and one.ends_at]
            min(waiting, key=lambda one: one.ends_at, default=self).drop()
        if not transport.is_closing():
            self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stuck = self.loop.call_later(STUCK_SECONDS, self.drop)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stuck = _cancelled(self._stuck)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._timer, self._stuck = _cancelled(self._timer), _cancelled(self._stuck)

    def _watch(self) -> None:
        """The time of a request's headers runs while none is answered; more bytes do not make it longer."""
        answering = self.cycle is not None and not self.cycle.response_complete
        if answering:
            self._timer = _cancelled(self._timer)
        elif self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self.drop)

    @property
    def ends_at(self) -> float:
        """When its time for headers is over, by the loop's clock; 0 while a request is answered."""
        return self._timer.when() if self._timer else 0.0

    def drop(self) -> None:
        """End it at once, whatever is still to be sent."""
        self._timer = _cancelled(self._timer)
        self.connections.discard(self)
        self.transport.abort()


def _cancelled(timer: asyncio.TimerHandle | None) -> Any:
    if timer is not None:
        timer.cancel()
