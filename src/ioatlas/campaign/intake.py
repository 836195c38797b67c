# SPDX-License-Identifier: Apache-2.0
"""A batch's output becomes visits: warm-up cut, verdict and gates for each, and what has to be made again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ioatlas.campaign.gatekeeper import Gatekeeper
from ioatlas.campaign.streams_judge import judged_together
from ioatlas.engine.batch import Section
from ioatlas.engine.collect import SectionResult
from ioatlas.model.cell import Cell
from ioatlas.model.ordered import is_ordered
from ioatlas.model.visit import Visit
from ioatlas.stats.gates import judge_visit
from ioatlas.stats.verdict import judge
from ioatlas.store.journal import NewVisit, PlannedVisit

SENTINEL = "sentinel"
"""Purpose of visits that watch the target, and are no part of any cell's value."""

LONGER = 4
"""A visit that settles only in its second half is made again this many times as long."""

LATE = "settled in the second half of its window"
"""How the reason of such a visit begins while the longer one is not made, or has confirmed it."""


@dataclass
class Intake:
    """What one batch gave.

    visits: finished ones, discarded ones with their reason. failed: {visit_id: reason}. again: visits to be planned.
    Sections in none of them stay planned.
    """

    visits: list[Visit] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)
    again: list[NewVisit] = field(default_factory=list)
    load_seconds: float = 0.0
    written: dict[tuple[str, str], int] = field(default_factory=dict)


def take_in(
    results: Iterable[SectionResult],
    planned: dict[int, PlannedVisit],
    gates: Gatekeeper | None = None,
    usage: Mapping[str, Any] | None = None,
) -> Intake:
    """Judge the sections of one batch.

    planned: the journal's rows by visit_id. gates, usage: those of counters and ceilings, and what was counted while the batch ran; without them
    (a batch read back after a crash) only the visits' own figures decide.
    """
    intake = Intake()
    results = list(results)
    contradicted = gates.contradictions(results, planned, usage) if gates is not None else {}
    for result in results:
        plan = planned[result.section.visit_id]
        if result.visit is not None:
            intake.load_seconds += max((part.runtime_ms for part in result.visit.parts), default=0) / 1000
            book(intake, result)
        if result.state == "cut-short" or (result.state == "failed" and result.visit is None):
            if result.state == "failed":
                intake.failed[plan.visit_id] = result.reason
            continue
        if result.state == "failed" or result.visit is None:
            intake.failed[plan.visit_id] = result.reason
            if not plan.alone:
                intake.again.append(_alone(plan))
            continue
        # In a fio of its own there is no neighbour to disturb: what drains late is part of the visit.
        overran = result.state == "over-run" and not plan.alone
        visit, late = _judged(result.section, result.visit, gates)
        if result.overloaded and not visit.verdict.startswith("overloaded"):
            visit, late = replace(visit, verdict=f"overloaded: {result.overloaded}", window_start_ms=0), False
        if plan.visit_id in contradicted:
            visit = replace(visit, discarded="; ".join(filter(None, [visit.discarded, contradicted[plan.visit_id]])))
        if plan.purpose == "probe":
            visit = replace(visit, discarded="")
        elif overran:
            visit = replace(visit, discarded=result.reason)
            intake.again.append(_alone(plan))
        elif visit.discarded and not plan.alone:
            intake.again.append(_alone(plan))
        elif late and not plan.alone:
            visit = replace(visit, discarded=f"{LATE} ({visit.verdict}): made again {LONGER} times as long")
            intake.again.append(_alone(plan, runtime_ms=result.section.runtime_ms * LONGER))
        intake.visits.append(visit)
    # A sentinel that was lost is a gap in a chart; the next one is near.
    intake.again = [each for each in intake.again if each.purpose != SENTINEL]
    return intake


def after_all(tried: Iterable[tuple[int, str, int, str]], visits: Iterable[Visit]) -> list[tuple[int, str, str]]:
    """(visit_id, cell_key, verdict) of the visits that seemed to settle late and count all the same.

    tried: (visit_id, cell_key, block, verdict) of all that seemed so. visits: in the order of their making, the longer ones among them.
    """
    last = {(visit.cell_key, visit.block): visit for visit in visits}
    found = []
    for visit_id, cell_key, block, verdict in tried:
        longer = last.get((cell_key, block))
        kept = _not_confirmed(verdict, longer) if longer is not None and longer.visit_id > visit_id else ""
        if kept:
            found.append((visit_id, cell_key, kept))
    return found


def _not_confirmed(verdict: str, longer: Visit) -> str:
    """The verdict on a visit that seemed to settle late, once the longer one has shown a steady level without that change; '' when it has not.

    What a load does after its start it does again; what others do to the target meanwhile comes at any time and is its noise. Leaving out
    the visits that it strikes would make the intervals too narrow.
    """
    label = verdict.split("(", maxsplit=1)[0]
    steady = longer.verdict == "flat" or (longer.window_start_ms > 0 and not longer.verdict.startswith(label))
    return f"flat: {verdict}, which a visit {LONGER} times as long did not show" if steady and not longer.discarded else ""


def _alone(plan: PlannedVisit, runtime_ms: int | None = None) -> NewVisit:
    return NewVisit(plan.cell_key, plan.block, plan.seed % (2**31 - 2) + 1, plan.purpose, alone=True, runtime_ms=runtime_ms)


def book(intake: Intake, result: SectionResult) -> None:
    """What the section wrote goes into the ledger whether or not its figures count."""
    visit = result.visit
    assert visit is not None
    for part in visit.parts:
        if part.direction != "read" and part.io_bytes:
            place = (result.section.cell.target, f"{part.direction} load")
            intake.written[place] = intake.written.get(place, 0) + part.io_bytes


def _judged(section: Section, visit: Visit, gates: Gatekeeper | None) -> tuple[Visit, bool]:
    """The visit with its verdict, cut and gates; and whether it settled too late to be trusted."""
    cell = section.cell
    if cell.streams and not is_ordered(cell):
        return judged_together(section, visit), False
    report = judge_visit(visit, cell, asked_ms=None if cell.work_bounded else section.runtime_ms, ceilings=_ceilings(visit, cell, gates))
    rates = [part.series.bw_bytes_per_s for part in visit.parts if part.series.bw_bytes_per_s]
    label, cut_ms, late = "too short", 0, False
    if rates and not cell.work_bounded:
        # What drains after the window is counted, but no level: nothing is submitted any more.
        asked = max(1, section.runtime_ms // section.interval_ms)
        series = [sum(values) for values in zip(*rates, strict=False)][:asked]
        quantum = cell.bs_bytes * 1000 / section.interval_ms
        verdict = judge(series, interval_ms=section.interval_ms, quantum=quantum, outstanding=cell.outstanding)
        label, late = str(verdict), verdict.late_cut
        cut_ms = verdict.cut_ms if verdict.steady else 0
    elif cell.work_bounded:
        label = "work done"
    if report.labels:
        # What the load generator did outweighs the shape of the series, and a longer visit would not change it.
        label, late = report.labels[0], False
    return replace(visit, verdict=label, window_start_ms=cut_ms, discarded="; ".join(report.discards)), late


def _ceilings(visit: Visit, cell: Cell, gates: Gatekeeper | None) -> dict[str, tuple[float, str]]:
    """{direction: (bytes per second, name)} of the bounds that are known."""
    bounds = {part.direction: gates.ceiling(cell, part.direction) for part in visit.parts} if gates is not None else {}
    return {
        direction: (bound.bw_bytes_per_s, bound.name) for direction, bound in bounds.items() if bound is not None and bound.bw_bytes_per_s
    }
