# SPDX-License-Identifier: Apache-2.0
"""Which cells to measure next: a start that touches every level, then what lowers the map's error most per unit of cost."""

from __future__ import annotations

import numpy as np

from ioatlas.surrogate.space import Floats, Ints, Space
from ioatlas.surrogate.surrogate import Surrogate

REFERENCES = 400
CANDIDATES = 300


def spread_out(space: Space, chosen: Ints, count: int, rng: np.random.Generator) -> list[int]:
    """`count` further cells, far from each other and from `chosen`; levels not yet touched come first."""
    place = space.coordinates()
    levels = space.index[:, space.own_axes]
    touched = [set(levels[chosen, d].tolist()) for d in range(levels.shape[1])]
    nearest = np.full(len(space), np.inf)
    for cell in chosen:
        nearest = np.minimum(nearest, np.sum((place - place[cell]) ** 2, axis=1))
    nearest[chosen] = -1.0
    jitter = rng.random(len(space))
    picked: list[int] = []
    for _ in range(min(count, len(space) - len(chosen))):
        fresh = sum((~np.isin(levels[:, d], list(touched[d]))).astype(float) for d in range(levels.shape[1]))
        distance = np.sqrt(np.minimum(nearest, 4.0).clip(0)) * (0.9 + 0.2 * jitter)
        score = np.where(nearest < 0, -1.0, fresh + distance)
        cell = int(np.argmax(score))
        picked.append(cell)
        for d in range(levels.shape[1]):
            touched[d].add(int(levels[cell, d]))
        nearest = np.minimum(nearest, np.sum((place - place[cell]) ** 2, axis=1))
        nearest[picked] = -1.0
    return picked


def reduce_error(model: Surrogate, open_cells: Ints, count: int, weight: Floats, cost: Floats, rng: np.random.Generator) -> list[int]:
    """`count` cells that together lower the weighted variance of the map most for their cost: greedy, one update a pick.

    open_cells: cells that may be chosen. weight, cost: shape (len(space),): how much a cell's error matters, what a visit costs.
    Integrated variance after Cohn, Neural Networks 9(6), 1996; the map is represented by a random subset of its cells.
    """
    candidates = rng.choice(open_cells, min(CANDIDATES, len(open_cells)), replace=False)
    references = rng.choice(open_cells, min(REFERENCES, len(open_cells)), replace=False)
    both = np.concatenate([candidates, references])
    covariance = model.covariance(both)
    nugget = model.hyper.rough_var + model.training.noise.var
    m = len(candidates)
    matter = np.concatenate([np.zeros(m), weight[references]])
    free = np.ones(m, dtype=bool)
    picked: list[int] = []
    for _ in range(min(count, m)):
        own = np.maximum(np.diag(covariance)[:m], 0) + nugget
        gain = (covariance[:m] ** 2) @ matter / own / cost[candidates]
        at = int(np.argmax(np.where(free, gain, -np.inf)))
        picked.append(int(candidates[at]))
        free[at] = False
        column = covariance[:, at]
        covariance = covariance - np.outer(column, column) / own[at]
    return picked
