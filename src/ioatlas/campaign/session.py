# SPDX-License-Identifier: Apache-2.0
"""A session: takes planned visits from the journal, has fio make them batch by batch, and writes down what came of them."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ioatlas.analysis.windows import window_values
from ioatlas.campaign.beside import Beside
from ioatlas.campaign.conditions import Hollow, meters_of, note_power
from ioatlas.campaign.events import Emit, Event
from ioatlas.campaign.gatekeeper import Gatekeeper
from ioatlas.campaign.intake import LATE, Intake, after_all, take_in
from ioatlas.campaign.plan import CELLS_PER_BATCH, FIO_SECONDS, Plan, default_pace, visit_turns
from ioatlas.campaign.prepare import last_line, remedy_for
from ioatlas.campaign.sites import Sites
from ioatlas.design.pace import Pace
from ioatlas.engine.archive import pack_logs
from ioatlas.engine.batch import MAX_SLACK_MS, SLACK_MS, TURN_MS, WORK_CAP_SECONDS, Batch, Section, job_text, take_sections
from ioatlas.engine.collect import JOB_FILE, OUTPUT, SectionResult, read_batch
from ioatlas.engine.process import Fio, Outcome, run_fio, stop_orphan
from ioatlas.engine.replay import cap_ms
from ioatlas.errors import IoAtlasError, PartialResultError
from ioatlas.model.cell import Cell
from ioatlas.model.visit import Visit
from ioatlas.probe.telemetry import Watched, watched_of
from ioatlas.stats.warmup import get_ready
from ioatlas.store.journal import BatchRow, Journal, PlannedVisit

BATCH_SECONDS = 30.0
LONGEST_BATCH_SECONDS = 60.0
"""What a killed process may cost; a batch takes CELLS_PER_BATCH visits at most, 30 s with usual windows."""

FRESH_BLOCK = 1000
"""First block number of visits made afresh, after the sweep."""

PROBE_GAP_MS = 110
REPORT_SECONDS = 2.0
FRUITLESS_BATCHES = 2
"""Batches in a row that may give nothing before the campaign is given up for now."""


@dataclass(frozen=True)
class Summary:
    """How a session ended."""

    directory: Path
    cells: int
    visits: int
    seconds: float
    complete: bool


class Session(ABC):
    """One session of a campaign or a search. What to make, and in which order, is for those that inherit."""

    def __init__(
        self,
        journal: Journal,
        plan: Plan,
        sites: Sites,
        fio: Fio,
        *,
        emit: Emit,
        stop_asked: Callable[[], bool],
        began: float | None = None,
    ) -> None:
        self._journal = journal
        self._plan = plan
        self._sites = sites
        self._fio = fio
        self._emit = emit
        self._stop_asked = stop_asked
        self._began = began if began is not None else time.monotonic()
        self._cells: dict[str, Cell] = {cell.key: cell for cell, _ in journal.cells()}
        self._pace = default_pace(plan.spec)
        self._fruitless = 0
        self._finished = 0
        self._made = 0
        self._made_sweep = False
        self._slack_ms: float = SLACK_MS
        watched = {target.name: watched_of(target.location) for target in plan.targets}
        together = _together(watched.values())
        self._meters = meters_of(journal.directory)
        self._beside = Beside(together, self._meters)
        self._hollow = Hollow(journal)
        self._gates = Gatekeeper(journal, watched)
        journal.set_outcome("counted", {name: asdict(path) for name, path in self._gates.paths.items()})
        self._nominal_spent = 0.0
        self._wall_spent = 0.0

    @abstractmethod
    def run(self) -> Summary:
        """Do all that is left to do; the sites are cleaned whatever happens. Raises PartialResultError when it ends early."""

    def recover(self) -> None:
        """After a crash: stop a fio that outlived us, and keep what finished batches left on disk."""
        for row in self._journal.running_batches():
            if row.pid is not None and row.pid_started is not None:
                stop_orphan(row.pid, row.pid_started)
            batch, planned = self._reopen(row)
            results = self._read(batch, planned)
            intake = take_in(results, planned)
            self._close(row.batch_id, intake, status="done" if results else "failed", note="read back after a crash")
        # Of the batch that was lost, and of one that was in the journal already when the session died.
        if self._journal.discarded(LATE):
            self._take_back(self._journal.visits())
        self._journal.drop_planned("interrupted", purpose="probe")

    def _clean(self) -> None:
        """What every session ends with, however it ends: nothing left on the targets, logs put away."""
        self._sites.clean(self._emit)
        for batch in self._journal.batches():
            pack_logs(self._journal.directory / batch.directory)

    def _reopen(self, row: BatchRow) -> tuple[Batch, dict[int, PlannedVisit]]:
        planned = {visit.visit_id: visit for visit in self._journal.batch_visits(row.batch_id)}
        sections = tuple(self._section(visit, visit.runtime_ms or 0, PROBE_GAP_MS) for visit in planned.values())
        return Batch(row.batch_id, self._journal.directory / row.directory, sections), planned

    def _section(self, visit: PlannedVisit, runtime_ms: int, gap_ms: int) -> Section:
        cell = self._cells[visit.cell_key]
        return Section(visit.visit_id, cell, visit.seed, runtime_ms, gap_ms, self._sites.location(cell))

    def _paced(self, visit: PlannedVisit) -> Section:
        cell = self._cells[visit.cell_key]
        runtime_ms, gap_ms = self._pace.runtime_and_gap_ms(cell)
        if cell.work_bounded:
            runtime_ms = cap_ms(cell) if cell.trace else WORK_CAP_SECONDS * 1000
        return self._section(visit, max(runtime_ms, visit.runtime_ms or 0), gap_ms)

    def _make_planned(self, purpose: str) -> bool:
        """Make planned visits until none is left (True) or the budget ends (False). Raises PartialResultError when asked to stop."""
        get_ready()
        while waiting := self._waiting(purpose):
            rows = {visit.visit_id: visit for visit in waiting}
            sections = [self._paced(visit) for visit in waiting]
            taken = take_sections(sections, seconds=self._batch_seconds(sections, purpose), alone=_alone(rows))
            if self._out_of_time(purpose, taken):
                return False
            self._run(taken, {section.visit_id: rows[section.visit_id] for section in taken})
        return True

    def _batch_seconds(self, sections: Sequence[Section], purpose: str) -> float:
        """How long the next batch may be; a budget that is nearly spent still gives a short one."""
        # Batches of like size: fio's turns run away from the schedule the more the longer a batch is.
        count = math.ceil(len(sections) / math.ceil(len(sections) / CELLS_PER_BATCH))
        seconds = min(LONGEST_BATCH_SECONDS, sum(section.turns for section in sections[:count]) * TURN_MS / 1000 + 0.001)
        left = self._left_seconds()
        if left is None or not self._made_sweep:
            return seconds
        return min(seconds, (left - FIO_SECONDS - self._kept_back(purpose)) / self._slowdown())

    def _waiting(self, purpose: str) -> list[PlannedVisit]:
        """The next planned visits, more than a batch takes."""
        return self._journal.planned(purpose, limit=2 * CELLS_PER_BATCH)

    def _run(self, sections: tuple[Section, ...], planned: Mapping[int, PlannedVisit]) -> list[Visit]:
        """One batch, from job file to journal. Raises PartialResultError when stopped, IoAtlasError when nothing works any more."""
        if self._stop_asked():
            raise self._stopped()
        cells = [section.cell for section in sections]
        try:
            self._sites.check(cells)
            self._sites.renew(cells)
        except IoAtlasError as error:
            if not self._finished:
                raise
            raise PartialResultError(
                f"{error.what}; finished visits are kept",
                where=error.where,
                remedy=f"{error.remedy}; then go on with `ioatlas resume {self._journal.directory}`",
            ) from error
        begin = time.monotonic()
        batch_id, directory = self._journal.begin_batch({section.visit_id: section.runtime_ms for section in sections})
        batch = Batch(batch_id, directory, sections, readonly=not any(cell.writes for cell in cells), slack_ms=self._slack_ms)
        (directory / JOB_FILE).write_text(job_text(batch))
        progress = self._progress(batch)
        self._hollow.look(sections)
        note_power(self._journal, self._meters, self._stop_asked)
        self._beside.start(sections)
        try:
            outcome = run_fio(
                self._fio,
                [*(["--readonly"] if batch.readonly else []), "--output-format=json+", f"--output={OUTPUT}", "--eta=never", JOB_FILE],
                directory=directory,
                expected_seconds=batch.seconds + FIO_SECONDS,
                stop_asked=self._stop_asked,
                started=lambda pid, ticks: self._started(batch_id, pid, ticks),
                tick=lambda seconds: self._emit(Event("progress", {**progress, "batch_seconds": round(min(seconds, batch.seconds), 1)})),
            )
        finally:
            seen = self._beside.stop(directory)
        usage = seen.usage
        results = self._read(batch, planned)
        if any(result.overlap_ms for result in results):
            self._slack_ms = min(MAX_SLACK_MS, 2 * self._slack_ms)
        intake = take_in(results, dict(planned), self._gates, None if outcome.stopped else asdict(usage))
        intake = self._without_repeats(intake)
        seconds = time.monotonic() - begin
        self._close(
            batch_id,
            intake,
            status="done" if results else "failed",
            seconds=seconds,
            exit_code=outcome.exit_code,
            note=last_line(outcome.stderr) if outcome.exit_code else "",
            usage={**asdict(usage), **seen.record(intake.visits)},
        )
        self._finished += self._take_back(visit for visit in intake.visits if planned[visit.visit_id].alone)
        self._made += len(sections)
        self._nominal_spent += expected_seconds(sections, self._pace)
        self._wall_spent += time.monotonic() - begin
        asked = {section.visit_id: section.runtime_ms for section in sections if not section.cell.work_bounded}
        self._follow(intake, outcome, asked)
        return intake.visits

    def _follow(self, intake: Intake, outcome: Outcome, asked_ms: Mapping[int, int]) -> None:
        """What a batch in the journal leads to: learn, tell, and end when asked to or when nothing works. asked_ms: by visit_id, where time bounds it."""
        for visit in intake.visits:
            self._learn(visit, asked_ms.get(visit.visit_id))
            self._tell(visit)
        if outcome.stopped == "asked":
            raise self._stopped()
        self._count_fruitless(intake, outcome.stderr, outcome.exit_code, outcome.stopped)

    def _started(self, batch_id: int, pid: int, ticks: int) -> None:
        self._journal.set_batch_process(batch_id, pid, ticks)
        self._beside.watch(pid)

    def _read(self, batch: Batch, planned: Mapping[int, PlannedVisit]) -> list[SectionResult]:
        return read_batch(
            batch.directory,
            batch.sections,
            batch.batch_id,
            {visit_id: visit.block for visit_id, visit in planned.items()},
            {visit_id: visit.purpose for visit_id, visit in planned.items()},
        )

    def _without_repeats(self, intake: Intake) -> Intake:
        """A cell gets one more try a block, not more."""
        intake.again = [visit for visit in intake.again if not self._journal.tries(visit.cell_key, visit.block)]
        return intake

    def _take_back(self, visits: Iterable[Visit]) -> int:
        """How many visits that seemed to settle late count after all, because the longer ones among `visits` show that it was noise."""
        visits = list(visits)
        kept = after_all(self._journal.discarded(LATE), visits) if visits else []
        for visit_id, cell_key, verdict in kept:
            self._journal.take_back(visit_id, verdict)
            self._emit(Event("kept", {"cell": cell_key, "verdict": verdict, **_axes(self._cells[cell_key])}))
        return len(kept)

    def _amend(self, intake: Intake) -> Intake:
        """What a batch gave, changed in place before it is written down where a kind of session judges otherwise."""
        return intake

    def _close(
        self,
        batch_id: int,
        intake: Intake,
        *,
        status: str,
        seconds: float | None = None,
        exit_code: int | None = None,
        note: str = "",
        usage: Mapping[str, Any] | None = None,
    ) -> None:
        intake = self._amend(intake)
        self._journal.finish_batch(
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

    def _count_fruitless(self, intake: Intake, stderr: str, exit_code: int, stopped: str) -> None:
        if intake.visits:
            self._fruitless = 0
            return
        self._fruitless += 1
        if self._fruitless < FRUITLESS_BATCHES and not stopped:
            return
        reason = "fio did not end in time: the target does not answer" if stopped else last_line(stderr) or f"fio ended with {exit_code}"
        raise PartialResultError(
            f"the load cannot be run: {reason}",
            where=self._plan.targets[0].location if len(self._plan.targets) == 1 else "",
            remedy=f"{remedy_for(stderr)}; then `ioatlas resume {self._journal.directory}`: finished visits are kept",
        )

    def _stopped(self) -> PartialResultError:
        return PartialResultError(
            "stopped; finished visits are kept",
            where=str(self._journal.directory),
            remedy=f"go on with `ioatlas resume {self._journal.directory}`",
        )

    def _learn_from_journal(self) -> None:
        for visit in self._journal.visits():
            self._learn(visit)
            self._finished += visit.purpose == "sweep" and not visit.discarded

    def _learn(self, visit: Visit, asked_ms: int | None = None) -> None:
        cell = self._cells[visit.cell_key]
        ios = sum(part.total_ios for part in visit.parts)
        seconds = max((part.runtime_ms for part in visit.parts), default=0) / 1000
        if ios and seconds:
            # Little's law; of a paced load it gives the time between I/Os, which is what the window must hold many of.
            latency = cell.outstanding * seconds / ios
            self._pace.learn(cell, latency, None if asked_ms is None else max(0.0, seconds - asked_ms / 1000) / latency)

    def _left_seconds(self) -> float | None:
        budget = self._plan.spec.budget_seconds
        return None if budget is None else budget - (time.monotonic() - self._began)

    def _reserve_seconds(self) -> float:
        """Kept back of the budget for what comes after the sweep."""
        return REPORT_SECONDS

    def _kept_back(self, purpose: str) -> float:
        return self._reserve_seconds() if purpose == "sweep" else REPORT_SECONDS

    def _out_of_time(self, purpose: str, taken: tuple[Section, ...]) -> bool:
        left = self._left_seconds()
        if left is None or not self._made_sweep:
            # However small the budget, one batch is made.
            self._made_sweep = True
            return False
        need = expected_seconds(taken, self._pace) * self._slowdown() + FIO_SECONDS
        if need + self._kept_back(purpose) <= left:
            return False
        dropped = self._journal.drop_planned("not reached: the budget ended", purpose=purpose)
        text = f"The budget ended with {dropped} planned {'' if purpose == 'sweep' else purpose + ' '}visits not made."
        self._journal.add_remark("left-out", text)
        self._emit(Event("remark", {"text": text}))
        return True

    def _tell(self, visit: Visit) -> None:
        if visit.purpose == "probe":
            return
        cell = self._cells[visit.cell_key]
        if visit.discarded:
            self._emit(Event("discarded", {"cell": cell.key, "reason": visit.discarded, **_axes(cell)}))
            return
        self._finished += 1
        for part in visit.parts:
            values = window_values(part, visit.window_start_ms)
            self._emit(
                Event(
                    "visit",
                    {
                        "cell": cell.key,
                        **_axes(cell),
                        "direction": part.direction,
                        "block": visit.block,
                        "bw_bytes_per_s": round(values.bw_bytes_per_s, 1),
                        "iops": round(values.iops, 2),
                        "lat_mean_ns": values.lat_mean_ns,
                        "lat_p99_ns": values.lat_p99_ns,
                        "lat_kind": part.lat_kind,
                        "verdict": visit.verdict,
                        "purpose": visit.purpose,
                    },
                )
            )

    def _progress(self, batch: Batch) -> dict[str, float]:
        """Visits finished and planned, and the seconds left: counted before a batch starts, not while a window is open."""
        counts = self._journal.count_visits()
        planned = counts.get("planned", 0)
        mean = self._nominal_spent / self._made if self._made else batch.seconds / len(batch.sections)
        left = planned * mean * self._slowdown()
        return {"visits_done": counts.get("done", 0), "visits_planned": planned, "seconds_left": round(left, 1)}

    def _slowdown(self) -> float:
        """Time that batches took over the time planned for them."""
        return max(1.0, self._wall_spent / self._nominal_spent) if self._nominal_spent else 1.05


def _together(each: Iterable[Watched]) -> Watched:
    """Devices and interfaces on the way to every target."""
    each = list(each)
    devices = tuple(dict.fromkeys(name for one in each for name in (*one.devices, *one.tops)))
    interfaces = tuple(dict.fromkeys(name for one in each for name in one.interfaces))
    return Watched(devices, interfaces, next((one.mount_point for one in each if one.mount_point), ""))


def expected_seconds(sections: Iterable[Section], pace: Pace) -> float:
    """What their loads take: a trace its own time, though it may run far longer where the target cannot follow."""
    return sum(visit_turns(one.cell, pace) if one.cell.trace else one.turns for one in sections) * TURN_MS / 1000


def _alone(rows: Mapping[int, PlannedVisit]) -> Callable[[Section], bool]:
    return lambda section: rows[section.visit_id].alone or section.cell.work_bounded or section.cell.state == "fresh"


def _axes(cell: Cell) -> dict[str, object]:
    return {
        "target": cell.target,
        "rw": cell.rw,
        "bs_bytes": cell.bs_bytes,
        "size_bytes": cell.size_bytes,
        "numjobs": cell.numjobs,
        "iodepth": cell.iodepth,
    }
