# SPDX-License-Identifier: Apache-2.0
"""The probe: the lightest and the heaviest cell of every target and mode run for a moment, so that windows can be
sized.
"""

from __future__ import annotations

import random

from ioatlas.fio.batch import take_sections
from ioatlas.model.cell import Cell
from ioatlas.model.events import Event
from ioatlas.model.purpose import Purpose
from ioatlas.run.runner import BATCH_SECONDS, PROBE_GAP_MS, Runner
from ioatlas.store.journal import NewVisit

PROBE_MS = 190
PROBE_LONGEST_MS = 3000
PROBE_REPLICATE = -1


def probe(runner: Runner) -> None:
    """Probe what is not known from earlier sessions. Cells whose work is fixed tell their pace as they are made."""
    corners: dict[tuple[str, str], list[Cell]] = {}
    for cell in runner.plan.to_measure:
        if not cell.work_bounded:
            corners.setdefault((cell.target, cell.rw), []).append(cell)
    light, heavy = [], []
    for cells in corners.values():
        if runner.finished and runner.pace.latency_seconds(cells[0]) is not None:
            continue
        light.append(min(cells, key=lambda cell: (cell.bs_bytes * cell.outstanding, cell.size_bytes)))
        heavy.append(max(cells, key=lambda cell: (cell.bs_bytes * cell.outstanding, -cell.size_bytes)))
    for cells in (light, [cell for cell in heavy if cell not in light]):
        _make(runner, cells)


def _make(runner: Runner, cells: list[Cell]) -> None:
    if not cells:
        return
    runner.emit(Event("probe", {"cells": len(cells)}))
    generator = random.Random(runner.plan.spec.order_seed)  # noqa: S311 - offsets, not secrets
    runner.journal.add_visits(
        [NewVisit(cell.key, PROBE_REPLICATE, generator.randrange(1, 2**31), Purpose.PROBE) for cell in cells]
    )
    rows = {row.visit_id: row for row in runner.journal.planned(Purpose.PROBE)}
    sections = []
    for row in rows.values():
        bound = runner.pace.latency_seconds(runner.cells[row.cell_key])
        window_ms = min(PROBE_LONGEST_MS, max(PROBE_MS, int(2000 * (bound or 0))))
        gap_ms = PROBE_GAP_MS if bound is None else min(PROBE_LONGEST_MS, max(10, int(1500 * bound)))
        sections.append(runner.section(row, window_ms, gap_ms))
    while sections:
        taken = take_sections(sections, seconds=BATCH_SECONDS, alone=lambda _section: False)
        runner.batch(taken, rows)
        sections = sections[len(taken) :]
    runner.journal.drop_planned("probe not finished", purpose=Purpose.PROBE)
