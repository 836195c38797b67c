# SPDX-License-Identifier: Apache-2.0
"""What is told of a target beside its law: small writes that wait for a flush, and small reads under full writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ioatlas.answer.law.choose import MOST_WAVE, SHORTEST_SECONDS, START_SECONDS, main_cells, wave_seconds
from ioatlas.answer.law.course import Course
from ioatlas.model.cell import Cell

MOST_SMALL_BYTES = 64 << 10
SHARE = 0.03
"""Of the budget, for each of these loads; and in which all that writes keep in flight comes back once."""
WAVES = 2
"""Such times that a load runs at least."""
LEAST_BUDGET_SECONDS = 20.0
"""A shorter one is all for the map."""


def cells_beside(cells: Sequence[Cell], courses: Sequence[Course], total: float, flush: str = "fsync") -> list[Cell]:
    """The loads of one target, from those of its map. They write, so they come after all others, which they would take
    credit from. flush: the option with which its engine flushes, '' where its server takes none. total: seconds of the
    budget.
    """
    # Where two cells have a role, the first choice: the other one is of one job, which makes no full writes.
    mains = {(one.role, one.direction): one.cell for one in reversed(main_cells(cells, courses, total))}
    read, full = mains.get(("alone", "read")), mains.get(("large", "write"))
    write = mains.get(("alone", "write")) or mains.get(("small", "write"))  # one cell, where all have as many in flight
    found = [replace(write, options=tuple(sorted({**write.option, flush: 1}.items())))] if write and flush else []
    if read is not None and full is not None:
        kind = (full.rw, full.bs_bytes, full.size_bytes)
        able = [one for one in cells if (one.rw, one.bs_bytes, one.size_bytes) == kind]
        able = sorted((one for one in able if one.outstanding <= full.outstanding), key=lambda one: one.outstanding)
        full = [able[0], *(one for one in able if wave_seconds(one, courses, "write") <= SHARE * total)][-1]
        streams = (("reads", read.options), ("writes", full.options))
        found.append(replace(read, options=(("phase", "reads-under-writes"),), streams=streams))
    small = [one for one in found if one.members[0].outstanding == 1 and one.members[0].bs_bytes <= MOST_SMALL_BYTES]
    return small if total >= LEAST_BUDGET_SECONDS else []


def planned_beside(cells: Sequence[Cell], courses: Mapping[str, Sequence[Course]], total: float) -> list[Cell]:
    """The loads of all targets."""
    by_target = {cell.target: [one for one in cells if one.target == cell.target] for cell in cells}
    return [one for name, mine in by_target.items() for one in cells_beside(mine, courses.get(name, ()), total)]


def seconds_beside(cell: Cell, courses: Sequence[Course], total: float) -> tuple[float, float]:
    """How long such a load runs at best, and what it takes besides."""
    wave = min(wave_seconds(cell.members[-1], courses, "write"), MOST_WAVE * total)
    return max(SHORTEST_SECONDS, SHARE * total, WAVES * wave), START_SECONDS + wave
