# SPDX-License-Identifier: Apache-2.0
"""Minima of small smooth problems, without the half second that the import of `scipy.optimize` takes.

Answers on the command line need them: a handful of parameters, a start near the answer. A test holds both against
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
_SMALLEST = 1.5e-8
"""Step of a derivative, as a share: the root of a float's precision."""
_DONE = 1e-8
"""Gain of a step, as a share of the sum of squares, and length of a step, below which the answer is found."""


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


def least_squares(residuals: Callable[[Any], Any], start: Sequence[float]) -> tuple[Floats, float]:
    """(parameters, sum of squares) at a minimum near the start: Levenberg and Marquardt's steps, with derivatives from
    differences.
    """
    at = np.asarray(start, dtype=float)
    now = np.asarray(residuals(at), dtype=float)
    total, damping = float(now @ now), 1e-3
    for _ in range(MOST_STEPS):
        slopes = _derivatives(residuals, at, now)
        normal, downhill = slopes.T @ slopes, slopes.T @ now
        scale = np.maximum(np.diag(normal), 1e-12)
        try:
            move = np.linalg.solve(normal + damping * np.diag(scale), -downhill)
        except np.linalg.LinAlgError:
            damping *= 10
            continue
        new = np.asarray(residuals(at + move), dtype=float)
        value = float(new @ new)
        if not value < total:
            if np.abs(move).max() <= _DONE * (1 + np.abs(at).max()) or damping > 1e12:
                break
            damping *= 5
            continue
        gained = total - value
        at, now, total, damping = at + move, new, value, damping / 5
        if gained <= _DONE * total:
            break
    return at, total


def _derivatives(residuals: Callable[[Any], Any], at: Floats, now: Floats) -> Floats:
    """Of each residual by each parameter, shape (residuals, parameters)."""
    columns = []
    for index in range(at.size):
        step = _SMALLEST * max(1.0, abs(float(at[index])))
        moved = at.copy()
        moved[index] += step
        columns.append((np.asarray(residuals(moved), dtype=float) - now) / step)
    return np.column_stack(columns)
