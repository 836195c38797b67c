# SPDX-License-Identifier: Apache-2.0
"""The sweep of an adaptive map: what the design asks for, batch after batch, until it is done or the budget ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ioatlas.model.cell import Cell
from ioatlas.model.outcomes import AdaptiveLimit, ComputeSeconds
from ioatlas.model.purpose import Purpose
from ioatlas.model.status import RemarkKind
from ioatlas.model.units import format_duration
from ioatlas.procedures.adaptive_map.options import AdaptiveOptions
from ioatlas.run.runner import Runner

FEWEST_CELLS = 60
"""Maps smaller than this are measured whole or coarsened: a model has nothing to save there."""
FEWEST_MEASURED = 24


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
        f"{format_duration(left_seconds)}: "
        f"about {limit} of {count} cells are measured, chosen by the adaptive design; those left out are predicted, "
        "with the error stated.",
    )
    return adaptive_sweep


def adaptive_sweep(runner: Runner) -> None:
    """Make what the design asks for; then predict the rest."""
    from ioatlas.procedures.adaptive_map.maps import adaptive_maps  # the model is imported where a map is made

    spec, now = runner.plan.spec, runner.environment.executor.clock.monotonic
    limit = runner.journal.kept(AdaptiveLimit).cells or spec.of(AdaptiveOptions).cells
    maps = adaptive_maps(
        runner.journal, runner.plan.to_measure, limit=limit, error=spec.of(AdaptiveOptions).error, seed=spec.order_seed
    )
    thinking = 0.0
    going = runner.make_planned(Purpose.SWEEP)
    while going:
        begin = now()
        asked = sum(each.plan_next() for each in maps)
        thinking += now() - begin
        going = bool(asked) and runner.make_planned(Purpose.SWEEP)
    begin = now()
    for each in maps:
        each.finish()
    thinking += now() - begin
    runner.journal.keep(ComputeSeconds(round(thinking, 3)))
