# SPDX-License-Identifier: Apache-2.0
"""The supervisor: takes planned visits from the journal, has fio make them batch by batch, and writes down what came of them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from ioatlas.analysis.estimates import estimate_cells, undecided
from ioatlas.analysis.overview import extremes
from ioatlas.analysis.windows import window_values
from ioatlas.campaign.adaptive import FEWEST_MEASURED, adaptive_maps, can_be_adaptive
from ioatlas.campaign.events import Emit, Event
from ioatlas.campaign.intake import Intake, take_in
from ioatlas.campaign.integrity import as_outcome, check_targets
from ioatlas.campaign.plan import CELLS_PER_BATCH, FIO_SECONDS, PLANNING_WRITE_BYTES_PER_S, Plan, default_pace, leave_out
from ioatlas.campaign.prepare import last_line, remedy_for
from ioatlas.campaign.sites import Sites
from ioatlas.design.coarsen import coarsen
from ioatlas.design.exhaustive import random_blocks
from ioatlas.engine.archive import pack_logs
from ioatlas.engine.batch import MAX_SLACK_MS, SLACK_MS, TURN_MS, WORK_CAP_SECONDS, Batch, Section, job_text, take_sections
from ioatlas.engine.collect import JOB_FILE, OUTPUT, SectionResult, read_batch
from ioatlas.engine.process import Fio, run_fio, stop_orphan
from ioatlas.errors import IoAtlasError, PartialResultError
from ioatlas.model.cell import Cell
from ioatlas.model.units import format_duration, format_size
from ioatlas.model.usage import Usage
from ioatlas.model.visit import Visit
from ioatlas.probe.telemetry import Sampler, Watched, usage_between, watched_of
from ioatlas.store.journal import BatchRow, Journal, NewVisit, PlannedVisit

BATCH_SECONDS = 20.0
"""What a killed process may cost."""

LAYOUT_SHARE = 0.25
"""Share of a budget that writing the files may take, at the planning rate."""

FRESH_VISITS = 3
FRESH_BLOCK = 1000
PROBE_MS = 190
PROBE_GAP_MS = 110
PROBE_LONGEST_MS = 3000
AGAIN_SHARE = 1.4
"""Time of a cell in an adaptive map over that of one visit: repeats, visits made again, more starts of fio."""

CLEAN_SECONDS = 0.5
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


class Supervisor:
    """One session of a campaign."""

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
        known = journal.outcomes().get("adaptive")
        self._adaptive = known is not None or plan.spec.cells is not None or plan.spec.error is not None
        self._cells_limit: int | None = known["cells"] if known else plan.spec.cells
        self._made = 0
        self._made_sweep = False
        self._slack_ms: float = SLACK_MS
        watched = _watched(plan)
        self._counters = Sampler(watched)
        journal.set_outcome("devices", list(watched.devices))
        self._nominal_spent = 0.0
        self._wall_spent = 0.0

    # -- the whole session ------------------------------------------------------------------------------------------

    def run(self) -> Summary:
        """Make all planned visits, then those of the extreme cells. The sites are cleaned whatever happens."""
        self._learn_from_journal()
        try:
            self._fit_layout()
            self._sites.prepare(self._fio, self._plan, self._stop_asked, self._emit)
            self._probe()
            self._fit_budget()
            if self._adaptive:
                self._make_adaptive()
            elif self._make_planned("sweep"):
                self._make_precise()
            self._make_extremes()
            self._verify()
        finally:
            self._sites.clean(self._emit)
            for batch in self._journal.batches():
                pack_logs(self._journal.directory / batch.directory)
        self._journal.set_complete()
        visits = self._journal.visits()
        kept = [visit for visit in visits if not visit.discarded and visit.purpose != "probe"]
        return Summary(
            self._journal.directory, len({visit.cell_key for visit in kept}), len(kept), time.monotonic() - self._began, complete=True
        )

    def recover(self) -> None:
        """After a crash: stop a fio that outlived us, and keep what finished batches left on disk."""
        for row in self._journal.running_batches():
            if row.pid is not None and row.pid_started is not None:
                stop_orphan(row.pid, row.pid_started)
            batch, planned = self._reopen(row)
            results = self._read(batch, planned)
            intake = take_in(results, planned)
            self._close(row.batch_id, intake, status="done" if results else "failed", note="read back after a crash")
        self._journal.drop_planned("interrupted", purpose="probe")

    # -- batches ------------------------------------------------------------------------------------------------------

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
            runtime_ms = WORK_CAP_SECONDS * 1000
        return self._section(visit, max(runtime_ms, visit.runtime_ms or 0), gap_ms)

    def _make_adaptive(self) -> None:
        """Make what the design asks for, batch after batch, until it is done or the budget ends; then predict the rest."""
        limit, spec = self._cells_limit, self._plan.spec
        maps = adaptive_maps(self._journal, self._plan.to_measure, limit=limit, error=spec.error, seed=spec.order_seed)
        thinking = 0.0
        going = self._make_planned("sweep")
        while going:
            begin = time.monotonic()
            asked = sum(each.plan_next() for each in maps)
            thinking += time.monotonic() - begin
            going = bool(asked) and self._make_planned("sweep")
        begin = time.monotonic()
        for each in maps:
            each.finish()
        thinking += time.monotonic() - begin
        self._journal.set_outcome("compute_seconds", round(thinking, 3))

    def _make_precise(self) -> None:
        """Visit the cells that are not precise enough again, block by block in random orders, until all are, the cap or the budget."""
        grade, spec = self._plan.spec.wanted, self._plan.spec
        going = grade.precision is not None
        while going:
            visits = self._journal.visits(with_series=True)
            waiting = undecided(self._cells, visits, grade)
            block = 1 + max((visit.block for visit in visits if visit.purpose == "sweep"), default=0)
            if not waiting:
                return
            self._emit(Event("precision", {"cells_waiting": len(waiting), "block": block}))
            order = random_blocks(list(waiting), 1, spec.order_seed + block)
            self._journal.add_visits(NewVisit(key, block, seed) for key, _, seed in order)
            going = self._make_planned("sweep")

    def _make_planned(self, purpose: str) -> bool:
        """Make planned visits until none is left (True) or the budget ends (False). Raises PartialResultError when asked to stop."""
        while waiting := self._journal.planned(purpose, limit=2 * CELLS_PER_BATCH):
            rows = {visit.visit_id: visit for visit in waiting}
            sections = [self._paced(visit) for visit in waiting]
            taken = take_sections(sections, seconds=BATCH_SECONDS, alone=_alone(rows))
            if self._out_of_time(purpose, taken):
                return False
            self._run(taken, {section.visit_id: rows[section.visit_id] for section in taken})
        return True

    def _run(self, sections: tuple[Section, ...], planned: Mapping[int, PlannedVisit]) -> list[Visit]:
        """One batch, from job file to journal. Raises PartialResultError when stopped, IoAtlasError when nothing works any more."""
        if self._stop_asked():
            raise self._stopped()
        cells = [section.cell for section in sections]
        try:
            self._sites.check(cells)
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
        before = self._counters.snapshot()
        outcome = run_fio(
            self._fio,
            [*(["--readonly"] if batch.readonly else []), "--output-format=json+", f"--output={OUTPUT}", "--eta=never", JOB_FILE],
            directory=directory,
            expected_seconds=batch.seconds + FIO_SECONDS,
            stop_asked=self._stop_asked,
            started=lambda pid, ticks: self._journal.set_batch_process(batch_id, pid, ticks),
            tick=lambda seconds: self._emit(Event("progress", {**progress, "batch_seconds": round(min(seconds, batch.seconds), 1)})),
        )
        usage = usage_between(before, self._counters.snapshot())
        results = self._read(batch, planned)
        if any(result.overlap_ms for result in results):
            self._slack_ms = min(MAX_SLACK_MS, 2 * self._slack_ms)
        intake = take_in(results, dict(planned))
        intake = self._without_repeats(intake)
        seconds = time.monotonic() - begin
        self._close(
            batch_id,
            intake,
            status="done" if results else "failed",
            seconds=seconds,
            exit_code=outcome.exit_code,
            note=last_line(outcome.stderr) if outcome.exit_code else "",
            usage=usage,
        )
        self._made += len(sections)
        self._nominal_spent += batch.seconds
        self._wall_spent += time.monotonic() - begin
        for visit in intake.visits:
            self._learn(visit)
            self._tell(visit)
        if outcome.stopped == "asked":
            raise self._stopped()
        self._count_fruitless(intake, outcome.stderr, outcome.exit_code, outcome.stopped)
        return intake.visits

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

    def _close(
        self,
        batch_id: int,
        intake: Intake,
        *,
        status: str,
        seconds: float | None = None,
        exit_code: int | None = None,
        note: str = "",
        usage: Usage | None = None,
    ) -> None:
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
            usage=asdict(usage) if usage is not None else None,
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

    # -- pace, probe, budget --------------------------------------------------------------------------------------------

    def _learn_from_journal(self) -> None:
        for visit in self._journal.visits():
            self._learn(visit)
            self._finished += visit.purpose == "sweep" and not visit.discarded

    def _learn(self, visit: Visit) -> None:
        cell = self._cells[visit.cell_key]
        ios = sum(part.total_ios for part in visit.parts)
        seconds = max((part.runtime_ms for part in visit.parts), default=0) / 1000
        if ios and seconds:
            # Little's law; of a paced load it gives the time between I/Os, which is what the window must hold many of.
            latency = cell.outstanding * seconds / ios
            longest = max((part.histogram.bins[-1][0] for part in visit.parts if part.histogram.bins), default=0) / 1e9
            self._pace.learn(cell, latency, longest / latency)

    def _probe(self) -> None:
        """Run the lightest and the heaviest cell of every target and mode for a moment, so that windows can be sized."""
        corners: dict[tuple[str, str], list[Cell]] = {}
        for cell in self._plan.to_measure:
            corners.setdefault((cell.target, cell.rw), []).append(cell)
        light, heavy = [], []
        for cells in corners.values():
            known = any(self._pace.latency_seconds(cell) is not None and cell.rw == cells[0].rw for cell in cells[:1])
            if known and self._finished:
                continue
            light.append(min(cells, key=lambda cell: (cell.bs_bytes * cell.outstanding, cell.size_bytes)))
            heavy.append(max(cells, key=lambda cell: (cell.bs_bytes * cell.outstanding, -cell.size_bytes)))
        light = [cell for cell in light if not cell.work_bounded]
        heavy = [cell for cell in heavy if not cell.work_bounded and cell not in light]
        for cells in (light, heavy):
            self._probe_cells(cells)

    def _probe_cells(self, cells: list[Cell]) -> None:
        if not cells:
            return
        self._emit(Event("probe", {"cells": len(cells)}))
        generator = random.Random(self._plan.spec.order_seed)  # noqa: S311 - offsets, not secrets
        self._journal.add_visits([NewVisit(cell.key, -1, generator.randrange(1, 2**31), "probe") for cell in cells])
        rows = self._journal.planned("probe")
        sections = []
        for row in rows:
            bound = self._pace.latency_seconds(self._cells[row.cell_key])
            window = min(PROBE_LONGEST_MS, max(PROBE_MS, int(2000 * (bound or 0))))
            sections.append(
                self._section(row, window, PROBE_GAP_MS if bound is None else min(PROBE_LONGEST_MS, max(10, int(1500 * bound))))
            )
        by_id = {row.visit_id: row for row in rows}
        while sections:
            taken = take_sections(sections, seconds=BATCH_SECONDS, alone=lambda _section: False)
            self._run(taken, {section.visit_id: by_id[section.visit_id] for section in taken})
            sections = sections[len(taken) :]
        self._journal.drop_planned("probe not finished", purpose="probe")

    def _seconds_for(self, cells: list[Cell], visits: int) -> float:
        turns = 0
        for cell in cells:
            runtime_ms, gap_ms = self._pace.runtime_and_gap_ms(cell)
            turns += -(-(runtime_ms + gap_ms) // 100)
        per_batch = FIO_SECONDS + TURN_MS / 1000
        load = turns * visits * TURN_MS / 1000
        return load + per_batch * max(load / BATCH_SECONDS, 1)

    def _reserve_seconds(self) -> float:
        """Kept back for the fresh visits of extreme cells, cleaning and the report."""
        groups = {(cell.target, direction) for cell in self._plan.to_measure for direction in cell.directions}
        load = len(groups) * 2 * FRESH_VISITS * (self._plan.spec.window_seconds + 0.02)
        return load * self._slowdown() + FIO_SECONDS + CLEAN_SECONDS + REPORT_SECONDS

    def _left_seconds(self) -> float | None:
        budget = self._plan.spec.budget_seconds
        return None if budget is None else budget - (time.monotonic() - self._began)

    def _fit_layout(self) -> None:
        """Leave out the largest sizes when writing the files alone would take too much of the budget."""
        budget = self._plan.spec.budget_seconds
        sizes = sorted({cell.size_bytes for cell in self._plan.to_measure})
        if budget is None or self._finished:
            return
        allowed = budget * LAYOUT_SHARE * PLANNING_WRITE_BYTES_PER_S
        kept = list(sizes)
        plan = self._plan
        while len(kept) > 1 and plan.layout_bytes > allowed:
            kept.pop()
            plan = leave_out(self._plan, {"size": tuple(kept)}, "left out: writing its file would take too much of the budget")
        if len(kept) < len(sizes):
            gone = ", ".join(format_size(size) for size in sizes if size not in kept)
            self._leave_out(
                plan, f"Sizes {gone} left out: writing their files would take too much of the budget of {format_duration(budget)}."
            )

    def _leave_out(self, plan: Plan, text: str) -> None:
        """Go on with a reduced plan, and say what was left out."""
        before = {cell.key for cell in self._plan.to_measure}
        self._journal.leave_out({cell.key: reason for cell, reason in plan.cells if reason and cell.key in before})
        self._journal.add_remark("left-out", text)
        self._emit(Event("remark", {"text": text}))
        self._plan = plan

    def _fit_budget(self) -> None:
        """Coarsen a plan that does not fit what is left of its budget, and say what was left out."""
        left = self._left_seconds()
        spec = self._plan.spec
        if left is None or self._finished:
            return
        left -= self._reserve_seconds()
        cells = list(self._plan.to_measure)
        need = self._seconds_for(cells, spec.visits)
        if need <= left or self._adaptive:
            return
        affordable = int(left / (AGAIN_SHARE * self._seconds_for(cells, 1) / len(cells)))
        if can_be_adaptive(cells) and affordable >= FEWEST_MEASURED:
            self._go_adaptive(affordable, len(cells), need, left)
            return

        def seconds(axes: Mapping[str, tuple[object, ...]], visits: int) -> float:
            inside = [cell for cell in cells if all(cell.option.get(name) in values for name, values in axes.items())]
            return self._seconds_for(inside, visits)

        kept = coarsen(spec.axes, spec.visits, seconds, left)
        reduced = leave_out(self._plan, kept.axes, "left out: the budget did not allow it")
        if kept.visits < spec.visits:
            self._journal.drop_planned("left out: the budget did not allow it", block=kept.visits, purpose="sweep")
        gone = "; ".join(f"{name} {', '.join(str(value) for value in values)}" for name, values in kept.left_out.items())
        text = f"The full plan takes about {format_duration(need)}, the budget leaves {format_duration(max(left, 0.0))}: "
        text += f"{len(cells) - len(reduced.to_measure)} of {len(cells)} cells left out" + (f" ({gone})" if gone else "")
        text += f"; {kept.visits} of {spec.visits} visits each" if kept.visits < spec.visits else ""
        text += "" if kept.fits else "; even that takes longer than the budget"
        self._leave_out(reduced, text + ".")

    def _go_adaptive(self, affordable: int, count: int, need: float, left: float) -> None:
        """Hand a plan that does not fit over to the adaptive design."""
        self._adaptive, self._cells_limit = True, min(affordable, count)
        self._journal.drop_planned("left to the adaptive design", purpose="sweep")
        self._journal.set_outcome("adaptive", {"cells": self._cells_limit})
        text = (
            f"The full plan takes about {format_duration(need)}, the budget leaves {format_duration(left)}: about {self._cells_limit} of {count} cells "
            "are measured, chosen by the adaptive design; those left out are predicted, with the error stated."
        )
        self._journal.add_remark("left-out", text)
        self._emit(Event("remark", {"text": text}))

    def _out_of_time(self, purpose: str, taken: tuple[Section, ...]) -> bool:
        left = self._left_seconds()
        if left is None or not self._made_sweep:
            # However small the budget, one batch is made.
            self._made_sweep = True
            return False
        need = sum(section.turns for section in taken) * TURN_MS / 1000 * self._slowdown() + FIO_SECONDS
        need += self._reserve_seconds() if purpose == "sweep" else REPORT_SECONDS
        if need <= left:
            return False
        dropped = self._journal.drop_planned("not reached: the budget ended", purpose=purpose)
        text = f"The budget ended with {dropped} planned {'' if purpose == 'sweep' else purpose + ' '}visits not made."
        self._journal.add_remark("left-out", text)
        self._emit(Event("remark", {"text": text}))
        return True

    # -- extreme cells --------------------------------------------------------------------------------------------------

    def _make_extremes(self) -> None:
        """Measure again the cells that will be named because they are extreme; only these visits give their values."""
        if not self._journal.has_visits("fresh"):
            visits = self._journal.visits()
            cells = extremes(estimate_cells(self._cells, visits))
            generator = random.Random(self._plan.spec.order_seed + 1)  # noqa: S311 - an order, not a secret
            rows = []
            for block in range(FRESH_VISITS):
                order = list(cells)
                generator.shuffle(order)
                rows += [NewVisit(cell.key, FRESH_BLOCK + block, generator.randrange(1, 2**31), "fresh") for cell in order]
            self._journal.add_visits(rows)
            if rows:
                self._emit(Event("fresh", {"cells": len(cells), "visits": len(rows)}))
        self._make_planned("fresh")

    def _verify(self) -> None:
        """Once, at the end: it overwrites what the reads of the sweep have read."""
        if not self._plan.spec.verify or "integrity" in self._journal.outcomes():
            return
        checks = check_targets(self._plan, self._sites, self._fio, self._journal.directory, stop_asked=self._stop_asked, emit=self._emit)
        for check in checks:
            self._journal.add_ledger(check.target, "verified write", check.written_bytes)
        self._journal.set_outcome("integrity", as_outcome(checks))

    # -- telling ----------------------------------------------------------------------------------------------------------

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


def _watched(plan: Plan) -> Watched:
    """Devices and interfaces on the way to every target."""
    each = [watched_of(target.location) for target in plan.targets]
    devices = tuple(dict.fromkeys(name for one in each for name in one.devices))
    interfaces = tuple(dict.fromkeys(name for one in each for name in one.interfaces))
    return Watched(devices, interfaces, next((one.mount_point for one in each if one.mount_point), ""))


def _alone(rows: Mapping[int, PlannedVisit]) -> Callable[[Section], bool]:
    return lambda section: rows[section.visit_id].alone or section.cell.work_bounded


def _axes(cell: Cell) -> dict[str, object]:
    return {
        "target": cell.target,
        "rw": cell.rw,
        "bs_bytes": cell.bs_bytes,
        "size_bytes": cell.size_bytes,
        "numjobs": cell.numjobs,
        "iodepth": cell.iodepth,
    }
