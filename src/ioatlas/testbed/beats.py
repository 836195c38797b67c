# SPDX-License-Identifier: Apache-2.0
"""Something done again and again during a load, in a thread of its own."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Self


class Recorder(ABC):
    """Records from start() to stop(); as a context, while it lasts."""

    @abstractmethod
    def start(self) -> None:
        """Begin."""

    @abstractmethod
    def stop(self) -> object:
        """End, and give what was recorded; a second call gives the same again."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class Beats:
    """Calls `work` every `interval_seconds` from start() to stop(), first one interval after the start.

    A call that takes longer delays the next.
    begin: called once in the thread before the first wait.
    """

    def __init__(
        self, name: str, interval_seconds: float, work: Callable[[], None], begin: Callable[[], None] | None = None
    ) -> None:
        self._interval_seconds = interval_seconds
        self._work = work
        self._begin = begin
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin; once."""
        self._thread.start()

    def end(self) -> None:
        """Ask it to end, without waiting: several can end at once."""
        self._stop.set()

    def stop(self) -> None:
        """End, and wait for a call that is under way."""
        self.end()
        self._thread.join()

    def _run(self) -> None:
        if self._begin is not None:
            self._begin()
        due = time.monotonic() + self._interval_seconds
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            self._work()
            due = max(due + self._interval_seconds, time.monotonic())
