# SPDX-License-Identifier: Apache-2.0
"""The probe: the lightest and the heaviest cell of every target and mode run for a moment, so that windows can be
sized.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

from ioatlas.analysis.burst import Bursts, find_burst, most_lead_ms
from ioatlas.fio.batch import take_sections
from ioatlas.model.cell import Cell
from ioatlas.model.events import Event
from ioatlas.model.purpose import Purpose
from ioatlas.run.runner import BATCH_SECONDS, PROBE_GAP_MS, Runner
from ioatlas.store.journal import NewVisit

PROBE_MS = 190
PROBE_LONGEST_MS = 3000
PROBE_REPLICATE = -1
LIGHT_SHARE, HEAVY_SHARE = 0.05, 0.1
"""Most of what is left of a budget that the probe of one cell may take; dearer ones are sized by what is known."""
BURST_SHARE = 0.1
"""Part of a plan's time that looking for burst credit takes, all directions together."""
BURST_BUDGET_SHARE = 0.06
"""Most of what is left of a budget that looking in one direction takes."""
BURST_SHORTEST_SECONDS, BURST_LONGEST_SECONDS = 0.5, 4.0
BURST_LEAST_MS = 300
BURST_PAUSE_SECONDS = 1.0
BURST_PAUSE_LEAST_LEFT = 40.0
"""Seconds left of a budget from which a second can be spared for seeing more."""
BURST_SLOWEST_SECONDS = 0.25
"""Time of an I/O above which a load tells nothing of bursts in that time."""


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
    if runner.budget.short:
        first_of = {cell.target: cell for cell in reversed(light)}
        _make(runner, list(first_of.values()), 1.0)
        return
    # The first of a target tells how long the others of it take: nothing is known that could bound it.
    for corner, shares in ((light, (1.0, LIGHT_SHARE)), ([c for c in heavy if c not in light], (HEAVY_SHARE,) * 2)):
        first = {cell.target: cell.key for cell in reversed(corner)}
        _make(runner, [cell for cell in corner if cell.key == first[cell.target]], shares[0])
        _make(runner, [cell for cell in corner if cell.key != first[cell.target]], shares[1])
    _look_for_bursts(runner)


def _look_for_bursts(runner: Runner) -> None:
    """A longer load in each direction, which shows whether a target soon gets slower; what is found is kept."""
    if runner.finished or runner.journal.is_kept(Bursts):
        return
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in runner.plan.to_measure:
        if not cell.work_bounded and cell.loop == "closed" and len(cell.directions) == 1:
            groups.setdefault((cell.target, cell.directions[0]), []).append(cell)
    picked = {group: _fast_cell(runner, cells) for group, cells in groups.items()}
    chosen = {group: cell for group, cell in picked.items() if cell is not None}
    if not chosen:
        return
    each = BURST_SHARE * runner.plan.seconds(runner.pace) / len(chosen)
    window_ms = round(1000 * min(BURST_LONGEST_SECONDS, max(BURST_SHORTEST_SECONDS, each)))
    if runner.plan.spec.wanted.precision is not None:
        window_ms = round(1000 * BURST_LONGEST_SECONDS)
    if runner.budget.left is not None:
        window_ms = min(window_ms, round(1000 * BURST_BUDGET_SHARE * runner.budget.left))
    if window_ms < BURST_LEAST_MS:
        return
    gaps = {
        cell.key: max(runner.pace.own_process_gap_ms, _window_and_gap_ms(runner, cell)[1]) for cell in chosen.values()
    }
    windows = {key: (window_ms, gap_ms) for key, gap_ms in gaps.items()}
    for cell in chosen.values():
        if runner.budget.left is None or runner.budget.left >= BURST_PAUSE_LEAST_LEFT:
            # A pause gives credit back, so that the load begins with some whatever the probes before it took.
            runner.environment.executor.clock.sleep(min(BURST_PAUSE_SECONDS, window_ms / 1000))
        _make(runner, [cell], HEAVY_SHARE, windows)
    probes = [visit for visit in runner.journal.visits(with_series=True) if visit.purpose is Purpose.PROBE]
    found = []
    asked_ms, most = runner.journal.asked_ms(), most_lead_ms(runner.budget.left, len(runner.plan.to_measure))
    for (target, direction), fast in chosen.items():
        mine = [visit for visit in probes if runner.cells[visit.cell_key].target == target]
        burst = find_burst(target, direction, fast.bs_bytes, mine, asked_ms)
        found += [replace(burst, most_lead_ms=most)] if burst is not None else []
    runner.journal.keep(Bursts(tuple(found)))
    runner.forget_bursts()


def _fast_cell(runner: Runner, cells: list[Cell]) -> Cell | None:
    """The heaviest of these cells whose I/Os return soon enough to be seen in intervals; None when none do."""
    bounds = {cell.key: runner.pace.bounds_seconds(cell) or (0.0, 0.0) for cell in cells}
    able = [cell for cell in cells if bounds[cell.key][1] <= BURST_SLOWEST_SECONDS]
    return max(able, key=lambda cell: (cell.bs_bytes * cell.outstanding, -cell.size_bytes), default=None)


def _window_and_gap_ms(runner: Runner, cell: Cell) -> tuple[int, int]:
    """Of the probe of a cell: long enough for a wave of what is in flight, and for that to drain."""
    pace = runner.pace
    likely = pace.seen_seconds(cell) or pace.likely_seconds(cell)
    if likely is None:
        return PROBE_MS, PROBE_GAP_MS
    drain_ms = int(1500 * likely)
    bound_ms = drain_ms if pace.seen_seconds(cell) else int(1500 * (pace.latency_seconds(cell) or 0))
    # Where it may take long, what follows waits for it in a process of its own.
    own_ms = pace.own_process_gap_ms
    gap_ms = max(drain_ms, own_ms) if bound_ms >= own_ms else max(10, drain_ms)
    return min(PROBE_LONGEST_MS, max(PROBE_MS, drain_ms // 3)), min(PROBE_LONGEST_MS, gap_ms)


def _seconds(runner: Runner, cell: Cell, window: tuple[int, int]) -> float:
    """Expected time of a probe in a process of its own, what is in flight at its end included."""
    load = max(sum(window) / 1000, window[0] / 1000 + (runner.pace.likely_seconds(cell) or 0.0))
    return load + runner.budget.start_seconds


def _make(
    runner: Runner, cells: list[Cell], share: float, windows: Mapping[str, tuple[int, int]] | None = None
) -> None:
    """Probe these cells, those left out that take more than this share of what is left of a budget."""
    left = runner.budget.left
    windows = windows or {cell.key: _window_and_gap_ms(runner, cell) for cell in cells}
    if left is not None:
        cells = [cell for cell in cells if _seconds(runner, cell, windows[cell.key]) <= share * left]
    if not cells:
        return
    runner.emit(Event("probe", {"cells": len(cells)}))
    generator = random.Random(runner.plan.spec.order_seed)  # noqa: S311 - offsets, not secrets
    runner.journal.add_visits(
        [NewVisit(cell.key, PROBE_REPLICATE, generator.randrange(1, 2**31), Purpose.PROBE) for cell in cells]
    )
    rows = {row.visit_id: row for row in runner.journal.planned(Purpose.PROBE)}
    sections = [
        runner.section(row, max(runner.least_ms, windows[row.cell_key][0]), windows[row.cell_key][1])
        for row in rows.values()
    ]
    while sections:
        taken = take_sections(
            sections, seconds=BATCH_SECONDS, alone=lambda one: one.gap_ms >= runner.pace.own_process_gap_ms
        )
        runner.batch(taken, rows)
        sections = sections[len(taken) :]
    runner.journal.drop_planned("probe not finished", purpose=Purpose.PROBE)
