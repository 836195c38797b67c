# SPDX-License-Identifier: Apache-2.0
"""The steps of a map: lay out, probe, fit the budget, visit every cell or those the design asks for, the extremes
afresh.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from ioatlas.analysis.estimates import judged_visits
from ioatlas.analysis.overview import contenders
from ioatlas.analysis.spend import plan_spending
from ioatlas.design.exhaustive import random_replicates
from ioatlas.design.pace import LAST_SHARE
from ioatlas.model.cell import Cell
from ioatlas.model.events import Event
from ioatlas.model.outcomes import Extremes, Integrity, Voided
from ioatlas.model.purpose import Purpose
from ioatlas.model.reason import Reason, ReasonCode
from ioatlas.model.visit import Visit
from ioatlas.procedures.dense_map.fitting import CLEAN_SECONDS, Fitting, has_own_process, seconds_for, visit_seconds
from ioatlas.procedures.dense_map.initial_reads import initial_reads
from ioatlas.procedures.dense_map.late_burst import set_bursts_aside
from ioatlas.procedures.dense_map.probe import probe
from ioatlas.procedures.dense_map.time_left import (
    MOST_LENGTHENED,
    MOST_TRIES,
    Cost,
    Known,
    fuller,
    fuller_ms,
    lengthened_ms,
    too_short,
    wide,
    without_value,
)
from ioatlas.procedures.dense_map.watch import Watch, plan_repair
from ioatlas.results.result import estimates_so_far
from ioatlas.run.budget import SHORT_SECONDS
from ioatlas.run.intake import made_alone, unconfirmed
from ioatlas.run.integrity import check_targets
from ioatlas.run.plan import FIO_SECONDS
from ioatlas.run.runner import BATCH_SECONDS, Runner
from ioatlas.run.steps import Steps
from ioatlas.store.journal import NewVisit, PlannedVisit

REPLICATE_REPEATS = 2
"""Times that replicates are voided and measured again; what moves after that is a finding."""

FRESH_VISITS, FEWEST_FRESH = 3, 2
FRESH_CELLS = 3
"""Of a target and direction, as is reckoned with."""
FRESH_SHARE = 0.1
"""Most of a budget that fresh visits may take."""
MOST_CHEAPEST = 60
"""Cells of a map that a short budget takes one by one, the cheapest first; of larger ones levels are left out."""
FRESH_REPLICATE = 1000
"""First replicate number of visits made afresh, after the sweep."""


class MapSteps(Steps):
    """One session of a map. `sweep` makes the visits between the probes and the fresh ones."""

    any_order = True
    open_end = False
    """Whether nobody knows beforehand how many visits the sweep takes."""

    def __init__(self, runner: Runner, sweep: Callable[[Runner], None] | None = None) -> None:
        super().__init__(runner)
        self._sweep = sweep
        self._fresh_made = False
        self._seed = runner.plan.spec.order_seed

    def make(self) -> bool:
        """Make all planned visits, then those of the extreme cells."""
        runner = self.runner
        if self._sweep is None:  # what ended the last session was mended meanwhile, or fails once more and is told
            self.journal.add_visits(made_alone(visit) for visit in self.journal.failed_for_good(Purpose.SWEEP))
        fitting = Fitting(runner, self.reserve_seconds)
        fitting.fit_layout()
        runner.prepare()
        self._read_first()
        cheapest_first = self.budget.short and self._sweep is None and len(runner.plan.to_measure) <= MOST_CHEAPEST
        if cheapest_first:
            fitting.take_cheapest()
        else:
            probe(runner)
            if self._sweep is None:
                self._sweep = fitting.fit_budget()
        precise = runner.plan.spec.wanted.precision is not None
        self._watch = Watch(self.journal, runner.plan, open_end=self._sweep is not None or precise or cheapest_first)
        if self._sweep is not None:
            self._sweep(runner)
        else:
            self._make_sweep(precise=precise)
        self._end_baselines()
        if not self.budget.short:
            self._make_extremes()
        self._fresh_made = True
        self._use_time_left(fitting)
        self._verify()
        return True

    def _make_sweep(self, *, precise: bool) -> None:
        """What is planned; then, while there is time, what is missing, too short, not precise or wide."""
        runner = self.runner
        going = runner.make_planned(Purpose.SWEEP)
        if set_bursts_aside(runner, self._left_for_sweep()):
            going = runner.make_planned(Purpose.SWEEP)
        if going:
            self._repeat_replicates()
        self._make_missing()
        self._make_stage(too_short)
        if precise:
            runner.make(Purpose.SWEEP, self._imprecise)
        self._make_stage(wide)
        if set_bursts_aside(runner, self._left_for_sweep()):
            runner.make_planned(Purpose.SWEEP)

    def _use_time_left(self, fitting: Fitting) -> None:
        """What was kept back for the fresh visits and was not needed. Cells that a model stands in for stay so."""
        if self.budget.total is not None:
            if self._sweep is None:
                self._make_missing()
            for stage in (too_short, fuller, wide):
                self._make_stage(stage)
        self._keep_unconfirmed()
        fitting.tell_left_out()

    def _keep_unconfirmed(self) -> None:
        """Where the budget ended before a longer visit could confirm it, a visit that settled late is better than no
        value: it counts as unstable.
        """
        swept = self._swept(self.journal.visits())
        for visit_id, cell_key, _, verdict in self.journal.discarded(ReasonCode.LATE):
            if self.budget.total is not None and cell_key not in swept:
                self.journal.reinstate(visit_id, unconfirmed(verdict))
                swept[cell_key] = []

    def _make_missing(self) -> None:
        """The cells without a value: as planned, then with windows that hold what is in flight and no more, at last
        those that may be too slow for what is left, which has no other use.
        """
        pace, left = self.runner.pace, self._left_for_sweep()
        share = pace.share
        swept = self._swept(self.journal.visits())
        missing = [cell for cell in self.runner.plan.to_measure if cell.key not in swept]
        if left is None or seconds_for(self.runner, missing, 1) <= left:
            self._make_stage(without_value)
        if left is None:
            return
        pace.share = min(share, LAST_SHARE)
        self._make_stage(without_value)
        if (self.budget.left or 0.0) < SHORT_SECONDS:
            pace.hopeful = True
            self._make_stage(without_value)
        pace.share, pace.hopeful = share, False

    def _make_stage(self, stage: Callable[[Known, Cost], list[NewVisit]]) -> None:
        self.runner.make(Purpose.SWEEP, lambda visits: self._with_time_left(stage, visits))

    def _with_time_left(
        self, stage: Callable[[Known, Cost], list[NewVisit]], visits: Sequence[Visit]
    ) -> list[NewVisit]:
        """The visits that a stage asks for next."""
        spec = self.runner.plan.spec
        lost = Counter(visit.cell_key for visit in visits if visit.discarded and visit.purpose is Purpose.SWEEP)
        lost.update(key for key, _ in self.journal.failures())
        gone = frozenset(key for key, count in lost.items() if count >= MOST_TRIES)
        left = self._left_for_sweep()
        cells = self.runner.plan.to_measure
        alone = frozenset(cell.key for cell in cells if has_own_process(self.runner, cell))
        known = Known(cells, visits, self.journal.asked_ms(), gone, left, spec.visits, self._seed, alone)
        return stage(known, self._cost)

    def _cost(self, cell: Cell, runtime_ms: int | None = None) -> float:
        """Expected seconds of one visit, at its usual window or a longer one."""
        usual_ms, _ = self.runner.pace.runtime_and_gap_ms(cell)
        return visit_seconds(self.runner, cell) + max(0, (runtime_ms or 0) - usual_ms) / 1000

    def _read_first(self) -> None:
        """Read what was prepared before the probes or the sweep write to it, where a state was asked for."""
        if not self.runner.finished and not self.journal.has_visits(Purpose.INITIAL):
            self.journal.add_visits(initial_reads(self.runner.plan))
            self.runner.make_planned(Purpose.INITIAL)

    def waiting(self, purpose: Purpose, limit: int) -> list[PlannedVisit]:
        """The next planned visits; into those of the sweep baseline visits are woven at regular places."""
        waiting = super().waiting(purpose, limit)
        return self._watch.weave(waiting) if purpose == Purpose.SWEEP else waiting

    def _end_baselines(self) -> None:
        """A last baseline visit after the sweep, and none that was planned and has no place any more."""
        self.journal.drop_planned("the sweep ended before its place", purpose=Purpose.BASELINE)
        if self._watch.plan_last():
            self.runner.make_planned(Purpose.BASELINE)

    def _repeat_replicates(self) -> None:
        """Void replicates that stand apart from the others, and measure them again; of two that differ, let a third
        decide. Twice at most.
        """
        for _ in range(REPLICATE_REPEATS):
            visits = self.journal.visits(with_series=True)
            repair = plan_repair(self.cells, visits, self._seed)
            cells = [self.cells[visit.cell_key] for visit in repair.visits]
            left = self._left_for_sweep()
            if not cells or (left is not None and seconds_for(self.runner, cells, 1) > left):
                return  # what cannot be made again is not thrown away: it stands, and is told
            for void in repair.voided:
                self.journal.discard_visits(
                    void.visit_ids, Reason(ReasonCode.VOIDED, f"{ReasonCode.VOIDED}: {void.record.reason}")
                )
            known = self.journal.kept(Voided).replicates
            self.journal.keep(Voided((*known, *(void.record for void in repair.voided))))
            self.runner.emit(Event("drift", {"text": repair.text, "visits": len(repair.visits)}))
            self.journal.add_visits(repair.visits)
            if not self.runner.make_planned(Purpose.SWEEP):
                return

    def _left_for_sweep(self) -> float | None:
        """Seconds of load that the budget still has room for, as planned; None without a limit."""
        left = self.budget.left
        return None if left is None else max(0.0, left - self.reserve_seconds())

    def _imprecise(self, visits: Sequence[Visit]) -> list[NewVisit]:
        """The cells that are not precise enough again, in random orders up to their next look, until all are, the cap
        or the budget.

        Windows and visits go where the variance is; what the budget does not reach keeps the width it has.
        """
        grade, left = self.runner.plan.spec.wanted, self._left_for_sweep()
        # Visits that were too short for a verdict do not count: without an end of its own this need not have one.
        made = {key: len(mine) for key, mine in self._swept(visits).items()}
        most = self.runner.plan.spec.visits + grade.cap + MOST_LENGTHENED
        cells = {key: cell for key, cell in self.cells.items() if made.get(key, 0) < most}
        spending = plan_spending(cells, visits, grade, seconds_of=self._seconds_of, left_seconds=left)
        if not spending.visits:
            return []
        replicate = 1 + max((visit.replicate for visit in visits if visit.purpose == Purpose.SWEEP), default=0)
        told = {target: round(seconds, 3) for target, seconds in spending.window_seconds.items()}
        waiting = {"cells_waiting": len(spending.visits), "block": replicate, "window_seconds": told}
        self.runner.emit(Event("precision", waiting))
        asked_ms = self.journal.asked_ms()
        swept = self._swept(visits)
        windows = {
            key: max(self._longer_ms(key, told) or 0, lengthened_ms(asked_ms, swept.get(key, [])) or 0) or None
            for key in spending.visits
        }
        rows: list[NewVisit] = []
        for turn in range(max(spending.visits.values())):
            keys = [key for key, count in spending.visits.items() if count > turn]
            order = random_replicates(keys, 1, self._seed + replicate + turn)
            rows += [NewVisit(key, replicate + turn, seed, runtime_ms=windows[key]) for key, _, seed in order]
        return rows

    def _seconds_of(self, cell: Cell) -> tuple[float, float]:
        """Window of one visit of a cell, and what it costs besides: its gap, and its share of a fio's start."""
        runtime_ms, gap_ms = self.runner.pace.runtime_and_gap_ms(cell)
        return runtime_ms / 1000, gap_ms / 1000 + FIO_SECONDS * min(1.0, runtime_ms / 1000 / BATCH_SECONDS)

    @staticmethod
    def _swept(visits: Sequence[Visit]) -> dict[str, list[Visit]]:
        """Visits of the sweep that count, by cell."""
        found: dict[str, list[Visit]] = {}
        for visit in visits:
            if visit.purpose is Purpose.SWEEP and not visit.discarded:
                found.setdefault(visit.cell_key, []).append(visit)
        return found

    def _longer_ms(self, key: str, windows: Mapping[str, float]) -> int | None:
        """Runtime of a visit of a target whose windows are to grow: it fills its ticks of 100 ms."""
        seconds = windows.get(self.cells[key].target)
        if seconds is None:
            return None
        _, gap_ms = self.runner.pace.runtime_and_gap_ms(self.cells[key])
        return -(-int(seconds * 1000 + gap_ms) // 100) * 100 - gap_ms

    def reserve_seconds(self) -> float:
        """Kept back for the fresh visits of extreme cells, cleaning and the report."""
        load = 0.0 if self._fresh_made or self.budget.short else self._fresh_seconds()
        return load + CLEAN_SECONDS + self.report_seconds()

    def _fresh_seconds(self) -> float:
        plan = self.runner.plan
        groups = {(cell.target, direction) for cell in plan.to_measure for direction in cell.directions}
        usual = median(visit_seconds(self.runner, cell) for cell in plan.to_measure)
        load = len(groups) * FRESH_CELLS * FRESH_VISITS * usual + self.budget.start_seconds
        return load if self.budget.total is None else min(load, FRESH_SHARE * self.budget.total)

    def _make_extremes(self) -> None:
        """Measure again in turns the cells that will be named because they are extreme, and those that may be better;
        only these visits give their values.
        """
        if not self.journal.has_visits(Purpose.FRESH):
            # As the report will take them: what caches, ceilings and reducible data make suspect is not named, so it
            # needs no fresh visits.
            cells = self._extreme_cells()
            asked_ms, swept = self.journal.asked_ms(), self._swept(self.journal.visits())
            windows = {cell.key: lengthened_ms(asked_ms, swept.get(cell.key, [])) for cell in cells}
            replicates, windows = self._fresh_windows(cells, windows)
            replicates = -(-replicates // self.runner.plan.spec.set_ups)
            generator = random.Random(self._seed + 1)  # noqa: S311 - an order, not a secret
            rows = []
            for replicate in range(replicates):
                order = list(cells)
                generator.shuffle(order)
                rows += [
                    NewVisit(
                        cell.key,
                        FRESH_REPLICATE + replicate,
                        generator.randrange(1, 2**31),
                        Purpose.FRESH,
                        runtime_ms=windows[cell.key],
                    )
                    for cell in order
                ]
            self.journal.add_visits(rows)
            if rows:
                self.runner.emit(Event("fresh", {"cells": len(cells), "visits": len(rows)}))
        self.runner.make_planned(Purpose.FRESH)

    def _extreme_cells(self) -> Sequence[Cell]:
        """Those that will be named; where the target is set up several times, those that the first time chose."""
        if self.journal.is_kept(Extremes):
            return [self.cells[key] for key in self.journal.kept(Extremes).cells if key in self.cells]
        cells = contenders(estimates_so_far(self.journal))
        if self.runner.plan.spec.set_ups > 1:
            self.journal.keep(Extremes(tuple(cell.key for cell in cells)))
        return cells

    def _fresh_windows(self, cells: Sequence[Cell], usual: dict[str, int | None]) -> tuple[int, dict[str, int | None]]:
        """How often each of these cells is measured again, and how long: windows that hold enough I/Os are worth fewer
        visits, as far as the budget has room for two of each.
        """
        if self.budget.left is None:
            return FRESH_VISITS, usual
        left = self.budget.left - CLEAN_SECONDS - self.report_seconds()
        asked_ms, swept = self.journal.asked_ms(), self._swept(self.journal.visits(with_series=True))
        longer = {
            cell.key: fuller_ms(cell, judged_visits(swept.get(cell.key, [])), asked_ms) or usual[cell.key]
            for cell in cells
        }
        each = sum(self._cost(cell, longer[cell.key]) for cell in cells)
        able = [count for count in range(FRESH_VISITS, FEWEST_FRESH - 1, -1) if count * each <= left]
        return (able[0], longer) if able else (FRESH_VISITS, usual)

    def _verify(self) -> None:
        """Once, at the end: it overwrites what the reads of the sweep have read."""
        runner = self.runner
        if not runner.plan.spec.verify or self.journal.is_kept(Integrity):
            return
        checks = check_targets(
            runner.plan,
            runner.sites,
            runner.environment.executor,
            self.journal.directory,
            stop_asked=runner.stop_asked,
            emit=runner.emit,
        )
        for check in checks:
            self.journal.add_ledger(check.target, "verified write", check.written_bytes)
        self.journal.keep(Integrity(checks))
