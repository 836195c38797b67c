# SPDX-License-Identifier: Apache-2.0
"""The preparations a campaign may choose, as steps: what is written where before the first visit. A purge
comes before them where it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ioatlas.design.snia import FILL_BLOCK_BYTES, FILL_PASSES
from ioatlas.errors import UsageError
from ioatlas.model.cell import Cell
from ioatlas.model.choices import Preparation, Purge
from ioatlas.model.events import Emit, Event
from ioatlas.model.target import Target
from ioatlas.target.guard import check_before_start
from ioatlas.target.holes import discard, punch_file
from ioatlas.target.nvme import format_namespace

LAYOUT = "lay-out"
OVERWRITE_BLOCK_BYTES = 4096


@dataclass(frozen=True)
class Step:
    """One pass, or several, over the whole footprint. what: its word in the ledger. bs_bytes: largest block."""

    what: str
    rw: Literal["write", "randwrite"]
    bs_bytes: int
    passes: int
    iodepth: int


_ONCE = Step(LAYOUT, "write", 1 << 20, 1, 8)

STEPS: dict[Preparation, tuple[Step, ...]] = {
    Preparation.LAID_OUT: (_ONCE,),
    Preparation.FRESH: (),
    Preparation.FILLED: (_ONCE,),
    Preparation.PRECONDITIONED: (_ONCE, Step("random overwrite", "randwrite", OVERWRITE_BLOCK_BYTES, 2, 32)),
    Preparation.FILLED_TWICE: (Step("sequential fill", "write", FILL_BLOCK_BYTES, FILL_PASSES, 32),),
}
"""'laid-out': written once; 'filled': and then looked through for holes; 'preconditioned': filled, and every block
overwritten twice in random order; 'filled-twice': what a SNIA test begins with; 'fresh': a new file without data for
every visit."""

WITHOUT_HOLES = frozenset({"filled", "preconditioned", "filled-twice"})
BY_WRITING = frozenset({"fresh", "filled", "preconditioned", "filled-twice"})
"""Preparations that somebody asked for; what is merely laid out is not, where no cell writes."""

# Bundles hold these words, and are checked against them: a change of one makes every bundle before it "not verified".
WORDS: dict[str, str] = {
    "laid-out": "files written once with data that neither compress nor repeat, unless the sweep says so",
    "fresh": "a new file without data for every visit: first writes allocate, reads find holes and are never ranked",
    "filled": "written over the whole length; no holes, looked for",
    "preconditioned": "filled, then every 4 KiB block overwritten twice in random order",
    "filled-twice": "the whole range written twice in sequence with 128 KiB blocks",
    "as-found": "nothing was written: the target as it was found",
}


def passes_of(preparation: Preparation) -> tuple[int, int]:
    """How often it writes the footprint in sequence, and at random."""
    steps = STEPS[preparation]
    return sum(step.passes for step in steps if step.rw == "write"), sum(
        step.passes for step in steps if step.rw == "randwrite"
    )


OddSizes = Literal["refuse", "leave out"]
"""What becomes of cells whose blocks direct I/O cannot move."""


@dataclass(frozen=True)
class TargetUse:
    """What a campaign does with its targets.

    cells: those to be measured. laid_out: names of the targets on which something is to lie before the first of them.
    odd_sizes: what becomes of cells whose blocks direct I/O cannot move.
    """

    cells: tuple[Cell, ...]
    laid_out: frozenset[str]
    preparation: Preparation
    odd_sizes: OddSizes = "refuse"

    def on(self, target: str) -> list[Cell]:
        return [cell for cell in self.cells if cell.target == target]

    def needs_direct(self, target: str) -> bool:
        return any(one.integer("direct", 1) for cell in self.on(target) for one in cell.members)


_OFFERS_NONE = {"directory": "a directory", "file": "a file", "uri": "an export"}


def purge(target: Target, how: Purge, emit: Emit, through: Callable[[str], str] = str) -> str:
    """Purge a target; what was done, or why it was not, in words.

    through: the path by which what is held under a name is reached.

    Only for targets whose destruction was confirmed. Raises what the guards raise, UsageError for a purge that was
    asked for and cannot be done.
    """
    if how == "none":
        return "none, as asked"
    if how == "by-hand":
        return "done by hand before the test, as stated; not checked"
    if target.kind == "block":
        check_before_start(target, writes=True)
        if how == "nvme-format":
            emit(Event("remark", {"text": f"formatting {target.name}"}))
            return format_namespace(target.location, target.size_bytes or 0)
        emit(Event("remark", {"text": f"discarding all of {target.name}"}))
        if discard(target.location, target.size_bytes or 0):
            return "all blocks discarded (BLKDISCARD); whether the device erases them is up to it"
    elif how == "punch-hole":
        check_before_start(target, writes=True)
        if punch_file(through(target.location), target.size_bytes or 0):
            return "holes punched in the file: the file system's space is free, which is not a purge of the drive"
    if how == "auto":
        offers = _OFFERS_NONE.get(target.kind)
        why = f"{offers} offers none" if offers else "the device takes no discards"
        return f"not possible: {why}; the state before the fill is unknown"
    raise UsageError(
        f"purge = {how!r} cannot be done here",
        where=target.location,
        remedy="use purge = 'auto', which says so and goes on",
    )
