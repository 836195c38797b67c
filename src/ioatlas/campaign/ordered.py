# SPDX-License-Identifier: Apache-2.0
"""The supervisor of a study in order: rounds of operations on one new file, repeated as blocks until precise, never bounded by time.

A round is the unit: each of its operations needs the one before it, so a round that was interrupted begins again with its first operation.
Which rounds follow each other is drawn anew in every block; of several tools, those of one file and record run side by side.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from ioatlas.analysis.estimates import undecided
from ioatlas.analysis.work_time import Speeds
from ioatlas.campaign.events import Event
from ioatlas.campaign.intake import Intake, book
from ioatlas.campaign.ordered_iozone import also_moved, iozone_results
from ioatlas.campaign.ordered_plan import fewer, known_memory, round_cells, with_size
from ioatlas.campaign.ordered_result import LOOK
from ioatlas.campaign.ordered_sites import OrderedSites
from ioatlas.campaign.plan import FIO_SECONDS, Plan
from ioatlas.campaign.prepare import last_line
from ioatlas.campaign.record import plan_record
from ioatlas.campaign.session import REPORT_SECONDS, Session, Summary
from ioatlas.design.coarsen import coarsen
from ioatlas.dialect.studies.published import iozone_arguments
from ioatlas.engine.batch import Batch, Section
from ioatlas.engine.collect import SectionResult
from ioatlas.engine.iozone import OUTPUT as IOZONE_OUTPUT
from ioatlas.engine.iozone import Iozone, find_iozone, read_iozone, run_iozone
from ioatlas.engine.process import Fio
from ioatlas.errors import IoAtlasError
from ioatlas.model.cell import Cell
from ioatlas.model.ordered import FIO, IOZONE, VERDICT, Round, operation_of, rounds_of, tool_of
from ioatlas.model.units import format_duration, format_size
from ioatlas.model.visit import Visit
from ioatlas.store.journal import Journal, NewVisit, PlannedVisit

CAP_SECONDS = 7 * 86400
"""Longest that one operation may take before its target is taken to hang."""
LOOK_BYTES = 4 << 20
"""File of the first look at the speed, with the smallest record; with the largest it is one record."""
CALLS_FILE = "opening-closing.seconds"
LOOK_STATE = "first look"
LEAST_FILE = 16 << 20
CLOCK_MS = 1.0
"""fio's run times are whole milliseconds, rounded up."""


class OrderedSession(Session):
    """One session of a study in order. What is left to do is read from the journal."""

    def __init__(
        self,
        journal: Journal,
        plan: Plan,
        sites: OrderedSites,
        fio: Fio,
        *,
        emit: Callable[[Event], None],
        stop_asked: Callable[[], bool],
        began: float | None = None,
    ) -> None:
        super().__init__(journal, plan, sites, fio, emit=emit, stop_asked=stop_asked, began=began)
        self._places = sites
        self._closing: dict[int, float] = {}
        self._speeds = Speeds()

    def run(self) -> Summary:
        spec = self._plan.spec
        self._iozone: Iozone | None = find_iozone() if IOZONE in spec.engines else None
        self._journal.set_outcome("memory", known_memory())
        self._learn_from_journal()
        try:
            self._places.prepare_new(self._plan, self._emit)
            if spec.budget_seconds is not None and not self._finished:
                self._fit_budget()
            self._rounds = rounds_of(self._plan.to_measure)
            self._make_blocks()
        finally:
            self._clean()
        self._journal.set_complete()
        kept = [visit for visit in self._journal.visits() if not visit.discarded and visit.purpose != "probe"]
        seconds = time.monotonic() - self._began
        return Summary(self._journal.directory, len({visit.cell_key for visit in kept}), len(kept), seconds, complete=True)

    # -- blocks and rounds ----------------------------------------------------------------------------------------------

    def _make_blocks(self) -> None:
        """The visits asked for, then blocks of the rounds that are not precise enough, until all are, the cap or the budget."""
        spec = self._plan.spec
        while self._make_waiting():
            made = self._journal.visits()
            block = 1 + max((visit.block for visit in made if visit.purpose == "sweep"), default=-1)
            rounds = list(self._rounds)
            if block >= spec.visits:
                waiting = undecided({cell.key: cell for cell in self._plan.to_measure}, made, spec.wanted) if spec.wanted.precision else {}
                wanted = {Round.of(self._cells[key]) for key in waiting}
                # The tools of one file and record stay together, so that they meet the same moments.
                rounds = [one for one in rounds if any(replace(one, tool=tool) in wanted for tool in spec.engines)]
                if not rounds:
                    return
                self._emit(Event("precision", {"cells_waiting": len(waiting), "block": block}))
            self._plan_block(rounds, block)

    def _plan_block(self, rounds: Sequence[Round], block: int) -> None:
        """Plan one visit of every operation of `rounds`: files and records in a random order, tools of each in a random order too."""
        generator = random.Random(f"{self._plan.spec.order_seed} {block}")  # noqa: S311 - an order, not a secret
        groups: dict[tuple[str, int, int], list[Round]] = {}
        for one in rounds:
            groups.setdefault((one.target, one.size_bytes, one.record_bytes), []).append(one)
        order = list(groups.values())
        generator.shuffle(order)
        rows = []
        for group in order:
            generator.shuffle(group)
            rows += [self._new(cell, block, generator) for one in group for cell in self._rounds[one]]
        self._journal.add_visits(rows)

    def _new(self, cell: Cell, block: int, generator: random.Random, purpose: str = "sweep") -> NewVisit:
        return NewVisit(cell.key, block, generator.randrange(1, 2**31), purpose, alone=True)

    def _make_waiting(self) -> bool:
        """Make the rounds that are planned until none is left (True) or the budget ends (False)."""
        while waiting := self._journal.planned("sweep"):
            first = waiting[0]
            one = Round.of(self._cells[first.cell_key])
            rows = self._whole(one, first.block, waiting)
            if self._no_time_for(one):
                return False
            self._make_round(one, rows)
        return True

    def _whole(self, one: Round, block: int, waiting: Sequence[PlannedVisit]) -> list[PlannedVisit]:
        """The planned visits of a round in their order; what an interruption took from its start is planned again."""

        def mine(rows: Sequence[PlannedVisit]) -> dict[str, PlannedVisit]:
            return {row.cell_key: row for row in rows if row.block == block and Round.of(self._cells[row.cell_key]) == one}

        rows = mine(waiting)
        missing = [cell for cell in self._rounds[one] if cell.key not in rows]
        if missing:
            generator = random.Random(f"{self._plan.spec.order_seed} {block} again {waiting[0].visit_id}")  # noqa: S311
            self._journal.add_visits(self._new(cell, block, generator) for cell in missing)
            rows = mine(self._journal.planned("sweep"))
            self._emit(Event("remark", {"text": "A round was interrupted; it begins again with its first operation."}))
        return [rows[cell.key] for cell in self._rounds[one]]

    def _make_round(self, one: Round, rows: Sequence[PlannedVisit]) -> None:
        """Every operation of a round. One that fails ends it, and the round is planned once more."""
        cells = [self._cells[row.cell_key] for row in rows]
        begin = time.monotonic()
        self._places.check(cells)
        self._places.make_new(cells[0])
        if one.tool == IOZONE:
            done = self._run_iozone(one, rows)
        else:
            done = 0
            for row in rows:
                if not self._run((self._phase(row),), {row.visit_id: row}):
                    break
                done += 1
        self._speeds.add_overhead(len(rows), time.monotonic() - begin)
        if done < len(rows):
            self._void(rows[done:], rows[0])

    def _void(self, rest: Sequence[PlannedVisit], first: PlannedVisit) -> None:
        """What a failed operation leaves without its predecessor is not measured; the round is tried once more in this block."""
        tries = max(self._journal.tries(row.cell_key, row.block) for row in rest)
        waiting = {row.visit_id for row in self._journal.planned(first.purpose)} & {row.visit_id for row in rest}
        if waiting:
            batch_id, _ = self._journal.begin_batch(dict.fromkeys(sorted(waiting), 0))
            reason = "the operation before it failed"
            self._journal.finish_batch(batch_id, [], failed=dict.fromkeys(waiting, reason), status="failed", note=reason)
        if tries < 2 and first.purpose == "sweep":
            one = Round.of(self._cells[first.cell_key])
            generator = random.Random(f"{self._plan.spec.order_seed} {first.visit_id} once more")  # noqa: S311
            self._journal.add_visits(self._new(cell, first.block, generator) for cell in self._rounds[one])

    def _phase(self, row: PlannedVisit) -> Section:
        return self._section(row, CAP_SECONDS * 1000, 0)

    # -- one operation --------------------------------------------------------------------------------------------------

    def _read(self, batch: Batch, planned: Mapping[int, PlannedVisit]) -> list[SectionResult]:
        if (batch.directory / IOZONE_OUTPUT).exists():
            return iozone_results(read_iozone(batch.directory), batch, planned, self._started_at(batch.directory))
        return [self._timed(result, batch.directory) for result in super()._read(batch, planned)]

    def _started_at(self, directory: Path) -> float:
        """When the load of a batch was started, by the file written just before it."""
        files = [directory / name for name in ("job.fio", "iozone.command")]
        return next((path.stat().st_mtime for path in files if path.exists()), time.time())

    def _timed(self, result: SectionResult, directory: Path) -> SectionResult:
        """The result with the time of its work: finer than fio's whole milliseconds, flush and close included where the study has them inside."""
        visit, cell = result.visit, result.section.cell
        if visit is None or not visit.parts:
            return result
        (part,) = visit.parts
        work = cell.members[0].integer("io_size", 0)
        visit = replace(visit, started_at=self._started_at(directory))
        if part.io_bytes < work:
            return replace(result, visit=visit, state="cut-short", reason=f"{part.io_bytes} of {work} bytes done")
        calls_ms = (part.lat_mean_ns or 0.0) * part.total_ios / 1e6
        opening, closing = self._calls_around(result.section, directory)
        # The true time lies above the sum of the I/Os, which hold no opening, and within the last millisecond of the run time, which does.
        run_ms = calls_ms if calls_ms > part.runtime_ms - CLOCK_MS else max(calls_ms, part.runtime_ms - CLOCK_MS / 2 - 1000 * opening)
        return replace(result, visit=replace(visit, parts=(replace(part, runtime_ms=run_ms + 1000 * closing),)))

    def _calls_around(self, section: Section, directory: Path) -> tuple[float, float]:
        """Seconds of opening to take out and of flush and close to add; kept beside the output, so that a crash does not lose them."""
        if self._plan.spec.ordered != "iozone2017":
            return 0.0, 0.0
        kept = directory / CALLS_FILE
        if not kept.exists():
            try:
                opening, closing = self._places.calls_around(section.cell)
            except IoAtlasError:
                return 0.0, 0.0  # read back after a crash: the file is gone
            kept.write_text(f"{opening:.9f} {closing:.9f}\n")
        opening, closing = map(float, kept.read_text().split())
        return opening, closing

    def _amend(self, intake: Intake) -> Intake:
        # Little's law and steadiness are for loads bounded by time: flush and close are part of this one's time.
        intake.visits = [replace(visit, verdict=VERDICT, window_start_ms=0) for visit in intake.visits]
        intake.again = []
        return intake

    def _run_iozone(self, one: Round, rows: Sequence[PlannedVisit]) -> int:
        """One run of IOzone itself: all operations of a round. Returns how many have a figure. Raises PartialResultError when stopped."""
        assert self._iozone is not None
        if self._stop_asked():
            raise self._stopped()
        cells = [self._cells[row.cell_key] for row in rows]
        begin = time.monotonic()
        sections = tuple(self._phase(row) for row in rows)
        planned = {row.visit_id: row for row in rows}
        batch_id, directory = self._journal.begin_batch({section.visit_id: section.runtime_ms for section in sections})
        batch = Batch(batch_id, directory, sections)
        progress = self._progress(batch)
        self._beside.start(sections)
        try:
            outcome = run_iozone(
                self._iozone,
                iozone_arguments(one.size_bytes, [one.record_bytes], direct=bool(cells[0].integer("direct", 1))),
                self._places.file_path(cells[0]),
                directory=directory,
                limit_seconds=CAP_SECONDS,
                stop_asked=self._stop_asked,
                started=lambda pid, ticks: self._started(batch_id, pid, ticks),
                tick=lambda seconds: self._emit(Event("progress", {**progress, "batch_seconds": round(seconds, 1)})),
            )
        finally:
            seen = self._beside.stop(directory)
        results = self._read(batch, planned)
        intake = Intake(
            visits=[result.visit for result in results if result.visit is not None and result.state == "finished"],
            failed={result.section.visit_id: result.reason for result in results if result.state == "failed"},
            load_seconds=sum(part.runtime_ms for r in results if r.visit for part in r.visit.parts) / 1000,
        )
        for result in results:
            if result.visit is not None:
                book(intake, result)
        status = "done" if results else "failed"
        note = last_line(outcome.stderr) if outcome.exit_code else ""
        # Read beside IOzone as beside fio, so that both bear it; not cut to operations, because when each of them began is known roughly only.
        usage = {**asdict(seen.usage), **seen.record(()), "also_moved": also_moved(cells)}
        self._close(batch_id, intake, status=status, seconds=time.monotonic() - begin, exit_code=outcome.exit_code, note=note, usage=usage)
        self._made += len(rows)
        self._wall_spent += time.monotonic() - begin
        self._follow(intake, outcome, {})
        return len(intake.visits)

    # -- time -----------------------------------------------------------------------------------------------------------

    def _learn(self, visit: Visit, asked_ms: int | None = None) -> None:  # noqa: ARG002
        cell = self._cells[visit.cell_key]
        seconds = sum(part.runtime_ms for part in visit.parts) / 1000
        ios = sum(part.total_ios for part in visit.parts)
        if ios and seconds > 0 and not visit.discarded:
            self._speeds.add((cell.target, tool_of(cell), operation_of(cell)), cell.bs_bytes, seconds / ios)

    def _seconds_of(self, one: Round, cells: Sequence[Cell]) -> float | None:
        """Expected time of a round by what was seen so far; None while an operation has never been seen."""
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

    def _no_time_for(self, one: Round) -> bool:
        left = self._left_seconds()
        need = self._seconds_of(one, self._rounds[one])
        if left is None or not self._made_sweep or need is None or need + REPORT_SECONDS <= left:
            self._made_sweep = True
            return False
        dropped = self._journal.drop_planned("not reached: the budget ended", purpose="sweep")
        text = f"The budget ended with {dropped} planned visits not made."
        self._journal.add_remark("left-out", text)
        self._emit(Event("remark", {"text": text}))
        return True

    def _progress(self, batch: Batch) -> dict[str, float]:  # noqa: ARG002
        counts = self._journal.count_visits()
        waiting = self._journal.planned("sweep")
        left = 0.0
        for row in waiting:
            cell = self._cells[row.cell_key]
            one = Round.of(cell)
            each = self._seconds_of(one, [cell])
            left += each if each is not None else (self._wall_spent / self._made if self._made else FIO_SECONDS)
        return {"visits_done": counts.get("done", 0), "visits_planned": len(waiting), "seconds_left": round(left, 1)}

    def _fit_budget(self) -> None:
        """Look at the speed on a small file, then shrink the file, then leave out records, until the blocks asked for fit the budget."""
        self._look()
        left = (self._left_seconds() or 0.0) - REPORT_SECONDS
        plan, visits = self._plan, self._plan.spec.visits

        def need(candidate: Plan, times: int = visits) -> float:
            return times * sum(self._seconds_of(one, cells) or 0.0 for one, cells in rounds_of(candidate.to_measure).items())

        full = need(plan)
        if full <= left:
            return
        why = "left out: the budget did not allow it"
        if self._plan.spec.ordered == "iozone2017":
            size = min(one.size_bytes for one in rounds_of(plan.to_measure))
            least = max(LEAST_FILE, 1 << 12)
            while need(plan) > left and size // 2 >= least:
                size //= 2
                plan = with_size(self._plan, size, why)
        sizes = sorted({one.size_bytes for one in rounds_of(plan.to_measure)})
        records = sorted({one.record_bytes for one in rounds_of(plan.to_measure)})
        kept = coarsen(
            {"size": tuple(sizes), "bs": tuple(records)},
            visits,
            lambda axes, times: need(fewer(plan, [int(v) for v in axes["size"]], [int(v) for v in axes["bs"]], why), times),
            left,
        )
        plan = fewer(plan, [int(v) for v in kept.axes["size"]], [int(v) for v in kept.axes["bs"]], why)
        text = f"The full study takes about {format_duration(full)}, the budget leaves {format_duration(max(left, 0.0))}: "
        text += f"files of {', '.join(format_size(int(v)) for v in kept.axes['size'])}, records of {', '.join(format_size(int(v)) for v in kept.axes['bs'])}"
        text += f", {kept.visits} of {visits} visits each" if kept.visits < visits else ""
        text += "." if kept.fits else "; even that takes longer than the budget."
        self._reduce(replace(plan, spec=replace(plan.spec, visits=kept.visits)), text)

    def _reduce(self, plan: Plan, text: str) -> None:
        """Go on with a reduced plan, and say what was left out."""
        known = {cell.key for cell, _ in self._plan.cells}
        new = [(cell, reason) for cell, reason in plan.cells if cell.key not in known]
        self._journal.add_cells(new, first=len(self._cells))
        self._cells |= {cell.key: cell for cell, _ in new}
        before = {cell.key for cell in self._plan.to_measure}
        self._journal.leave_out({cell.key: reason for cell, reason in plan.cells if reason and cell.key in before})
        self._journal.set_plan(plan_record(plan))
        self._journal.add_remark("left-out", text)
        self._emit(Event("remark", {"text": text}))
        self._plan = plan

    def _look(self) -> None:
        """One round with the smallest record and one with the largest, on small files, so that times can be reckoned."""
        spec = self._plan.spec
        generator = random.Random(spec.order_seed)  # noqa: S311 - offsets, not secrets
        self._emit(Event("probe", {"cells": len(self._plan.targets)}))
        for target in self._plan.targets:
            mine = [one for one in rounds_of(self._plan.to_measure) if one.target == target.name]
            if not mine:
                continue
            small, large = min(one.record_bytes for one in mine), max(one.record_bytes for one in mine)
            for record in dict.fromkeys((small, large)):
                size = max(record, min(LOOK_BYTES, *(one.size_bytes for one in mine)))
                made = round_cells(spec.ordered, target.name, FIO, size, record, direct=bool(spec.constants["direct"]))
                cells = [replace(cell, state=LOOK_STATE) for cell in made]  # never one of the study's own cells
                new = [cell for cell in cells if cell.key not in self._cells]
                self._journal.add_cells([(cell, LOOK) for cell in new], first=len(self._cells))
                self._cells |= {cell.key: cell for cell in new}
                self._journal.add_visits(self._new(cell, -1, generator, "probe") for cell in cells)
                keys = [cell.key for cell in cells]
                rows = sorted(self._journal.planned("probe"), key=lambda row, keys=keys: keys.index(row.cell_key))  # type: ignore[misc]
                self._make_round(Round.of(cells[0]), rows)
        self._journal.drop_planned("probe not finished", purpose="probe")
