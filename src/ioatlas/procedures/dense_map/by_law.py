# SPDX-License-Identifier: Apache-2.0
"""A map within a budget: each next load is the one that teaches most about what will be told (`law.choose`)."""

from __future__ import annotations

import random
from dataclasses import replace

from ioatlas.fio.batch import Batch, Section
from ioatlas.law.beside import cells_beside, planned_beside, seconds_beside
from ioatlas.law.choose import SHORTEST_SECONDS, next_load
from ioatlas.law.course import Course
from ioatlas.law.read import courses_by_target, have_one_law
from ioatlas.model.cell import Cell
from ioatlas.model.outcomes import KeptLaw, LaidOuts
from ioatlas.model.verdict import ASIDE, BUDGET_ENDED, UnmeasuredCode
from ioatlas.model.visit import Purpose, Visit
from ioatlas.procedures.dense_map.steps import MapSteps
from ioatlas.results.by_law import keep_laws
from ioatlas.run.gates import Gates
from ioatlas.run.plan import Plan
from ioatlas.store.journal import NewVisit, PlannedVisit

MOST_CELLS = 60
"""Larger maps are left to the adaptive design, which chooses among their cells by a model of the map."""
GAP_MS = 50


def chooses(plan: Plan) -> bool:
    """Whether the loads of a plan are chosen by what they teach: a budget, and loads that the law covers."""
    spec, cells = plan.spec, plan.to_measure
    return (
        spec.budget_seconds is not None
        and spec.wanted.precision is None
        and spec.set_ups == 1
        and not spec.configurations
        and 0 < len(cells) <= MOST_CELLS
        and all(have_one_law(cell for cell in cells if cell.target == name) for name in {cell.target for cell in cells})
        and not any(map(_needs_more, cells))
    )


def _needs_more(cell: Cell) -> bool:
    """Whether a load is more than so many seconds of one target's time."""
    return cell.work_bounded or bool(cell.trace) or cell.of_group or cell.of_fleet or cell.state == "fresh"


class LawSteps(MapSteps):
    """One session of a map whose loads are chosen one after another."""

    def make(self) -> bool:
        runner = self.runner
        if not self.journal.is_kept(KeptLaw):
            self.journal.keep(KeptLaw())
        runner.prepare()
        self._make_once()  # what a session that was stopped had asked for
        while asked := self._next():
            before = len(self.journal.visits())
            self.journal.add_visits(asked)
            self._make_once()
            if len(self.journal.visits()) == before:  # nothing came back in the time there was
                break
        self._make_beside()
        self._tell_left_out(keep_laws(self.journal, self._of_map))
        return True

    @property
    def _of_map(self) -> dict[str, Cell]:
        return {cell.key: cell for cell, reason in self.journal.cells() if reason not in ASIDE}

    def _make_beside(self) -> None:
        """What is told beside the map, once, in the time that was kept back for it."""
        total = self.budget.total or 0.0
        for target in self.runner.plan.targets:
            flush = "fsync" if target.kind == "uri" else "fdatasync"  # engines of the network know one kind of flush
            cells, courses = self._able(target.name), self._courses().get(target.name, [])
            for cell in cells_beside(cells, courses, total, flush if target.takes_flushes else ""):
                seconds, besides = seconds_beside(cell, courses, total)
                seconds = min(seconds, (self.budget.left or 0.0) - self._end_seconds() - besides)
                if cell.key not in self.cells and seconds >= SHORTEST_SECONDS:
                    self.runner.know(cell, UnmeasuredCode.BESIDE)
                    self.journal.add_visits([self._visit(cell, seconds, len(courses), Purpose.BESIDE)])
                self._make_once(Purpose.BESIDE)

    def _make_once(self, purpose: Purpose = Purpose.SWEEP) -> None:
        """Make what was asked for. A load that the end of the budget cut short is not planned again."""
        rows = {row.visit_id: row for row in self.journal.planned(purpose)}
        if rows:
            self.runner.batch(tuple(self.section(row) for row in rows.values()), rows)
            self.journal.drop_planned(BUDGET_ENDED, purpose=purpose)

    def _able(self, name: str) -> list[Cell]:
        """What of a target's map can be measured."""
        failed = {key for key, _ in self.journal.failures()}
        return [cell for cell in self.runner.plan.to_measure if cell.target == name and cell.key not in failed]

    def _courses(self) -> dict[str, list[Course]]:
        visits, files = self.journal.visits(with_series=True), self.journal.kept(LaidOuts).files
        return courses_by_target(visits, self._of_map, self.journal.asked_ms(), files)

    def _next(self) -> list[NewVisit]:
        """The next loads; none when nothing more is worth the time that is left."""
        left, total = self._left_for_sweep(), self.budget.total
        assert left is not None
        assert total is not None
        names = dict.fromkeys(cell.target for cell in self.runner.plan.to_measure)
        seen = self._courses()
        spent = {name: sum(course.seconds for course in seen.get(name, ())) for name in names}
        share = 1 / len(names)
        for name in sorted(names, key=lambda one: spent[one]):
            able, courses = self._able(name), seen.get(name, [])
            most = left if len(names) == 1 else min(left, share * total)
            if not able:
                continue
            one = next_load(
                able, courses, total=share * total, left=most, seed=self._seed, begun=any(c.visit_id for c in courses)
            )
            if one is not None:
                return [self._visit(one.cell, one.seconds, len(courses))]
        return []

    def _visit(self, cell: Cell, seconds: float, number: int, purpose: Purpose = Purpose.SWEEP) -> NewVisit:
        generator = random.Random(f"{self._seed} {number}")  # noqa: S311 - offsets, not secrets
        made = sum(visit.cell_key == cell.key for visit in self.journal.visits())
        runtime_ms = -(-int(1000 * seconds) // 100) * 100
        return NewVisit(cell.key, made, generator.randrange(1, 2**31), purpose, alone=True, runtime_ms=runtime_ms)

    # -- where a map judges or times otherwise ---------------------------------------------------------------

    def section(self, visit: PlannedVisit) -> Section:
        if visit.purpose not in (Purpose.SWEEP, Purpose.BESIDE) or visit.runtime_ms is None:
            return super().section(visit)
        return self.runner.section(visit, visit.runtime_ms, GAP_MS)

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
        total, seen = self.budget.total or 0.0, self._courses()
        beside = planned_beside(self.runner.plan.to_measure, seen, total)
        return self._end_seconds() + sum(sum(seconds_beside(one, seen.get(one.target, ()), total)) for one in beside)

    def _end_seconds(self) -> float:
        return self.report_seconds() + self.thinking_seconds()

    def progress(self, batch: Batch) -> dict[str, float]:
        left = max(0.0, self.budget.left or 0.0)  # how many loads that holds is not known
        return {**super().progress(batch), "visits_planned": 0, "seconds_left": round(left, 1)}
