# SPDX-License-Identifier: Apache-2.0
"""One session of a procedure: what it makes next, and where it times, judges or learns otherwise than a map does.

Steps make no load. `make` yields each batch that it wants, and is sent the visits that came of it; what it calls on the
way does so by `yield from`.
"""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from ioatlas.answer.analysis.wording import plural
from ioatlas.load.fio.batch import TURN_MS, WORK_CAP_SECONDS, Batch, Section, take_sections
from ioatlas.load.fio.collect import SectionResult
from ioatlas.load.fio.executor import LoadProcess
from ioatlas.load.fio.replay import cap_ms
from ioatlas.load.fleet.merge import outweighing_ms, read_batch_of, skew_reason
from ioatlas.measure.run.fleet import sections_of_clients
from ioatlas.measure.run.intake import is_silent, judged, may_stall, stalled, take_in
from ioatlas.measure.run.plan import CELLS_PER_BATCH, expected_seconds, work_seconds
from ioatlas.measure.run.session import Session
from ioatlas.model.cell import Cell
from ioatlas.model.options import JobValue
from ioatlas.model.verdict import BUDGET_ENDED, Verdict, VerdictCode
from ioatlas.model.visit import Purpose, RemarkKind, Visit, VisitStatus
from ioatlas.store.journal import Intake, NewVisit, PlannedVisit

if TYPE_CHECKING:
    from ioatlas.measure.run.gates import Gates
    from ioatlas.measure.run.telemetry import Seen

REPORT_SECONDS = 2.0
"""Kept back of every budget for the report; of a short one REPORT_SHARE."""
REPORT_SHARE = 0.1
BATCH_SECONDS = 30.0
LONGEST_BATCH_SECONDS = 60.0
"""What a killed process may cost; a batch takes CELLS_PER_BATCH visits at most, 30 s with usual windows."""
PROBE_GAP_MS = 110

T = TypeVar("T")
NextVisits = Callable[[list[Visit]], Iterable[NewVisit]]
"""What a phase asks for next, from all finished visits so far; nothing when it is over."""


@dataclass(frozen=True)
class Wanted:
    """One batch. planned: its visits in the journal, by number. load: writes the batch's files and says which process
    makes it; fio with a job file when left out.
    """

    sections: tuple[Section, ...]
    planned: dict[int, PlannedVisit]
    load: Callable[[Batch], LoadProcess] | None = None


Making = Generator[Wanted, list[Visit], T]
"""Batches that are wanted one after another, and what comes of it in the end."""


class Steps(ABC):
    """What a session makes is `make`; of the others, most are what the runner asks meanwhile, with a map's answer.

    All that is decided follows from the journal and the seed alone, so that a session that was killed goes on where it
    was.
    """

    any_order = False
    """Whether planned visits may be passed over for others that the time that is left still allows."""

    repeats = True
    """Whether a visit that does not count is made again by itself."""
    counted: frozenset[Purpose] | None = None
    """Purposes of the visits that the closing line counts; None for all but probes."""

    _begun = False

    def __init__(self, session: Session) -> None:
        self.session = session
        self.journal = session.journal
        self.cells = session.cells
        self.budget = session.budget

    @abstractmethod
    def make(self) -> Making[bool]:
        """All that is left to do; whether it is complete then. Raises PartialResultError when it ends early."""

    # -- what is made ----------------------------------------------------------------------------------------

    def make_batch(
        self, rows: Sequence[PlannedVisit], load: Callable[[Batch], LoadProcess] | None = None
    ) -> Making[list[Visit]]:
        """These planned visits in one process."""
        return (yield Wanted(tuple(map(self.section, rows)), {row.visit_id: row for row in rows}, load))

    def make_asked(self, purpose: Purpose, next_visits: NextVisits) -> Making[bool]:
        """Make what is planned, then what is asked for next, until nothing is (True) or the budget ends (False)."""
        while (yield from self.make_planned(purpose)):
            asked = list(next_visits(self.journal.visits(with_series=True)))
            if not asked:
                return True
            self.journal.add_visits(asked)
        return False

    def make_planned(self, purpose: Purpose) -> Making[bool]:
        """Make planned visits until none is left (True) or the budget ends (False). Raises PartialResultError when
        asked to stop.
        """
        while waiting := self.journal.planned(purpose, limit=2 * CELLS_PER_BATCH):
            rows = {visit.visit_id: visit for visit in waiting}
            sections = [self.section(visit) for visit in waiting]
            taken = self._next_batch(purpose, sections, rows)
            if not taken:
                self.budget_ended(purpose)
                return False
            yield Wanted(taken, {section.visit_id: rows[section.visit_id] for section in taken})
        return True

    def _next_batch(
        self, purpose: Purpose, sections: Sequence[Section], rows: Mapping[int, PlannedVisit]
    ) -> tuple[Section, ...]:
        """Of planned sections those of the next batch: the first ones or, where these take too long and any order will
        do, the first ones that the budget still has time for.
        """

        def alone(section: Section) -> bool:
            own = section.cell.work_bounded or section.cell.state == "fresh"
            return rows[section.visit_id].alone or own or self.drains_long(section)

        def first(some: Sequence[Section]) -> tuple[Section, ...]:
            return take_sections(some, seconds=self._batch_seconds(some, purpose), alone=alone)

        taken = first(sections)
        if not self.out_of_time(purpose, taken):
            return taken
        short = [section for section in sections if self.any_order and not self.out_of_time(purpose, (section,))]
        taken = first(short) if short else ()
        return taken[:1] if self.out_of_time(purpose, taken) else taken

    def _batch_seconds(self, sections: Sequence[Section], purpose: Purpose) -> float:
        """How long the next batch may be; a budget that is nearly spent still gives a short one."""
        # Batches of like size: fio's turns run away from the schedule the more the longer a batch is.
        most = sections_of_clients(sections) if self.session.of_fleet else CELLS_PER_BATCH
        count = math.ceil(len(sections) / math.ceil(len(sections) / most))
        turns = sum(section.turns for section in sections[:count])
        seconds = min(LONGEST_BATCH_SECONDS, turns * TURN_MS / 1000 + 0.001)
        left = self.budget.left
        if left is None or not self._begun:
            return seconds
        return min(seconds, (left - self.budget.start_seconds - self._kept_back(purpose)) / self.budget.slowdown)

    # -- before a batch --------------------------------------------------------------------------------------

    def location(self, cell: Cell) -> tuple[tuple[str, JobValue], ...]:
        """The options that bind a cell to its place."""
        return self.session.sites.location(cell)

    def section(self, visit: PlannedVisit) -> Section:
        """The visit as a section of a batch: how long its load runs, and the gap after it."""
        cell = self.cells[visit.cell_key]
        runtime_ms, gap_ms = self.session.pace.runtime_and_gap_ms(cell)
        if cell.work_bounded:
            runtime_ms = cap_ms(cell) if cell.trace else WORK_CAP_SECONDS * 1000
        elif self.session.skew_ms:
            # Clients that start far apart run for longer, so that what they have in common outweighs it.
            runtime_ms = max(runtime_ms, outweighing_ms(self.session.skew_ms))
        return self.bound(visit, max(runtime_ms, visit.runtime_ms or 0), gap_ms)

    def bound(self, visit: PlannedVisit, runtime_ms: int, gap_ms: int) -> Section:
        """A visit as a section, bound to its place."""
        cell = self.cells[visit.cell_key]
        places = self.session.sites.places(cell, visit.seed)
        location = () if places else self.location(cell)
        rest_ms = round(1000 * self.session.plan.spec.rest_seconds)
        return Section(visit.visit_id, cell, visit.seed, runtime_ms, gap_ms, location, places=places, rest_ms=rest_ms)

    def made_before(self, batch_id: int, directory: str) -> tuple[Batch, dict[int, PlannedVisit]]:
        """A batch of the journal, to be read again, and its visits by number."""
        planned = {visit.visit_id: visit for visit in self.journal.batch_visits(batch_id)}
        sections = tuple(self.bound(visit, visit.runtime_ms or 0, PROBE_GAP_MS) for visit in planned.values())
        return Batch(batch_id, self.journal.directory / directory, sections), planned

    def seed(self, *numbers: object) -> int:
        """Of the offsets of a visit: a function of the campaign's seed and of these."""
        order = self.session.plan.spec.order_seed
        return random.Random(f"{order} {numbers}").randrange(1, 2**31)  # noqa: S311 - offsets, not secrets

    def drains_long(self, section: Section) -> bool:
        """Whether what is in flight when its window ends takes so long that it has a process of its own."""
        return section.gap_ms >= self.session.pace.own_process_gap_ms

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
            stall = stalled(section, visit, self.session.pace_before(visit.batch_id))
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
        self.session.learn_pace(visit, asked_ms)

    def for_event(self, visit: Visit) -> Visit:
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
        """Whether what is left of the budget, less what comes after, is shorter than these sections. One batch is
        always made.
        """
        left = self.budget.left
        if left is None or not self._begun:
            self._begun = True
            return False
        need = self.budget.process_seconds(expected_seconds(taken, self.session.pace))
        return need + self._kept_back(purpose) > left

    def _kept_back(self, purpose: Purpose) -> float:
        return self.reserve_seconds() if purpose == Purpose.SWEEP else self.report_seconds()

    def budget_ended(self, purpose: Purpose) -> None:
        """Planned visits have no time any more."""
        dropped = self.journal.drop_planned(BUDGET_ENDED, purpose=purpose)
        what = "visit" if purpose == Purpose.SWEEP else f"{purpose} visit"
        self.session.remark(RemarkKind.LEFT_OUT, f"{plural(dropped, f'planned {what}')} did not fit the budget.")

    def _seconds_planned(self, batch: Batch, rows: Sequence[PlannedVisit]) -> float:
        """Expected seconds of everything that is planned: its loads at today's pace, and the start of its processes."""
        usual = work_seconds(batch.sections[0].cell) or batch.seconds / len(batch.sections)
        seconds, each = 0.0, self.budget.seconds_per_visit(usual)
        for row in rows:
            cell = self.cells[row.cell_key]
            runtime_ms, gap_ms = self.session.pace.runtime_and_gap_ms(cell)
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
