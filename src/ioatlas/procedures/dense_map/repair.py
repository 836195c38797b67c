# SPDX-License-Identifier: Apache-2.0
"""What a sweep makes besides its own visits: replicates that are voided and planned again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ioatlas.analysis.drift import in_doubt, replicate_rows, to_repeat
from ioatlas.design.exhaustive import random_replicates
from ioatlas.model.cell import Cell
from ioatlas.model.outcomes import VoidedReplicate
from ioatlas.model.result import ReplicateRow, ordinal
from ioatlas.model.visit import SWEPT, Purpose, Visit
from ioatlas.store.journal import NewVisit


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
