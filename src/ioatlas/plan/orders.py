# SPDX-License-Identifier: Apache-2.0
"""The order of a sweep, and what becomes of one that does not fit.

Random complete block designs: every replicate visits every cell once, in an order of its own (Abedi and Brecht, ICPE
2017).

A plan that does not fit its budget loses levels of its axes, evenly and from the inside, until it does.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ioatlas.model.cell import OptionValue


def random_replicates(keys: Sequence[str], replicates: int, seed: int) -> list[tuple[str, int, int]]:
    """(cell key, replicate, seed of the visit) in the order in which the visits are to be made; equal seeds give equal
    orders.
    """
    generator = random.Random(seed)  # noqa: S311 - an order, not a secret
    order: list[tuple[str, int, int]] = []
    for replicate in range(replicates):
        shuffled = list(keys)
        generator.shuffle(shuffled)
        order += [(key, replicate, generator.randrange(1, 2**31)) for key in shuffled]
    return order


Axes = Mapping[str, tuple[OptionValue, ...]]


@dataclass(frozen=True)
class Coarsened:
    """What is left of the axes, and how many visits every cell gets."""

    axes: Axes
    visits: int
    fits: bool = True


def coarsen(axes: Axes, visits: int, seconds: Callable[[Axes, int], float], budget_seconds: float) -> Coarsened:
    """Drop levels until `seconds(axes, visits)` is within the budget.

    The axis with the most levels loses the inner level that is nearest to its neighbours (on a log scale), so that
    ends and coverage stay; only axes of numbers lose levels. Then the number of visits falls to 1, last the axes keep
    one level. `fits` is False when even the smallest plan takes longer than the budget.
    """
    left: dict[str, list[OptionValue]] = {name: list(values) for name, values in axes.items()}
    numeric = [name for name, values in axes.items() if all(isinstance(value, (int, float)) for value in values)]
    wanted = visits

    def spent() -> float:
        return seconds({name: tuple(values) for name, values in left.items()}, wanted)

    for floor in (2, 1):
        while spent() > budget_seconds:
            candidates = [name for name in numeric if len(left[name]) > floor]
            if not candidates:
                break
            name = max(candidates, key=lambda candidate: len(left[candidate]))
            _drop(left[name])
        if spent() > budget_seconds:
            wanted = 1
    kept = {name: tuple(values) for name, values in left.items()}
    return Coarsened(kept, wanted, fits=spent() <= budget_seconds)


def _drop(values: list[OptionValue]) -> None:
    """Take out the inner level nearest to its neighbours; of two, the larger."""
    if len(values) == 2:
        values.pop()
        return
    places = [math.log(max(float(value), 1e-9)) if float(value) > 0 else -1.0 for value in values]
    inner = range(1, len(values) - 1)
    values.pop(min(inner, key=lambda i: (round(places[i + 1] - places[i - 1], 6), -abs(i - len(values) / 2))))
