# SPDX-License-Identifier: Apache-2.0
"""Cells of operations on a tree of small files: which operation one is, and the tree it belongs to.

Such a cell's own options are labels. What fio is told stands in its one stream. An operation that moves no data counts
one byte for each of its calls, so that bytes per second and operations per second are the same number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.units import grouped

STATE = "in a tree"
"""State of the files before such a load: as the operation before it left them."""
LIST_PASSES = 10
"""How often each job lists its directory."""
LARGEST_BLOCK_BYTES = 1 << 20


class Operation(StrEnum):
    """What is done once to every file of a tree, in this order; `list` is done to its directories."""

    CREATE = "create"
    WRITE = "write"
    STAT = "stat"
    OPEN = "open"
    READ = "read"
    LIST = "list"
    RENAME = "rename"
    DELETE = "delete"


CHANGES = frozenset({Operation.CREATE, Operation.WRITE, Operation.RENAME, Operation.DELETE})
MOVES_DATA = frozenset({Operation.WRITE, Operation.READ})
BY_NAMES = frozenset({Operation.OPEN, Operation.LIST, Operation.RENAME})
"""Operations that fio 3.33 has no engine for: the load of names makes them."""
FROM_CACHE = frozenset({Operation.STAT, Operation.OPEN, Operation.READ, Operation.LIST})
"""Operations that what the client remembers may answer."""


@dataclass(frozen=True, order=True)
class Tree:
    """Files of one size in directories: what is made, worked on and deleted as a whole.

    files: of each job, in one directory. shared: all jobs work in the same directory.
    """

    target: str
    size_bytes: int
    files: int
    jobs: int
    depth: int
    flushed: bool
    shared: bool

    @classmethod
    def of(cls, cell: Cell) -> Tree:
        return cls(
            cell.target,
            int(cell.option["size"]),
            cell.integer("nrfiles", 1),
            cell.integer("numjobs", 1),
            cell.integer("depth", 1),
            bool(cell.integer("fsync_on_close", 0)),
            cell.sharing == "shared",
        )

    @property
    def count(self) -> int:
        """Files of all jobs."""
        return self.files * self.jobs

    @property
    def directories(self) -> int:
        return self.depth * (1 if self.shared else self.jobs)

    @property
    def bytes(self) -> int:
        return self.count * self.size_bytes

    @property
    def operations(self) -> tuple[Operation, ...]:
        """Empty files are created, others written; there is nothing to read in empty ones."""
        left = {Operation.WRITE, Operation.READ} if not self.size_bytes else {Operation.CREATE}
        return tuple(one for one in Operation if one not in left)

    def folder(self, job: int | str) -> str:
        """The directory of a job, from the tree's own."""
        top = "all" if self.shared else f"job.{job}"
        return "/".join((top, *(f"level.{level}" for level in range(2, self.depth + 1))))

    def names(self, *, renamed: bool = False) -> str:
        """How fio names the files, from the tree's own directory."""
        return f"{self.folder('$jobnum')}/{'r' if renamed else 'f'}.$jobnum.$filenum"

    def calls(self, operation: Operation) -> int:
        """How many calls or I/Os of an operation there are, over all jobs."""
        if operation is Operation.LIST:
            return LIST_PASSES * self.jobs
        if operation in MOVES_DATA:
            return self.count * -(-self.size_bytes // LARGEST_BLOCK_BYTES)
        return self.count


def is_tree(cell: Cell) -> bool:
    return cell.state == STATE


def tree_operation(cell: Cell) -> Operation:
    return Operation(str(cell.option["operation"]))


def tree_cell(tree: Tree, operation: Operation) -> Cell:
    """The cell of one operation on a tree."""
    labels: dict[str, OptionValue] = {
        "operation": str(operation),
        "size": tree.size_bytes,
        "nrfiles": tree.files,
        "numjobs": tree.jobs,
        "depth": tree.depth,
        "fsync_on_close": int(tree.flushed),
    }
    per_job = tree.calls(operation) // tree.jobs
    block = min(tree.size_bytes, LARGEST_BLOCK_BYTES) if operation in MOVES_DATA else 1
    options: dict[str, OptionValue] = {
        "rw": "write" if operation in CHANGES else "read",
        "bs": block,
        "size": per_job * block,
        "io_size": per_job * block,
        "nrfiles": tree.files,
        "numjobs": tree.jobs,
        "openfiles": 1,
        "file_service_type": "sequential",
        "fallocate": "none",
        "fadvise_hint": "0",
        "direct": 0,
    }
    if operation is Operation.WRITE and tree.flushed:
        options["fsync_on_close"] = 1
    return Cell(
        tree.target,
        tuple(sorted(labels.items())),
        "shared" if tree.shared else "private",
        STATE,
        (("", tuple(sorted(options.items()))),),
    )


def trees_of(cells: Iterable[Cell]) -> dict[Tree, list[Cell]]:
    """The cells of each tree in the order of their operations; trees in the order first seen."""
    return grouped((Tree.of(cell), cell) for cell in cells)
