# SPDX-License-Identifier: Apache-2.0
"""The runner: takes planned visits from the journal, has them made batch by batch, and writes down what came of them.

Guards, budget, batches, telemetry, judging, journal, recovery, cleaning and events stand here once. What is made, and
in which order, is for the procedure's `Steps`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ioatlas import beneath
from ioatlas.analysis.burst import Bursts
from ioatlas.analysis.counters import CountedPaths
from ioatlas.analysis.windows import window_values
from ioatlas.errors import IoAtlasError, PartialResultError, RefusedError
from ioatlas.fio.archive import pack_logs
from ioatlas.fio.batch import MAX_SLACK_MS, SLACK_MS, TURN_MS, Batch, Section, job_text, take_sections
from ioatlas.fio.collect import ERRORS, JOB_FILE, OUTPUT, SectionResult
from ioatlas.fio.executor import LoadProcess, limit_seconds
from ioatlas.fio.process import ProcessOutcome
from ioatlas.model.cell import Cell
from ioatlas.model.events import Emit, Event
from ioatlas.model.purpose import Purpose
from ioatlas.model.reason import ReasonCode, sentences
from ioatlas.model.status import BatchStatus, RemarkKind
from ioatlas.model.units import format_duration
from ioatlas.model.visit import Visit
from ioatlas.run.budget import Budget
from ioatlas.run.conditions import HoleChecks, note_power
from ioatlas.run.environment import Environment
from ioatlas.run.gates import Gates
from ioatlas.run.intake import Intake, reinstated
from ioatlas.run.plan import CELLS_PER_BATCH, FIO_SECONDS, Plan, default_pace, visit_turns
from ioatlas.run.procedure import Procedure
from ioatlas.stats.warmup import get_ready
from ioatlas.store.journal import BatchRow, Journal, NewVisit, PlannedVisit
from ioatlas.target.layout import last_line, remedy_for
from ioatlas.target.preparation import TargetUse
from ioatlas.target.sites import Sites
from ioatlas.testbed.telemetry import Watched

BATCH_SECONDS = 30.0
LONGEST_BATCH_SECONDS = 60.0
"""What a killed process may cost; a batch takes CELLS_PER_BATCH visits at most, 30 s with usual windows."""

OVERDUE = 1.5
"""How many times its planned time a process may take at the end of a budget, and a few seconds for its start."""
GRACE_SECONDS = 5.0

SUSTAINED_TIMES = 1.2
"""How many times the sustained rate a reading may have that tells of the target without its burst."""
PROCESS_IDLE_SECONDS, TICK_SECONDS = 5.0, 0.1
"""For how long a target stands still before the first section of a process, and before each other one, at most."""

OVERDRAWN_SECONDS = 0.5
"""A session that is over its budget by more than this says so."""

PROBE_GAP_MS = 110
FRUITLESS_BATCHES = 2
"""Batches in a row that may give nothing before the campaign is given up for now."""

NextVisits = Callable[[list[Visit]], Iterable[NewVisit]]
"""What a phase asks for next, from all finished visits so far; nothing when it is over."""


@dataclass(frozen=True)
class Summary:
    """How a session ended."""

    directory: Path
    cells: int
    visits: int
    seconds: float
    complete: bool
    budget_seconds: float | None = None

    @classmethod
    def of(
        cls, journal: Journal, budget: Budget | None, *, complete: bool, counted: frozenset[Purpose] | None = None
    ) -> Summary:
        """What the journal holds now. budget: of the session, None where there was none to be made."""
        kept = [
            visit
            for visit in journal.visits()
            if not visit.discarded and (visit.purpose != Purpose.PROBE if counted is None else visit.purpose in counted)
        ]
        cells = len({visit.cell_key for visit in kept})
        seconds, total = (budget.elapsed, budget.total) if budget is not None else (0.0, None)
        return cls(journal.directory, cells, len(kept), seconds, complete, total)


class Runner:
    """One session of a campaign."""

    def __init__(
        self,
        journal: Journal,
        plan: Plan,
        procedure: Procedure,
        sites: Sites,
        environment: Environment,
        *,
        emit: Emit,
        stop_asked: Callable[[], bool],
        began: float | None = None,
    ) -> None:
        self.journal = journal
        self.plan = plan
        self.sites = sites
        self.environment = environment
        self.emit = emit
        self.stop_asked = stop_asked
        self.cells: dict[str, Cell] = {cell.key: cell for cell, _ in journal.cells()}
        self.pace = default_pace(plan.spec)
        now = environment.executor.clock.monotonic
        self.budget = Budget(now, plan.spec.budget_seconds, began if began is not None else now())
        self.finished = 0
        """Visits of the sweep that count, of this session and those before."""
        self._fruitless = 0
        self._sweep_begun = False
        self._slack_ms: float = SLACK_MS
        watched = {target.name: environment.watched(target.location) for target in plan.targets}
        self.meters = environment.meters(journal.directory)
        self._telemetry = environment.telemetry(_together(watched.values()), self.meters)
        self._holes = HoleChecks(journal)
        self._gates = Gates(journal, watched)
        journal.keep(CountedPaths(self._gates.paths))
        self._odd_sizes = procedure.odd_sizes
        self._confirmed = {target.name for target in plan.targets if plan.writes(target.name)}
        self.steps = procedure.steps(self)

    # -- a session -------------------------------------------------------------------------------------------

    def recover(self) -> None:
        """After a crash: stop a load that outlived us, and keep what finished batches left on disk."""
        for row in self.journal.running_batches():
            if row.pid is not None and row.pid_started is not None:
                self.environment.executor.stop_orphan(row.pid, row.pid_started)
            batch, planned = self._reopen(row)
            results = self.steps.read(batch, planned)
            intake = self.steps.take_in(results, planned, None, None)
            self._close(
                row.batch_id,
                intake,
                status=BatchStatus.DONE if results else BatchStatus.FAILED,
                note="read back after a crash",
            )
        # Of the batch that was lost, and of one that was in the journal already when the session died.
        if self.journal.discarded(ReasonCode.LATE):
            self._reinstate(self.journal.visits())
        self.journal.drop_planned("interrupted", purpose=Purpose.PROBE)

    def run(self) -> Summary:
        """Make all that is left to do; the targets are cleaned whatever happens. Raises PartialResultError when it ends
        early.
        """
        asked = self.journal.asked_ms()
        lead = bool(self.journal.kept(Bursts).bursts)
        for visit in self.journal.visits():
            bounded_by_time = not self.cells[visit.cell_key].work_bounded and not lead
            self.steps.learn(visit, asked.get(visit.visit_id) if bounded_by_time else None)
            self.finished += visit.purpose == Purpose.SWEEP and not visit.discarded
        self.forget_bursts()
        try:
            complete = self.steps.make()
        finally:
            self._clean()
        if complete:
            self.journal.set_complete()
        self._tell_overdrawn()
        return Summary.of(self.journal, self.budget, complete=complete, counted=self.steps.counted)

    def _tell_overdrawn(self) -> None:
        """Say that a session took longer than its budget, and what for."""
        left, total = self.budget.left, self.budget.total
        if left is None or total is None or left >= -OVERDRAWN_SECONDS:
            return
        spent = format_duration(self.budget.elapsed)
        took = f"The session took {spent}, more than the budget of {format_duration(total)}."
        why = (
            "Files are written, a first batch is made, and what is in flight is waited for, however small a budget is."
        )
        self.remark(RemarkKind.WARNING, f"{took} {why}")

    def _clean(self) -> None:
        """What every session ends with, however it ends: nothing left on the targets, logs put away."""
        self.sites.clean()
        for batch in self.journal.batches():
            pack_logs(self.journal.directory / batch.directory)

    def _reopen(self, row: BatchRow) -> tuple[Batch, dict[int, PlannedVisit]]:
        planned = {visit.visit_id: visit for visit in self.journal.batch_visits(row.batch_id)}
        sections = tuple(self.section(visit, visit.runtime_ms or 0, PROBE_GAP_MS) for visit in planned.values())
        sections = self._with_leads(sections, planned)
        return Batch(row.batch_id, self.journal.directory / row.directory, sections), planned

    # -- what steps use --------------------------------------------------------------------------------------

    @property
    def target_use(self) -> TargetUse:
        """What the targets are prepared for."""
        return self.plan.target_use(self._odd_sizes)

    def prepare(self) -> None:
        """Lay out what the plan asks for on every target."""
        self.sites.prepare(self.target_use)

    def section(self, visit: PlannedVisit, runtime_ms: int, gap_ms: int) -> Section:
        """A visit as a section, bound to its place."""
        cell = self.cells[visit.cell_key]
        return Section(visit.visit_id, cell, visit.seed, runtime_ms, gap_ms, self.steps.location(cell))

    def _with_leads(self, sections: Sequence[Section], planned: Mapping[int, PlannedVisit]) -> tuple[Section, ...]:
        """The sections, longer by what each has to run first on targets with burst credit. The journal's runtime is
        without it.
        """
        bursts = self.journal.kept(Bursts)
        if not bursts.bursts:
            return tuple(sections)
        led = []
        for place, section in enumerate(sections):
            cell = section.cell
            idle_seconds = TICK_SECONDS if place else PROCESS_IDLE_SECONDS
            lead_ms = bursts.lead_ms(cell.target, cell.directions, idle_seconds)
            if planned[section.visit_id].purpose is Purpose.PROBE or cell.work_bounded:
                lead_ms = 0
            led.append(replace(section, lead_ms=lead_ms, runtime_ms=section.runtime_ms + lead_ms))
        return tuple(led)

    def make(self, purpose: Purpose, next_visits: NextVisits) -> bool:
        """Make what is planned, then what is asked for next, until nothing is (True) or the budget ends (False)."""
        while self.make_planned(purpose):
            asked = list(next_visits(self.journal.visits(with_series=True)))
            if not asked:
                return True
            self.journal.add_visits(asked)
        return False

    def make_planned(self, purpose: Purpose) -> bool:
        """Make planned visits until none is left (True) or the budget ends (False). Raises PartialResultError when
        asked to stop.
        """
        get_ready()
        while waiting := self.steps.waiting(purpose, 2 * CELLS_PER_BATCH):
            rows = {visit.visit_id: visit for visit in waiting}
            sections = [self.steps.section(visit) for visit in waiting]
            taken = take_sections(sections, seconds=self._batch_seconds(sections, purpose), alone=self._alone(rows))
            if self.steps.out_of_time(purpose, taken):
                taken = self._still_possible(purpose, sections, rows)
            if not taken:
                self.steps.budget_ended(purpose)
                return False
            self.batch(taken, rows)
        return True

    def know(self, cell: Cell, reason: str = "") -> Cell:
        """The cell, known to the journal from now on."""
        if cell.key not in self.cells:
            self.journal.add_cells([(cell, reason)], first=len(self.cells))
            self.cells[cell.key] = cell
        return cell

    def remark(self, kind: RemarkKind, text: str) -> None:
        """Write a remark down and tell it."""
        self.journal.add_remark(kind, text)
        self.emit(Event("remark", {"text": text}))

    def go_on_with(self, plan: Plan, text: str) -> None:
        """Go on with a reduced plan, and say what was left out."""
        before = {cell.key for cell in self.plan.to_measure}
        self.journal.leave_out({cell.key: reason for cell, reason in plan.cells if reason and cell.key in before})
        self.plan = plan
        self.remark(RemarkKind.LEFT_OUT, text)

    def stopped(self) -> PartialResultError:
        """What is raised when a person asks to stop."""
        return PartialResultError(
            "stopped; finished visits are kept",
            where=str(self.journal.directory),
            remedy=f"go on with `ioatlas resume {self.journal.directory}`",
        )

    def forget_bursts(self) -> None:
        """Reckon with sustained rates where a target was found to have burst credit."""
        for burst in self.journal.kept(Bursts).bursts:
            self.pace.forget_faster(burst.target, SUSTAINED_TIMES * burst.sustained_bytes_per_s)

    def learn_pace(self, visit: Visit, asked_ms: int | None = None) -> None:
        """What a visit tells of a cell's latency, and of how long its load drains."""
        cell = self.cells[visit.cell_key]
        ios = sum(part.total_ios for part in visit.parts)
        seconds = max((part.runtime_ms for part in visit.parts), default=0) / 1000
        if ios and seconds:
            # Little's law; of a paced load it gives the time between I/Os, which is what the window must hold many of.
            latency = cell.outstanding * seconds / ios
            drained = None if asked_ms is None else max(0.0, seconds - asked_ms / 1000) / latency
            self.pace.learn(cell, latency, drained)

    # -- a batch ---------------------------------------------------------------------------------------------

    def batch(
        self,
        sections: tuple[Section, ...],
        waiting: Mapping[int, PlannedVisit],
        load: Callable[[Batch], LoadProcess] | None = None,
    ) -> list[Visit]:
        """One batch, from job file to journal.

        waiting: rows of the journal by visit_id, those of the sections among them. load: writes the batch's files and
        says which process makes it; fio with a job file when left out. Raises PartialResultError when stopped,
        IoAtlasError when nothing works any more.
        """
        if self.stop_asked():
            raise self.stopped()
        planned = {section.visit_id: waiting[section.visit_id] for section in sections}
        sections = self._with_leads(sections, planned)
        cells = [section.cell for section in sections]
        self._check(cells)
        now = self.environment.executor.clock.monotonic
        begin = now()
        batch_id, directory = self.journal.begin_batch(
            {section.visit_id: section.runtime_ms - section.lead_ms for section in sections}
        )
        readonly = not any(cell.writes for cell in cells)
        batch = Batch(batch_id, directory, sections, readonly=readonly, slack_ms=self._slack_ms)
        process = load(batch) if load else self._within_budget(fio_process(batch), batch)
        progress = self.steps.progress(batch)
        if load is None:
            self._holes.look(sections)
        note_power(self.journal, self.meters, self.stop_asked)
        self._telemetry.start(sections)
        try:
            outcome = self.environment.executor.run(
                process,
                stop_asked=self.stop_asked,
                started=lambda pid, ticks: self._started(batch_id, pid, ticks),
                tick=lambda seconds: self._tick(progress, batch, min(seconds, batch.seconds)),
            )
        finally:
            seen = self._telemetry.stop(directory)
        results = self.steps.read(batch, planned)
        if any(result.overlap_ms for result in results):
            self._slack_ms = min(MAX_SLACK_MS, 2 * self._slack_ms)
            self.pace.widen()
        intake = self.steps.take_in(results, planned, self._gates, None if outcome.stopped else asdict(seen.usage))
        # A cell gets one more try a block, not more.
        intake.again = [visit for visit in intake.again if not self.journal.tries(visit.cell_key, visit.replicate)]
        self._close(
            batch_id,
            intake,
            status=BatchStatus.DONE if results else BatchStatus.FAILED,
            seconds=now() - begin,
            exit_code=outcome.exit_code,
            note=last_line(outcome.stderr) if outcome.exit_code else "",
            usage=self.steps.usage(seen, intake, cells),
        )
        self.finished += self._reinstate(visit for visit in intake.visits if planned[visit.visit_id].alone)
        planned_seconds = expected_seconds(sections, self.pace)
        self.budget.book(len(sections), planned=planned_seconds, spent=now() - begin, load=_load_seconds(results))
        asked = {
            section.visit_id: section.runtime_ms
            for section in sections
            if not section.cell.work_bounded and not section.lead_ms
        }
        for visit in intake.visits:
            self.steps.learn(visit, asked.get(visit.visit_id))
            self._tell(self.steps.told(visit))
        if outcome.stopped == "asked":
            raise self.stopped()
        self._count_fruitless(intake, outcome)
        return intake.visits

    def _check(self, cells: Sequence[Cell]) -> None:
        """All guards of the places that the next load touches, and new places for cells that are to find no data."""
        unconfirmed = {cell.target for cell in cells if cell.writes} - self._confirmed
        if unconfirmed:
            raise RefusedError(
                "a load would write to it, and the plan that was confirmed does not",
                where=min(unconfirmed),
                remedy="start a new campaign: this journal was changed",
            )
        try:
            self.sites.check(cells)
            self.sites.renew(cells)
        except IoAtlasError as error:
            if not self.finished:
                raise
            raise PartialResultError(
                f"{error.what}; finished visits are kept",
                where=error.where,
                remedy=f"{error.remedy}; then go on with `ioatlas resume {self.journal.directory}`",
            ) from error

    def _batch_seconds(self, sections: Sequence[Section], purpose: Purpose) -> float:
        """How long the next batch may be; a budget that is nearly spent still gives a short one."""
        # Batches of like size: fio's turns run away from the schedule the more the longer a batch is.
        count = math.ceil(len(sections) / math.ceil(len(sections) / CELLS_PER_BATCH))
        turns = sum(section.turns for section in sections[:count])
        seconds = min(LONGEST_BATCH_SECONDS, turns * TURN_MS / 1000 + 0.001)
        left = self.budget.left
        if left is None or not self._sweep_begun:
            return seconds
        return min(seconds, (left - self.budget.start_seconds - self._kept_back(purpose)) / self.budget.slowdown)

    def _still_possible(
        self, purpose: Purpose, sections: Sequence[Section], rows: Mapping[int, PlannedVisit]
    ) -> tuple[Section, ...]:
        """Of planned sections whose first ones take too long the next ones that the budget has time for."""
        if not self.steps.any_order:
            return ()
        short = [section for section in sections if not self.steps.out_of_time(purpose, (section,))]
        if not short:
            return ()
        taken = take_sections(short, seconds=self._batch_seconds(short, purpose), alone=self._alone(rows))
        return taken[:1] if self.steps.out_of_time(purpose, taken) else taken

    def _within_budget(self, process: LoadProcess, batch: Batch) -> LoadProcess:
        """The process, ended as overdue when it outlives the budget."""
        left, total = self.budget.left, self.budget.total
        if left is None or total is None:
            return process
        seconds = max(left, min(OVERDUE * batch.seconds + GRACE_SECONDS, max(total, 2 * GRACE_SECONDS)))
        return replace(process, limit_seconds=min(process.limit_seconds, seconds))

    def _alone(self, rows: Mapping[int, PlannedVisit]) -> Callable[[Section], bool]:
        """Which sections have a process of their own."""

        def alone(section: Section) -> bool:
            own = section.cell.work_bounded or section.cell.state == "fresh"
            return rows[section.visit_id].alone or own or self.steps.drains_long(section)

        return alone

    def _started(self, batch_id: int, pid: int, ticks: int) -> None:
        self.journal.set_batch_process(batch_id, pid, ticks)
        self._telemetry.watch(pid)

    def _tick(self, progress: Mapping[str, float], batch: Batch, seconds: float) -> None:
        """How far it is, what the time may be, and what is measured now."""
        told = {**progress, "batch_seconds": round(seconds, 1), "elapsed_seconds": round(self.budget.elapsed, 1)}
        at, end = 1000 * seconds, 0.0
        section = batch.sections[-1]
        for section in batch.sections:
            end += section.runtime_ms + section.gap_ms
            if at < end:
                break
        self.emit(
            Event(
                "progress",
                {**told, "budget_seconds": self.budget.total, "cell": section.cell.key, **_axes(section.cell)},
            )
        )

    def _close(
        self,
        batch_id: int,
        intake: Intake,
        *,
        status: BatchStatus,
        seconds: float | None = None,
        exit_code: int | None = None,
        note: str = "",
        usage: Mapping[str, Any] | None = None,
    ) -> None:
        self.journal.finish_batch(
            batch_id,
            intake.visits,
            failed=intake.failed,
            status=status,
            seconds=seconds,
            load_seconds=intake.load_seconds,
            exit_code=exit_code,
            note=note,
            written=intake.written,
            again=intake.again,
            usage=usage,
        )

    def _reinstate(self, visits: Iterable[Visit]) -> int:
        """How many visits that seemed to settle late count after all, because the longer ones among `visits` show that
        it was noise.
        """
        visits = list(visits)
        kept = reinstated(self.journal.discarded(ReasonCode.LATE), visits) if visits else []
        for visit_id, cell_key, verdict in kept:
            self.journal.reinstate(visit_id, verdict)
            self.emit(Event("kept", {"cell": cell_key, "verdict": verdict.text, **_axes(self.cells[cell_key])}))
        return len(kept)

    def _count_fruitless(self, intake: Intake, outcome: ProcessOutcome) -> None:
        if intake.visits:
            self._fruitless = 0
            return
        self._fruitless += 1
        left = self.budget.left
        cut = outcome.stopped == "overdue" and left is not None and left <= 0  # not a load that cannot be run
        if cut or (self._fruitless < FRUITLESS_BATCHES and not outcome.stopped):
            return
        said = last_line(outcome.stderr) or f"fio ended with {outcome.exit_code}"
        if not outcome.stopped and not self.steps.give_up(said):
            self._fruitless = 0
            return
        reason = "fio did not end in time: the target does not answer" if outcome.stopped else said
        raise PartialResultError(
            f"the load cannot be run: {reason}",
            where=self.plan.targets[0].location if len(self.plan.targets) == 1 else "",
            remedy=f"{remedy_for(outcome.stderr)}; then `ioatlas resume {self.journal.directory}`: finished visits "
            "are kept",
        )

    # -- time ------------------------------------------------------------------------------------------------

    def _kept_back(self, purpose: Purpose) -> float:
        return self.steps.reserve_seconds() if purpose == Purpose.SWEEP else self.steps.report_seconds()

    def out_of_time(self, purpose: Purpose, taken: Sequence[Section]) -> bool:
        """Whether what is left of the budget, less what comes after, is shorter than these sections. One batch is
        always made.
        """
        left = self.budget.left
        if left is None or not self._sweep_begun:
            self._sweep_begun = True
            return False
        need = self.budget.process_seconds(expected_seconds(taken, self.pace))
        return need + self._kept_back(purpose) > left

    # -- events ----------------------------------------------------------------------------------------------

    def _tell(self, visit: Visit) -> None:
        if visit.purpose == Purpose.PROBE:
            return
        cell = self.cells[visit.cell_key]
        if visit.discarded:
            self.emit(Event("discarded", {"cell": cell.key, "reason": sentences(visit.discarded), **_axes(cell)}))
            return
        self.finished += 1
        for part in visit.parts:
            values = window_values(part, visit.window_start_ms)
            fields = {
                "cell": cell.key,
                **_axes(cell),
                "direction": part.direction,
                "block": visit.replicate,
                "bw_bytes_per_s": round(values.bw_bytes_per_s, 1),
                "iops": round(values.iops, 2),
                "lat_mean_ns": values.lat_mean_ns,
                "lat_p99_ns": values.lat_p99_ns,
                "lat_kind": part.lat_kind,
                "verdict": visit.verdict.text,
                "purpose": visit.purpose,
            }
            self.emit(Event("visit", fields))


def fio_process(batch: Batch) -> LoadProcess:
    """The job file of a batch, written, and the fio that runs it."""
    beneath.write_text(batch.directory / JOB_FILE, job_text(batch))
    arguments: tuple[str, ...] = ("--output-format=json+", f"--output={OUTPUT}", "--eta=never", JOB_FILE)
    if batch.readonly:
        arguments = ("--readonly", *arguments)
    return LoadProcess("fio", arguments, batch.directory, ERRORS, limit_seconds(batch.seconds + FIO_SECONDS))


def _together(each: Iterable[Watched]) -> Watched:
    """Devices and interfaces on the way to every target."""
    each = list(each)
    devices = tuple(dict.fromkeys(name for one in each for name in (*one.devices, *one.tops)))
    interfaces = tuple(dict.fromkeys(name for one in each for name in one.interfaces))
    return Watched(devices, interfaces, next((one.mount_point for one in each if one.mount_point), ""))


def expected_seconds(sections: Iterable[Section], pace: Any) -> float:
    """What their loads take: a trace its own time, though it may run far longer where the target cannot follow."""
    return sum(visit_turns(one.cell, pace) if one.cell.trace else one.turns for one in sections) * TURN_MS / 1000


def _load_seconds(results: Iterable[SectionResult]) -> float | None:
    """From the start of a process's first load to the end of its last; None where one of them left nothing."""
    spans = []
    for result in results:
        visit = result.visit
        if visit is None or not visit.started_at:
            return None
        spans.append(
            (visit.started_at, visit.started_at + max((part.runtime_ms for part in visit.parts), default=0) / 1000)
        )
    return max(end for _, end in spans) - min(begin for begin, _ in spans) if spans else None


def _axes(cell: Cell) -> dict[str, object]:
    return {
        "target": cell.target,
        "rw": cell.rw,
        "bs_bytes": cell.bs_bytes,
        "size_bytes": cell.size_bytes,
        "numjobs": cell.numjobs,
        "iodepth": cell.iodepth,
    }
