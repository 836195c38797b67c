# SPDX-License-Identifier: Apache-2.0
"""The time a session may take, and how much longer than planned its batches have taken so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

USUAL_SLOWDOWN = 1.05
"""Time of a batch over the time planned for it, before any was made."""


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
    spent_seconds: float = 0.0

    @property
    def elapsed(self) -> float:
        return self.now() - self.began

    @property
    def left(self) -> float | None:
        """None without a limit; below zero when it is overdrawn."""
        return None if self.total is None else self.total - self.elapsed

    @property
    def slowdown(self) -> float:
        """Time that batches took over the time planned for them."""
        return max(1.0, self.spent_seconds / self.planned_seconds) if self.planned_seconds else USUAL_SLOWDOWN

    def book(self, visits: int, *, planned: float, spent: float) -> None:
        """A batch was made."""
        self.visits_made += visits
        self.planned_seconds += planned
        self.spent_seconds += spent

    def seconds_per_visit(self, otherwise: float) -> float:
        """By what visits have taken so far; `otherwise` before the first."""
        return self.spent_seconds / self.visits_made if self.visits_made else otherwise
