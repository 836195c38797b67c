# SPDX-License-Identifier: Apache-2.0
"""Minima of small smooth problems, without the half second that the import of `scipy.optimize` takes.

Answers on the command line need them: a handful of parameters, a start near the answer. A test holds it against
scipy's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ioatlas.stats.warmup import Floats

MOST_STEPS = 200
_LARGER, _ZERO = 1.05, 0.00025
"""Where the first simplex stands, as shares of the start; as in scipy."""


def nelder_mead(
    cost: Callable[[Any], float], start: Sequence[float], *, xatol: float, fatol: float
) -> tuple[Floats, float]:
    """(parameters, cost) at a minimum near the start: Nelder and Mead's simplex as scipy has it."""
    first = np.asarray(start, dtype=float)
    points = [first]
    for index, value in enumerate(first):
        moved = first.copy()
        moved[index] = value * _LARGER if value else _ZERO
        points.append(moved)
    simplex = np.array(points)
    costs = np.array([cost(point) for point in simplex])
    for _ in range(MOST_STEPS * first.size):
        order = np.argsort(costs, kind="stable")
        simplex, costs = simplex[order], costs[order]
        if np.abs(simplex[1:] - simplex[0]).max() <= xatol and np.abs(costs[1:] - costs[0]).max() <= fatol:
            break
        _step(cost, simplex, costs)
    best = int(np.argmin(costs))
    return simplex[best], float(costs[best])


def _step(cost: Callable[[Any], float], simplex: Floats, costs: Floats) -> None:
    """Replace the worst corner of a sorted simplex, or shrink it towards the best."""
    middle = simplex[:-1].mean(axis=0)
    away = middle - simplex[-1]
    reflected = middle + away
    value = cost(reflected)
    if value < costs[0]:
        further = middle + 2 * away
        there = cost(further)
        simplex[-1], costs[-1] = (further, there) if there < value else (reflected, value)
        return
    if value < costs[-2]:
        simplex[-1], costs[-1] = reflected, value
        return
    outside = value < costs[-1]
    nearer = middle + (0.5 if outside else -0.5) * away
    there = cost(nearer)
    if there <= value if outside else there < costs[-1]:
        simplex[-1], costs[-1] = nearer, there
        return
    simplex[1:] = simplex[0] + 0.5 * (simplex[1:] - simplex[0])
    costs[1:] = [cost(point) for point in simplex[1:]]
