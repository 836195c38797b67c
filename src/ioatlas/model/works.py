# SPDX-License-Identifier: Apache-2.0
"""What works gave, each in its own unit."""

from __future__ import annotations

from dataclasses import dataclass

from ioatlas.model.verdict import VerdictCode


@dataclass(frozen=True)
class WorkFigure:
    """A work's figure on a target, with its 95% interval. less_is_better: such as of a time. cell: its key."""

    work: str
    target: str
    cell: str
    value: float
    low: float | None
    high: float | None
    unit: str
    less_is_better: bool
    n_visits: int
    verdict: VerdictCode

    @property
    def text(self) -> str:
        return f"{figure_text(self.value)} {self.unit}"

    @property
    def interval(self) -> str:
        if self.low is None or self.high is None:
            return "not given"
        return f"{figure_text(self.low)} to {figure_text(self.high)}"


def figure_text(value: float) -> str:
    """Four digits, more where there are more before the point."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
