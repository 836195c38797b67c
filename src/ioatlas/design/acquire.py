# SPDX-License-Identifier: Apache-2.0
"""Which cells to measure next: a start that touches every level, then what lowers the map's error most per unit of
cost.
"""

from __future__ import annotations

import numpy as np

from ioatlas.surrogate.space import Floats, Ints, Space
from ioatlas.surrogate.surrogate import Surrogate

REFERENCES = 400
CANDIDATES = 300
WHERE_CLIFFS_LIE = ("footprint_bytes",)
"""Derived axes whose levels a start touches in each direction: a capacity that only many jobs exceed shows nowhere
else.
"""


def spread_out(space: Space, chosen: Ints, count: int, rng: np.random.Generator) -> list[int]:
    """`count` further cells, far from each other and from `chosen`; levels not yet touched come first, then levels
    not yet touched in a direction.
    """
    place = space.coordinates()
    levels = [space.index[:, d] for d in space.own_axes]
    direction = np.sum([number * space.in_direction(name) for number, name in enumerate(space.directions)], axis=0)
    within = [
        space.index[:, d] for d, axis in enumerate(space.axes) if not axis.derived or axis.name in WHERE_CLIFFS_LIE
    ]
    if len(space.directions) > 1 or len(within) > len(levels):
        levels += [level * len(space.directions) + direction for level in within]
    worth = np.r_[np.ones(len(space.own_axes)), np.full(len(levels) - len(space.own_axes), 0.5)]
    touched = [np.zeros(int(level.max()) + 1, dtype=bool) for level in levels]
    nearest = np.full(len(space), 4.0)

    def take(cell: int) -> None:
        np.minimum(nearest, np.sum((place - place[cell]) ** 2, axis=1), out=nearest)
        for seen, level in zip(touched, levels, strict=True):
            seen[level[cell]] = True

    for cell in chosen:
        take(int(cell))
    jitter = 0.9 + 0.2 * rng.random(len(space))
    taken = set(chosen.tolist())
    picked: list[int] = []
    for _ in range(min(count, len(space) - len(chosen))):
        fresh = sum(w * ~seen[level] for w, seen, level in zip(worth, touched, levels, strict=True))
        score = fresh + np.sqrt(nearest) * jitter
        score[list(taken)] = -1.0
        cell = int(np.argmax(score))
        picked.append(cell)
        taken.add(cell)
        take(cell)
    return picked


def reduce_error(
    model: Surrogate, open_cells: Ints, count: int, weight: Floats, cost: Floats, rng: np.random.Generator
) -> list[int]:
    """`count` cells that together lower the weighted variance of the map most for their cost: greedy, one update a
    pick.

    open_cells: cells that may be chosen. weight, cost: shape (len(space),): how much a cell's error matters, what a
    visit costs.
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
