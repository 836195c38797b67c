# SPDX-License-Identifier: Apache-2.0
"""Cells that are fixed work in an order: which operation one is, by which tool, and the round it belongs to.

Such a cell's own options are labels (operation, tool, bs, size, direct); what fio is told stands in its one stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ioatlas.model.cell import Cell, OptionValue

STATE = "in order"
"""State of the file before such a load: as the operation before it left it."""
VERDICT = "work-bounded"
FIO, IOZONE = "fio", "iozone"


def ordered_cell(
    target: str, operation: str, tool: str, *, size_bytes: int, record_bytes: int, direct: bool, options: Mapping[str, OptionValue]
) -> Cell:
    """The cell of one operation of a round; `options` are fio's, io_size included."""
    labels: dict[str, OptionValue] = {"operation": operation, "tool": tool, "bs": record_bytes, "size": size_bytes, "direct": int(direct)}
    return Cell(target, tuple(sorted(labels.items())), state=STATE, streams=(("", tuple(sorted(options.items()))),))


def is_ordered(cell: Cell) -> bool:
    return cell.state == STATE


def operation_of(cell: Cell) -> str:
    return str(cell.option.get("operation", ""))


def tool_of(cell: Cell) -> str:
    """The program that makes the load."""
    return str(cell.option.get("tool", FIO))


@dataclass(frozen=True, order=True)
class Round:
    """Operations on one new file, one after the other: what is repeated as a whole."""

    target: str
    tool: str
    size_bytes: int
    record_bytes: int

    @classmethod
    def of(cls, cell: Cell) -> Round:
        return cls(cell.target, tool_of(cell), int(cell.option["size"]), int(cell.option["bs"]))


def rounds_of(cells: Iterable[Cell]) -> dict[Round, list[Cell]]:
    """The cells of each round in their order; rounds in the order first seen."""
    rounds: dict[Round, list[Cell]] = {}
    for cell in cells:
        rounds.setdefault(Round.of(cell), []).append(cell)
    return rounds
