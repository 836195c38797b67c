# SPDX-License-Identifier: Apache-2.0
"""The supervisor of a map: lay out, probe, fit the budget, visit every cell or those the design asks for, the extremes afresh."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping

from ioatlas.analysis.drift import VOIDED
from ioatlas.analysis.footprints import UNTOUCHED
from ioatlas.analysis.overview import extremes
from ioatlas.analysis.spend import plan_spending
from ioatlas.campaign.adaptive import FEWEST_MEASURED, adaptive_maps, can_be_adaptive
from ioatlas.campaign.before import reads_to_make_first
from ioatlas.campaign.events import Event
from ioatlas.campaign.intake import SENTINEL
from ioatlas.campaign.integrity import as_outcome, check_targets
from ioatlas.campaign.plan import FIO_SECONDS, Plan, leave_out, visit_turns
from ioatlas.campaign.result import estimates_so_far
from ioatlas.campaign.session import BATCH_SECONDS, FRESH_BLOCK, PROBE_GAP_MS, REPORT_SECONDS, Session, Summary
from ioatlas.campaign.watch import Watch, plan_repair
from ioatlas.design.coarsen import coarsen
from ioatlas.design.exhaustive import random_blocks
from ioatlas.engine.batch import TURN_MS, take_sections
from ioatlas.model.cell import Cell
from ioatlas.model.units import format_duration, format_size
from ioatlas.store.journal import NewVisit, PlannedVisit

LAYOUT_SHARE = 0.25
"""Share of a budget that writing the files may take, at the planning rate."""

BLOCK_REPEATS = 2
"""Times that blocks are voided and measured again; what moves after that is a finding."""

FRESH_VISITS = 3
PROBE_MS = 190
PROBE_LONGEST_MS = 3000
AGAIN_SHARE = 1.4
"""Time of a cell in an adaptive map over that of one visit: repeats, visits made again, more starts of fio."""

CLEAN_SECONDS = 0.5


class Supervisor(Session):
    """One session of a map."""

    def run(self) -> Summary:
        """Make all planned visits, then those of the extreme cells. The sites are cleaned whatever happens."""
        known, spec = self._journal.outcomes().get("adaptive"), self._plan.spec
        self._adaptive = known is not None or spec.cells is not None or spec.error is not None
        self._cells_limit: int | None = known["cells"] if known else spec.cells
        self._learn_from_journal()
        try:
            self._fit_layout()
            self._sites.prepare(self._fio, self._plan, self._stop_asked, self._emit)
            self._read_first()
            self._probe()
            self._fit_budget()
            self._watch = Watch(self._journal, self._plan, open_end=self._adaptive or self._plan.spec.wanted.precision is not None)
            if self._adaptive:
                self._make_adaptive()
            elif self._make_planned("sweep"):
                self._repeat_blocks()
                self._make_precise()
            self._end_sentinels()
            self._make_extremes()
            self._verify()
        finally:
            self._clean()
        self._journal.set_complete()
        visits = self._journal.visits()
        kept = [visit for visit in visits if not visit.discarded and visit.purpose != "probe"]
        return Summary(
            self._journal.directory, len({visit.cell_key for visit in kept}), len(kept), time.monotonic() - self._began, complete=True
        )

    def _read_first(self) -> None:
        """Read what was prepared before the probes or the sweep write to it, where a state was asked for."""
        if not self._finished and not self._journal.has_visits(UNTOUCHED):
            self._journal.add_visits(reads_to_make_first(self._plan))
            self._make_planned(UNTOUCHED)

    def _waiting(self, purpose: str) -> list[PlannedVisit]:
        """The next planned visits; into those of the sweep sentinels are woven at regular places."""
        waiting = super()._waiting(purpose)
        return self._watch.weave(waiting) if purpose == "sweep" else waiting

    def _end_sentinels(self) -> None:
        """A last reading after the sweep, and none that was planned and has no place any more."""
        self._journal.drop_planned("the sweep ended before its place", purpose=SENTINEL)
        if self._watch.plan_last():
            self._make_planned(SENTINEL)

    def _repeat_blocks(self) -> None:
        """Void blocks that stand apart from the others, and measure them again; of two that differ, let a third decide. Twice at most."""
        for _ in range(BLOCK_REPEATS):
            visits = self._journal.visits(with_series=True)
            repair = plan_repair(self._cells, visits, self._plan.spec.order_seed)
            left, cells = self._left_seconds(), [self._cells[visit.cell_key] for visit in repair.visits]
            if not cells or (left is not None and self._seconds_for(cells, 1) * self._slowdown() + self._reserve_seconds() > left):
                return  # what cannot be made again is not thrown away: it stands, and is told
            for void in repair.voided:
                self._journal.discard_visits(void.visit_ids, f"{VOIDED}: {void.record['reason']}")
            self._journal.set_outcome("voided", [*self._journal.outcomes().get("voided", []), *(void.record for void in repair.voided)])
            self._emit(Event("drift", {"text": repair.text, "visits": len(repair.visits)}))
            self._journal.add_visits(repair.visits)
            if not self._make_planned("sweep"):
                return

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
        """Visit the cells that are not precise enough again, in random orders up to their next look, until all are, the cap or the budget.

        Windows and visits go where the variance is; what the budget does not reach keeps the width it has.
        """
        grade, spec = self._plan.spec.wanted, self._plan.spec
        going = grade.precision is not None
        while going:
            visits = self._journal.visits(with_series=True)
            left = self._left_seconds()
            left = None if left is None else max(0.0, (left - self._reserve_seconds()) / self._slowdown())
            spending = plan_spending(self._cells, visits, grade, seconds_of=self._seconds_of, left_seconds=left)
            if not spending.visits:
                return
            block = 1 + max((visit.block for visit in visits if visit.purpose == "sweep"), default=0)
            told = {target: round(seconds, 3) for target, seconds in spending.window_seconds.items()}
            self._emit(Event("precision", {"cells_waiting": len(spending.visits), "block": block, "window_seconds": told}))
            for turn in range(max(spending.visits.values())):
                order = random_blocks([key for key, count in spending.visits.items() if count > turn], 1, spec.order_seed + block + turn)
                self._journal.add_visits(NewVisit(key, block + turn, seed, runtime_ms=self._longer_ms(key, told)) for key, _, seed in order)
            going = self._make_planned("sweep")

    def _seconds_of(self, cell: Cell) -> tuple[float, float]:
        """Window of one visit of a cell, and what it costs besides: its gap, and its share of a fio's start."""
        runtime_ms, gap_ms = self._pace.runtime_and_gap_ms(cell)
        return runtime_ms / 1000, gap_ms / 1000 + FIO_SECONDS * min(1.0, runtime_ms / 1000 / BATCH_SECONDS)

    def _longer_ms(self, key: str, windows: Mapping[str, float]) -> int | None:
        """Runtime of a visit of a target whose windows are to grow: it fills its turns of 100 ms."""
        seconds = windows.get(self._cells[key].target)
        if seconds is None:
            return None
        _, gap_ms = self._pace.runtime_and_gap_ms(self._cells[key])
        return -(-int(seconds * 1000 + gap_ms) // 100) * 100 - gap_ms

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
        turns = sum(visit_turns(cell, self._pace) for cell in cells)
        per_batch = FIO_SECONDS + TURN_MS / 1000
        load = turns * visits * TURN_MS / 1000
        return load + per_batch * max(load / BATCH_SECONDS, 1)

    def _reserve_seconds(self) -> float:
        """Kept back for the fresh visits of extreme cells, cleaning and the report."""
        groups = {(cell.target, direction) for cell in self._plan.to_measure for direction in cell.directions}
        load = len(groups) * 2 * FRESH_VISITS * (self._plan.spec.window_seconds + 0.02)
        return load * self._slowdown() + FIO_SECONDS + CLEAN_SECONDS + REPORT_SECONDS

    def _fit_layout(self) -> None:
        """Leave out the largest sizes when writing the files alone would take too much of the budget."""
        budget = self._plan.spec.budget_seconds
        sizes = sorted({cell.size_bytes for cell in self._plan.to_measure})
        if budget is None or self._finished:
            return
        allowed = budget * LAYOUT_SHARE
        kept = list(sizes)
        plan = self._plan
        while len(kept) > 1 and plan.preparation_seconds > allowed:
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

    def _make_extremes(self) -> None:
        """Measure again the cells that will be named because they are extreme; only these visits give their values."""
        if not self._journal.has_visits("fresh"):
            # As the report will take them: what caches, ceilings and reducible data make suspect is not named, so it needs no fresh visits.
            cells = extremes(estimates_so_far(self._journal))
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
