# SPDX-License-Identifier: Apache-2.0
"""What a search keeps in its journal besides its trials."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from ioatlas.design.latency_search import Goal, Point
from ioatlas.model.outcomes import KeptRecord


@dataclass(frozen=True)
class TuneGoal(KeptRecord):
    """What is searched for."""

    NAME, CONTENT = "tune", "goal"
    goal: Goal = field(default_factory=Goal)


@dataclass(frozen=True)
class TuneEnd(KeptRecord):
    """Whether the budget ended the search before it knew enough."""

    NAME, CONTENT = "tune_ended", "by"
    by_budget: bool = False

    def content(self) -> Any:
        return "budget" if self.by_budget else ""

    @classmethod
    def of_content(cls, content: Any) -> Self:
        return cls(content == "budget")


@dataclass(frozen=True)
class _Points(KeptRecord):
    CONTENT = "points"
    points: tuple[Point, ...] = ()


@dataclass(frozen=True)
class Refuted(_Points):
    """Settings whose fresh visits did not hold what their trials promised."""

    NAME = "tune_refuted"


@dataclass(frozen=True)
class Unrunnable(_Points):
    """Settings under which the load generator could not even start."""

    NAME = "tune_failed"
