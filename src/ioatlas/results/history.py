# SPDX-License-Identifier: Apache-2.0
"""What was written where before each visit, computed anew from the journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ioatlas.analysis.footprints import Written, written_before
from ioatlas.model.cell import Cell
from ioatlas.model.visit import Visit
from ioatlas.store.journal import Journal
from ioatlas.target.placing import Places
from ioatlas.target.preparation import STEPS


def load_history(journal: Journal, cells: Mapping[str, Cell], visits: Sequence[Visit]) -> dict[int, Written]:
    """What had been written to the footprint of each visit when it began, by visit_id."""
    places = Places(cell for cell, _ in journal.cells())
    steps = {step.what for each in STEPS.values() for step in each}
    prepared: dict[str, list[float]] = {}
    for at, target, what, _ in journal.ledger_in_time():
        if what in steps:
            prepared.setdefault(target, []).append(at)
    return written_before(cells, visits, places.footprint, prepared)
