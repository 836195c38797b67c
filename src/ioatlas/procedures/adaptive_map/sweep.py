# SPDX-License-Identifier: Apache-2.0
"""The sweep of an adaptive map: what the design asks for, batch after batch, until it is done or the budget ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ioatlas.model.cell import Cell
from ioatlas.model.outcomes import AdaptiveLimit, ComputeSeconds
from ioatlas.model.units import format_duration
from ioatlas.model.visit import Purpose, RemarkKind
from ioatlas.procedures.options import AdaptiveOptions
from ioatlas.run.runner import Runner

FEWEST_CELLS = 60
"""Maps smaller than this are measured whole or coarsened: a model has nothing to save there."""
FEWEST_MEASURED = 24
FEWEST_MORE = 3
"""Cells for which a design that is done goes on with the time that is left."""


def can_be_adaptive(cells: Sequence[Cell]) -> bool:
    """Whether a model can stand in for part of these cells: enough of them, varied along a number, bounded by time."""
    varied = {name for cell in cells for name, value in cell.options if isinstance(value, int)} if cells else set()
    numeric = [name for name in varied if len({cell.option.get(name) for cell in cells}) > 2]
    return len(cells) >= FEWEST_CELLS and bool(numeric) and not any(cell.work_bounded for cell in cells)


def hand_over(runner: Runner, limit: int, *, need_seconds: float, left_seconds: float) -> Callable[[Runner], None]:
    """Hand a map whose plan does not fit its budget over to the adaptive design, which measures at most `limit`
    cells.
    """
    count = len(runner.plan.to_measure)
    runner.journal.drop_planned("left to the adaptive design", purpose=Purpose.SWEEP)
    runner.journal.keep(AdaptiveLimit(limit))
    runner.remark(
        RemarkKind.LEFT_OUT,
        f"The full plan takes about {format_duration(need_seconds)}, the budget leaves "
        f"{format_duration(left_seconds)}. The adaptive design chooses about {limit} of {count} cells to measure. "
        "The others are predicted, with the error stated.",
    )
    return adaptive_sweep


def adaptive_sweep(runner: Runner) -> None:
    """Make what the design asks for, more than was reckoned with while a budget has time left; then predict the
    rest.
    """
    from ioatlas.procedures.adaptive_map.maps import adaptive_maps  # the model is imported where a map is made

    spec, now = runner.plan.spec, runner.environment.executor.clock.monotonic
    own, error = spec.of(AdaptiveOptions), spec.of(AdaptiveOptions).error
    thinking = 0.0
    limit = runner.journal.kept(AdaptiveLimit).cells or own.cells
    going = runner.make_planned(Purpose.SWEEP)
    while True:
        maps = adaptive_maps(runner.journal, runner.plan.to_measure, limit=limit, error=error, seed=spec.order_seed)
        while going:
            begin = now()
            asked = sum(each.plan_next() for each in maps)
            thinking += now() - begin
            if not asked:
                break
            going = runner.make_planned(Purpose.SWEEP)
        more = _affordable_more(runner) if going and runner.journal.is_kept(AdaptiveLimit) else 0
        if limit is None or more < FEWEST_MORE or limit >= len(runner.plan.to_measure):
            break
        limit = min(limit + more, len(runner.plan.to_measure))
        runner.journal.keep(AdaptiveLimit(limit))
    begin = now()
    for each in maps:
        each.finish()
    thinking += now() - begin
    runner.journal.keep(ComputeSeconds(round(thinking, 3)))


def _affordable_more(runner: Runner) -> int:
    """Cells that what is left of a budget still allows, by what those so far took; 0 without one."""
    left = runner.budget.left
    visits = [visit for visit in runner.journal.visits() if visit.purpose is Purpose.SWEEP]
    measured = len({visit.cell_key for visit in visits if not visit.discarded})
    if left is None or not measured:
        return 0
    each = runner.budget.spent_seconds / measured
    return int((left - runner.steps.reserve_seconds()) / each)
