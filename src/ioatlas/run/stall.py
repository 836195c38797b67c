# SPDX-License-Identifier: Apache-2.0
"""A target that stands still for a whole window: told from a target that is slow."""

from __future__ import annotations

from collections.abc import Iterable

from ioatlas.design.pace import Pace
from ioatlas.fio.batch import Section
from ioatlas.model.cell import Cell
from ioatlas.model.reason import Reason, ReasonCode
from ioatlas.model.visit import Visit

LEAST_WAVES = 4
"""Answers to each I/O in flight that a window must have room for at the target's known pace, before none is a stall."""
WHOLE_WINDOW = 0.9
"""Share of the window that every I/O took at least where none came back in it; jobs start a little after each other."""


def may_stall(cell: Cell) -> bool:
    """Whether a window without an answer tells of a stall: not of fixed work, nor of paced loads, which are charged for
    it.
    """
    return not (cell.work_bounded or cell.trace or cell.streams) and cell.loop == "closed"


def is_silent(section: Section, visit: Visit) -> bool:
    """Whether nothing came back in the window: only what was in flight at its start did, after it."""
    ios = sum(part.total_ios for part in visit.parts)
    waited_ms = sum(part.total_ios * (part.lat_mean_ns or 0) for part in visit.parts) / 1e6
    return ios <= section.cell.outstanding and waited_ms >= WHOLE_WINDOW * section.runtime_ms * ios


def stalled(section: Section, visit: Visit, pace: Pace) -> Reason | None:
    """Why the visit is a stall of the target; None where it is not, or where the target may be that slow.

    pace: of the target before this visit.
    """
    usual_seconds = pace.latency_seconds(section.cell)
    if usual_seconds is None or section.runtime_ms < 1000 * LEAST_WAVES * usual_seconds:
        return None
    after = max(part.runtime_ms for part in visit.parts) / 1000
    sentence = f"{ReasonCode.STALLED}: no I/O completed in {section.runtime_ms} ms, the first came after {after:.1f} s"
    return Reason(ReasonCode.STALLED, sentence)


def was_stalled(visit: Visit) -> bool:
    """Whether it was discarded because the target stood still."""
    return any(reason.code is ReasonCode.STALLED for reason in visit.discarded)


def stood_still(visits: Iterable[Visit]) -> bool:
    """Whether all that a batch gave is silence."""
    silent = [was_stalled(visit) for visit in visits]
    return bool(silent) and all(silent)
