# SPDX-License-Identifier: Apache-2.0
"""The supervisor of a search for the best numjobs x iodepth: trials, the best setting afresh, the load-latency curve."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ioatlas.campaign.events import Event
from ioatlas.campaign.intake import Intake
from ioatlas.campaign.plan import FIO_SECONDS, Plan, build_plan
from ioatlas.campaign.prepare import last_line
from ioatlas.campaign.session import FRESH_BLOCK, FRUITLESS_BATCHES, Session, Summary
from ioatlas.campaign.spec import CampaignSpec
from ioatlas.campaign.start import start
from ioatlas.campaign.tuned import (
    CURVE,
    FEWEST_FRESH,
    FRESH,
    NOT_OF_THE_MAP,
    SEARCH,
    curve_levels,
    fresh_trials,
    holds,
    load_tuning,
    read_goal,
    refuted,
    trials_of,
)
from ioatlas.design.latency_search import Goal, Point, conclude, next_trials
from ioatlas.engine.batch import Batch, Section
from ioatlas.errors import UsageError
from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.visit import Visit
from ioatlas.store.journal import Journal, NewVisit

TRIAL_MS, TRIAL_IOS, TRIAL_LONGEST_MS = 500, 250, 2000
"""A trial lasts at least this long, and until it holds I/Os enough for a 99th percentile, within reason."""
FRESH_VISITS, FRESH_TRIES, FRESH_MS, FRESH_LONGEST_MS = 5, 3, 1000, 5000
CURVE_MS, CURVE_IOS, SHORTEST_CURVE_MS = 1000, 300, 200
REFUTALS = 4
"""Settings that the fresh visits may refute before the search gives up."""
MOST_ROUNDS = 150
USUAL_TRIALS = 30
"""Trials a search takes as a rule: what the time left is reckoned from."""
_OURS = frozenset({"numjobs", "iodepth", "rate_iops", "rate", "rate_process", "thinktime", "io_size", "number_ios", "loops", "runtime"})


def start_tuning(
    plan_of: Any, spec: CampaignSpec, directory: Path, goal: Goal, *, read_only: bool, destroy: str | None, overwrite: str | None
) -> Journal:
    """A new campaign directory for a search. `plan_of` opens the targets of a specification (campaign.start.open_plan).

    Raises UsageError for what the search itself decides on, and as `campaign.start.start`.
    """
    taken = sorted(_OURS & {*spec.constants, *spec.axes})
    if taken:
        raise UsageError(f"{taken[0]} is what the search decides on", where="--set", remedy=f"leave {taken[0]} out")
    constants = {**spec.constants, "numjobs": 1, "iodepth": 1}
    plan: Plan = plan_of(replace(spec, constants=constants), read_only=read_only)
    journal = start(plan, directory, destroy=destroy, overwrite=overwrite, planned=False)
    journal.set_outcome("tune", asdict(goal))
    return journal


def is_tuning(journal: Journal) -> bool:
    """Whether a campaign is a search."""
    return "tune" in journal.outcomes()


class Tuner(Session):
    """One session of a search. Everything it decides is derived from the journal, so a stopped search goes on where it was."""

    def run(self) -> Summary:
        self._goal = read_goal(self._journal)
        self._spec = self._plan.spec
        self._phase = SEARCH
        self._learn_from_journal()
        try:
            self._sites.prepare(self._fio, self._plan, self._stop_asked, self._emit)
            self._journal.set_outcome("tune_ended", "" if self._search() else "budget")
            if self._confirm():
                self._make_curve()
        finally:
            self._clean()
        self._show_as_a_map()
        self._journal.set_complete()
        kept = [visit for visit in self._journal.visits(with_series=True) if not visit.discarded]
        seconds = time.monotonic() - self._began
        return Summary(self._journal.directory, len({visit.cell_key for visit in kept}), len(kept), seconds, complete=True)

    # -- the three parts ----------------------------------------------------------------------------------------------

    def _search(self) -> bool:
        """Trials until the search knows enough (True) or the budget ends (False)."""
        self._begin(SEARCH)
        for _ in range(MOST_ROUNDS):
            if not self._make_planned(SEARCH):
                return False
            visits = self._journal.visits(with_series=True)
            points = next_trials(self._goal, trials_of(self._cells, visits), self._failed(visits))
            if not points:
                return True
            block = 1 + max((visit.block for visit in visits if visit.purpose == SEARCH), default=-1)
            rows = [self._trial(point, block, visits) for point in points]
            self._journal.add_visits(rows)
        self._journal.add_remark("warning", f"The search was ended after {MOST_ROUNDS} rounds: its trials vary too much to settle.")
        return True

    def _trial(self, point: Point, block: int, visits: Sequence[Visit]) -> NewVisit:
        cell = self._cell_of(point)
        return NewVisit(
            cell.key,
            block,
            self._seed(block, *point),
            SEARCH,
            runtime_ms=self._length(point, TRIAL_IOS, TRIAL_MS, TRIAL_LONGEST_MS, visits),
        )

    def _failed(self, visits: Sequence[Visit]) -> set[Point]:
        """Loads that could not be run, or whose visits are discarded again and again."""
        given_up = {(int(jobs), int(depth)) for jobs, depth in self._journal.outcomes().get("tune_failed", [])}
        good = {visit.cell_key for visit in visits if visit.purpose == SEARCH and not visit.discarded}
        bad = [visit.cell_key for visit in visits if visit.purpose == SEARCH and visit.discarded]
        bad += [key for key, _ in self._journal.failures()]
        for key in set(bad) - good:
            if bad.count(key) >= 2:
                given_up.add((self._cells[key].numjobs, self._cells[key].iodepth))
        return given_up

    def _confirm(self) -> bool:
        """Fresh visits of the best setting; one that they refute gives way to the next best. True when one holds."""
        for _ in range(REFUTALS):
            visits = self._journal.visits(with_series=True)
            outcome = conclude(self._goal, trials_of(self._cells, visits), self._failed(visits), refuted(self._journal))
            if outcome.best is None:
                return False
            self._begin(FRESH)
            cell = self._cell_of(outcome.best.point)
            for _ in range(FRESH_TRIES):
                missing = FRESH_VISITS - len(fresh_trials(cell, visits))
                if missing <= FRESH_VISITS - FEWEST_FRESH and not self._journal.planned(FRESH):
                    break
                if not self._journal.planned(FRESH):
                    length = self._length(outcome.best.point, 4 * TRIAL_IOS, FRESH_MS, FRESH_LONGEST_MS, visits)
                    block = max((visit.block + 1 for visit in visits if visit.purpose == FRESH), default=FRESH_BLOCK)
                    blocks = range(block, block + missing)
                    self._journal.add_visits(NewVisit(cell.key, k, self._seed(k), FRESH, runtime_ms=length) for k in blocks)
                self._make_planned(FRESH)
                visits = self._journal.visits(with_series=True)
            if holds(self._goal, fresh_trials(cell, visits)):
                return True
            self._journal.set_outcome("tune_refuted", [*refuted(self._journal), outcome.best.point])
        return False

    def _make_curve(self) -> None:
        """Open loop at ten shares of the capacity, in random order."""
        self._begin(CURVE)
        tuning = load_tuning(self._journal)
        if tuning.best is None or self._journal.has_visits(CURVE):
            self._make_planned(CURVE)
            return
        left = self._left_seconds()
        each = CURVE_MS if left is None else min(CURVE_MS, int(1000 * (left - 3) / 12))
        if each < SHORTEST_CURVE_MS:
            self._journal.add_remark("left-out", "The budget ended before the load-latency curve.")
            return
        levels = curve_levels(tuning.best)
        random.Random(self._spec.order_seed).shuffle(levels)  # noqa: S311 - an order, not a secret
        rows = []
        for level in levels:
            cell = self._cell_of((level.numjobs, level.iodepth), level.options, NOT_OF_THE_MAP)
            longest = TRIAL_LONGEST_MS if left is None else each
            wanted = min(longest, max(each, round(1000 * CURVE_IOS / level.offered_iops)))
            rows.append(NewVisit(cell.key, level.percent, self._seed(level.percent, 7), CURVE, runtime_ms=wanted))
        self._journal.add_visits(rows)
        self._make_planned(CURVE)

    # -- helpers ------------------------------------------------------------------------------------------------------

    def _cell_of(self, point: Point, more: Mapping[str, OptionValue] | None = None, reason: str = "") -> Cell:
        """The cell of a setting, known to the journal from now on."""
        constants = {**self._spec.constants, "numjobs": point[0], "iodepth": point[1], **(more or {})}
        cell, _ = build_plan(replace(self._spec, axes={}, constants=constants), self._plan.targets).cells[0]
        if cell.key not in self._cells:
            self._journal.add_cells([(cell, reason)], first=len(self._cells))
            self._cells[cell.key] = cell
        return cell

    def _seed(self, *numbers: int) -> int:
        return random.Random(f"{self._spec.order_seed} {numbers}").randrange(1, 2**31)  # noqa: S311 - offsets, not secrets

    def _length(self, point: Point, ios: int, shortest_ms: int, longest_ms: int, visits: Sequence[Visit]) -> int:
        """Milliseconds that hold so many I/Os if throughput grows with the load; where it does not, trials are repeated."""
        rates = [
            trial.iops * (point[0] * point[1]) / (trial.point[0] * trial.point[1])
            for trial in trials_of(self._cells, visits)
            if trial.point[0] <= point[0] and trial.point[1] <= point[1]
        ]
        rate = min(rates, default=0.0)
        return min(longest_ms, max(shortest_ms, round(1000 * ios / rate))) if rate else shortest_ms

    def _begin(self, phase: str) -> None:
        self._phase = phase
        words = {SEARCH: "searching", FRESH: "measuring the best setting again", CURVE: "measuring the load-latency curve"}
        done = self._journal.count_visits().get("done", 0)
        self._emit(Event("phase", {"phase": phase, "text": words[phase], "seconds_left": round(self._seconds_to_come(done), 1)}))

    def _seconds_to_come(self, done: int) -> float:
        """Of the phases from this one on, by what visits have taken so far."""
        each = (self._wall_spent / self._made) if self._made else TRIAL_MS / 1000 + FIO_SECONDS
        seconds = max(3, USUAL_TRIALS - done) * each if self._phase == SEARCH else 0.0
        seconds += FRESH_VISITS * 1.1 * FRESH_MS / 1000 if self._phase != CURVE else 0.0
        return seconds + 11 * CURVE_MS / 1000 + 2 * FIO_SECONDS

    def _progress(self, batch: Batch) -> dict[str, float]:
        counts = self._journal.count_visits()
        done, planned = counts.get("done", 0), counts.get("planned", 0)
        if self._phase == SEARCH:
            planned = max(planned, USUAL_TRIALS - done)
        return {"visits_done": done, "visits_planned": planned, "seconds_left": round(max(batch.seconds, self._seconds_to_come(done)), 1)}

    def _reserve_seconds(self) -> float:
        """Kept back for the fresh visits and the curve; never more than half of the budget."""
        need = (FRESH_VISITS * FRESH_MS + 11 * CURVE_MS) / 1000 * self._slowdown() + 3 * FIO_SECONDS
        budget = self._spec.budget_seconds
        return need if budget is None else min(need, budget / 2)

    def _out_of_time(self, purpose: str, taken: tuple[Section, ...]) -> bool:
        # Without fresh visits there is nothing to report.
        return False if purpose == FRESH else super()._out_of_time(purpose, taken)

    def _count_fruitless(self, intake: Intake, stderr: str, exit_code: int, stopped: str) -> None:
        """A load under which fio cannot even start, after others that ran, is an upper bound and not the end."""
        if intake.visits or not self._finished or self._phase != SEARCH or stopped or self._fruitless + 1 < FRUITLESS_BATCHES:
            super()._count_fruitless(intake, stderr, exit_code, stopped)
            return
        waiting = [self._cells[row.cell_key] for row in self._journal.planned(SEARCH)]
        if not waiting:
            super()._count_fruitless(intake, stderr, exit_code, stopped)
            return
        heaviest = max(waiting, key=lambda cell: (cell.outstanding, cell.numjobs))
        known = self._journal.outcomes().get("tune_failed", [])
        self._journal.set_outcome("tune_failed", [*known, (heaviest.numjobs, heaviest.iodepth)])
        self._journal.leave_out({heaviest.key: f"failed: {last_line(stderr) or f'fio ended with {exit_code}'}"})
        self._fruitless = 0

    def _show_as_a_map(self) -> None:
        """Report and export show the trials as a map over numjobs x iodepth."""
        tried = [cell for cell in self._cells.values() if "rate_iops" not in cell.option]
        record = self._journal.plan()
        record["spec"]["axes"] = {
            "rw": [self._spec.constants["rw"]],
            "numjobs": sorted({cell.numjobs for cell in tried}),
            "iodepth": sorted({cell.iodepth for cell in tried}),
        }
        self._journal.set_plan(record)
