# SPDX-License-Identifier: Apache-2.0
"""Estimates of cells as the law and the loads of each say together; cells that no load made, as the law foretells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ioatlas.answer.law.choose import MUCH
from ioatlas.answer.law.course import Course
from ioatlas.answer.law.fit import Fit
from ioatlas.answer.law.limits import limit_of
from ioatlas.answer.law.read import can_be_told
from ioatlas.answer.law.told import DISAGREE, UNEVEN, Told, grade, tell
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.summary import Trust
from ioatlas.model.units import format_size
from ioatlas.model.verdict import VerdictClass, VerdictCode, verdict_class

METHOD = "law/1"
MOST_FORETOLD = 0.35
"""Half-width of an interval up to which a cell is foretold,"""
BEYOND = 4.0
"""and times the largest block and the most I/Os in flight that were seen."""
UNSURE = 0.5
FEWEST_IOS = 10


def told_estimates(
    estimates: Sequence[Estimate], fits: Mapping[str, Fit], cells: Iterable[Cell] = ()
) -> tuple[Estimate, ...]:
    """The estimates, those of cells that a law covers with its values; what is no value of the target as it is.
    cells: of the plan, among which the fastest is looked for.
    """
    told = tuple(
        _told(e, fits[e.cell.target])
        if e.cell.target in fits and e.kind == "measured" and e.iops and can_be_told(e.cell) and _is_value(e)
        else e
        for e in estimates
    )
    groups = {(e.cell.target, e.direction) for e in told if e.method == METHOD}
    faster = {place: e for group in groups for place, e in _faster(group, told, fits[group[0]], cells).items()}
    return tuple(faster.get((e.cell.key, e.direction), e) for e in told)


def _faster(
    group: tuple[str, str], estimates: Sequence[Estimate], fit: Fit, cells: Iterable[Cell]
) -> dict[tuple[str, str], Estimate]:
    """The fastest cells of a target and direction, by key and direction, with what speaks against them: that another
    may be faster, of which there is no number.
    """
    target, direction = group
    mine = {e.cell.key: e for e in estimates if (e.cell.target, e.direction) == group and e.method == METHOD}
    sure = [e for e in mine.values() if e.verdict is not VerdictCode.RUNS_DISAGREE]
    best = max((e.bw_bytes_per_s or 0.0 for e in sure), default=0.0)
    near = [e for e in sure if MUCH * (e.bw_bytes_per_s or 0.0) >= best > 0]
    largest = max((e.cell.bs_bytes for e in near), default=0)
    for cell in cells if near else ():
        if cell.target != target or cell.directions != (direction,) or not can_be_told(cell):
            continue
        if cell.bs_bytes <= largest and not _near(cell, fit):
            continue
        seen = mine.get(cell.key)
        if seen is not None and (seen.verdict is not VerdictCode.RUNS_DISAGREE or cell.bs_bytes <= largest):
            continue
        told = tell(fit, cell, direction)
        most = told.high if seen is not None else told.value
        if most * cell.bs_bytes > MUCH * best:
            why = f"{cell.rw} of {format_size(cell.bs_bytes)} with {cell.outstanding} in flight may be faster"
            return {(e.cell.key, direction): replace(e, grade=Trust.LOW, grade_reason=why, outrun=True) for e in near}
    return {}


def measured(cell: Cell, fit: Fit) -> Estimate:
    """What the law and the loads of a cell say of it together, without what else is known of it."""
    told = tell(fit, cell, cell.directions[0])
    return _with_values(Estimate(cell, cell.directions[0], "measured", told.loads), told)


def foretold(cells: Iterable[Cell], fits: Mapping[str, Fit], widest: float = MOST_FORETOLD) -> tuple[Estimate, ...]:
    """Estimates of cells that no load made, where the law is sure enough of them: within `widest`, as a share."""
    found = []
    for cell in cells:
        fit = fits.get(cell.target)
        if fit is None or why_not_foretold(cell, fit, widest):
            continue
        blank = Estimate(cell, cell.directions[0], "predicted", 0, verdict=VerdictCode.PREDICTED, method=METHOD)
        graded = replace(blank, grade=Trust.LOW, grade_reason="no load measured it")
        bound = limit_of(fit, cell, cell.directions[0]).bound
        found.append(replace(_with_values(graded, tell(fit, cell, cell.directions[0])), ceiling=bound))
    return tuple(found)


def why_not_foretold(cell: Cell, fit: Fit, widest: float = MOST_FORETOLD) -> str:
    """Why a law does not tell a cell that no load made; '' where it does."""
    if not can_be_told(cell):
        return "no law describes such a load"
    if cell.directions[0] not in fit.shape.ways or not _near(cell, fit):
        return "no load like it was measured"
    return "" if tell(fit, cell, cell.directions[0]).half_width <= widest else "the law is not sure enough of it"


def _is_value(e: Estimate) -> bool:
    return verdict_class(e.verdict) is not VerdictClass.SUSPECT or e.verdict is VerdictCode.CLIENT_LIMITED


def _near(cell: Cell, fit: Fit) -> bool:
    """Whether loads of the same footprint were seen that are not far from a cell. What small blocks in a row give only
    loads of blocks in a row tell: a target may merge them, or read ahead.
    """
    seen = [one.cell for one in fit.courses if one.counted and one.direction == cell.directions[0]]
    mine = [one for one in seen if (one.size_bytes, one.sharing) == (cell.size_bytes, cell.sharing)]
    flights = [one.outstanding for one in mine]
    sizes = [one.bs_bytes for one in mine if cell.rw.startswith("rand") or not one.rw.startswith("rand")]
    return bool(sizes) and (
        max(sizes) * BEYOND >= cell.bs_bytes >= min(sizes) / BEYOND and max(flights) * BEYOND >= cell.outstanding
    )


def _told(e: Estimate, fit: Fit) -> Estimate:
    told = tell(fit, e.cell, e.direction)
    if not told.loads:
        return e
    verdict = e.verdict if e.verdict is VerdictCode.CLIENT_LIMITED else _verdict(told, e, fit.courses)
    notes = e.notes
    if not told.by_law and told.off is not None and told.uneven <= UNEVEN:
        notes = (*notes, f"differs from the law of the target by {math.expm1(told.off):+.0%}: the loads are told")
    level, reason = grade(told, e.cell.bs_bytes)
    graded = replace(e, verdict=verdict, notes=notes, grade=level, grade_reason=reason, n_visits=told.loads)
    return _with_values(graded, told)


def _with_values(e: Estimate, told: Told) -> Estimate:
    """By Little's law the mean latency of a closed loop follows from its rate. A percentile below that mean is of the
    time before credit ran out.
    """
    bs, in_flight = e.cell.bs_bytes, 1e9 * e.cell.outstanding
    if (e.lat_p99_ns or math.inf) < in_flight / told.value:
        e = replace(e, lat_p99_ns=None, lat_p99_low_ns=None, lat_p99_high_ns=None)
    return replace(
        e,
        bw_bytes_per_s=told.value * bs,
        bw_low=told.low * bs,
        bw_high=told.high * bs,
        iops=told.value,
        iops_low=told.low,
        iops_high=told.high,
        lat_mean_ns=in_flight / told.value,
        lat_mean_low_ns=in_flight / told.high,
        lat_mean_high_ns=in_flight / told.low,
        method=METHOD,
        outrun=told.trend > 0,
        held_seconds=told.held_seconds,
        bw_seen=(told.seen[0] * bs, told.seen[1] * bs),
    )


def _verdict(told: Told, e: Estimate, courses: Sequence[Course]) -> VerdictCode:
    mine = [course for course in courses if course.counted and course.cell.key == e.cell.key]
    if sum(float(course.done[-1]) for course in mine if course.direction == e.direction) < FEWEST_IOS:
        return VerdictCode.TOO_SHORT
    if told.half_width > DISAGREE:
        return VerdictCode.RUNS_DISAGREE
    if told.uneven > UNEVEN:
        return VerdictCode.UNSTABLE
    return VerdictCode.UNCERTAIN if told.half_width > UNSURE else VerdictCode.STEADY
