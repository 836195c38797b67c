# SPDX-License-Identifier: Apache-2.0
"""Time that passes only when it is told to."""

BEGIN_SECONDS = 1_700_000_000.0


class VirtualClock:
    """A clock of its own: sleeping moves it on at once.

    began: seconds since the epoch at the start.
    """

    def __init__(self, began: float = BEGIN_SECONDS) -> None:
        self._began = began
        self._spent = 0.0

    def monotonic(self) -> float:
        return self._spent

    def time(self) -> float:
        return self._began + self._spent

    def set_wall(self, by_seconds: float) -> None:
        """Somebody sets the wall clock: on, or back."""
        self._began += by_seconds

    def sleep(self, seconds: float) -> None:
        self._spent += max(0.0, seconds)
