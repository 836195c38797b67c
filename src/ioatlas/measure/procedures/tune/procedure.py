# SPDX-License-Identifier: Apache-2.0
"""The search for the best numjobs x iodepth under a limit on latency, and its steps: trials, the best setting
afresh, the load-latency curve.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ioatlas.answer.analysis.load_curve import RateState
from ioatlas.load.fio.batch import Batch, Section
from ioatlas.measure.procedures.dense_map.plan import build_plan
from ioatlas.measure.procedures.tune.result import (
    CURVE,
    FEWEST_FRESH,
    FRESH,
    PERCENTS,
    REPEATED,
    SEARCH,
    Level,
    Refuted,
    TuneEnd,
    TuneGoal,
    Unrunnable,
    between,
    curve_levels,
    fresh_trials,
    holds,
    load_tuning,
    trials_of,
)
from ioatlas.measure.run.plan import FIO_SECONDS, PLANNING_WRITE_BYTES_PER_S, Plan
from ioatlas.measure.run.procedure import PlanText, Procedure
from ioatlas.measure.run.session import Session
from ioatlas.measure.run.steps import Making, Steps
from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.outcomes import Event
from ioatlas.model.target import Target
from ioatlas.model.units import format_duration, words
from ioatlas.model.verdict import UnmeasuredCode
from ioatlas.model.visit import Purpose, RemarkKind, Visit, VisitStatus
from ioatlas.plan.latency_search import Goal, Point, conclude, next_trials
from ioatlas.plan.spec import CampaignSpec
from ioatlas.stats.gates import offered_iops
from ioatlas.store.journal import Journal, NewVisit

TRIAL_MS, TRIAL_IOS, TRIAL_LONGEST_MS = 500, 250, 2000
"""A trial lasts at least this long, and until it holds I/Os enough for a 99th percentile, within reason."""
FRESH_VISITS, FRESH_TRIES, FRESH_MS, FRESH_LONGEST_MS = 5, 3, 1000, 5000
CURVE_MS, CURVE_IOS, SHORTEST_CURVE_MS = 1000, 300, 200
REPEATS, MOST_REPEATED = 2, 5
"""More visits of a rate that decides what is safe, and of how many rates at most."""
MOST_RUNS = 6
"""Visits of a rate that is too slow though a higher one is not."""
REFINEMENTS = 2
"""Steps that are tried between the safe rate and the next."""
REFUTALS = 4
"""Settings that the fresh visits may refute before the search gives up."""
MOST_ROUNDS = 150
USUAL_TRIALS = 30
"""Trials a search takes as a rule: what the time left is reckoned from."""
FRESH_REPLICATE = 1000
WORDS = {SEARCH: "searching", FRESH: "measuring the best setting again", CURVE: "measuring the load-latency curve"}


class TuneSteps(Steps):
    """One session of a search."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._goal = self.journal.kept(TuneGoal).goal
        self._spec = session.plan.spec
        self._phase = SEARCH

    def make(self) -> Making[bool]:
        self.session.prepare()
        self.journal.keep(TuneEnd("" if (yield from self._search()) else "budget"))
        if (yield from self._confirm()):
            yield from self._make_curve()
        self._show_as_a_map()
        return True

    # -- the three parts -------------------------------------------------------------------------------------

    def _search(self) -> Making[bool]:
        """Trials until the search knows enough (True) or the budget ends (False)."""
        self._begin(SEARCH)
        rounds = iter(range(MOST_ROUNDS))

        def next_visits(visits: Sequence[Visit]) -> list[NewVisit]:
            points = next_trials(self._goal, trials_of(self.cells, visits), self._failed(visits))
            if points and next(rounds, None) is None:
                text = f"The search was ended after {MOST_ROUNDS} rounds: its trials vary too much to settle."
                self.session.remark(RemarkKind.WARNING, text)
                return []
            replicate = 1 + max((visit.replicate for visit in visits if visit.purpose == SEARCH), default=-1)
            length = {point: self._length(point, TRIAL_IOS, TRIAL_MS, TRIAL_LONGEST_MS, visits) for point in points}
            return [
                NewVisit(self._cell_of(point).key, replicate, self.seed(replicate, *point), SEARCH, runtime_ms=ms)
                for point, ms in length.items()
            ]

        return (yield from self.make_asked(SEARCH, next_visits))

    def _failed(self, visits: Sequence[Visit]) -> set[Point]:
        """Loads that could not be run, or whose visits are discarded again and again."""
        made = [visit for visit in visits if visit.purpose == SEARCH]
        good = {visit.cell_key for visit in made if not visit.discarded}
        bad = [visit.cell_key for visit in made if visit.discarded] + [key for key, _ in self.journal.failures()]
        lost = (self.cells[key] for key in set(bad) - good if bad.count(key) >= 2)
        return {*self.journal.kept(Unrunnable).points, *((cell.numjobs, cell.iodepth) for cell in lost)}

    def _confirm(self) -> Making[bool]:
        """Fresh visits of the best setting; one that they refute gives way to the next best. True when one holds."""
        for _ in range(REFUTALS):
            visits = self.journal.visits(with_series=True)
            refuted = self.journal.kept(Refuted).points
            outcome = conclude(self._goal, trials_of(self.cells, visits), self._failed(visits), refuted)
            if outcome.best is None:
                return False
            self._begin(FRESH)
            cell = self._cell_of(outcome.best.point)
            for _ in range(FRESH_TRIES):
                missing = FRESH_VISITS - len(fresh_trials(cell, visits))
                if missing <= FRESH_VISITS - FEWEST_FRESH and not self.journal.planned(FRESH):
                    break
                if not self.journal.planned(FRESH):
                    length = self._length(outcome.best.point, 4 * TRIAL_IOS, FRESH_MS, FRESH_LONGEST_MS, visits)
                    replicate = max(
                        (visit.replicate + 1 for visit in visits if visit.purpose == FRESH), default=FRESH_REPLICATE
                    )
                    blocks = range(replicate, replicate + missing)
                    self.journal.add_visits(
                        NewVisit(cell.key, k, self.seed(k), FRESH, runtime_ms=length) for k in blocks
                    )
                yield from self.make_planned(FRESH)
                visits = self.journal.visits(with_series=True)
            if holds(self._goal, fresh_trials(cell, visits)):
                return True
            self.journal.keep(Refuted((*refuted, outcome.best.point)))
        return False

    def _make_curve(self) -> Making[None]:
        """Open loop at ten shares of the capacity, in random order."""
        self._begin(CURVE)
        tuning = load_tuning(self.journal)
        if tuning.best is not None and not self.journal.has_visits(CURVE):
            left = self.budget.left
            longest = TRIAL_LONGEST_MS if left is None else min(TRIAL_LONGEST_MS, int(1000 * (left - 3) / 12))
            if longest < SHORTEST_CURVE_MS:
                self.journal.add_remark(RemarkKind.LEFT_OUT, "The budget ended before the load-latency curve.")
                return
            levels = curve_levels(tuning.best)
            wanted = [min(longest, max(CURVE_MS, round(1000 * CURVE_IOS / level.offered_iops))) for level in levels]
            self._plan_curve([self._step(one, one.percent, ms) for one, ms in zip(levels, wanted, strict=True)])
        yield from self.make_planned(CURVE)
        yield from self._repeat_deciding_steps()

    def _step(self, level: Level, number: int, length_ms: int) -> NewVisit:
        cell = self._cell_of((level.numjobs, level.iodepth), level.options, UnmeasuredCode.NOT_OF_THE_MAP)
        return NewVisit(cell.key, number, self.seed(number, 7), CURVE, runtime_ms=length_ms)

    def _plan_curve(self, rows: list[NewVisit]) -> None:
        random.Random(self._spec.order_seed).shuffle(rows)  # noqa: S311 - an order, not a secret
        self.journal.add_visits(rows)

    def _there_is_time(self, rows: Sequence[NewVisit]) -> bool:
        seconds = sum(row.runtime_ms or 0 for row in rows) / 1000 * self.budget.slowdown + 3
        return self.budget.left is None or seconds <= self.budget.left

    def _repeat_deciding_steps(self) -> Making[None]:
        """The highest rate that seems safe, the lowest that is too much and those between: two more visits each. Then
        rates that are too slow though a higher one is not, at another time: a disturbance must not decide.
        """
        sizing = load_tuning(self.journal).sizing
        if sizing is not None:
            low, high = sizing.safe_iops or 0.0, sizing.over_iops or sizing.highest_iops
            yield from self._repeat(range(1, REPEATS + 1), lambda rate: low <= rate <= high)
        yield from self._refine()
        curve = load_tuning(self.journal).curve
        within = [point.offered for point in curve if point.state is RateState.WITHIN]
        slow = [point.offered for point in curve if point.state is not RateState.WITHIN]
        highest = max(within, default=0.0)
        yield from self._repeat(range(REPEATS + 1, MOST_RUNS), lambda rate: rate in slow and rate < highest)

    def _refine(self) -> Making[None]:
        """Steps between the safe rate and the next one, each halving what lies between, while there is time."""
        for _ in range(REFINEMENTS):
            visits = [visit for visit in self.journal.visits() if visit.purpose == CURVE]
            made = {visit.replicate % REPEATED for visit in visits} - set(PERCENTS)
            tuning = load_tuning(self.journal)
            percent = between(tuning)
            if percent is None or tuning.best is None or len(made) >= REFINEMENTS or percent in made:
                return
            (level,) = curve_levels(tuning.best, (percent,))
            asked = self.journal.asked_ms()
            length = max((asked.get(visit.visit_id) or CURVE_MS for visit in visits), default=CURVE_MS)
            rows = [self._step(level, percent + n * REPEATED, length) for n in range(1 + REPEATS)]
            if not self._there_is_time(rows):
                return
            self.journal.add_visits(rows)
            yield from self.make_planned(CURVE)

    def _repeat(self, numbers: range, chosen: Callable[[float], bool]) -> Making[None]:
        """More visits, so numbered, of the steps whose rates are chosen."""
        visits = [visit for visit in self.journal.visits() if visit.purpose == CURVE]
        if any(visit.replicate > numbers.start * REPEATED for visit in visits):
            return
        asked = self.journal.asked_ms()
        first = {visit.cell_key: visit for visit in visits if visit.replicate < REPEATED}
        deciding = [visit for key, visit in first.items() if chosen(offered_iops(self.cells[key]))]
        rows = [
            NewVisit(visit.cell_key, k, self.seed(k, 7), CURVE, runtime_ms=asked.get(visit.visit_id) or CURVE_MS)
            for visit in sorted(deciding, key=lambda visit: visit.replicate)[:MOST_REPEATED]
            for k in (visit.replicate + n * REPEATED for n in numbers)
        ]
        if self._there_is_time(rows):
            self._plan_curve(rows)
            yield from self.make_planned(CURVE)

    # -- helpers ---------------------------------------------------------------------------------------------

    def _cell_of(self, point: Point, more: Mapping[str, OptionValue] | None = None, reason: str = "") -> Cell:
        """The cell of a setting, known to the journal from now on."""
        constants = {**self._spec.constants, "numjobs": point[0], "iodepth": point[1], **(more or {})}
        cell, _ = build_plan(replace(self._spec, axes={}, constants=constants), self.session.plan.targets).cells[0]
        return self.session.know(cell, reason)

    def _length(self, point: Point, ios: int, shortest_ms: int, longest_ms: int, visits: Sequence[Visit]) -> int:
        """Milliseconds that hold so many I/Os if throughput grows with the load; where it does not, trials are
        repeated.
        """
        rates = [
            trial.iops * (point[0] * point[1]) / (trial.point[0] * trial.point[1])
            for trial in trials_of(self.cells, visits)
            if trial.point[0] <= point[0] and trial.point[1] <= point[1]
        ]
        rate = min(rates, default=0.0)
        return min(longest_ms, max(shortest_ms, round(1000 * ios / rate))) if rate else shortest_ms

    def _begin(self, phase: Purpose) -> None:
        self._phase = phase
        left = format_duration(self._to_come()[1])
        self.session.emit(Event("phase", {"phase": phase, "text": f"{WORDS[phase]}, about {left} left"}))

    def _to_come(self) -> tuple[int, float]:
        """Visits, and seconds of the phases from this one on, by what visits have taken so far."""
        counts, seconds = self.journal.count_visits(), 11 * CURVE_MS / 1000
        planned = counts.get(VisitStatus.PLANNED, 0)
        if self._phase == SEARCH:
            planned = max(planned, USUAL_TRIALS - counts.get(VisitStatus.DONE, 0))
            seconds += planned * self.budget.seconds_per_visit(TRIAL_MS / 1000 + FIO_SECONDS)
        return planned, seconds + FRESH_VISITS * FRESH_MS / 1000 * (self._phase != CURVE)

    def progress(self, batch: Batch) -> dict[str, float]:
        planned, seconds = self._to_come()
        return self.told_progress(planned, max(batch.seconds, seconds))

    def reserve_seconds(self) -> float:
        """Kept back for the fresh visits and the curve; never more than half of the budget."""
        need = (FRESH_VISITS * FRESH_MS + 11 * CURVE_MS) / 1000 * self.budget.slowdown + 3 * self.budget.start_seconds
        return min(need, (self._spec.budget_seconds or math.inf) / 2)

    def out_of_time(self, purpose: Purpose, taken: Sequence[Section]) -> bool:
        # Without fresh visits there is nothing to report.
        return False if purpose == FRESH else super().out_of_time(purpose, taken)

    def give_up(self, reason: str) -> bool:
        """A load under which fio cannot even start, after others that ran, is an upper bound and not the end."""
        waiting = [self.cells[row.cell_key] for row in self.journal.planned(SEARCH)]
        if not self.session.finished or self._phase != SEARCH or not waiting:
            return True
        heaviest = max(waiting, key=lambda cell: (cell.outstanding, cell.numjobs))
        known = self.journal.kept(Unrunnable).points
        self.journal.keep(Unrunnable((*known, (heaviest.numjobs, heaviest.iodepth))))
        self.journal.leave_out({heaviest.key: f"failed: {reason}"})
        return False

    def _show_as_a_map(self) -> None:
        """Report and export show the trials as a map over numjobs x iodepth."""
        tried = [cell for cell in self.cells.values() if "rate_iops" not in cell.option]
        axes = {name: sorted({cell.integer(name, 1) for cell in tried}) for name in ("numjobs", "iodepth")}
        self.session.show_over({"rw": [self._spec.constants["rw"]], **axes})


_DECIDED = frozenset(words("numjobs iodepth rate_iops rate rate_process thinktime io_size number_ios loops runtime"))
"""Options that the search decides on."""


USUAL_SECONDS = 60.0


@dataclass(frozen=True)
class Tune(Procedure):
    """goal: of a new search; one that was begun has it in its journal."""

    name = "tune"
    goal: Goal | None = None

    def plan(self, spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> Plan:
        """Raises UsageError for what the search itself decides on."""
        taken = sorted(_DECIDED & {*spec.constants, *spec.axes})
        if taken:
            raise UsageError(f"{taken[0]} is what the search decides on", where="--set", remedy=f"leave {taken[0]} out")
        constants = {**spec.constants, "numjobs": 1, "iodepth": 1}
        return build_plan(replace(spec, constants=constants), targets, read_only=read_only)

    def seconds(self, plan: Plan) -> float:
        """What follows from what its trials give."""
        return min(USUAL_SECONDS, plan.spec.budget_seconds or USUAL_SECONDS)

    def summary(self, plan: Plan) -> dict[str, Any]:
        told = super().summary(plan)
        seconds = told["seconds"] * any(cell.writes for cell in plan.to_measure)
        told["bytes_written"] = plan.layout_bytes + int(seconds * PLANNING_WRITE_BYTES_PER_S)
        return told | {"write_load_seconds": seconds}

    def text(self, plan: Plan, summary: Mapping[str, Any]) -> PlanText:  # noqa: ARG002
        visits = "about 30 trials of its jobs and depth, 5 visits of the best, 10 to 12 fixed rates"
        return PlanText(order="", visits=visits, budget="the search ends with what it has found")

    def begin(self, journal: Journal, plan: Plan) -> None:  # noqa: ARG002
        if self.goal is None:
            raise UsageError("a search needs a goal", where="tune", remedy="write for example --p99 5ms")
        journal.keep(TuneGoal(self.goal))

    def steps(self, session: Session) -> Steps:
        return TuneSteps(session)
