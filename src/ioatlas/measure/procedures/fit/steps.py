# SPDX-License-Identifier: Apache-2.0
"""The steps of a fit: windows of every load whose requirements are not decided, in turns, until all are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from statistics import median
from typing import Any

from ioatlas.load.fio.batch import Batch, Section
from ioatlas.load.fio.collect import SectionResult
from ioatlas.measure.procedures.fit.fits import carried, fits_of
from ioatlas.measure.procedures.fit.use import Uses
from ioatlas.measure.procedures.fit.verdict import (
    GAP_MS,
    PACED_WINDOW_SECONDS,
    RATE_WINDOW_SECONDS,
    WINDOW_SECONDS,
    counts,
)
from ioatlas.measure.procedures.options import FitOptions
from ioatlas.measure.run.fleet import FLEET_WINDOW_SECONDS
from ioatlas.measure.run.gates import Gates
from ioatlas.measure.run.intake import Intake, judged
from ioatlas.measure.run.runner import Runner
from ioatlas.measure.run.steps import Steps
from ioatlas.model.verdict import UnmeasuredCode
from ioatlas.model.visit import Purpose, Visit
from ioatlas.stats.windows import FEWEST
from ioatlas.store.journal import NewVisit, PlannedVisit

GROWTH = 3
"""Later a load gets one window more for so many that it has: each look costs a start of the load generator."""


class FitSteps(Steps):
    """One session."""

    def __init__(self, runner: Runner) -> None:
        super().__init__(runner)
        self._asked = self.journal.kept(Uses).asked
        self._most = runner.plan.spec.of(FitOptions).fit_max
        self._late: dict[str, list[float]] = {}

    def make(self) -> bool:
        self.runner.prepare()
        self.runner.make(Purpose.SWEEP, self._next)
        if self._most:
            asked = {visit.cell_key for visit in self.journal.visits()}
            self.journal.leave_out(dict.fromkeys(self.cells.keys() - asked, UnmeasuredCode.TRIAL))
        return True

    def _next(self, visits: Sequence[Visit]) -> list[NewVisit]:
        """Windows in turns: what drifts, drifts for all loads. The first of a load is alone: it tells how long the
        next ones take to drain.
        """
        made = {visit.cell_key: visit.replicate + 1 for visit in sorted(visits, key=lambda one: one.replicate)}
        wanted: dict[str, int] = {}
        for key, more in self._open(visits).items():
            done = made.setdefault(key, 0)
            wanted[key] = 1 if not done else FEWEST - 1 if done == 1 else max(1, min(more, done // GROWTH))
        seed = self.runner.plan.spec.order_seed
        return [
            NewVisit(key, made[key] + turn, seed + made[key] + turn, alone=not made[key])
            for turn in range(max(wanted.values(), default=0))
            for key, count in wanted.items()
            if turn < count
        ]

    def _open(self, visits: Sequence[Visit]) -> dict[str, int]:
        """Windows more that the loads take which are not decided, by cell."""
        fits = fits_of(self.journal, self._asked, visits)
        if self._most:
            number = carried(fits).next
            fits = [] if number is None else [fits[number]]
        wanted = sorted((one.more, key) for fit in fits for key, one in fit.judged if one.more)
        return {key: more for more, key in wanted}  # the most of each, which comes last

    def section(self, visit: PlannedVisit) -> Section:
        late = median(self._late.get(visit.cell_key, [0]))
        return self.runner.section(visit, self._window_ms(visit.cell_key), max(GAP_MS, ceil(late)))

    def _window_ms(self, key: str) -> int:
        here = [
            (one.use, requirement.quantity)
            for one in self._asked
            for requirement in one.use.requires
            if one.cells[requirement.load][0] == key
        ]
        usual = RATE_WINDOW_SECONDS if any(not quantity.is_latency for _, quantity in here) else WINDOW_SECONDS
        usual = PACED_WINDOW_SECONDS if self.cells[key].loop == "open" else usual
        least = FLEET_WINDOW_SECONDS if self.runner.plan.spec.clients else 0.0
        return round(1000 * (max([least, *(use.window_seconds or usual for use, _ in here)]) or usual))

    def take_in(
        self,
        results: Sequence[SectionResult],
        planned: dict[int, PlannedVisit],
        gates: Gates | None,  # noqa: ARG002 - counters that do not agree with a use's flushes and caches are no doubt
        usage: Mapping[str, Any] | None,
    ) -> Intake:
        """What counts is not made again, one load after another, before anything is looked at."""
        intake = super().take_in(results, planned, None, usage)
        for target in {cell.target for cell in self.cells.values() if cell.option.get("file_append")}:
            self.runner.sites.cut(target, self.runner.plan.files[target])
        taken = {(visit.cell_key, visit.replicate) for visit in intake.visits if counts(visit)}
        intake.again = [one for one in intake.again if (one.cell_key, one.replicate) not in taken]
        intake.visits = [replace(visit, discarded=()) if counts(visit) else visit for visit in intake.visits]
        return intake

    def learn(self, visit: Visit, asked_ms: int | None = None) -> None:
        """Windows are given here, not found: how long after its own what was in flight came back."""
        if asked_ms is not None:
            self._late.setdefault(visit.cell_key, []).append(max(0.0, visit.ran_ms - asked_ms))

    def judge(self, section: Section, visit: Visit, gates: Gates | None) -> tuple[Visit, bool]:
        """Nothing is made longer, and a target that stands still is no reason to look away."""
        return judged(section, visit, gates)[0], False

    def progress(self, batch: Batch) -> dict[str, float]:
        told = super().progress(batch)
        more = sum(self._open(self.journal.visits(with_series=True)).values())
        left = max(told["seconds_left"], more * batch.seconds / len(batch.sections))
        return {**told, "seconds_left": round(min(left, max(0.0, self.budget.left or 0.0)), 1)}
