# SPDX-License-Identifier: Apache-2.0
"""Operations that need one another, made in their order and repeated as a whole.

A sequence is the unit: each of its operations needs the one before it, so a sequence that was interrupted begins
again with its first operation. Which sequences follow each other is drawn anew in every replicate.
"""

from __future__ import annotations

import random
from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from ioatlas.answer.analysis.estimates import undecided
from ioatlas.load.fio.batch import Batch
from ioatlas.measure.run.steps import REPORT_SECONDS, Making, Steps
from ioatlas.model.cell import Cell
from ioatlas.model.outcomes import Event
from ioatlas.model.units import grouped
from ioatlas.model.visit import Purpose
from ioatlas.store.journal import NewVisit, PlannedVisit

One = TypeVar("One", bound=Hashable)
"""What tells one sequence from another."""


class SequencedSteps(Steps, Generic[One]):
    """One session of sequences. sequences: the cells of each in their order."""

    sequences: Mapping[One, Sequence[Cell]]
    repeats = False
    """A sequence is repeated as a whole."""
    _begun = False

    @abstractmethod
    def sequence_of(self, cell: Cell) -> One:
        """The sequence that a cell belongs to."""

    @abstractmethod
    def make_operations(self, one: One, rows: Sequence[PlannedVisit]) -> Making[int]:
        """Make the operations of a sequence from the first on; how many were made before one failed."""

    @abstractmethod
    def seconds_of(self, one: One, cells: Sequence[Cell]) -> float | None:
        """Expected time of a sequence by what was seen so far; None while that is not known."""

    @abstractmethod
    def usual_seconds(self, cell: Cell) -> float:
        """Expected time of an operation of which nothing was seen so far."""

    def progress(self, batch: Batch) -> dict[str, float]:  # noqa: ARG002
        waiting = Counter(row.cell_key for row in self.journal.planned(Purpose.SWEEP))
        left = 0.0
        for cell, count in ((self.cells[key], count) for key, count in waiting.items()):
            known = self.seconds_of(self.sequence_of(cell), [cell])
            left += count * (self.usual_seconds(cell) if known is None else known)
        return self.told_progress(waiting.total(), left)

    def side_by_side(self, one: One) -> Hashable:
        """Sequences that have this in common meet the same moments: one follows the other."""
        return one

    def make_replicates(self) -> Making[None]:
        """The visits asked for, then replicates of the sequences that are not precise enough, until all are, the
        cap or the budget.
        """
        spec = self.session.plan.spec
        while (yield from self._make_waiting()):
            made = self.journal.visits()
            replicate = 1 + max((visit.replicate for visit in made if visit.purpose == Purpose.SWEEP), default=-1)
            sequences = list(self.sequences)
            if replicate >= spec.visits:
                cells = {cell.key: cell for cell in self.session.plan.to_measure}
                waiting = undecided(cells, made, spec.wanted) if spec.wanted.precision else {}
                wanted = {self.side_by_side(self.sequence_of(self.cells[key])) for key in waiting}
                sequences = [one for one in sequences if self.side_by_side(one) in wanted]
                if not sequences:
                    return
                self.session.emit(Event("precision", {"cells_waiting": len(waiting), "block": replicate}))
            self._plan_replicate(sequences, replicate)

    def new_visit(
        self, cell: Cell, replicate: int, generator: random.Random, purpose: Purpose = Purpose.SWEEP
    ) -> NewVisit:
        """One more visit, in a process of its own."""
        return NewVisit(cell.key, replicate, generator.randrange(1, 2**31), purpose, alone=True)

    def make_sequence(self, one: One, rows: Sequence[PlannedVisit]) -> Making[None]:
        """Every operation of a sequence. One that fails ends it, and the sequence is planned once more."""
        done = yield from self.make_operations(one, rows)
        if done < len(rows):
            self._void(rows[done:], rows[0])

    def _plan_replicate(self, sequences: Iterable[One], replicate: int) -> None:
        """Plan one visit of every operation of `sequences`, all of them in a random order."""
        generator = random.Random(f"{self.session.plan.spec.order_seed} {replicate}")  # noqa: S311 - an order, not a secret
        groups = grouped((self.side_by_side(one), one) for one in sequences)
        order = list(groups.values())
        generator.shuffle(order)
        rows = []
        for group in order:
            generator.shuffle(group)
            rows += [self.new_visit(cell, replicate, generator) for one in group for cell in self.sequences[one]]
        self.journal.add_visits(rows)

    def _make_waiting(self) -> Making[bool]:
        """Make the sequences that are planned until none is left (True) or the budget ends (False)."""
        while waiting := self.journal.planned(Purpose.SWEEP):
            first = waiting[0]
            one = self.sequence_of(self.cells[first.cell_key])
            rows = self._whole(one, first.replicate, waiting)
            if self._no_time_for(one):
                return False
            yield from self.make_sequence(one, rows)
        return True

    def _no_time_for(self, one: One) -> bool:
        left = self.budget.left
        need = self.seconds_of(one, self.sequences[one])
        if left is None or not self._begun or need is None or need + REPORT_SECONDS <= left:
            self._begun = True
            return False
        self.budget_ended(Purpose.SWEEP)
        return True

    def _whole(self, one: One, replicate: int, waiting: Sequence[PlannedVisit]) -> list[PlannedVisit]:
        """The planned visits of a sequence in their order; what an interruption took from its start is planned
        again.
        """

        def mine(rows: Sequence[PlannedVisit]) -> dict[str, PlannedVisit]:
            return {
                row.cell_key: row
                for row in rows
                if row.replicate == replicate and self.sequence_of(self.cells[row.cell_key]) == one
            }

        rows = mine(waiting)
        missing = [cell for cell in self.sequences[one] if cell.key not in rows]
        if missing:
            generator = random.Random(f"{self.session.plan.spec.order_seed} {replicate} again {waiting[0].visit_id}")  # noqa: S311
            self.journal.add_visits(self.new_visit(cell, replicate, generator) for cell in missing)
            rows = mine(self.journal.planned(Purpose.SWEEP))
            text = "A sequence was interrupted; it begins again with its first operation."
            self.session.emit(Event("remark", {"text": text}))
        return [rows[cell.key] for cell in self.sequences[one]]

    def _void(self, rest: Sequence[PlannedVisit], first: PlannedVisit) -> None:
        """What a failed operation leaves without its predecessor is not measured; the sequence is tried once more
        in this replicate.
        """
        tries = max(self.journal.tries(row.cell_key, row.replicate) for row in rest)
        waiting = {row.visit_id for row in self.journal.planned(first.purpose)} & {row.visit_id for row in rest}
        if waiting:
            self.session.fail(sorted(waiting), "the operation before it failed")
        if tries < 2 and first.purpose == Purpose.SWEEP:
            one = self.sequence_of(self.cells[first.cell_key])
            generator = random.Random(f"{self.session.plan.spec.order_seed} {first.visit_id} once more")  # noqa: S311
            self.journal.add_visits(self.new_visit(cell, first.replicate, generator) for cell in self.sequences[one])
