# SPDX-License-Identifier: Apache-2.0
"""Reads of a footprint in the state that was prepared, before any load writes to it: what later reads are compared
with.
"""

from __future__ import annotations

import random

from ioatlas.model.cell import Cell
from ioatlas.model.purpose import Purpose
from ioatlas.run.plan import Plan
from ioatlas.store.journal import NewVisit
from ioatlas.target.placing import Places

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
