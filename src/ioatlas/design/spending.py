# SPDX-License-Identifier: Apache-2.0
"""Where to spend measuring time: longer windows or more visits, and which cells get the next visits."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from ioatlas.errors import UsageError


@dataclass(frozen=True)
class Levels:
    """Two-level variance of log throughput.

    between: variance between visits beyond what their windows explain. within: variance of one window unit
    (`unit_seconds` long) around its visit. Both dimensionless.
    """

    between: float
    within: float
    unit_seconds: float


def split_levels(visits: Sequence[Sequence[float]], unit_seconds: float) -> Levels:
    """Levels from equally many window units of each visit (one-way random-effects analysis of variance on logarithms).

    visits: v >= 2 visits, each with w >= 2 positive unit means, of one cell or of many after division by the cell's
    mean.
    within = mean square inside visits; between = (mean square between visits - within) / w, 0 when negative.
    Units must be longer than the autocorrelation time, or `within` is too small.
    """
    if len(visits) < 2 or min(len(units) for units in visits) < 2:
        raise UsageError(
            "levels of variance take two visits or more with two window units each",
            remedy="measure more visits or cut the windows finer",
        )
    width = min(len(units) for units in visits)
    table = np.array([list(units)[:width] for units in visits], dtype=float)
    if not np.all(table > 0):
        raise UsageError(
            "a window unit has no throughput, its logarithm does not exist", remedy="leave stalled visits out"
        )
    logs = np.log(table)
    within = float(logs.var(axis=1, ddof=1).mean())
    between = max(0.0, float(logs.mean(axis=1).var(ddof=1)) - within / width)
    return Levels(between, within, unit_seconds)


def window_seconds(levels: Levels, start_seconds: float, *, shortest: float = 0.2, longest: float = 60.0) -> float:
    """Window length that gives the narrowest interval for the time spent.

    Kalibera and Jones (2013, ISMM, section 5): units in a visit = sqrt(cost of a start / cost of a unit x within /
    between). start_seconds: what a visit costs besides its window. Without variance between visits, or without cost of
    a start, the bound is returned.
    """
    if start_seconds <= 0:
        return shortest
    if levels.between <= 0:
        return longest if levels.within > 0 else shortest
    units = sqrt(start_seconds / levels.unit_seconds * levels.within / levels.between)
    return float(min(max(units * levels.unit_seconds, shortest), longest))


def visit_variance(levels: Levels, seconds: float) -> float:
    """Variance of one visit's log mean for windows of `seconds`."""
    return levels.between + levels.within * levels.unit_seconds / seconds


def allocate(
    deviations: Mapping[str, float],
    cost_seconds: Mapping[str, float],
    budget_seconds: float,
    *,
    done: Mapping[str, int] | None = None,
    least: int = 0,
    most: int | None = None,
) -> dict[str, int]:
    """Further visits for each cell: Neyman allocation, visits in all proportional to deviation / sqrt(cost) (Cochran
    1977, section 5.5).

    deviations: standard deviation of one visit's logarithm by cell; cost_seconds: cost of one visit; done: visits
    already made;
    least, most: visits in all a cell gets at least and at most. Greedy to whole visits: each goes where it lowers the
    summed variance of the cells' means most for its cost, which is Neyman's optimum for whole numbers. Never spends
    above the budget.
    """
    made = {cell: (done or {}).get(cell, 0) for cell in deviations}
    more = dict.fromkeys(deviations, 0)
    left = budget_seconds

    def gain(cell: str) -> float:
        n = made[cell] + more[cell]
        if n < least:
            return inf
        return deviations[cell] ** 2 / (n * (n + 1) if n else 0.5) / cost_seconds[cell]

    order = {cell: index for index, cell in enumerate(deviations)}
    heap = [(-gain(cell), order[cell], cell) for cell in deviations]
    heapq.heapify(heap)
    while heap:
        best, _, cell = heapq.heappop(heap)
        if best == 0 or cost_seconds[cell] > left or (most is not None and made[cell] + more[cell] >= most):
            continue
        more[cell] += 1
        left -= cost_seconds[cell]
        heapq.heappush(heap, (-gain(cell), order[cell], cell))
    return more
