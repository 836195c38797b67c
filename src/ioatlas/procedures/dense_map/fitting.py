# SPDX-License-Identifier: Apache-2.0
"""A map that is larger than its budget: windows shrink first, then visits, then cells go, the dearest first; or the
adaptive design takes over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ioatlas.analysis.wording import plural
from ioatlas.design.coarsen import coarsen
from ioatlas.design.exhaustive import random_replicates
from ioatlas.design.pace import LEAST_SHARE
from ioatlas.fio.batch import TURN_MS
from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.outcomes import Fitted, Needed
from ioatlas.model.purpose import Purpose
from ioatlas.model.units import format_duration, format_size, round_budget
from ioatlas.procedures.dense_map.expected import AGAIN_SHARE, sizes_within
from ioatlas.run.plan import leave_out, visit_turns
from ioatlas.run.runner import BATCH_SECONDS, Runner
from ioatlas.store.journal import NewVisit

CLEAN_SECONDS = 0.5
LEFT_OUT = "left out: the budget did not allow it"
PLANNED_ANEW = "planned anew: the budget did not allow every visit"
GENTLE_SHARES = (0.7, 0.5)
"""Shares of a usual window that are tried before the adaptive design takes over."""
SMALL_SHARES = (0.35, 0.25, LEAST_SHARE)
LEAST_MORE = 1.2
"""Times a budget that left something out, of which one is told that suffices."""

Sweep = Callable[[Runner], None]


def visit_seconds(runner: Runner, cell: Cell) -> float:
    """Expected time of one visit of a cell: its load, its gap, and its part of the start of a process."""
    turns = visit_turns(cell, runner.pace) + runner.lead_ms(cell) / 100
    load = turns * TURN_MS / 1000 * runner.budget.slowdown
    starts = 1.0 if has_own_process(runner, cell) else load / BATCH_SECONDS
    return load + starts * runner.budget.start_seconds


def has_own_process(runner: Runner, cell: Cell) -> bool:
    """Whether what the cell keeps in flight takes too long to share a process."""
    return runner.pace.runtime_and_gap_ms(cell)[1] >= runner.pace.own_process_gap_ms


def seconds_for(runner: Runner, cells: Sequence[Cell], visits: int) -> float:
    """Load, gaps and starts of fio of so many visits of each cell, as planned."""
    own = sum(has_own_process(runner, cell) for cell in cells)
    # In a random order those that share a process stand between those that do not.
    more = min(own, len(cells) - own) if own else 1
    each = sum(visit_seconds(runner, cell) for cell in cells)
    return visits * each + (visits if own else 1) * more * (runner.budget.start_seconds + TURN_MS / 1000)


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
        kept = sizes_within(runner.plan, budget)
        if len(kept) < len(sizes):
            gone = ", ".join(format_size(size) for size in sizes if size not in kept)
            told = f"writing their files would take too much of the budget of {format_duration(budget)}"
            why = "left out: writing its file would take too much of the budget"
            plan = leave_out(runner.plan, {"size": tuple(kept)}, why)
            runner.go_on_with(plan, f"Sizes {gone} left out: {told}.")

    def fit_budget(self) -> Sweep | None:
        """Make a plan that does not fit what is left of its budget smaller; or the sweep that the adaptive design
        makes.
        """
        runner = self._runner
        runner.pace.share = runner.journal.kept(Fitted).share
        left = runner.budget.left
        if left is None or runner.finished:
            return None
        left -= self._reserve_seconds()
        cells = list(runner.plan.to_measure)
        visits = runner.plan.spec.visits
        need = seconds_for(runner, cells, visits)
        if need <= left or self._shrunk(cells, visits, left, GENTLE_SHARES):
            return None
        from ioatlas.procedures.adaptive_map.sweep import FEWEST_MEASURED, can_be_adaptive, hand_over

        affordable = int(left / (AGAIN_SHARE * seconds_for(runner, cells, 1) / len(cells)))
        once = runner.plan.spec.set_ups == 1  # all set-ups measure the same cells
        if once and can_be_adaptive(cells) and affordable >= FEWEST_MEASURED:
            return hand_over(runner, min(affordable, len(cells)), need_seconds=need, left_seconds=left)
        if self._shrunk(cells, visits, left, SMALL_SHARES):
            return None
        if self._shrunk(cells, 1, left, (*GENTLE_SHARES, *SMALL_SHARES)):
            runner.journal.drop_planned(PLANNED_ANEW, replicate=1, purpose=Purpose.SWEEP)
            return None
        self._plan_anew(self._affordable(cells, left))
        return None

    def take_cheapest(self) -> None:
        """A budget too short for probes: the lightest cell of each target first, which tells what the others cost."""
        runner = self._runner
        runner.pace.share = LEAST_SHARE
        runner.journal.keep(Fitted(LEAST_SHARE))
        lightest: dict[str, Cell] = {}
        for cell in sorted(runner.plan.to_measure, key=lambda one: (one.bs_bytes * one.outstanding, bool(one.writes))):
            lightest.setdefault(cell.target, cell)
        unknown = [cell for cell in lightest.values() if runner.pace.latency_seconds(cell) is None]
        self._plan_anew(unknown)

    def _shrunk(self, cells: Sequence[Cell], visits: int, left: float, shares: Sequence[float]) -> bool:
        """Whether so many visits of all cells fit with windows of one of these shares, which is kept then."""
        pace = self._runner.pace
        for share in shares:
            pace.share = share
            if seconds_for(self._runner, cells, visits) <= left:
                self._runner.journal.keep(Fitted(share))
                return True
        pace.share = 1.0
        return False

    def _affordable(self, cells: Sequence[Cell], left: float) -> list[Cell]:
        """The cells to begin with: evenly spread levels where these fit, else the cheapest of them; one at least."""
        runner = self._runner
        runner.pace.share = LEAST_SHARE
        runner.journal.keep(Fitted(LEAST_SHARE))

        def inside(axes: Mapping[str, tuple[OptionValue, ...]]) -> list[Cell]:
            return [cell for cell in cells if all(cell.option.get(name) in values for name, values in axes.items())]

        kept = coarsen(_axes_of(cells), 1, lambda axes, _: seconds_for(runner, inside(axes), 1), left)
        chosen = inside(kept.axes)
        return chosen if kept.fits else cheapest(runner, chosen, left) or [min(cells, key=_cost(runner))]

    def _plan_anew(self, cells: Sequence[Cell]) -> None:
        """One visit of these cells in the place of all that was planned."""
        runner = self._runner
        runner.journal.drop_planned(PLANNED_ANEW, purpose=Purpose.SWEEP)
        seeds = {
            key: seed
            for key, _, seed in random_replicates([cell.key for cell in cells], 1, runner.plan.spec.order_seed)
        }
        order = sorted(cells, key=_cost(runner)) if any(has_own_process(runner, cell) for cell in cells) else None
        keys = [cell.key for cell in order] if order else list(seeds)
        runner.journal.add_visits(NewVisit(key, 0, seeds[key]) for key in keys)

    def tell_left_out(self) -> None:
        """Mark the cells that the budget has not reached, and say what would reach them."""
        runner = self._runner
        budget = runner.plan.spec.budget_seconds
        tried = {visit.cell_key for visit in runner.journal.visits() if visit.purpose is Purpose.SWEEP}
        failed = {key for key, _ in runner.journal.failures()}
        gone = [cell for cell in runner.plan.to_measure if cell.key not in tried | failed]
        if budget is None or not gone or runner.journal.predictions():
            return
        count = len(runner.plan.to_measure)
        more = runner.budget.elapsed + seconds_for(runner, gone, 1) + self._reserve_seconds()
        needed = max(more, LEAST_MORE * budget)
        runner.journal.keep(Needed(round(needed, 1)))
        left_out = {cell.key for cell in gone}
        told = f"{len(gone)} of {plural(count, 'cell')} left out"
        cells = tuple((cell, LEFT_OUT if cell.key in left_out else why) for cell, why in runner.plan.cells)
        runner.go_on_with(
            replace(runner.plan, cells=cells),
            f"{told}: the budget of {format_duration(budget)} did not allow them. Try --budget {round_budget(needed)}.",
        )


def cheapest(runner: Runner, cells: Sequence[Cell], seconds: float) -> list[Cell]:
    """The cheapest of these cells, one visit of each, as many as fit."""
    chosen: list[Cell] = []
    for cell in sorted(cells, key=_cost(runner)):
        seconds -= visit_seconds(runner, cell)
        if seconds < 0:
            break
        chosen.append(cell)
    return chosen


def _cost(runner: Runner) -> Callable[[Cell], tuple[float, float]]:
    """What cells are sorted by: their time, then the bytes in flight."""
    return lambda cell: (visit_seconds(runner, cell), cell.bs_bytes * cell.outstanding)


def _axes_of(cells: Sequence[Cell]) -> dict[str, tuple[OptionValue, ...]]:
    """Options that vary on a target, with the values of its cells; in their order."""
    found: dict[str, dict[OptionValue, None]] = {}
    varied: set[str] = set()
    first: dict[tuple[str, str], OptionValue] = {}
    for cell in cells:
        for name, value in cell.options:
            found.setdefault(name, {})[value] = None
            if first.setdefault((cell.target, name), value) != value:
                varied.add(name)
    return {name: tuple(values) for name, values in found.items() if name in varied}
