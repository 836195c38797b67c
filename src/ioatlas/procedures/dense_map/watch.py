# SPDX-License-Identifier: Apache-2.0
"""The watch over a sweep: baseline visits woven in between, and replicates that are voided and planned
again, and initial reads of a prepared footprint.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import expm1

from ioatlas.analysis.drift import ReplicateState, in_doubt, replicate_states, to_repeat
from ioatlas.design.exhaustive import USUAL_SPACING, choose_baseline_cell, places_for, random_replicates, spacing
from ioatlas.model.cell import Cell
from ioatlas.model.drift import ordinal
from ioatlas.model.outcomes import BaselineCells, VoidedReplicate
from ioatlas.model.visit import SWEPT, Purpose, Visit
from ioatlas.run.plan import Plan
from ioatlas.store.journal import Journal, NewVisit, PlannedVisit
from ioatlas.target.placing import Places


class Watch:
    """Baseline visits of one session. Where they stand follows from the journal alone, so a resumed sweep goes on with
    them.
    """

    def __init__(self, journal: Journal, plan: Plan, *, open_end: bool) -> None:
        """open_end: how many visits the sweep takes is not known beforehand."""
        self._journal = journal
        self._plan = plan
        step = spacing(len(plan.to_measure) * plan.spec.visits)
        # Without a known length the first one waits, so that they stay below their share of a sweep that soon ends.
        self._first = USUAL_SPACING if step is None and open_end else 0
        self._step = spacing(None) if step is None and open_end else step

    def weave(self, waiting: Sequence[PlannedVisit]) -> list[PlannedVisit]:
        """The waiting visits of the sweep with baseline visits planned and put before them where one is due."""
        if not waiting or self._step is None or not self._keys():
            return list(waiting)
        finished = [visit.purpose for visit in self._journal.visits()]
        done, made = finished.count(Purpose.SWEEP), finished.count(Purpose.BASELINE)
        ready = self._journal.planned(Purpose.BASELINE)
        places = places_for(done, made, waiting, self._step, first=self._first)
        missing = len(places) - len(ready)
        if missing > 0:
            self._journal.add_visits(
                self._baseline_visit(made + len(ready) + number, waiting[place].replicate)
                for number, place in enumerate(places[-missing:])
            )
            ready = self._journal.planned(Purpose.BASELINE)
        # The first sections of a batch follow a pause, in which a target may save credit.
        before = {min(place + 2, len(waiting) - 1): row for place, row in zip(places, ready, strict=False)}
        return [
            row
            for place, visit in enumerate(waiting)
            for row in ((before[place], visit) if place in before else (visit,))
        ]

    def plan_last(self) -> bool:
        """Plan a reading after the last visit of a sweep that had baseline visits; whether there is one to make."""
        finished = [visit for visit in self._journal.visits() if visit.purpose in SWEPT]
        if not any(visit.purpose is Purpose.BASELINE for visit in finished) or finished[-1].purpose is Purpose.BASELINE:
            return False
        self._journal.add_visits(
            [self._baseline_visit(sum(visit.purpose is Purpose.BASELINE for visit in finished), finished[-1].replicate)]
        )
        return True

    def _baseline_visit(self, number: int, replicate: int) -> NewVisit:
        """The next baseline visit: the targets take turns."""
        keys = self._keys()
        # Drawn from the number alone: a session that was killed goes on with the seeds that it would have drawn.
        generator = random.Random(f"{self._plan.spec.order_seed} sentinels {number}")  # noqa: S311 - offsets, not secrets
        return NewVisit(keys[number % len(keys)], replicate, generator.randrange(1, 2**31), Purpose.BASELINE)

    def _keys(self) -> list[str]:
        known = dict(self._journal.kept(BaselineCells).cells)
        wanted = self._plan.names
        if not known:
            for name in wanted:
                cell = choose_baseline_cell(cell for cell in self._plan.to_measure if cell.target == name)
                if cell is not None:
                    known[name] = cell.key
            self._journal.keep(BaselineCells(known))
        return list(known.values())


@dataclass(frozen=True)
class Void:
    """A replicate to void: its visits, and what the journal keeps of it."""

    visit_ids: tuple[int, ...]
    record: VoidedReplicate


@dataclass(frozen=True)
class Repair:
    """Replicates to void, visits to make instead, and what is told of it."""

    voided: tuple[Void, ...] = ()
    visits: tuple[NewVisit, ...] = ()
    text: str = ""


def plan_repair(cells: Mapping[str, Cell], visits: Sequence[Visit], seed: int) -> Repair:
    """What the state of the replicates asks for: each target's replicates out of line voided and repeated, of two
    that differ a third.
    """
    states = replicate_states(cells, visits)
    number = 1 + max((visit.replicate for visit in visits if visit.purpose is Purpose.SWEEP), default=0)
    voided: list[Void] = []
    planned: list[NewVisit] = []
    told: list[str] = []
    for state in [one for bad in to_repeat(states).values() for one in bad]:
        mine = [
            visit
            for visit in visits
            if visit.replicate == state.replicate and _target(cells, visit) == state.target and visit.purpose in SWEPT
        ]
        voided.append(Void(tuple(visit.visit_id for visit in mine if not visit.discarded), _record(state, number)))
        planned += _again(mine, number, seed)
        told.append(f"replicate {ordinal(state.replicate)} voided and repeated: {'; '.join(state.reasons)}")
        number += 1
    for target, state in in_doubt(states).items():
        if not any(void.record.target == target for void in voided):
            planned += _again(
                [visit for visit in visits if _target(cells, visit) == target and visit.purpose is Purpose.SWEEP],
                number,
                seed,
            )
            told.append(f"{state.doubt}: another replicate decides")
            number += 1
    return Repair(tuple(voided), tuple(planned), "; ".join(told))


def _record(state: ReplicateState, again: int) -> VoidedReplicate:
    return VoidedReplicate(
        state.target,
        state.replicate,
        again,
        "; ".join(state.reasons),
        state.n_visits,
        state.n_discarded,
        round(expm1(state.effect), 4),
        round(state.error, 4),
    )


def _again(visits: Sequence[Visit], replicate: int, seed: int) -> list[NewVisit]:
    """Every cell of these visits of the sweep once more, in a new random order."""
    keys = list(dict.fromkeys(visit.cell_key for visit in visits if visit.purpose is Purpose.SWEEP))
    return [NewVisit(key, replicate, number) for key, _, number in random_replicates(sorted(keys), 1, seed + replicate)]


def _target(cells: Mapping[str, Cell], visit: Visit) -> str:
    return cells[visit.cell_key].target if visit.cell_key in cells else ""


MOST_CELLS = 12
"""Read cells that are visited before anything writes; drawn at random from all."""
WINDOW_MS = 1000
REPLICATE = -2
PREPARED = frozenset({"filled", "preconditioned"})


def initial_reads(plan: Plan) -> list[NewVisit]:
    """One visit for each of up to 12 read cells whose footprint other cells write to, when a state of that footprint
    was asked for.

    Each in a fio of its own, since nothing is known of the target's pace yet.
    """
    places = Places(cell for cell, _ in plan.cells)
    written = {places.footprint(cell) for cell in plan.to_measure if cell.writes}
    reads: list[Cell] = [
        cell
        for cell in plan.to_measure
        if not cell.writes and cell.state in PREPARED and not cell.work_bounded and places.footprint(cell) in written
    ]
    generator = random.Random(f"{plan.spec.order_seed} before")  # noqa: S311 - an order, not a secret
    chosen = generator.sample(reads, min(MOST_CELLS, len(reads)))
    window = max(WINDOW_MS, round(plan.spec.window_seconds * 1000))
    return [
        NewVisit(cell.key, REPLICATE, generator.randrange(1, 2**31), Purpose.INITIAL, alone=True, runtime_ms=window)
        for cell in chosen
    ]
