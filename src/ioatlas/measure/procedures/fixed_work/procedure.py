# SPDX-License-Identifier: Apache-2.0
"""Fixed work and its steps: sequences of operations on one new file, repeated as replicates until precise, never
bounded by time. Of several tools, those of one file and record run side by side. IOzone's table becomes visits of
IOzone's own cells: one figure an operation, timed by IOzone.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ioatlas.answer.analysis.fixed_work import Speeds
from ioatlas.load.fio.batch import Batch, Section
from ioatlas.load.fio.collect import SectionResult
from ioatlas.load.fio.executor import Executor, LoadProcess, read_clock
from ioatlas.load.machine.typed_in import read_facts, typed_facts
from ioatlas.load.streams.fixed_work import IozoneTable, iozone_arguments, iozone_table
from ioatlas.measure.procedures.fixed_work.options import FixedWorkOptions
from ioatlas.measure.procedures.fixed_work.plan import (
    FILE,
    build_sequence_plan,
    fewer,
    known_memory,
    sequence_cells,
    with_size,
    work_bytes,
)
from ioatlas.measure.run.gates import Gates
from ioatlas.measure.run.plan import FIO_SECONDS, PLANNING_WRITE_BYTES_PER_S, Plan
from ioatlas.measure.run.procedure import PlanText, Procedure
from ioatlas.measure.run.sequences import SequencedSteps
from ioatlas.measure.run.session import Session
from ioatlas.measure.run.steps import REPORT_SECONDS, Making, Steps
from ioatlas.measure.run.telemetry import Seen
from ioatlas.model.cell import Cell
from ioatlas.model.errors import IoAtlasError, faults
from ioatlas.model.fixed_work import FIO, IOZONE, STATE, WorkSequence, operation_of, sequences_of, tool_of
from ioatlas.model.options import JobValue
from ioatlas.model.outcomes import Event, KnownMemory
from ioatlas.model.target import Target
from ioatlas.model.testbed import Fact
from ioatlas.model.units import format_duration, format_size
from ioatlas.model.verdict import UnmeasuredCode, Verdict, VerdictCode
from ioatlas.model.visit import Histogram, Part, Purpose, SectionState, Series, Visit
from ioatlas.plan.orders import coarsen
from ioatlas.plan.spec import CampaignSpec
from ioatlas.store.journal import Intake, PlannedVisit


def also_moved(cells: Sequence[Cell]) -> dict[str, int]:
    """{direction: bytes} that IOzone moves in a run of these operations and reports nothing of (seen in its system
    calls, IOzone 3.489).

    It reads the first record once before the clock of read and of reread starts, and reads backward twice.
    """
    read = 0
    for cell in cells:
        if operation_of(cell) in ("read", "reread"):
            read += cell.bs_bytes
        elif operation_of(cell) == "backward read":
            read += cell.members[0].integer("io_size", 0)
    return {"read": read}


def iozone_results(
    table: IozoneTable | None, batch: Batch, planned: Mapping[int, PlannedVisit], started_at: float
) -> list[SectionResult]:
    """Results of the sections of one run of IOzone; an empty list when there is no complete table."""
    if table is None:
        return []
    results = []
    at = started_at
    for index, section in enumerate(batch.sections):
        rate = table.bytes_per_s.get(operation_of(section.cell), 0.0)
        if wrong := _wrong(section, table, rate):
            results.append(SectionResult(section, SectionState.FAILED, None, wrong))
            continue
        work = section.cell.members[0].integer("io_size", 0)
        seconds = work / rate
        part = Part(
            section.cell.directions[0],
            work,
            work // section.cell.bs_bytes,
            seconds * 1000,
            None,
            Histogram(),
            Series(0),
            "total",
        )
        row = planned[section.visit_id]
        visit = Visit(
            section.visit_id,
            section.cell.key,
            batch.batch_id,
            index,
            row.replicate,
            section.seed,
            at,
            (part,),
            purpose=row.purpose,
        )
        results.append(SectionResult(section, SectionState.FINISHED, visit))
        at += seconds
    return results


def _wrong(section: Section, table: IozoneTable, rate: float) -> str:
    """Why a rate of the table is not that of the section; '' when it is."""
    cell = section.cell
    if not rate:
        return "IOzone reported nothing for it"
    if table.record_bytes != cell.bs_bytes or table.size_bytes != int(cell.option["size"]):
        return f"IOzone reports a file of {table.size_bytes} B with records of {table.record_bytes} B"
    return ""


CAP_SECONDS = 7 * 86400
"""Longest that one operation may take before its target is taken to hang."""
LOOK_BYTES = 4 << 20
"""File of the first look at the speed, with the smallest record; with the largest it is one record."""
CALLS_FILE = "opening-closing.seconds"
LOOK_STATE = "first look"
FIRST = "write"
"""The operation that makes the file; all others need it."""
LEAST_FILE = 16 << 20
CLOCK_MS = 1.0
"""fio's run times are whole milliseconds, rounded up."""
IOZONE_OUTPUT = "iozone.txt"
COMMAND_FILE = "iozone.command"


class SequenceSteps(SequencedSteps[WorkSequence]):
    """One session of fixed-work sequences."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._speeds = Speeds()
        self._study = session.plan.spec.of(FixedWorkOptions).ordered

    def make(self) -> Making[bool]:
        spec = self.session.plan.spec
        if IOZONE in spec.of(FixedWorkOptions).engines:
            self.session.find("iozone")
        self.journal.keep(KnownMemory(known_memory(typed_facts(self.journal.directory))))
        plan = self.session.plan
        for target in plan.targets:
            length = int(plan.files.get(target.name, {}).get(FILE, 0))
            self.session.sites.open(target.name, {FILE: length}, self.session.target_use)
        if spec.budget_seconds is not None and not self.session.finished:
            yield from self._fit_budget()
        self.sequences = sequences_of(self.session.plan.to_measure)
        yield from self.make_replicates()
        return True

    # -- replicates and sequences -----------------------------------------------------------------------------------

    def sequence_of(self, cell: Cell) -> WorkSequence:
        return WorkSequence.of(cell)

    def side_by_side(self, one: WorkSequence) -> tuple[str, int, int]:
        """The tools of one file and record stay together, so that they meet the same moments."""
        return one.target, one.size_bytes, one.record_bytes

    def make_operations(self, one: WorkSequence, rows: Sequence[PlannedVisit]) -> Making[int]:
        cells = [self.cells[row.cell_key] for row in rows]
        begin = self.budget.elapsed
        self.session.sites.check(cells)
        self.session.sites.remove(cells[0].target, FILE)  # of an earlier sequence: the first operation makes a new one
        done = 0
        if one.tool == IOZONE:
            done = len((yield from self.make_batch(rows, partial(self._iozone_process, one))))
        else:
            for row in rows:
                if not (yield from self.make_batch([row])):
                    break
                done += 1
        self._speeds.add_overhead(len(rows), self.budget.elapsed - begin)
        return done

    def _iozone_process(self, one: WorkSequence, batch: Batch) -> LoadProcess:
        """IOzone on the file of the sequence: all its operations in one run."""
        cell = batch.sections[0].cell
        arguments = iozone_arguments(one.size_bytes, [one.record_bytes], direct=bool(cell.integer("direct", 1)))
        file = self.session.sites.file_path(cell.target, FILE)
        return iozone_process(arguments, file, batch.directory, limit_seconds=CAP_SECONDS)

    def location(self, cell: Cell) -> tuple[tuple[str, JobValue], ...]:
        place = ("filename", self.session.sites.file_path(cell.target, FILE))
        return (place, ("allow_file_create", 1)) if cell.option["operation"] == FIRST else (place,)

    def section(self, visit: PlannedVisit) -> Section:
        return self.bound(visit, CAP_SECONDS * 1000, 0)

    # -- one operation ---------------------------------------------------------------------------------------

    def read(self, batch: Batch, planned: Mapping[int, PlannedVisit]) -> list[SectionResult]:
        if (batch.directory / IOZONE_OUTPUT).exists():
            return iozone_results(read_iozone(batch.directory), batch, planned, self._started_at(batch.directory))
        return [self._timed(result, batch.directory) for result in super().read(batch, planned)]

    def _started_at(self, directory: Path) -> float:
        """When the load of a batch was started, by the file written just before it."""
        files = [directory / name for name in ("job.fio", "iozone.command")]
        written = next((path.stat().st_mtime for path in files if path.exists()), None)
        return self.journal.now() if written is None else read_clock(directory).session(written)

    def _timed(self, result: SectionResult, directory: Path) -> SectionResult:
        """The result with the time of its work: finer than fio's whole milliseconds, flush and close included where the
        study has them inside.
        """
        visit, cell = result.visit, result.section.cell
        if visit is None or not visit.parts:
            return result
        (part,) = visit.parts
        work = cell.members[0].integer("io_size", 0)
        visit = replace(visit, started_at=self._started_at(directory))
        if part.io_bytes < work:
            return replace(
                result, visit=visit, state=SectionState.CUT_SHORT, reason=f"{part.io_bytes} of {work} bytes done"
            )
        calls_ms = (part.lat_mean_ns or 0.0) * part.total_ios / 1e6
        opening, closing = self._calls_around(result.section, directory)
        # The true time lies above the sum of the I/Os, which hold no opening, and within the last millisecond of the
        # run time, which does.
        run_ms = (
            calls_ms
            if calls_ms > part.runtime_ms - CLOCK_MS
            else max(calls_ms, part.runtime_ms - CLOCK_MS / 2 - 1000 * opening)
        )
        return replace(result, visit=replace(visit, parts=(replace(part, runtime_ms=run_ms + 1000 * closing),)))

    def _calls_around(self, section: Section, directory: Path) -> tuple[float, float]:
        """Seconds of opening to take out and of flush and close to add; kept beside the output, so that a crash does
        not lose them.
        """
        if self._study != "iozone2017":
            return 0.0, 0.0
        kept = directory / CALLS_FILE
        if not kept.exists():
            try:
                path = self.session.sites.file_path(section.cell.target, FILE)
                opening, closing = calls_around(self.session.sites.through(path), section.cell)
            except IoAtlasError:
                return 0.0, 0.0  # read back after a crash: the file is gone
            kept.write_text(f"{opening:.9f} {closing:.9f}\n")
        opening, closing = map(float, kept.read_text().split())
        return opening, closing

    def gated(self, results: Sequence[SectionResult]) -> bool:
        """Not where IOzone made the load, which counts no I/Os."""
        return all(tool_of(result.section.cell) != IOZONE for result in results)

    def judge(self, section: Section, visit: Visit, gates: Gates | None) -> tuple[Visit, bool]:
        if tool_of(section.cell) != IOZONE:  # which counts no I/Os and takes no latencies
            visit, _ = super().judge(section, visit, gates)
        return replace(visit, verdict=Verdict(VerdictCode.WORK_BOUNDED), window_start_ms=0), False

    def usage(self, seen: Seen, intake: Intake, cells: Sequence[Cell]) -> dict[str, Any]:
        if tool_of(cells[0]) != IOZONE:
            return super().usage(seen, intake, cells)
        # Not cut to operations, because when each of them began is known roughly only.
        return {**asdict(seen.usage), **seen.record(()), "also_moved": also_moved(cells)}

    # -- time ------------------------------------------------------------------------------------------------

    def learn(self, visit: Visit, asked_ms: int | None = None) -> None:  # noqa: ARG002
        cell = self.cells[visit.cell_key]
        seconds = sum(part.runtime_ms for part in visit.parts) / 1000
        ios = sum(part.total_ios for part in visit.parts)
        if ios and seconds > 0 and not visit.discarded:
            self._speeds.add((cell.target, tool_of(cell), operation_of(cell)), cell.bs_bytes, seconds / ios)

    def seconds_of(self, one: WorkSequence, cells: Sequence[Cell]) -> float | None:
        """Expected time of a sequence by what was seen so far; None while an operation has never been seen."""
        total = 0.0
        for cell in cells:
            each = self._speeds.per_io((one.target, one.tool, operation_of(cell)), one.record_bytes)
            if each is None:
                each = self._speeds.per_io((one.target, FIO, operation_of(cell)), one.record_bytes)
            if each is None:
                return None
            total += each * (one.size_bytes // one.record_bytes)
        starts = 1 if one.tool == IOZONE else len(cells)
        return total + starts * self._speeds.overhead(FIO_SECONDS)

    def usual_seconds(self, cell: Cell) -> float:  # noqa: ARG002
        return self.budget.seconds_per_visit(FIO_SECONDS)

    def _fit_budget(self) -> Making[None]:
        """Look at the speed on a small file, then shrink the file, then leave out records, until the replicates
        asked for fit the budget.
        """
        yield from self._look()
        left = (self.budget.left or 0.0) - REPORT_SECONDS
        plan, visits = self.session.plan, self.session.plan.spec.visits

        def need(candidate: Plan, times: int = visits) -> float:
            return times * sum(
                self.seconds_of(one, cells) or 0.0 for one, cells in sequences_of(candidate.to_measure).items()
            )

        full = need(plan)
        if full <= left:
            return
        why = "left out: the budget did not allow it"
        if self._study == "iozone2017":
            size = min(one.size_bytes for one in sequences_of(plan.to_measure))
            least = max(LEAST_FILE, 1 << 12)
            while need(plan) > left and size // 2 >= least:
                size //= 2
                plan = with_size(self.session.plan, size, why)
        sizes = sorted({one.size_bytes for one in sequences_of(plan.to_measure)})
        records = sorted({one.record_bytes for one in sequences_of(plan.to_measure)})
        kept = coarsen(
            {"size": tuple(sizes), "bs": tuple(records)},
            visits,
            lambda axes, times: need(
                fewer(plan, [int(v) for v in axes["size"]], [int(v) for v in axes["bs"]], why), times
            ),
            left,
        )
        plan = fewer(plan, [int(v) for v in kept.axes["size"]], [int(v) for v in kept.axes["bs"]], why)
        text = (
            f"The full study takes about {format_duration(full)}, the budget leaves {format_duration(max(left, 0.0))}: "
        )
        text += (
            f"files of {', '.join(format_size(int(v)) for v in kept.axes['size'])}, records of "
            f"{', '.join(format_size(int(v)) for v in kept.axes['bs'])}"
        )
        text += f", {kept.visits} of {visits} visits each" if kept.visits < visits else ""
        text += "." if kept.fits else "; even that takes longer than the budget."
        self.session.go_on_with_others(replace(plan, spec=replace(plan.spec, visits=kept.visits)), text)

    def _look(self) -> Making[None]:
        """One sequence with the smallest record and one with the largest, on small files, so that times can be
        reckoned.
        """
        spec = self.session.plan.spec
        generator = random.Random(spec.order_seed)  # noqa: S311 - offsets, not secrets
        self.session.emit(Event("probe", {"cells": len(self.session.plan.targets)}))
        for target in self.session.plan.targets:
            mine = [one for one in sequences_of(self.session.plan.to_measure) if one.target == target.name]
            if not mine:
                continue
            small, large = min(one.record_bytes for one in mine), max(one.record_bytes for one in mine)
            for record in dict.fromkeys((small, large)):
                size = max(record, min(LOOK_BYTES, *(one.size_bytes for one in mine)))
                made = sequence_cells(spec, WorkSequence(target.name, FIO, size, record))
                cells = [replace(cell, state=LOOK_STATE) for cell in made]  # never one of the study's own cells
                for cell in cells:
                    self.session.know(cell, UnmeasuredCode.FIRST_LOOK)
                self.journal.add_visits(self.new_visit(cell, -1, generator, Purpose.PROBE) for cell in cells)
                keys = [cell.key for cell in cells]
                rows = sorted(self.journal.planned(Purpose.PROBE), key=lambda row, keys=keys: keys.index(row.cell_key))  # type: ignore[misc]
                yield from self.make_sequence(WorkSequence.of(cells[0]), rows)
        self.journal.drop_planned("probe not finished", purpose=Purpose.PROBE)


def iozone_process(arguments: Sequence[str], file: str, directory: Path, *, limit_seconds: float) -> LoadProcess:
    """IOzone on `file`, which it makes and removes. Its output goes to iozone.txt in `directory`."""
    told = (*arguments, "-f", file)
    (directory / COMMAND_FILE).write_text(" ".join(("iozone", *told)) + "\n")
    return LoadProcess("iozone", told, directory, IOZONE_OUTPUT, limit_seconds)


def read_iozone(directory: Path) -> IozoneTable | None:
    """IOzone's table in `directory`; None when it is not there in full."""
    with suppress(OSError):
        return iozone_table((directory / IOZONE_OUTPUT).read_text(errors="replace"))
    return None


def calls_around(path: str, cell: Cell) -> tuple[float, float]:
    """Seconds of one opening of the file, and of what the study's clock holds after the last I/O and fio's lacks.

    That is the close, of a read the flush too. fio's clock holds the opening, of a write the flush (end_fsync), and
    never the close (measured: bench/iozone). All are done once more here, right after fio, on the same file, which
    is clean by then as it was for fio.
    """
    flags = (os.O_RDWR if cell.writes else os.O_RDONLY) | (os.O_DIRECT if cell.integer("direct", 1) else 0)
    begin = time.perf_counter()
    with faults(IoAtlasError, "the file of the sequence cannot be opened", where=path):
        file = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC)
    opened = time.perf_counter()
    if not cell.writes:
        os.fsync(file)
    os.close(file)
    return opened - begin, time.perf_counter() - opened


@dataclass(frozen=True)
class FixedWork(Procedure):
    """typed: facts that a person typed in, such as the memory of the server."""

    name = "fixed_work"
    typed: tuple[Fact, ...] = ()

    def informed(self, facts: Path | None) -> FixedWork:
        return replace(self, typed=read_facts(facts)) if facts is not None else self

    def plan(self, spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> Plan:
        return build_sequence_plan(spec, targets, read_only=read_only, facts=self.typed)

    def check_start(self, plan: Plan, executor: Executor) -> None:
        if IOZONE in plan.spec.of(FixedWorkOptions).engines:
            executor.find("iozone")

    def seconds(self, plan: Plan) -> float:
        """All operations at the planning rate, and a start of fio for each. Nothing is laid out, nothing lasts a given
        time.
        """
        cells = plan.to_measure
        return plan.spec.visits * (work_bytes(cells) / PLANNING_WRITE_BYTES_PER_S + len(cells) * FIO_SECONDS)

    def summary(self, plan: Plan) -> dict[str, Any]:
        written = plan.spec.visits * work_bytes([cell for cell in plan.to_measure if cell.writes])
        return {
            **super().summary(plan),
            "prepare": STATE,
            "prepared_bytes": 0,
            "bytes_written": written,
            "write_load_seconds": round(written / PLANNING_WRITE_BYTES_PER_S, 1),
        }

    def text(self, plan: Plan, summary: Mapping[str, Any]) -> PlanText:  # noqa: ARG002
        return PlanText(
            order="in sequences of operations in order, sequences in different random orders",
            prepare="a new file for every sequence",
        )

    def shrinks_to_fit(self, plan: Plan) -> bool:  # noqa: ARG002
        return True

    def steps(self, session: Session) -> Steps:
        return SequenceSteps(session)
