# SPDX-License-Identifier: Apache-2.0
"""Which difference a comparison could find before it is measured, from the noise of a campaign that was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log1p, sqrt

import numpy as np

from ioatlas.analysis.compare import (
    FALSE_DISCOVERY_RATE,
    LEVEL,
    TOLERANCE,
    USUAL_POWER,
    Reading,
    detectable_of_cell,
)
from ioatlas.analysis.many import EFFECT
from ioatlas.stats.outlook import LevelOutlook, level_outlook
from ioatlas.stats.variance import pool_variance

METHOD = "power-foretold/1"
MOST_VISITS = 1000


@dataclass(frozen=True)
class Noise:
    """What one campaign says of its target. cv: of one visit, a share; dof: that it is known with. outlook: drift."""

    cv: float
    dof: float
    outlook: LevelOutlook
    n_cells: int
    visits: float


@dataclass(frozen=True)
class PowerForetold:
    """Of two campaigns of `cells` cells (directions counted) with `visits` visits of each, among `pairs` pairs.

    whole, cell: the smallest slow-down, as a share, of a whole map and of one single cell that is found with 80%
    chance. visits_whole, visits_cell: visits of each cell for which that is `effect`; None above 1,000.
    cv: noise of one visit, a share.
    """

    cells: int
    visits: float
    pairs: int
    tolerance: float
    effect: float
    whole: float
    cell: float
    visits_whole: int | None
    visits_cell: int | None
    cv: float
    method: str = METHOD


def noise_of(readings: Mapping[str, Sequence[Reading]]) -> Noise | None:
    """Noise of a campaign, by load; None where too few loads have two visits."""
    usable = {name: values for name, values in readings.items() if values and min(v.value for v in values) > 0}
    rows = [(value.time, value.value, number) for number, values in enumerate(usable.values()) for value in values]
    if not rows:
        return None
    times, values, cells = (np.array(column) for column in zip(*rows, strict=True))
    outlook = level_outlook(times, np.log(values), cells.astype(int).tolist())
    if outlook is None:
        return None
    pool = pool_variance([[value.value for value in values] for values in usable.values()])
    variance, dof = (pool.variance_log, pool.dof) if pool else _plain_pool(list(usable.values()))
    visits = float(np.median([len(values) for values in usable.values()]))
    return Noise(sqrt(variance), dof, outlook, len(usable), visits)


def _plain_pool(cells: Sequence[Sequence[Reading]]) -> tuple[float, float]:
    """Variance and degrees of freedom of few cells, each with the same noise."""
    logs = [np.log([reading.value for reading in values]) for values in cells if len(values) > 1]
    dof = sum(values.size - 1 for values in logs)
    return float(sum(((values - values.mean()) ** 2).sum() for values in logs) / dof), float(dof)


def foretell(
    noise: Noise,
    *,
    cells: int | None = None,
    visits: float | None = None,
    pairs: int = 1,
    tolerance: float = TOLERANCE,
    effect: float = EFFECT,
    apart_seconds: float | None = None,
) -> PowerForetold:
    """What a comparison of two campaigns with this noise could find; cells and visits as in the campaign itself where
    not given. apart_seconds: from one visit to the next.
    """
    n, v = cells or noise.n_cells, visits or noise.visits
    margin = log1p(tolerance)

    def whole(visits: float) -> float:
        # A comparison holds each visit against the other campaign's mean, and takes that mean's noise for its own.
        stated = noise.outlook.difference(n, visits, inflated=1 + 1 / visits, apart_seconds=apart_seconds)
        true = noise.outlook.difference(n, visits, apart_seconds=apart_seconds)
        half = stated.half_width(1 - LEVEL / pairs)
        return 1 - exp(-(half + margin + true.half_width(2 * USUAL_POWER - 1)))

    def single(visits: float) -> float:
        shared = noise.outlook.difference(n, visits, apart_seconds=apart_seconds).drift_variance
        error = sqrt(2 * noise.cv**2 / visits + shared)
        dof = 2 * (noise.dof + visits - 1)
        return detectable_of_cell(error, dof, margin, FALSE_DISCOVERY_RATE / (n * pairs))

    return PowerForetold(
        n,
        v,
        pairs,
        tolerance,
        effect,
        whole(v),
        single(v),
        _fewest(whole, effect),
        _fewest(single, effect),
        noise.cv,
    )


def _fewest(detectable: Callable[[float], float], effect: float) -> int | None:
    """The fewest visits for which `effect` is detectable."""
    if detectable(MOST_VISITS) > effect:
        return None
    low, high = 0, MOST_VISITS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if detectable(middle) <= effect else (middle, high)
    return high
