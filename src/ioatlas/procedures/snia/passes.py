# SPDX-License-Identifier: Apache-2.0
"""The passes of a test in rounds: what has a purge and a fill of its own."""

from __future__ import annotations

from collections.abc import Sequence

from ioatlas.design.snia import Procedure, Test, passes
from ioatlas.model.cell import Cell
from ioatlas.model.units import format_size
from ioatlas.store.journal import Journal


def pass_name(procedure: Procedure, target: str, cells: Sequence[Cell]) -> str:
    """What a pass is called in the journal: the target, and what has a purge and fill of its own."""
    return f"{target}/{part_of(procedure, cells)}"


def part_of(procedure: Procedure, cells: Sequence[Cell]) -> str:
    if not procedure.apart:
        return ""
    value = cells[0].option[procedure.apart]
    return f"{procedure.apart} {format_size(value) if isinstance(value, int) else value}"


def passes_of(journal: Journal, test: Test) -> list[tuple[Cell, ...]]:
    """Every pass of the campaign in the order in which they run: target by target."""
    cells = [cell for cell, reason in journal.cells() if not reason]
    return [
        group
        for target in journal.targets()
        for group in passes(test, [cell for cell in cells if cell.target == target.name])
    ]
