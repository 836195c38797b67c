# SPDX-License-Identifier: Apache-2.0
"""A batch's output becomes visits: warm-up cut, verdict and gates for each, and what has to be made again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from ioatlas.answer.analysis.load_curve import together
from ioatlas.load.fio.batch import Section
from ioatlas.load.fio.collect import SectionResult
from ioatlas.load.fleet.merge import outweighing_ms
from ioatlas.load.machine.visit_usage import records_by_visit
from ioatlas.measure.run.gates import Gates
from ioatlas.model.cell import Cell
from ioatlas.model.verdict import Reason, ReasonCode, Verdict, VerdictCode, read_reasons
from ioatlas.model.visit import Purpose, SectionState, Visit
from ioatlas.plan.pace import Pace
from ioatlas.stats.gates import judge_streams, judge_visit
from ioatlas.stats.verdict import judge
from ioatlas.store.journal import Intake, NewVisit, PlannedVisit

LONGER = 4
"""A visit that settles only in its second half is made again this many times as long."""


Judge = Callable[[Section, Visit, Gates | None], tuple[Visit, bool]]
"""The visit with its verdict, cut and gates; and whether it settled too late to be trusted."""


def take_in(
    results: Iterable[SectionResult],
    planned: dict[int, PlannedVisit],
    gates: Gates | None = None,
    usage: Mapping[str, Any] | None = None,
    judge_one: Judge | None = None,
) -> Intake:
    """Judge the sections of one batch.

    planned: the journal's rows by visit_id. gates, usage: those of counters and ceilings, and what was counted while
    the batch ran; without them (a batch read back after a crash) only the visits' own figures decide.
    judge_one: judges a visit where that is not done as for a cell of a map.
    """
    intake = Intake()
    results = list(results)
    waits = records_by_visit({0: usage}) if usage is not None else {}
    if any(plan.purpose is Purpose.BESIDE for plan in planned.values()):
        gates = None  # counters know nothing of what a flush makes a file system write
    contradicted = gates.contradictions(results, planned, usage) if gates is not None else {}
    for result in results:
        plan = planned[result.section.visit_id]
        if result.visit is not None:
            intake.load_seconds += max((part.runtime_ms for part in result.visit.parts), default=0) / 1000
            book(intake, result)
        if result.state is SectionState.CUT_SHORT:
            continue
        if result.state is SectionState.FAILED or result.visit is None:
            intake.failed[plan.visit_id] = result.reason
            if result.visit is not None and not plan.alone:
                intake.again.append(made_alone(plan))
            continue
        # In a fio of its own there is no neighbour to disturb: what drains late is part of the visit.
        overran = result.state is SectionState.OVER_RUN and len(results) > 1
        waited = waits.get(plan.visit_id, {}).get("waiting")
        visit, late = (judge_one or judged)(result.section, replace(result.visit, waiting=waited), gates)
        visit, late = _overloaded(result, visit, late=late)
        if plan.visit_id in contradicted:
            visit = _refused(visit, Reason(ReasonCode.COUNTERS, contradicted[plan.visit_id]))
        if plan.purpose is Purpose.PROBE:
            visit = replace(visit, discarded=())
        elif overran and not was_stalled(visit):
            visit = replace(visit, discarded=read_reasons(result.reason))
            intake.again.append(made_alone(plan))
        elif visit.discarded and not plan.alone:
            skewed = any(reason.code is ReasonCode.SKEW for reason in visit.discarded)
            longer_ms = max(result.section.runtime_ms, outweighing_ms(visit.skew_ms))
            intake.again.append(made_alone(plan, runtime_ms=longer_ms if skewed else None))
        elif late and not plan.alone:
            why = f"{ReasonCode.LATE} ({visit.verdict.text}): made again {LONGER} times as long"
            visit = replace(visit, discarded=(Reason(ReasonCode.LATE, why),))
            intake.again.append(made_alone(plan, runtime_ms=result.section.runtime_ms * LONGER))
        intake.visits.append(visit)
    return intake


def reinstated(
    tried: Iterable[tuple[int, str, int, Verdict]], visits: Iterable[Visit]
) -> list[tuple[int, str, Verdict]]:
    """(visit_id, cell_key, verdict) of the visits that seemed to settle late and count all the same.

    tried: (visit_id, cell_key, block, verdict) of all that seemed so. visits: in the order of their making, the longer
    ones among them.
    """
    last = {(visit.cell_key, visit.replicate): visit for visit in visits}
    found = []
    for visit_id, cell_key, block, verdict in tried:
        longer = last.get((cell_key, block))
        kept = _not_confirmed(verdict, longer) if longer is not None and longer.visit_id > visit_id else None
        if kept:
            found.append((visit_id, cell_key, kept))
    return found


def unconfirmed(verdict: Verdict) -> Verdict:
    """Of a visit that settled late and counts because the budget ended before a longer one of its cell."""
    return Verdict(VerdictCode.UNSTABLE, f"{verdict.text}; no time for a longer visit")


def _not_confirmed(verdict: Verdict, longer: Visit) -> Verdict | None:
    """The verdict on a visit that seemed to settle late, once the longer one has shown a steady level without that
    change; None when it has not.

    What a load does after its start it does again; what others do to the target meanwhile comes at any time and is its
    noise. Leaving out the visits that it strikes would make the intervals too narrow.
    """
    steady = longer.verdict.code is VerdictCode.FLAT or (
        longer.window_start_ms > 0 and longer.verdict.code is not verdict.code
    )
    if longer.discarded or not steady:
        return None
    return Verdict(VerdictCode.FLAT, f"{verdict.text}, which a visit {LONGER} times as long did not show")


def _overloaded(result: SectionResult, visit: Visit, *, late: bool) -> tuple[Visit, bool]:
    """The visit and whether it settled late, once what the load generator's own log says is counted in."""
    if not result.overloaded or visit.verdict.code is VerdictCode.OVERLOADED:
        return visit, late
    return replace(visit, verdict=Verdict(VerdictCode.OVERLOADED, result.overloaded), window_start_ms=0), False


def _refused(visit: Visit, reason: Reason) -> Visit:
    """The visit with one reason more to discard it."""
    return replace(visit, discarded=(*visit.discarded, reason))


def made_alone(plan: PlannedVisit, runtime_ms: int | None = None) -> NewVisit:
    """The same visit once more, in a process of its own and in another order of offsets."""
    return NewVisit(
        plan.cell_key, plan.replicate, plan.seed % (2**31 - 2) + 1, plan.purpose, alone=True, runtime_ms=runtime_ms
    )


def book(intake: Intake, result: SectionResult) -> None:
    """What the section wrote goes into the ledger whether or not its figures count."""
    visit = result.visit
    assert visit is not None
    for target, direction, io_bytes in visit.moved(result.section.cell.target):
        if direction != "read" and io_bytes:
            place = (target, f"{direction} load")
            intake.written[place] = intake.written.get(place, 0) + io_bytes


def judged(section: Section, visit: Visit, gates: Gates | None) -> tuple[Visit, bool]:
    """The visit with its verdict, cut and gates; and whether it settled too late to be trusted.

    Streams that have names run at once, and are judged together.
    """
    cell, parts = section.cell, visit.parts
    streams = any(name for name, _ in cell.streams)
    bounded = cell.work_bounded and not streams
    asked_ms = None if bounded else section.runtime_ms
    if streams:
        parts = tuple(together(visit.parts))
        report = judge_streams(visit, cell, waiting=visit.waiting)
    else:
        ceilings = _ceilings(visit, cell, gates)
        report = judge_visit(visit, cell, asked_ms=asked_ms, ceilings=ceilings, waiting=visit.waiting)
    rates = [part.series.bw_bytes_per_s for part in parts if part.series.bw_bytes_per_s]
    label, cut_ms, late = Verdict(VerdictCode.TOO_SHORT), 0, False
    if rates and not bounded:
        # What drains after the window is counted, but no level: nothing is submitted any more.
        asked = None if streams else max(1, section.runtime_ms // section.interval_ms)
        series = [sum(values) for values in zip(*rates, strict=False)][:asked]
        quantum = cell.bs_bytes * 1000 / section.interval_ms
        verdict = judge(series, interval_ms=section.interval_ms, quantum=quantum, outstanding=cell.outstanding)
        label, late = verdict.verdict, verdict.late and not streams
        # An offered load has no warm-up to be cut from its rate; where its response time settles late, the load point
        # says so by its spread.
        cut_ms = verdict.cut_ms if verdict.steady and not (streams and cell.loop == "open") else 0
    elif bounded:
        label = Verdict(VerdictCode.WORK_DONE)
    if report.labels:
        # What the load generator did outweighs the shape of the series, and a longer visit would not change it.
        label, late = report.labels[0], False
    return replace(visit, verdict=label, window_start_ms=cut_ms, discarded=report.discards), late


def _ceilings(visit: Visit, cell: Cell, gates: Gates | None) -> dict[str, tuple[float, str]]:
    """{direction: (bytes per second, name)} of the bounds that are known."""
    bounds = {part.direction: gates.ceiling(cell, part.direction) for part in visit.parts} if gates is not None else {}
    return {
        direction: (bound.bw_bytes_per_s, bound.name)
        for direction, bound in bounds.items()
        if bound is not None and bound.bw_bytes_per_s
    }


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
