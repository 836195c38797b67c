# SPDX-License-Identifier: Apache-2.0
"""The time a session may take, what the start of a process costs, and how much longer than planned loads take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

USUAL_SLOWDOWN = 1.05
"""Time of a batch's loads over the time planned for them, before any was made."""
USUAL_START_SECONDS = 0.3
"""Start and end of one fio process (measured 0.2 to 0.3 s), before any was made."""
RECENT = 5
"""Starts that are looked back on: the slowest of them is reckoned with."""


@dataclass
class Budget:
    """All in seconds.

    total: what the campaign may take, None without a limit. began: when the session did, by `now`.
    """

    now: Callable[[], float]
    total: float | None
    began: float
    visits_made: int = 0
    planned_seconds: float = 0.0
    load_seconds: float = 0.0
    spent_seconds: float = 0.0
    _starts: list[float] = field(default_factory=list)

    @property
    def elapsed(self) -> float:
        return self.now() - self.began

    @property
    def left(self) -> float | None:
        """None without a limit; below zero when it is overdrawn."""
        return None if self.total is None else self.total - self.elapsed

    @property
    def slowdown(self) -> float:
        """Time that loads took over the time planned for them, the start of their processes left out."""
        return max(1.0, self.load_seconds / self.planned_seconds) if self.planned_seconds else USUAL_SLOWDOWN

    @property
    def start_seconds(self) -> float:
        """What one more process costs besides its loads."""
        return max(self._starts[-RECENT:], default=USUAL_START_SECONDS)

    def book(self, visits: int, *, planned: float, spent: float, load: float | None = None) -> None:
        """A batch was made. planned, load: time its loads were to take, and took; None where that is not known."""
        self.visits_made += visits
        self.planned_seconds += planned
        self.spent_seconds += spent
        if load is None:
            load = max(0.0, spent - self.start_seconds)
        else:
            self._starts.append(max(0.0, spent - load))
        self.load_seconds += load

    def process_seconds(self, planned: float) -> float:
        """Expected time of one process whose loads are planned to take so long."""
        return planned * self.slowdown + self.start_seconds

    def seconds_per_visit(self, otherwise: float) -> float:
        """By what visits have taken so far; `otherwise` before the first."""
        return self.spent_seconds / self.visits_made if self.visits_made else otherwise
