# SPDX-License-Identifier: Apache-2.0
"""Cells of works: commands of the user's own, timed on a target; and what they gave, each in its own unit.

Such a cell's own options are the name of the work and the digest of its commands, so that two works of one name that do
different things are different cells. What stands in its one stream keeps a visit's form: one byte stands for one unit
of the figure.
"""

from __future__ import annotations

from dataclasses import dataclass

from ioatlas.model.cell import Cell
from ioatlas.model.verdict import VerdictCode

STATE = "by command"
"""State of what a work finds: what its own `setup` made."""
WORK, DIGEST = "work", "digest"


def is_work(cell: Cell) -> bool:
    return cell.state == STATE


def work_of(cell: Cell) -> str:
    """The name of the work."""
    return str(cell.option.get(WORK, ""))


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
