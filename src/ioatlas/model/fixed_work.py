# SPDX-License-Identifier: Apache-2.0
"""Cells of a fixed-work sequence: which operation one is, by which tool, and the sequence it belongs to.

Such a cell's own options are labels (operation, tool, bs, size, direct); what fio is told stands in its one stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ioatlas.model.cell import Cell, OptionValue

STATE = "in order"
"""State of the file before such a load: as the operation before it left it."""
FIO, IOZONE = "fio", "iozone"


def is_fixed_work(cell: Cell) -> bool:
    return cell.state == STATE


def operation_of(cell: Cell) -> str:
    return str(cell.option.get("operation", ""))


def tool_of(cell: Cell) -> str:
    """The program that makes the load."""
    return str(cell.option.get("tool", FIO))


@dataclass(frozen=True, order=True)
class WorkSequence:
    """Operations on one new file, one after the other: what is repeated as a whole."""

    target: str
    tool: str
    size_bytes: int
    record_bytes: int

    @classmethod
    def of(cls, cell: Cell) -> WorkSequence:
        return cls(cell.target, tool_of(cell), int(cell.option["size"]), int(cell.option["bs"]))


def sequence_cell(one: WorkSequence, operation: str, options: Mapping[str, OptionValue], *, direct: bool) -> Cell:
    """The cell of one operation of a sequence; `options` are fio's, io_size included."""
    labels: dict[str, OptionValue] = {
        "operation": operation,
        "tool": one.tool,
        "bs": one.record_bytes,
        "size": one.size_bytes,
        "direct": int(direct),
    }
    streams = (("", tuple(sorted(options.items()))),)
    return Cell(one.target, tuple(sorted(labels.items())), state=STATE, streams=streams)


def sequences_of(cells: Iterable[Cell]) -> dict[WorkSequence, list[Cell]]:
    """The cells of each sequence in their order; sequences in the order first seen."""
    sequences: dict[WorkSequence, list[Cell]] = {}
    for cell in cells:
        sequences.setdefault(WorkSequence.of(cell), []).append(cell)
    return sequences
