# SPDX-License-Identifier: Apache-2.0
"""What the visits of a campaign say about drift: block effects, and the blocks to void and repeat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import expm1

from ioatlas.analysis.estimates import SWEEP_PURPOSES
from ioatlas.analysis.windows import window_values
from ioatlas.errors import UsageError
from ioatlas.model.cell import Cell
from ioatlas.model.visit import Visit
from ioatlas.stats.drift import fit_blocks, shift_within, void_reasons


@dataclass(frozen=True)
class BlockState:
    """One block of one target.

    effect, error: level against the mean of all blocks and its standard error, logarithms. voided: reasons to void it and run it again.
    shift: a change of level inside the block, or ''.
    """

    target: str
    block: int
    n_visits: int
    n_discarded: int
    effect: float
    error: float
    voided: tuple[str, ...] = ()
    shift: str = ""

    @property
    def sentence(self) -> str:
        moved = f"level {expm1(self.effect):+.1%} (standard error {self.error:.1%})"
        return "; ".join([f"block {self.block}: {moved}", *self.voided, *([self.shift] if self.shift else [])])


def block_states(cells: Mapping[str, Cell], visits: Iterable[Visit]) -> tuple[BlockState, ...]:
    """State of every block of the sweep, from the throughput of its visits; cells by key, all visits of the campaign.

    Targets with fewer than two blocks, or whose blocks share no cell, are left out: nothing can be said of their drift.
    """
    swept: dict[str, list[Visit]] = {}
    for visit in visits:
        if visit.cell_key in cells and visit.purpose in SWEEP_PURPOSES:
            swept.setdefault(cells[visit.cell_key].target, []).append(visit)
    return tuple(state for target, mine in swept.items() for state in _states(target, mine))


def _states(target: str, visits: list[Visit]) -> list[BlockState]:
    rows = []
    for visit in sorted(visits, key=lambda visit: visit.started_at):
        if visit.discarded:
            continue
        for part in visit.parts:
            value = window_values(part, visit.window_start_ms).bw_bytes_per_s
            if value > 0:
                rows.append((f"{visit.cell_key}/{part.direction}", visit.block, value))
    if len({block for _, block, _ in rows}) < 2:
        return []
    try:
        fit = fit_blocks([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])
    except UsageError:
        return []  # the blocks share no cell
    states = []
    for block in sorted(fit.effects):
        inside = [float(residual) for residual, row in zip(fit.residuals, rows, strict=True) if row[1] == block]
        total = [visit for visit in visits if visit.block == block]
        discarded = sum(bool(visit.discarded) for visit in total)
        shift = shift_within(inside)
        reasons = void_reasons(fit, block, n_visits=len(total), n_discarded=discarded)
        states.append(
            BlockState(target, block, len(total), discarded, fit.effects[block], fit.errors[block], reasons, shift[1] if shift else "")
        )
    return states
