# SPDX-License-Identifier: Apache-2.0
"""The steps of works: every work on every target in a random order, again until precise enough; each visit in a folder
of its own, set up anew.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from ioatlas.analysis.estimates import undecided
from ioatlas.errors import PartialResultError, RefusedError
from ioatlas.fio.batch import Batch, Section
from ioatlas.fio.collect import SectionResult
from ioatlas.fio.executor import LoadProcess
from ioatlas.fio.jobfile import JobValue
from ioatlas.fio.work import WorkDone, WorkRequest, figure_in, last_words, read_done, read_request, work_process
from ioatlas.model.application import digest_of, is_work, work_of
from ioatlas.model.cell import Cell
from ioatlas.model.events import Event
from ioatlas.model.histogram import Histogram
from ioatlas.model.verdict import Verdict, VerdictCode
from ioatlas.model.visit import Part, Purpose, RemarkKind, SectionState, Series, Visit
from ioatlas.procedures.application.plan import FOLDER, works_of
from ioatlas.procedures.application.work import Better, Work
from ioatlas.run.gates import Gates
from ioatlas.run.intake import Intake
from ioatlas.run.runner import Runner
from ioatlas.run.steps import REPORT_SECONDS, Steps
from ioatlas.run.telemetry import Seen
from ioatlas.store.journal import NewVisit, PlannedVisit
from ioatlas.target.guard import check_before_start
from ioatlas.target.workspace import Workspace, directory_name

MOST_FAILURES = 2
"""Failed visits of a work on a target after which a session tries it no more."""


class WorkSteps(Steps):
    """One session of works."""

    def __init__(self, runner: Runner) -> None:
        super().__init__(runner)
        self._works = works_of(runner.plan.spec)
        self._seconds: dict[str, float] = {}
        self._failed = Counter[str]()
        self._work_failed = False
        self._uncleaned: set[str] = set()

    def _check_commands(self) -> None:
        """Raises RefusedError for commands that are not those that the cells were planned with."""
        for cell in self.runner.plan.to_measure:
            work = self._works.get(work_of(cell))
            if not is_work(cell) or work is None or work.digest != digest_of(cell):
                raise RefusedError(
                    "its commands are not those that were planned",
                    where=str(self.journal.directory),
                    remedy="start a new campaign from your own campaign file",
                )

    def make(self) -> bool:
        self._check_commands()
        self._clean_up_lost()
        for target in self.runner.plan.targets:
            self.runner.sites.open(target.name, self.runner.plan.files[target.name], self.runner.target_use)
        spec = self.runner.plan.spec
        while self._make_waiting():
            made = self.journal.visits()
            replicate = 1 + self._last_replicate(made)
            cells = self._still_tried()
            if replicate >= spec.visits:
                grade = spec.wanted
                waiting = undecided({cell.key: cell for cell in cells}, made, grade) if grade.precision else {}
                cells = [cell for cell in cells if cell.key in waiting]
            if not cells:
                self._tell_failed(made)
                return True
            self._plan_replicate(cells, replicate)
        return True

    def _last_replicate(self, made: Sequence[Visit]) -> int:
        """The last one of which a visit came to an end, or that was all failures."""
        done = max((visit.replicate for visit in made), default=-1)
        failed = [self.journal.tries(cell.key, done + 1) for cell in self.runner.plan.to_measure]
        return done + 1 if any(failed) else done

    def _still_tried(self) -> list[Cell]:
        return [cell for cell in self.runner.plan.to_measure if self._failed[cell.key] < MOST_FAILURES]

    def _plan_replicate(self, cells: Sequence[Cell], replicate: int) -> None:
        generator = random.Random(f"{self.runner.plan.spec.order_seed} {replicate}")  # noqa: S311 - an order, not a secret
        order = list(cells)
        generator.shuffle(order)
        self.journal.add_visits(
            [NewVisit(cell.key, replicate, generator.randrange(1, 2**31), Purpose.SWEEP, alone=True) for cell in order]
        )

    def _make_waiting(self) -> bool:
        """Make what is planned until nothing is left (True) or the budget ends (False)."""
        while waiting := self.journal.planned(Purpose.SWEEP, limit=1):
            row = waiting[0]
            cell = self.cells[row.cell_key]
            left = self.budget.left
            if left is not None and self._seconds and self._expected(cell) + REPORT_SECONDS > left:
                self.budget_ended(Purpose.SWEEP)
                return False
            folder = self.runner.sites.make_folder(cell.target, FOLDER)
            try:
                self.runner.batch((self.section(row),), {row.visit_id: row}, partial(self._process, folder))
            finally:
                self.runner.sites.remove(cell.target, FOLDER)
        return True

    def _tell_failed(self, made: Sequence[Visit]) -> None:
        """Works that never came to an end are named; where none did, the campaign is not over."""
        done = {visit.cell_key for visit in made}
        reasons = {key: reason for key, reason in self.journal.failures() if key not in done}
        for key, reason in reasons.items():
            cell = self.cells[key]
            self.runner.remark(RemarkKind.WARNING, f"{work_of(cell)} on {cell.target} was not measured: {reason}.")
        if reasons and not done:
            raise PartialResultError(
                f"no work came to its end: {next(iter(reasons.values()))}",
                where=str(self.journal.directory),
                remedy=f"mend that, then `ioatlas resume {self.journal.directory}`; other commands need a new campaign",
            )

    # -- one work --------------------------------------------------------------------------------------------------

    def _process(self, folder: str, batch: Batch) -> LoadProcess:
        (section,) = batch.sections
        return work_process(self._request(section.cell, folder, section.seed), batch.directory)

    def _request(self, cell: Cell, folder: str, seed: int, *, only_cleanup: bool = False) -> WorkRequest:
        work = self._works[work_of(cell)]
        setup, command, verify, cleanup = (
            work.bound(phase, folder) for phase in ("setup", "command", "verify", "cleanup")
        )
        return WorkRequest(
            cell.key,
            folder,
            seed,
            setup,
            command,
            verify,
            cleanup,
            work.limit_seconds,
            work.cold,
            only_cleanup=only_cleanup,
        )

    def _clean_up_lost(self) -> None:
        """Of a work whose driver was killed, the cleanup is run now, before its folder goes."""
        for row in self.journal.batches()[-1:]:
            directory = self.journal.directory / row.directory
            asked, done = read_request(directory), read_done(directory)
            cell = self.cells.get(str(asked.get("cell")))  # what is run stands in the plan, not there
            if cell is None or (done is not None and done.cleaned):
                continue
            target = next((one for one in self.runner.plan.targets if one.name == cell.target), None)
            folder = Path(target.location if target else "", directory_name(self.runner.sites.campaign_id), FOLDER)
            if target is None or not folder.is_dir() or folder.is_symlink() or folder.parent.is_symlink():
                continue
            check_before_start(target, writes=True)
            self.runner.emit(Event("remark", {"text": f"{work_of(cell)} was killed; its cleanup is run now."}))
            request = self._request(cell, str(folder), 0, only_cleanup=True)
            with Workspace(target, self.runner.sites.campaign_id, lambda _: None) as workspace:
                self.runner.environment.executor.run(
                    replace(work_process(request, directory), held=workspace.held),
                    stop_asked=lambda: False,
                    started=lambda _pid, _ticks: None,
                )

    def location(self, cell: Cell) -> tuple[tuple[str, JobValue], ...]:  # noqa: ARG002 - a command knows its place
        return ()

    def section(self, visit: PlannedVisit) -> Section:
        return self.runner.section(visit, max(1, round(1000 * self._expected(self.cells[visit.cell_key]))), 0)

    def read(self, batch: Batch, planned: Mapping[int, PlannedVisit]) -> list[SectionResult]:
        return [self._read(section, batch, planned[section.visit_id]) for section in batch.sections]

    def _read(self, section: Section, batch: Batch, row: PlannedVisit) -> SectionResult:
        done = read_done(batch.directory)
        if done is None or not done.cleaned:
            return SectionResult(section, SectionState.CUT_SHORT, None, "it was killed")
        if done.failed == "stopped":
            return SectionResult(section, SectionState.CUT_SHORT, None, done.why)
        if done.failed and done.failed != "cleanup":
            said = last_words(batch.directory, done.failed)
            why = f"its {done.failed} failed: {done.why}{f' ({said})' if said else ''}"
            return SectionResult(section, SectionState.FAILED, None, why)
        if done.failed:
            self._tell_uncleaned(section.cell, done.why, last_words(batch.directory, done.failed))
        part = self._part(self._works[work_of(section.cell)], done, batch.directory)
        if part is None:
            why = "it printed no figure above zero that its metric's regex takes"
            return SectionResult(section, SectionState.FAILED, None, why)
        visit = Visit(
            section.visit_id,
            section.cell.key,
            batch.batch_id,
            0,
            row.replicate,
            section.seed,
            done.phases["command"].started_at,
            (part,),
            purpose=row.purpose,
        )
        return SectionResult(section, SectionState.FINISHED, visit)

    def _tell_uncleaned(self, cell: Cell, why: str, said: str) -> None:
        """Once for each work: what it timed counts, but something of it may be left elsewhere."""
        if cell.key not in self._uncleaned:
            self._uncleaned.add(cell.key)
            words = f"{why}{f' ({said})' if said else ''}"
            self.runner.remark(RemarkKind.WARNING, f"{work_of(cell)} on {cell.target}: its cleanup failed: {words}.")

    @staticmethod
    def _part(work: Work, done: WorkDone, directory: Path) -> Part | None:
        """The figure as a visit holds it: of which more is better, units in a time; of which less is better, a time."""
        if "command" not in done.phases:
            return None
        seconds = done.phases["command"].seconds
        figure = figure_in(directory, work.metric.regex) if work.metric else seconds
        if figure is None:
            return None
        count, lasts = 1, figure * work.unit_seconds
        if work.better is Better.MORE:
            count = max(1, round(figure * seconds))
            lasts = count / figure
        latency = lasts * 1e9 if work.is_time else None
        return Part("write", count, count, 1000 * lasts, latency, Histogram(), Series(0))

    def take_in(
        self,
        results: Sequence[SectionResult],
        planned: dict[int, PlannedVisit],
        gates: Gates | None,  # noqa: ARG002 - rules for I/Os
        usage: Mapping[str, Any] | None,  # noqa: ARG002
    ) -> Intake:
        intake = super().take_in(results, planned, None, None)
        intake.written = {}
        self._failed.update(planned[visit_id].cell_key for visit_id in intake.failed)
        self._work_failed = bool(intake.failed)
        return intake

    def judge(self, section: Section, visit: Visit, gates: Gates | None) -> tuple[Visit, bool]:  # noqa: ARG002
        return replace(visit, verdict=Verdict(VerdictCode.WORK_DONE), window_start_ms=0), False

    def usage(self, seen: Seen, intake: Intake, cells: Sequence[Cell]) -> dict[str, Any]:  # noqa: ARG002
        """Counters of the stretch in which the command ran, which a figure does not tell."""
        directory = self.journal.directory / self.journal.batches()[-1].directory
        done = read_done(directory)
        if done is None or "command" not in done.phases:
            return {**asdict(seen.usage), **seen.record(())}
        command = done.phases["command"]
        whole = [
            replace(
                visit,
                started_at=command.started_at,
                parts=tuple(replace(part, runtime_ms=1000 * command.seconds) for part in visit.parts),
            )
            for visit in intake.visits
        ]
        record = seen.record(whole)
        for visit in intake.visits:
            entry = record["visits"].setdefault(str(visit.visit_id), {})
            entry["work"] = {
                "wall_seconds": round(command.seconds, 6),
                "cpu_seconds": round(command.cpu_seconds, 6),
                **{f"{name}_seconds": round(one.seconds, 3) for name, one in done.phases.items() if name != "command"},
            }
        return {**asdict(seen.usage), **record}

    # -- time ------------------------------------------------------------------------------------------------------

    def learn(self, visit: Visit, asked_ms: int | None = None) -> None:  # noqa: ARG002
        place = next((row.directory for row in self.journal.batches() if row.batch_id == visit.batch_id), None)
        done = read_done(self.journal.directory / place) if place is not None else None
        if done is not None:
            self._seconds[visit.cell_key] = sum(one.seconds for one in done.phases.values())

    def _expected(self, cell: Cell) -> float:
        """Seconds of one visit: as the last one took, or as the work says."""
        known = self._seconds.get(cell.key)
        return known if known is not None else self._works[work_of(cell)].usual_seconds

    def give_up(self, reason: str) -> bool:  # noqa: ARG002
        return not self._work_failed  # where a command failed, another one may still run

    def progress(self, batch: Batch) -> dict[str, float]:  # noqa: ARG002
        waiting = self.journal.planned(Purpose.SWEEP)
        return self.told_progress(len(waiting), sum(self._expected(self.cells[row.cell_key]) for row in waiting))
