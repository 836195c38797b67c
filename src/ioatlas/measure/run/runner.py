# SPDX-License-Identifier: Apache-2.0
"""The runner: takes planned visits from the journal, has them made batch by batch, and writes down what came of them.

Guards, budget, batches, telemetry, judging, journal, recovery, cleaning and events stand here once. What is made, and
in which order, is for the procedure's `Steps`.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ioatlas.answer.analysis.counters import CountedPaths
from ioatlas.load.fio.batch import MAX_SLACK_MS, SLACK_MS, Batch
from ioatlas.load.fio.collect import fio_process, load_seconds
from ioatlas.load.fio.executor import LoadProcess
from ioatlas.load.fio.process import Minder, ProcessOutcome
from ioatlas.load.fio.series import pack_logs
from ioatlas.load.fleet.merge import directories_of
from ioatlas.measure.run.conditions import HoleChecks, note_power, tell_background
from ioatlas.measure.run.environment import Environment
from ioatlas.measure.run.fleet import after_batch
from ioatlas.measure.run.gates import Gates
from ioatlas.measure.run.intake import reinstated, stood_still
from ioatlas.measure.run.live import Summary, axes_of, progress_event, visit_events
from ioatlas.measure.run.plan import expected_seconds
from ioatlas.measure.run.session import Session
from ioatlas.measure.run.steps import Making, Steps, Wanted
from ioatlas.measure.run.telemetry import Seen, by_session, together, wall_ahead
from ioatlas.model.cell import Cell
from ioatlas.model.errors import IoAtlasError, PartialResultError, RefusedError
from ioatlas.model.outcomes import Event
from ioatlas.model.target import on_members
from ioatlas.model.units import format_duration
from ioatlas.model.verdict import ReasonCode, sentences
from ioatlas.model.visit import BatchStatus, Purpose, RemarkKind, Visit
from ioatlas.store.journal import Intake, Journal
from ioatlas.target.layout import last_line, remedy_for

BACKGROUND_SECONDS = 0.3
"""How long this machine is looked at before the first load."""
OVERDUE = 1.5
"""How many times its planned time a process may take at the end of a budget, and a few seconds for its start."""
GRACE_SECONDS = 5.0
UNKNOWN_SECONDS = 400.0
"""What the first load of a target has in flight may take so long to come back: 16 I/Os of 1 MiB at 40 KiB/s."""

OVERDRAWN_SECONDS = 0.5
"""A session that is over its budget by more than this says so."""

FRUITLESS_BATCHES = 2
"""Batches in a row that may give nothing before the campaign is given up for now."""
SILENT_BATCHES = 3
"""Batches in a row in which the target stood still, after which it is waited for no longer."""


class Runner:
    """One session of a campaign."""

    def __init__(self, session: Session, steps: Steps, environment: Environment) -> None:
        self.session, self.steps, self.environment = session, steps, environment
        self.journal, self.sites = session.journal, session.sites
        self.budget, self.pace, self.cells = session.budget, session.pace, session.cells
        self._fruitless = self._silent = 0
        self._slack_ms: float = SLACK_MS
        plan = session.plan
        watched = {target.name: environment.watched(target.location) for target in plan.targets}
        self._watched = together(watched.values())
        self._telemetry = environment.telemetry(self._watched, session.meters)
        self._holes = HoleChecks(self.journal)
        self._gates = Gates(self.journal, watched)
        self.journal.keep(CountedPaths(self._gates.paths))
        self._strides = self.sites.strides() if session.of_fleet else None
        self._targets = {target.name: target for target in plan.targets}
        self._confirmed = {target.name for target in plan.targets if plan.writes(target.name)}

    # -- a session -------------------------------------------------------------------------------------------

    def recover(self) -> None:
        """After a crash: stop a load that outlived us, and keep what finished batches left on disk."""
        for row in self.journal.running_batches():
            if row.pid is not None and row.pid_started is not None:
                self.environment.executor.stop_orphan(row.pid, row.pid_started)
            batch, planned = self.steps.made_before(row.batch_id, row.directory)
            results = self.steps.read(batch, planned)
            intake = self.steps.take_in(results, planned, None, None)
            status = BatchStatus.DONE if results else BatchStatus.FAILED
            self.journal.finish_batch(row.batch_id, intake, status=status, note="read back after a crash")
        # Of the batch that was lost, and of one that was in the journal already when the session died.
        if self.journal.discarded(ReasonCode.LATE):
            self._reinstate(self.journal.visits())
        self.journal.drop_planned("interrupted", purpose=Purpose.PROBE)

    @property
    def _elsewhere(self) -> bool:
        """Whether a load runs on another machine, whose processors are not ours."""
        return self.environment.fleet is not None and self.environment.fleet.is_elsewhere

    def look_around(self) -> None:
        """Say what else runs here before anything is measured."""
        if not self._elsewhere:
            tell_background(self.environment.background(self._watched, BACKGROUND_SECONDS), self.session.remark)

    def run(self, whole: Journal) -> Summary:
        """Make all that is left to do, as a session of the campaign. whole: its journal, of which ours may be a part.
        Raises PartialResultError when it ends early.
        """
        plan, environment = self.session.plan, self.environment
        number = whole.begin_session(environment.conditions(environment.executor, plan.targets, whole.directory))
        told = {"directory": str(whole.directory), "campaign_id": whole.campaign().campaign_id}
        self.session.emit(Event("campaign", {**told, "cells": len(plan.to_measure)}))
        try:
            return self._run()
        finally:
            whole.end_session(number)

    def _run(self) -> Summary:
        """The targets are cleaned whatever happens."""
        asked = self.journal.asked_ms()
        for visit in self.journal.visits(with_series=True):
            bounded_by_time = not self.cells[visit.cell_key].work_bounded
            self.steps.learn(visit, asked.get(visit.visit_id) if bounded_by_time else None)
            self.session.finished += visit.purpose == Purpose.SWEEP and not visit.discarded
        try:
            complete = self._make(self.steps.make())
        finally:
            self._clean()
        if complete:
            self.journal.set_complete()
        self._tell_overdrawn()
        return Summary.of(self.journal, self.budget, complete=complete, counted=self.steps.counted)

    def _make(self, making: Making[bool]) -> bool:
        """Every batch that is wanted; whether the campaign is complete."""
        try:
            wanted = next(making)
            while True:
                wanted = making.send(self._batch(wanted))
        except StopIteration as end:
            return bool(end.value)

    def _tell_overdrawn(self) -> None:
        """Say that a session took longer than its budget, and what for."""
        left, total = self.budget.left, self.budget.total
        if left is None or total is None or left >= -OVERDRAWN_SECONDS:
            return
        spent = format_duration(self.budget.elapsed)
        took = f"The session took {spent}, more than the budget of {format_duration(total)}."
        why = "Files are written, one batch is made and loads in flight are waited for, however small the budget is."
        self.journal.add_remark(RemarkKind.WARNING, f"{took} {why}")  # the answer tells it, below

    def _clean(self) -> None:
        """What every session ends with, however it ends: nothing left on the targets, logs put away."""
        self.sites.clean()
        for batch in self.journal.batches():
            for directory in directories_of(self.journal.directory / batch.directory):
                pack_logs(directory)

    # -- a batch ---------------------------------------------------------------------------------------------

    def _batch(self, wanted: Wanted) -> list[Visit]:
        """One batch, from job file to journal. Raises PartialResultError when stopped, IoAtlasError when nothing works
        any more.
        """
        if self.session.stop_asked():
            raise self.session.stopped()
        sections, planned = wanted.sections, wanted.planned
        cells = [section.cell for section in sections]
        self._check(cells)
        clock = self.environment.executor.clock
        begin = clock.monotonic()
        batch_id, directory = self.journal.begin_batch({section.visit_id: section.runtime_ms for section in sections})
        readonly = not any(cell.writes for cell in cells)
        batch = Batch(batch_id, directory, sections, readonly=readonly, slack_ms=self._slack_ms)
        outcome, seen = self._load(batch, wanted)
        results = self.steps.read(batch, planned)
        if any(result.overlap_ms for result in results):
            self._slack_ms = min(MAX_SLACK_MS, 2 * self._slack_ms)
            self.pace.widen()
        counted = None if outcome.stopped or self._elsewhere else seen.counted(results)
        intake = self.steps.take_in(results, planned, self._gates, counted)
        # A cell gets one more try a block, not more.
        intake.again = [visit for visit in intake.again if not self.journal.tries(visit.cell_key, visit.replicate)]
        self.journal.finish_batch(
            batch_id,
            intake,
            status=BatchStatus.DONE if results else BatchStatus.FAILED,
            seconds=clock.monotonic() - begin,
            exit_code=outcome.exit_code,
            note=last_line(outcome.stderr) if outcome.exit_code else "",
            usage=self.steps.usage(seen, intake, cells),
        )
        self.session.finished += self._reinstate(visit for visit in intake.visits if planned[visit.visit_id].alone)
        took_seconds, planned_seconds = load_seconds(results), expected_seconds(sections, self.pace)
        if any(self.pace.latency_seconds(cell) is None for cell in cells):
            planned_seconds = took_seconds or planned_seconds  # what was not foretold tells nothing of later batches
        self.budget.book(len(sections), planned=planned_seconds, spent=clock.monotonic() - begin, load=took_seconds)
        asked = {section.visit_id: section.runtime_ms for section in sections if not section.cell.work_bounded}
        for visit in intake.visits:
            self.steps.learn(visit, asked.get(visit.visit_id))
            self._tell(self.steps.for_event(visit))
        if outcome.stopped == "asked":
            raise self.session.stopped()
        if self.environment.fleet is not None:
            after_batch(self.environment.fleet, self.session)
        self._count_fruitless(intake, outcome, cells)
        return intake.visits

    def _load(self, batch: Batch, wanted: Wanted) -> tuple[ProcessOutcome, Seen]:
        """One process, and what was read beside it."""
        executor = self.environment.executor
        before = wall_ahead(self.journal, executor.clock)
        process = wanted.load(batch) if wanted.load else self._within_budget(fio_process(batch, self._strides), batch)
        progress = self.steps.progress(batch)
        if wanted.load is None:
            self._holes.look(batch.sections)
        note_power(self.journal, self.session.meters, self.session.stop_asked)
        self._telemetry.start(batch.sections)
        try:
            minder = Minder(
                self.session.stop_asked,
                started=lambda pid, ticks: self._started(batch.batch_id, pid, ticks),
                tick=lambda seconds: self._tick(progress, batch, min(seconds, batch.seconds)),
            )
            outcome = executor.run(replace(process, held=self.sites.held), minder)
        finally:
            seen = self._telemetry.stop(batch.directory)
        return outcome, by_session(seen, self.journal, executor.clock, before, batch.directory)

    def _check(self, cells: Sequence[Cell]) -> None:
        """All guards of the places that the next load touches, and new places for cells that are to find no data."""
        cells = on_members(cells, self.session.plan.groups)
        unconfirmed = {cell.target for cell in cells if cell.writes} - self._confirmed
        if unconfirmed:
            raise RefusedError(
                "a load would write to it, and the plan that was confirmed does not",
                where=min(unconfirmed),
                remedy="start a new campaign: this journal was changed",
            )
        try:
            self.sites.check(cells)
            if self.environment.fleet is not None:
                self.environment.check_hosts(self.environment.fleet, self._targets, self.sites, cells)
            self.sites.renew(cells)
        except IoAtlasError as error:
            if not self.session.finished:
                raise
            raise PartialResultError(
                f"{error.what}; finished visits are kept",
                where=error.where,
                remedy=f"{error.remedy}; then go on with `ioatlas resume {self.journal.directory}`",
            ) from error

    def _within_budget(self, process: LoadProcess, batch: Batch) -> LoadProcess:
        """The process, ended as overdue when it outlives the budget. How long what is in flight takes to come back is
        known from loads before; of a first one it may be half of the budget.
        """
        left, total = (math.inf if one is None else one for one in (self.budget.left, self.budget.total))
        known = (self.pace.latency_seconds(section.cell) for section in batch.sections)
        late = OVERDUE * max(min(total / 2, UNKNOWN_SECONDS) if one is None else one for one in known)
        seconds = max(left, min(OVERDUE * batch.seconds + GRACE_SECONDS, max(total, 2 * GRACE_SECONDS)))
        return replace(process, limit_seconds=min(process.limit_seconds + late, seconds))

    def _started(self, batch_id: int, pid: int, ticks: int) -> None:
        self.journal.set_batch_process(batch_id, pid, ticks)
        self._telemetry.watch(pid)

    def _tick(self, progress: Mapping[str, float], batch: Batch, seconds: float) -> None:
        """How far it is, what the time may be, and what is measured now."""
        told = {**progress, "batch_seconds": round(seconds, 1), "elapsed_seconds": round(self.budget.elapsed, 1)}
        self.session.emit(progress_event({**told, "budget_seconds": self.budget.total}, batch, seconds))

    def _reinstate(self, visits: Iterable[Visit]) -> int:
        """How many visits that seemed to settle late count after all, because the longer ones among `visits` show that
        it was noise.
        """
        visits = list(visits)
        kept = reinstated(self.journal.discarded(ReasonCode.LATE), visits) if visits else []
        for visit_id, key, verdict in kept:
            self.journal.reinstate(visit_id, verdict)
            self.session.emit(Event("kept", {"cell": key, "verdict": verdict.text, **axes_of(self.cells[key])}))
        return len(kept)

    def _count_fruitless(self, intake: Intake, outcome: ProcessOutcome, cells: Sequence[Cell]) -> None:
        """Raises PartialResultError after batches in a row that gave nothing."""
        silent = stood_still(intake.visits)
        self._silent = self._silent + 1 if silent else 0
        if self._silent >= SILENT_BATCHES:
            raise self.session.given_up(
                f"the target stands still: no I/O came back in the windows of {SILENT_BATCHES} loads in a row",
                "bring it back",
            )
        if intake.visits:
            self._fruitless = 0
            return
        self._fruitless += 1
        left = self.budget.left
        # The budget's end, and no fault: asked to, fio ended. One that must be killed waits for I/Os of the target.
        cut = outcome.stopped == "overdue" and left is not None and left <= 0 and outcome.exit_code != -signal.SIGKILL
        if cut or (self._fruitless < FRUITLESS_BATCHES and not outcome.stopped):
            return
        said = last_line(outcome.stderr) or next(iter(intake.failed.values()), f"fio ended with {outcome.exit_code}")
        if not outcome.stopped and not self.steps.give_up(said):
            self._fruitless = 0
            return
        if outcome.stopped:
            raise self._not_answering(cells)
        raise self.session.given_up(f"the load cannot be run: {said}", remedy_for(f"{outcome.stderr}\n{said}"))

    def _not_answering(self, cells: Sequence[Cell]) -> PartialResultError:
        """Of a load that did not end. Which of several targets it waits for, the guards tell: they ask each of them."""
        names = dict.fromkeys(cell.target for cell in on_members(cells, self.session.plan.groups))
        what = "the target does not answer: fio did not end in time"
        if len(names) > 1:
            what = f"one of {', '.join(names)} does not answer: fio did not end in time"
            try:
                self.sites.check(cells)
            except IoAtlasError as error:
                return self.session.given_up(f"{error.what}, and fio did not end in time", "bring it back", error.where)
        return self.session.given_up(what, "bring it back")

    # -- events ----------------------------------------------------------------------------------------------

    def _tell(self, visit: Visit) -> None:
        if visit.purpose in (Purpose.PROBE, Purpose.BESIDE):
            return
        cell = self.cells[visit.cell_key]
        if visit.discarded:
            told = {"cell": cell.key, "reason": sentences(visit.discarded), **axes_of(cell)}
            self.session.emit(Event("discarded", told))
            return
        self.session.finished += 1
        for event in visit_events(visit, cell):
            self.session.emit(event)
