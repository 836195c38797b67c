# SPDX-License-Identifier: Apache-2.0
"""One session of a procedure: what it makes next, and where it times, judges or learns otherwise than a map does."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from ioatlas.answer.analysis.wording import plural
from ioatlas.load.fio.batch import WORK_CAP_SECONDS, Batch, Section
from ioatlas.load.fio.collect import SectionResult
from ioatlas.load.fio.replay import cap_ms
from ioatlas.load.fleet.merge import outweighing_ms, read_batch_of, skew_reason
from ioatlas.measure.run.intake import Intake, is_silent, judged, may_stall, stalled, take_in
from ioatlas.measure.run.plan import CELLS_PER_BATCH, work_seconds
from ioatlas.model.cell import Cell
from ioatlas.model.options import JobValue
from ioatlas.model.verdict import BUDGET_ENDED, Verdict, VerdictCode
from ioatlas.model.visit import Purpose, RemarkKind, Visit, VisitStatus
from ioatlas.store.journal import PlannedVisit

if TYPE_CHECKING:
    from ioatlas.measure.run.gates import Gates
    from ioatlas.measure.run.runner import Runner
    from ioatlas.measure.run.telemetry import Seen

REPORT_SECONDS = 2.0
"""Kept back of every budget for the report; of a short one REPORT_SHARE."""
REPORT_SHARE = 0.1


class Steps(ABC):
    """What a session makes is `make`; the other methods are what the runner asks meanwhile, each with a map's answer.

    All that is decided follows from the journal and the seed alone, so that a session that was killed goes on where it
    was.
    """

    any_order = False
    """Whether planned visits may be passed over for others that the time that is left still allows."""

    repeats = True
    """Whether a visit that does not count is made again by itself."""
    counted: frozenset[Purpose] | None = None
    """Purposes of the visits that the closing line counts; None for all but probes."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.journal = runner.journal
        self.cells = runner.cells
        self.budget = runner.budget

    @abstractmethod
    def make(self) -> bool:
        """Do all that is left to do, by the runner. Whether the campaign is complete now. Raises PartialResultError
        when it ends early.
        """

    # -- before a batch --------------------------------------------------------------------------------------

    def location(self, cell: Cell) -> tuple[tuple[str, JobValue], ...]:
        """The options that bind a cell to its place."""
        return self.runner.sites.location(cell)

    def section(self, visit: PlannedVisit) -> Section:
        """The visit as a section of a batch: how long its load runs, and the gap after it."""
        cell = self.cells[visit.cell_key]
        runtime_ms, gap_ms = self.runner.pace.runtime_and_gap_ms(cell)
        if cell.work_bounded:
            runtime_ms = cap_ms(cell) if cell.trace else WORK_CAP_SECONDS * 1000
        elif self.runner.skew_ms:
            # Clients that start far apart run for longer, so that what they have in common outweighs it.
            runtime_ms = max(runtime_ms, outweighing_ms(self.runner.skew_ms))
        return self.runner.section(visit, max(runtime_ms, visit.runtime_ms or 0), gap_ms)

    def seed(self, *numbers: object) -> int:
        """Of the offsets of a visit: a function of the campaign's seed and of these."""
        order = self.runner.plan.spec.order_seed
        return random.Random(f"{order} {numbers}").randrange(1, 2**31)  # noqa: S311 - offsets, not secrets

    def drains_long(self, section: Section) -> bool:
        """Whether what is in flight when its window ends takes so long that it has a process of its own."""
        return section.gap_ms >= self.runner.pace.own_process_gap_ms

    # -- a batch's output ------------------------------------------------------------------------------------

    def read(self, batch: Batch, planned: Mapping[int, PlannedVisit]) -> list[SectionResult]:
        """Results of the sections, from the files of the batch."""
        return read_batch_of(
            batch.directory,
            batch.sections,
            batch.batch_id,
            {visit_id: visit.replicate for visit_id, visit in planned.items()},
            {visit_id: visit.purpose for visit_id, visit in planned.items()},
        )

    def judge(self, section: Section, visit: Visit, gates: Gates | None) -> tuple[Visit, bool]:
        """The visit with its verdict, cut and gates; and whether it settled too late to be trusted."""
        if (skewed := skew_reason(visit)) is not None:
            visit = replace(visit, verdict=Verdict(VerdictCode.TOO_SHORT), discarded=(skewed,))
            return visit, False
        if may_stall(section.cell) and is_silent(section, visit):
            stall = stalled(section, visit, self.runner.pace_before(visit.batch_id))
            if stall is not None:
                return replace(visit, verdict=Verdict(VerdictCode.UNSTABLE, stall.sentence), discarded=(stall,)), False
        return judged(section, visit, gates)

    def take_in(
        self,
        results: Sequence[SectionResult],
        planned: dict[int, PlannedVisit],
        gates: Gates | None,
        usage: Mapping[str, Any] | None,
    ) -> Intake:
        """What the batch gave: its visits judged, what failed, what is made again. gates, usage: None for a batch read
        back after a crash.
        """
        if not self.gated(results):
            gates = usage = None
        intake = take_in(results, planned, gates, usage, self.judge)
        intake.again = intake.again if self.repeats else []
        return intake

    def gated(self, results: Sequence[SectionResult]) -> bool:  # noqa: ARG002
        """Whether counters and waiting times of the machine can judge a batch."""
        return True

    def usage(self, seen: Seen, intake: Intake, cells: Sequence[Cell]) -> dict[str, Any]:  # noqa: ARG002
        """What was read beside the batch, for the journal."""
        return {**asdict(seen.usage), **seen.record(intake.visits)}

    def learn(self, visit: Visit, asked_ms: int | None = None) -> None:
        """Take what a visit tells of the target's pace. asked_ms: how long its load was to run, where time bounds
        it.
        """
        self.runner.learn_pace(visit, asked_ms)

    def told(self, visit: Visit) -> Visit:
        """The visit as its event shows it."""
        return visit

    def give_up(self, reason: str) -> bool:  # noqa: ARG002
        """Whether nothing works any more, after batches in a row that gave nothing; False when another load may still
        run.
        """
        return True

    # -- time ------------------------------------------------------------------------------------------------

    def reserve_seconds(self) -> float:
        """Kept back of the budget for what comes after the sweep."""
        return self.report_seconds()

    def report_seconds(self) -> float:
        """Kept back for the report."""
        return REPORT_SECONDS if self.budget.total is None else min(REPORT_SECONDS, REPORT_SHARE * self.budget.total)

    def out_of_time(self, purpose: Purpose, taken: Sequence[Section]) -> bool:
        """Whether the budget has no room for these sections. However small it is, one batch is made."""
        return self.runner.out_of_time(purpose, taken)

    def budget_ended(self, purpose: Purpose) -> None:
        """Planned visits have no time any more."""
        dropped = self.journal.drop_planned(BUDGET_ENDED, purpose=purpose)
        what = "visit" if purpose == Purpose.SWEEP else f"{purpose} visit"
        self.runner.remark(RemarkKind.LEFT_OUT, f"{plural(dropped, f'planned {what}')} did not fit the budget.")

    def _seconds_planned(self, batch: Batch, rows: Sequence[PlannedVisit]) -> float:
        """Expected seconds of everything that is planned: its loads at today's pace, and the start of its processes."""
        usual = work_seconds(batch.sections[0].cell) or batch.seconds / len(batch.sections)
        seconds, each = 0.0, self.budget.seconds_per_visit(usual)
        for row in rows:
            cell = self.cells[row.cell_key]
            runtime_ms, gap_ms = self.runner.pace.runtime_and_gap_ms(cell)
            seconds += each if cell.work_bounded else (max(runtime_ms, row.runtime_ms or 0) + gap_ms) / 1000
        processes = -(-len(rows) // CELLS_PER_BATCH)
        return seconds * self.budget.slowdown + processes * self.budget.start_seconds

    def progress(self, batch: Batch) -> dict[str, float]:
        """Visits finished and planned, and the seconds left: counted before a batch starts, not while a window is
        open.
        """
        planned = self.journal.count_visits().get(VisitStatus.PLANNED, 0)
        rows = self.journal.planned(Purpose.SWEEP)
        left = self._seconds_planned(batch, rows) + self.reserve_seconds()
        if self.budget.left is not None:
            left = min(left, max(0.0, self.budget.left))
        return self.told_progress(planned, left)

    def told_progress(self, planned: int, seconds_left: float) -> dict[str, float]:
        done = self.journal.count_visits().get(VisitStatus.DONE, 0)
        return {"visits_done": done, "visits_planned": planned, "seconds_left": round(seconds_left, 1)}
