# SPDX-License-Identifier: Apache-2.0
"""A map that is larger than its budget: which sizes, cells and visits are left out, or whether the adaptive design
takes over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ioatlas.design.coarsen import coarsen
from ioatlas.fio.batch import TURN_MS
from ioatlas.model.cell import Cell
from ioatlas.model.purpose import Purpose
from ioatlas.model.units import format_duration, format_size
from ioatlas.run.plan import FIO_SECONDS, leave_out, visit_turns
from ioatlas.run.runner import BATCH_SECONDS, Runner

LAYOUT_SHARE = 0.25
"""Share of a budget that writing the files may take, at the planning rate."""

AGAIN_SHARE = 1.4
"""Time of a cell in an adaptive map over that of one visit: repeats, visits made again, more starts of fio."""

CLEAN_SECONDS = 0.5
LEFT_OUT = "left out: the budget did not allow it"

Sweep = Callable[[Runner], None]


def seconds_for(runner: Runner, cells: list[Cell], visits: int) -> float:
    """Load, gaps and starts of fio of so many visits of each cell, as planned."""
    turns = sum(visit_turns(cell, runner.pace) for cell in cells)
    per_batch = FIO_SECONDS + TURN_MS / 1000
    load = turns * visits * TURN_MS / 1000
    return load + per_batch * max(load / BATCH_SECONDS, 1)


class Fitting:
    """What of a plan a session has time for. reserve_seconds: what is kept back for the end."""

    def __init__(self, runner: Runner, reserve_seconds: Callable[[], float]) -> None:
        self._runner = runner
        self._reserve_seconds = reserve_seconds

    def fit_layout(self) -> None:
        """Leave out the largest sizes when writing the files alone would take too much of the budget."""
        runner = self._runner
        budget = runner.plan.spec.budget_seconds
        sizes = sorted({cell.size_bytes for cell in runner.plan.to_measure})
        if budget is None or runner.finished:
            return
        kept, plan = list(sizes), runner.plan
        while len(kept) > 1 and plan.preparation_seconds > budget * LAYOUT_SHARE:
            kept.pop()
            why = "left out: writing its file would take too much of the budget"
            plan = leave_out(runner.plan, {"size": tuple(kept)}, why)
        if len(kept) < len(sizes):
            gone = ", ".join(format_size(size) for size in sizes if size not in kept)
            told = f"writing their files would take too much of the budget of {format_duration(budget)}"
            runner.go_on_with(plan, f"Sizes {gone} left out: {told}.")

    def fit_budget(self) -> Sweep | None:
        """Coarsen a plan that does not fit what is left of its budget, and say what was left out; or the sweep that the
        adaptive design makes.
        """
        runner = self._runner
        spec, left = runner.plan.spec, runner.budget.left
        if left is None or runner.finished:
            return None
        left -= self._reserve_seconds()
        cells = list(runner.plan.to_measure)
        need = seconds_for(runner, cells, spec.visits)
        if need <= left:
            return None
        from ioatlas.procedures.adaptive_map.sweep import FEWEST_MEASURED, can_be_adaptive, hand_over

        affordable = int(left / (AGAIN_SHARE * seconds_for(runner, cells, 1) / len(cells)))
        if can_be_adaptive(cells) and affordable >= FEWEST_MEASURED:
            return hand_over(runner, min(affordable, len(cells)), need_seconds=need, left_seconds=left)
        self._coarsen(cells, need, left)
        return None

    def _coarsen(self, cells: list[Cell], need: float, left: float) -> None:
        runner = self._runner
        spec = runner.plan.spec

        def seconds(axes: Mapping[str, tuple[object, ...]], visits: int) -> float:
            inside = [cell for cell in cells if all(cell.option.get(name) in values for name, values in axes.items())]
            return seconds_for(runner, inside, visits)

        kept = coarsen(spec.axes, spec.visits, seconds, left)
        reduced = leave_out(runner.plan, kept.axes, LEFT_OUT)
        if kept.visits < spec.visits:
            runner.journal.drop_planned(LEFT_OUT, replicate=kept.visits, purpose=Purpose.SWEEP)
        gone = "; ".join(
            f"{name} {', '.join(str(value) for value in values)}" for name, values in kept.left_out.items()
        )
        text = (
            f"The full plan takes about {format_duration(need)}, the budget leaves {format_duration(max(left, 0.0))}: "
            f"{len(cells) - len(reduced.to_measure)} of {len(cells)} cells left out"
        )
        text += f" ({gone})" if gone else ""
        text += f"; {kept.visits} of {spec.visits} visits each" if kept.visits < spec.visits else ""
        text += "" if kept.fits else "; even that takes longer than the budget"
        runner.go_on_with(reduced, text + ".")
