# SPDX-License-Identifier: Apache-2.0
"""The steps of a map that visits its cells in random orders: lay out, visit every cell, then those that are not precise
enough; and what it makes besides: replicates that are voided and planned again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ioatlas.answer.analysis.drift import in_doubt, replicate_rows, to_repeat
from ioatlas.answer.analysis.estimates import undecided
from ioatlas.answer.analysis.wording import plural
from ioatlas.answer.results.by_law import keep_laws
from ioatlas.load.fio.batch import TURN_MS, Section
from ioatlas.measure.procedures.dense_map.plan import sizes_within
from ioatlas.measure.procedures.options import MapOptions
from ioatlas.measure.run.intake import made_alone, unconfirmed
from ioatlas.measure.run.plan import leave_out, visit_turns
from ioatlas.measure.run.session import Session
from ioatlas.measure.run.steps import BATCH_SECONDS, Making, Steps
from ioatlas.model.cell import Cell
from ioatlas.model.outcomes import Event, Fitted, Voided, VoidedReplicate
from ioatlas.model.result import ReplicateRow, ordinal
from ioatlas.model.units import format_duration, format_size
from ioatlas.model.verdict import Reason, ReasonCode, UnmeasuredCode
from ioatlas.model.visit import SWEPT, Purpose, Visit
from ioatlas.plan.orders import random_replicates
from ioatlas.plan.pace import LEAST_SHARE
from ioatlas.store.journal import NewVisit

if TYPE_CHECKING:
    from ioatlas.answer.law.fit import Fit


@dataclass(frozen=True)
class Repair:
    """Replicates to void, each with its visits; visits to make instead, and what is told of it."""

    voided: Mapping[VoidedReplicate, tuple[int, ...]]
    visits: tuple[NewVisit, ...]
    text: str


def plan_repair(cells: Mapping[str, Cell], visits: Sequence[Visit], seed: int) -> Repair:
    """What the state of the replicates asks for: each target's replicates out of line voided and repeated, of two
    that differ a third.
    """
    rows = replicate_rows(cells, visits)
    number = 1 + max((visit.replicate for visit in visits if visit.purpose is Purpose.SWEEP), default=0)
    voided: dict[VoidedReplicate, tuple[int, ...]] = {}
    planned: list[NewVisit] = []
    told: list[str] = []
    for state in [one for bad in to_repeat(rows).values() for one in bad]:
        mine = [
            visit
            for visit in visits
            if visit.replicate == state.replicate and _target(cells, visit) == state.target and visit.purpose in SWEPT
        ]
        voided[_record(state, number)] = tuple(visit.visit_id for visit in mine if not visit.discarded)
        planned += _again(mine, number, seed)
        told.append(f"replicate {ordinal(state.replicate)} voided and repeated: {state.note}")
        number += 1
    for target, state in in_doubt(rows).items():
        if not any(record.target == target for record in voided):
            planned += _again(
                [visit for visit in visits if _target(cells, visit) == target and visit.purpose is Purpose.SWEEP],
                number,
                seed,
            )
            told.append(f"{state.note}: another replicate decides")
            number += 1
    return Repair(voided, tuple(planned), "; ".join(told))


def _record(row: ReplicateRow, again: int) -> VoidedReplicate:
    level = (round(row.effect or 0.0, 4), round(row.error or 0.0, 4))
    return VoidedReplicate(row.target, row.replicate, again, row.note, row.n_visits, row.n_discarded, *level)


def _again(visits: Sequence[Visit], replicate: int, seed: int) -> list[NewVisit]:
    """Every cell of these visits of the sweep once more, in a new random order."""
    keys = list(dict.fromkeys(visit.cell_key for visit in visits if visit.purpose is Purpose.SWEEP))
    return [NewVisit(key, replicate, number) for key, _, number in random_replicates(sorted(keys), 1, seed + replicate)]


def _target(cells: Mapping[str, Cell], visit: Visit) -> str:
    return cells[visit.cell_key].target if visit.cell_key in cells else ""


REPLICATE_REPEATS = 2
"""Times that replicates are voided and measured again; what moves after that is a finding."""
CLEAN_SECONDS = 0.5
THINKING_SHARE, MOST_THINKING_SECONDS = 0.06, 4.0
"""Kept back of a budget for fitting the law at the end."""


class MapSteps(Steps):
    """One session of a map."""

    any_order = True

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._seed = session.plan.spec.order_seed

    def make(self) -> Making[bool]:
        self.journal.drop_planned("version 0.3 planned it", purpose=Purpose.BASELINE)
        self._fit_layout()
        self.session.prepare()
        yield from self.sweep()
        self._keep_unconfirmed()
        self._tell_left_out(keep_laws(self.journal, self.cells))
        return True

    def sweep(self) -> Making[None]:
        """Make the visits."""
        spec = self.session.plan.spec
        # What ended the last session was mended meanwhile, or fails once more and is told.
        self.journal.add_visits(made_alone(visit) for visit in self.journal.failed_for_good(Purpose.SWEEP))
        self._fit_budget()
        # From one rest to the next a target may not have recovered: that is told, and no drift.
        if (yield from self.make_planned(Purpose.SWEEP)) and not spec.rest_seconds:
            yield from self._repeat_replicates()
        yield from self.make_asked(Purpose.SWEEP, self._imprecise)

    # -- what a budget has time for --------------------------------------------------------------------------

    def _fit_layout(self) -> None:
        """Leave out the largest sizes when writing the files alone would take too much of the budget."""
        plan, budget = self.session.plan, self.session.plan.spec.budget_seconds
        sizes = sorted({cell.size_bytes for cell in plan.to_measure})
        if budget is None or self.session.finished:
            return
        kept = sizes_within(plan, budget)
        if len(kept) < len(sizes):
            gone = ", ".join(format_size(size) for size in sizes if size not in kept)
            told = f"writing their files would take too much of the budget of {format_duration(budget)}"
            why = "left out: writing its file would take too much of the budget"
            plan = leave_out(plan, {"size": tuple(kept)}, why)
            self.session.go_on_with(plan, f"Sizes {gone} left out: {told}.")

    def _fit_budget(self) -> None:
        """Windows as short as the budget asks for."""
        session, left = self.session, self._left_for_sweep()
        session.pace.share = self.journal.kept(Fitted).share
        if left is None or session.finished:
            return
        cells, visits = list(session.plan.to_measure), session.plan.spec.visits
        need = self._seconds_for(cells, visits)
        if need > left:
            session.pace.share = max(LEAST_SHARE, left / need)
            self.journal.keep(Fitted(session.pace.share))

    def _seconds_for(self, cells: Sequence[Cell], visits: int) -> float:
        """Expected time of so many visits of each cell: loads, gaps and starts of processes."""
        budget, pace = self.budget, self.session.pace
        load = visits * sum(visit_turns(cell, pace) for cell in cells) * TURN_MS / 1000 * budget.slowdown
        return load + (load / BATCH_SECONDS + 1) * budget.start_seconds

    def _tell_left_out(self, laws: Mapping[str, Fit]) -> None:
        """Mark the cells that were not reached and that no law foretells, and say why."""
        plan = self.session.plan
        budget, limit = plan.spec.budget_seconds, plan.spec.of(MapOptions).cells
        tried = {visit.cell_key for visit in self.journal.visits() if visit.purpose is Purpose.SWEEP}
        tried |= {key for key, _ in self.journal.failures()}
        gone = {cell.key: "the budget did not allow it" for cell in plan.to_measure if cell.key not in tried}
        if laws and gone:
            from ioatlas.answer.law.cells import why_not_foretold

            fitted = [cell for cell in plan.to_measure if cell.key in gone and cell.target in laws]
            gone |= {cell.key: why_not_foretold(cell, laws[cell.target]) for cell in fitted}
        left_out = {key: f"{UnmeasuredCode.LEFT_OUT}: {why}" for key, why in gone.items() if why}
        if not left_out or (budget is None and limit is None):
            return
        bound = f"at most {limit} were to be measured" if limit else f"the budget is {format_duration(budget or 0.0)}"
        told = f"{len(left_out):,} of {plural(len(plan.to_measure), 'cell')} left out: {bound}."
        cells = tuple((cell, left_out.get(cell.key, reason)) for cell, reason in plan.cells)
        self.session.go_on_with(replace(plan, cells=cells), told)

    def _left_for_sweep(self) -> float | None:
        """Seconds of load that the budget still has room for, as planned; None without a limit."""
        left = self.budget.left
        return None if left is None else max(0.0, left - self.reserve_seconds())

    def reserve_seconds(self) -> float:
        """Kept back for cleaning, the law and the report."""
        return CLEAN_SECONDS + self.report_seconds() + self.thinking_seconds()

    def thinking_seconds(self) -> float:
        return min(MOST_THINKING_SECONDS, THINKING_SHARE * (self.budget.total or 0.0))

    def drains_long(self, section: Section) -> bool:
        """Also the first load of a target, of which nobody knows how long its I/Os take."""
        return super().drains_long(section) or self.session.pace.latency_seconds(section.cell) is None

    # -- the visits ------------------------------------------------------------------------------------------

    def _keep_unconfirmed(self) -> None:
        """Where the budget ended before a longer visit could confirm it, a visit that settled late is better than no
        value: it counts as unstable.
        """
        made = self.journal.visits()
        swept = {visit.cell_key for visit in made if visit.purpose is Purpose.SWEEP and not visit.discarded}
        for visit_id, cell_key, _, verdict in self.journal.discarded(ReasonCode.LATE):
            if self.budget.total is not None and cell_key not in swept:
                self.journal.reinstate(visit_id, unconfirmed(verdict))
                swept.add(cell_key)

    def _repeat_replicates(self) -> Making[None]:
        """Void replicates that stand apart from the others, and measure them again; of two that differ, let a third
        decide. Twice at most.
        """
        for _ in range(REPLICATE_REPEATS):
            visits = self.journal.visits(with_series=True)
            repair = plan_repair(self.cells, visits, self._seed)
            cells = [self.cells[visit.cell_key] for visit in repair.visits]
            left = self._left_for_sweep()
            if not cells or (left is not None and self._seconds_for(cells, 1) > left):
                return  # what cannot be made again is not thrown away: it stands, and is told
            for record, visit_ids in repair.voided.items():
                why = Reason(ReasonCode.VOIDED, f"{ReasonCode.VOIDED}: {record.reason}")
                self.journal.discard_visits(visit_ids, why)
            self.journal.keep(Voided((*self.journal.kept(Voided).replicates, *repair.voided)))
            self.session.emit(Event("drift", {"text": repair.text, "visits": len(repair.visits)}))
            self.journal.add_visits(repair.visits)
            if not (yield from self.make_planned(Purpose.SWEEP)):
                return

    def _imprecise(self, visits: Sequence[Visit]) -> list[NewVisit]:
        """The cells that are not precise enough again, or that lost visits which were too short to count, in random
        orders up to their next look, until all are, the cap or the budget.
        """
        spec = self.session.plan.spec
        # Visits that do not count have no end of their own: all that were tried are counted.
        tried = Counter(visit.cell_key for visit in visits if visit.purpose is Purpose.SWEEP)
        cells = {key: cell for key, cell in self.cells.items() if tried[key] < spec.visits + spec.wanted.cap}
        waiting = undecided(cells, visits, spec.wanted, spec.visits)
        if not waiting:
            return []
        replicate = 1 + max(visit.replicate for visit in visits if visit.purpose == Purpose.SWEEP)
        self.session.emit(Event("precision", {"cells_waiting": len(waiting), "block": replicate}))
        rows: list[NewVisit] = []
        for turn in range(max(waiting.values())):
            keys = [key for key, count in waiting.items() if count > turn]
            order = random_replicates(keys, 1, self._seed + replicate + turn)
            rows += [NewVisit(key, replicate + turn, seed) for key, _, seed in order]
        return rows
