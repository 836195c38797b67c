# SPDX-License-Identifier: Apache-2.0
"""The courses of a campaign's loads, by target; which cells the law covers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ioatlas.answer.law.course import Course, courses_of
from ioatlas.model.cell import Cell
from ioatlas.model.outcomes import LaidOut
from ioatlas.model.visit import Visit

_PACED = ("rate", "rate_iops", "thinktime", "flow")
_FLUSHED = ("sync", "fsync", "fdatasync", "sync_file_range", "end_fsync", "fsync_on_close", "write_barrier")


def can_be_told(cell: Cell) -> bool:
    """Whether the law covers a cell: a closed loop of one direction and one block size, bounded by time, without
    flushes, on one target from one client.
    """
    waits = any(cell.option.get(name) for name in (*_PACED, *_FLUSHED))
    ends = cell.work_bounded and "loops" not in cell.option
    return (
        len(cell.directions) == 1
        and len(cell.block_sizes) == 1
        and cell.loop == "closed"
        and not (ends or cell.streams or cell.trace or cell.of_group or cell.of_fleet or waits)
    )


_COVERED = frozenset({"rw", "rwmixread", "bs", "size", "numjobs", "iodepth", "ioengine"})
"""Options that the law describes, or that follow from them."""


def have_one_law(cells: Iterable[Cell]) -> bool:
    """Whether the cells that can be told differ in nothing but what the law describes."""
    kinds = {
        (tuple(pair for pair in cell.options if pair[0] not in _COVERED), cell.sharing, cell.state)
        for cell in cells
        if can_be_told(cell)
    }
    return len(kinds) == 1


def courses_by_target(
    visits: Iterable[Visit], cells: Mapping[str, Cell], asked_ms: Mapping[int, int], laid_out: Iterable[LaidOut] = ()
) -> dict[str, list[Course]]:
    """What was seen of every target, in the order of time. Discarded visits, and loads that the law does not cover,
    took from credit, and count for nothing else. cells: by key. asked_ms: how long each visit was to run, by its id.
    laid_out: what was written before.
    """
    found: dict[str, dict[str, Cell]] = {}
    for key, cell in cells.items():
        found.setdefault(cell.target, {})[key] = cell
    made, files = list(visits), list(laid_out)
    return {
        name: [
            one if can_be_told(one.cell) else replace(one, counted=False)
            for one in courses_of(made, mine, asked_ms, [one for one in files if one.target == name])
        ]
        for name, mine in found.items()
    }
