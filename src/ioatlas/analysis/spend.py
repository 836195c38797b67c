# SPDX-License-Identifier: Apache-2.0
"""Where a campaign that wants precision spends its time: window lengths by Kalibera and Jones, visits by Neyman,
from the visits so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import log1p
from statistics import median

import numpy as np

from ioatlas.analysis.estimates import undecided
from ioatlas.analysis.precision import Grade
from ioatlas.analysis.windows import window_values
from ioatlas.design.spending import Levels, allocate, split_levels, visit_variance, window_seconds
from ioatlas.model.cell import Cell
from ioatlas.model.visit import Purpose, Visit
from ioatlas.stats.intervals import t_quantile

UNITS = 5
"""Window units that a visit is cut into; of fifty intervals ten each, which is longer than most autocorrelation."""
FEWEST_VISITS = 4
"""Visits with units from which a target's levels of variance are told apart."""
LONGEST_GROWTH = 4.0
"""A window grows by no more than this: what made windows noisy in the visits so far need not last."""
WORTH_GROWING = 1.25


@dataclass(frozen=True)
class Spending:
    """What to do next.

    visits: {cell key: further visits, to its next look}. window_seconds: {target: length} where longer windows
    narrow intervals for less time.
    levels: {target: variances between and within visits}. affordable: whether what is left of the budget should do
    for all.
    """

    visits: Mapping[str, int]
    window_seconds: Mapping[str, float]
    levels: Mapping[str, Levels]
    affordable: bool


def plan_spending(
    cells: Mapping[str, Cell],
    visits: Iterable[Visit],
    grade: Grade,
    *,
    seconds_of: Callable[[Cell], tuple[float, float]],
    left_seconds: float | None,
) -> Spending:
    """Further visits of the cells that are not precise enough.

    seconds_of: window and further cost of one visit of a cell. left_seconds: of the budget; None without one. Where
    it does not do for all, visits go where they lower the summed variance of the cells' means most for their cost;
    the others stay at the width they have, which is published.
    """
    made = [
        visit for visit in visits if visit.purpose is Purpose.SWEEP and not visit.discarded and visit.cell_key in cells
    ]
    waiting = undecided(cells, made, grade)
    swept: dict[str, list[Visit]] = {}
    for visit in made:
        swept.setdefault(visit.cell_key, []).append(visit)
    levels = _levels(cells, swept, waiting)
    windows: dict[str, float] = {}
    for target, level in levels.items():
        mine = [seconds_of(cells[key]) for key in waiting if cells[key].target == target]
        usual, start = median(pair[0] for pair in mine), median(pair[1] for pair in mine)
        best = window_seconds(level, start, shortest=usual, longest=LONGEST_GROWTH * usual)
        if best >= WORTH_GROWING * usual and grade.precision is not None and _saves(level, usual, best, start):
            windows[target] = best
    if left_seconds is None or not waiting or grade.precision is None:
        return Spending(waiting, windows, levels, affordable=True)
    deviations = {key: _deviation(swept[key]) for key in waiting}
    costs = {key: sum(seconds_of(cells[key])) for key in waiting}
    # Twice the deviation over the precision, squared: the visits of a cell in all.
    needed = {key: min(grade.cap, (2 * deviations[key] / log1p(grade.precision)) ** 2) for key in waiting}
    if sum(max(waiting[key], needed[key] - len(swept[key])) * costs[key] for key in waiting) <= left_seconds:
        return Spending(waiting, windows, levels, affordable=True)
    more = allocate(deviations, costs, left_seconds, done={key: len(swept[key]) for key in waiting}, most=grade.cap)
    chosen = {key: min(waiting[key], count) for key, count in more.items() if count}
    return Spending(chosen, windows, levels, affordable=False)


def _saves(level: Levels, usual: float, longer: float, start: float) -> bool:
    """Whether the longer window reaches the same width in less time: variance of a visit times its cost is what
    counts.
    """
    return visit_variance(level, longer) * (longer + start) < 0.9 * visit_variance(level, usual) * (usual + start)


def _levels(
    cells: Mapping[str, Cell], swept: Mapping[str, list[Visit]], waiting: Mapping[str, int]
) -> dict[str, Levels]:
    """Variances between and within visits of each target, pooled over its waiting cells after division by each
    cell's level.
    """
    tables: dict[str, list[tuple[float, list[float]]]] = {}
    for key in waiting:
        mine = [(units[0], units[1]) for visit in swept[key] if (units := _units(visit)) is not None]
        if len(mine) < 2:
            continue
        level = float(np.exp(np.mean([np.log(values) for _, values in mine])))
        tables.setdefault(cells[key].target, []).extend(
            (unit, [value / level for value in values]) for unit, values in mine
        )
    found = {}
    for target, rows in tables.items():
        if len(rows) >= FEWEST_VISITS:
            found[target] = split_levels([values for _, values in rows], median(unit for unit, _ in rows))
    return found


def _units(visit: Visit) -> tuple[float, list[float]] | None:
    """(seconds of a unit, throughput of each) of a visit's window; None where its series is too short or has a gap."""
    series = [part.series for part in visit.parts if part.series.bw_bytes_per_s]
    if not series:
        return None
    interval = series[0].interval_ms
    total = np.sum(
        [np.array(one.bw_bytes_per_s[: min(len(other.bw_bytes_per_s) for other in series)]) for one in series], axis=0
    )
    kept = total[visit.window_start_ms // interval :]
    length = len(kept) // UNITS
    if length < 1:
        return None
    means = kept[: length * UNITS].reshape(UNITS, length).mean(axis=1)
    return (length * interval / 1000, [float(value) for value in means]) if np.all(means > 0) else None


def _deviation(visits: Iterable[Visit]) -> float:
    """Standard deviation of the logarithm of one visit's throughput, with one visit's worth of caution for few
    visits.
    """
    values = [
        rate
        for visit in visits
        if (rate := sum(window_values(part, visit.window_start_ms).bw_bytes_per_s for part in visit.parts)) > 0
    ]
    if len(values) < 2:
        return 0.2
    return float(np.log(values).std(ddof=1)) * t_quantile(0.8, len(values) - 1) / t_quantile(0.8, 1e6)
