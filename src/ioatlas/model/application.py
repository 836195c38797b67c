# SPDX-License-Identifier: Apache-2.0
"""Cells of works: commands of the user's own, timed on a target; and what they gave, each in its own unit.

Such a cell's own options are the name of the work and the digest of its commands, so that two works of one name that do
different things are different cells. What stands in its one stream keeps a visit's form: one byte stands for one unit
of the figure.
"""

from __future__ import annotations

from ioatlas.model.cell import Cell

STATE = "by command"
"""State of what a work finds: what its own `setup` made."""
WORK, DIGEST = "work", "digest"


def is_work(cell: Cell) -> bool:
    return cell.state == STATE


def work_of(cell: Cell) -> str:
    """The name of the work."""
    return str(cell.option.get(WORK, ""))


def figure_text(value: float) -> str:
    """Four digits, more where there are more before the point."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
