# SPDX-License-Identifier: Apache-2.0
"""A map within a budget, or of a limited number of cells: each next load is the one that teaches most about what will
be told (`law.choose`).
"""

from __future__ import annotations

import math
import random
from dataclasses import replace

from ioatlas.answer.law.choose import (
    MAIN_SECONDS,
    SHORTEST_SECONDS,
    START_SECONDS,
    cells_beside,
    next_load,
    planned_beside,
    seconds_beside,
    seconds_of_others,
)
from ioatlas.answer.law.course import Course
from ioatlas.answer.law.read import courses_by_target, have_one_law
from ioatlas.answer.results.by_law import MOST_LOADS, keep_laws
from ioatlas.load.fio.batch import Batch, Section
from ioatlas.load.fio.collect import NOT_TOGETHER
from ioatlas.measure.procedures.dense_map.steps import MapSteps
from ioatlas.measure.procedures.options import MapOptions
from ioatlas.measure.run.gates import Gates
from ioatlas.measure.run.plan import Plan
from ioatlas.measure.run.steps import Making
from ioatlas.model.cell import Cell
from ioatlas.model.outcomes import Chosen, LaidOuts
from ioatlas.model.verdict import ASIDE, BUDGET_ENDED, UnmeasuredCode
from ioatlas.model.visit import Purpose, Visit, VisitStatus
from ioatlas.store.journal import NewVisit, PlannedVisit

SMALL_MAP, MOST_CELLS = 60, 500
"""Cells up to which a map has no time kept for those that no main number rests on, and the most that are measured."""
MOST_MADE = 0.9 * MOST_LOADS
GAP_MS = 50


def chooses(plan: Plan) -> bool:
    """Whether the loads of a plan are chosen by what they teach: a limit on cells, or a budget that does not hold the
    whole of a large map, and loads that the law covers.
    """
    budget, few = plan.spec.budget_seconds, plan.spec.of(MapOptions).cells is not None
    scarce = budget is not None and (len(plan.to_measure) <= SMALL_MAP or plan.seconds() > budget)
    return bool(plan.to_measure) and (few or scarce) and not why_not_chosen(plan)


def why_not_chosen(plan: Plan) -> str:
    """Why the law cannot choose among the loads of a plan; '' where it can."""
    spec, cells = plan.spec, plan.to_measure
    if spec.wanted.precision is not None:
        return "a precision is asked for of every cell"
    if spec.set_ups > 1 or spec.configurations:
        return "configurations are measured whole, so that they can be compared"
    if any(map(_needs_more, cells)):
        return "it chooses among loads of one client on one target, bounded by time and not on fresh files"
    names = {cell.target for cell in cells}
    if all(have_one_law(cell for cell in cells if cell.target == name) for name in names):
        return ""
    return "the cells differ in more than pattern, block size, file size, jobs and depth"


def most_cells(plan: Plan) -> int | None:
    """Cells of each target that may be measured, for which time is kept; None for all of a small map."""
    cells, limit = len(plan.to_measure), plan.spec.of(MapOptions).cells
    if limit is None and cells <= SMALL_MAP:
        return None
    return max(1, min(limit or MOST_CELLS, cells) // len({cell.target for cell in plan.to_measure}))


def total_seconds(plan: Plan) -> float:
    """What a map may take; without a budget the loads alone, which take longer with more cells."""
    names = {cell.target for cell in plan.to_measure}
    return plan.spec.budget_seconds or len(names) * (MAIN_SECONDS + seconds_of_others(most_cells(plan) or 0))


def _needs_more(cell: Cell) -> bool:
    """Whether a load is more than so many seconds of one target's time."""
    return cell.work_bounded or bool(cell.trace) or cell.of_group or cell.of_fleet or cell.state == "fresh"


class LawSteps(MapSteps):
    """One session of a map whose loads are chosen one after another."""

    _read: tuple[dict[VisitStatus, int], dict[str, list[Course]]] | None = None

    _silent: frozenset[str] = frozenset()
    """Keys of cells of which nothing came back."""

    def make(self) -> Making[bool]:
        self.session.prepare()
        self._read = None  # with what was written
        yield from self._make_once()  # what a session that was stopped had asked for
        while asked := self._next():
            before = len(self.journal.visits())
            self.journal.add_visits(asked)
            yield from self._make_once()
            if len(self.journal.visits()) == before:  # nothing came back: the others may give something yet
                self._silent |= {visit.cell_key for visit in asked}
        yield from self._make_beside()
        self._tell_left_out(keep_laws(self.journal, self._of_map))
        return True

    @property
    def _of_map(self) -> dict[str, Cell]:
        return {cell.key: cell for cell, reason in self.journal.cells() if reason not in ASIDE}

    def _make_beside(self) -> Making[None]:
        """What is told beside the map, once, in the time that was kept back for it."""
        total = total_seconds(self.session.plan)
        for target in self.session.plan.targets:
            flush = "fsync" if target.kind == "uri" else "fdatasync"  # engines of the network know one kind of flush
            cells, courses = self._able(target.name), self._courses().get(target.name, [])
            for cell in cells_beside(cells, courses, total, flush if target.takes_flushes else ""):
                seconds, besides = seconds_beside(cell, courses, total)
                if self.budget.left is not None:
                    seconds = min(seconds, self.budget.left - self._end_seconds() - besides)
                if cell.key not in self.cells and seconds >= SHORTEST_SECONDS:
                    self.session.know(cell, UnmeasuredCode.BESIDE)
                    self.journal.add_visits([self._visit(cell, seconds, len(courses), Purpose.BESIDE)])
                yield from self._make_once(Purpose.BESIDE)

    def _make_once(self, purpose: Purpose = Purpose.SWEEP) -> Making[None]:
        """Make what was asked for. A load that the end of the budget cut short is not planned again."""
        if rows := self.journal.planned(purpose):
            yield from self.make_batch(rows)
            self.journal.drop_planned(BUDGET_ENDED, purpose=purpose)

    def _able(self, name: str) -> list[Cell]:
        """What of a target's map can be measured: no more jobs than the target was seen to serve at a time."""
        failures = dict(self.journal.failures())
        mine = [cell for cell in self.session.plan.to_measure if cell.target == name]
        too_many = [cell.numjobs for cell in mine if failures.get(cell.key, "").startswith(NOT_TOGETHER)]
        able = (cell for cell in mine if cell.key not in self._silent and cell.key not in failures)
        return [cell for cell in able if cell.numjobs < min(too_many, default=math.inf)]

    def _courses(self) -> dict[str, list[Course]]:
        """Read anew when a load was made."""
        made = self.journal.count_visits()
        if self._read is None or self._read[0] != made:
            visits, files = self.journal.visits(with_series=True), self.journal.kept(LaidOuts).files
            self._read = made, courses_by_target(visits, self._of_map, self.journal.asked_ms(), files)
        return self._read[1]

    def _next(self) -> list[NewVisit]:
        """The next loads; none when nothing more is worth the time that is left."""
        plan, seen = self.session.plan, self._courses()
        names = dict.fromkeys(cell.target for cell in plan.to_measure)
        made = {name: [course for course in seen.get(name, ()) if course.visit_id] for name in names}
        spent = {name: sum(course.seconds for course in seen.get(name, ())) for name in names}
        total, left, share = total_seconds(plan), self._left(), 1 / len(names)
        for name in sorted(names, key=lambda one: spent[one]):
            able, courses = self._able(name), seen.get(name, [])
            if not able or len(courses) > MOST_MADE / len(names):
                continue
            one = next_load(
                able,
                courses,
                total=share * total,
                left=left if len(names) == 1 else min(left, share * total),
                seed=self._seed,
                begun=bool(made[name]),
                most=self.journal.kept(Chosen).most,
            )
            if one is not None:
                return [self._visit(one.cell, one.seconds, len(courses))]
        return []

    def _left(self) -> float:
        """Seconds for loads that are left."""
        left = self._left_for_sweep()
        if left is not None:
            return left
        made = (course for courses in self._courses().values() for course in courses if course.visit_id)
        return total_seconds(self.session.plan) - sum(course.seconds + START_SECONDS for course in made)

    def _visit(self, cell: Cell, seconds: float, number: int, purpose: Purpose = Purpose.SWEEP) -> NewVisit:
        generator = random.Random(f"{self._seed} {number}")  # noqa: S311 - offsets, not secrets
        made = sum(visit.cell_key == cell.key for visit in self.journal.visits())
        runtime_ms = -(-int(1000 * seconds) // 100) * 100
        return NewVisit(cell.key, made, generator.randrange(1, 2**31), purpose, alone=True, runtime_ms=runtime_ms)

    # -- where a map judges or times otherwise ---------------------------------------------------------------

    def section(self, visit: PlannedVisit) -> Section:
        if visit.purpose not in (Purpose.SWEEP, Purpose.BESIDE) or visit.runtime_ms is None:
            return super().section(visit)
        return self.bound(visit, visit.runtime_ms, GAP_MS)

    def out_of_time(self, purpose: Purpose, taken: object) -> bool:  # noqa: ARG002
        """It was chosen to fit."""
        return False

    def judge(self, section: Section, visit: Visit, gates: Gates | None) -> tuple[Visit, bool]:
        """What a course means is the law's business: nothing is cut from it, and none is made again for its shape.
        Reads under writes are told of the second half, or credit that a pause gave would pass for lasting.
        """
        visit, _ = super().judge(section, visit, gates)
        return replace(visit, window_start_ms=section.runtime_ms // 2 if section.cell.streams else 0), False

    def reserve_seconds(self) -> float:
        total, seen = total_seconds(self.session.plan), self._courses()
        beside = planned_beside(self.session.plan.to_measure, seen, total)
        return self._end_seconds() + sum(sum(seconds_beside(one, seen.get(one.target, ()), total)) for one in beside)

    def _end_seconds(self) -> float:
        return self.report_seconds() + self.thinking_seconds()

    def progress(self, batch: Batch) -> dict[str, float]:
        left = self.budget.left if self.budget.left is not None else self._left()
        left = max(0.0, left)  # how many loads that holds is not known
        return {**super().progress(batch), "visits_planned": 0, "seconds_left": round(left, 1)}
