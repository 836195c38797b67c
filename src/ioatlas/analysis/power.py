# SPDX-License-Identifier: Apache-2.0
"""Which difference a comparison could find before it is measured, from the noise of a campaign that was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log, log1p, sqrt

import numpy as np

from ioatlas.analysis.compare import (
    FALSE_DISCOVERY_RATE,
    LEVEL,
    TOLERANCE,
    USUAL_POWER,
    Reading,
    between_set_ups,
    detectable_of_cell,
    within_set_ups,
)
from ioatlas.analysis.many import EFFECT
from ioatlas.analysis.set_ups import Between
from ioatlas.stats.intervals import pool_variance
from ioatlas.stats.level import Spread
from ioatlas.stats.outlook import LevelOutlook, level_outlook

METHOD = "power-foretold/2"
MOST_VISITS = 1000
MOST_SET_UPS = 100


@dataclass(frozen=True)
class Noise:
    """What one campaign says of its target. cv: of one visit, a share; dof: that it is known with. outlook: drift,
    within set-ups where there are several. moved: what moves between these; None where that is not known.
    """

    cv: float
    dof: float
    outlook: LevelOutlook
    n_cells: int
    visits: float
    moved: Between | None = None


@dataclass(frozen=True)
class PowerForetold:
    """Of two campaigns of `cells` cells (directions counted) with `visits` visits of each, among `pairs` pairs.

    whole, cell: the smallest slow-down, as a share, of a whole map and of one single cell that is found with 80%
    chance. visits_whole, visits_cell: visits of each cell for which that is `effect`; None above 1,000.
    cv: noise of one visit, a share. set_ups: of each configuration; 0 where they are not set up one after another.
    set_up_sd: how far one of them lies off, a share: part of all figures; None where it is in none. set_ups_whole: as
    visits_whole, with a visit in each at least; None above 100.
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
    set_ups: int = 0
    set_up_sd: float | None = None
    set_ups_whole: int | None = None
    method: str = METHOD


def noise_of(readings: Mapping[str, Sequence[Reading]], *, moved: Between | None = None) -> Noise | None:
    """Noise of a campaign, by load; None where too few loads have two visits.

    moved: what moves between set-ups, where more is known of it than these readings tell.
    """
    usable = {name: values for name, values in readings.items() if values and min(v.value for v in values) > 0}
    rows = [value for values in usable.values() for value in values]
    if not rows:
        return None
    cells = [number for number, values in enumerate(usable.values()) for _ in values]
    levels = [float(np.log([value.value for value in values]).mean()) for values in usable.values()]
    residuals = np.array([log(row.value) - levels[cell] for row, cell in zip(rows, cells, strict=True)])
    outlook = level_outlook(np.array([row.time for row in rows]), within_set_ups(rows, residuals), cells)
    if outlook is None:
        return None
    pool = pool_variance([[value.value for value in values] for values in usable.values()])
    variance, dof = (pool.variance_log, pool.dof) if pool else _plain_pool(list(usable.values()))
    visits = float(np.median([len(values) for values in usable.values()]))
    return Noise(sqrt(variance), dof, outlook, len(usable), visits, moved or between_set_ups(rows))


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
    set_ups: int = 0,
    pooled: int = 2,
) -> PowerForetold:
    """What a comparison of two campaigns with this noise could find; cells and visits as in the campaign itself where
    not given. apart_seconds: from one visit to the next. set_ups: of each side; what moves between them counts where
    there are two or more. pooled: over how many sides the comparison will know that.
    """
    n, v = cells or noise.n_cells, visits or noise.visits
    margin, level = log1p(tolerance), LEVEL / pairs

    def moved(each: int, level: float, dof: int | None = None) -> float:
        """Variance that so many set-ups of each side add to the difference."""
        if noise.moved is None or each < 2:
            return 0.0
        return replace(noise.moved, dof=dof or noise.moved.dof).variance_of_difference(each, each, level)

    def difference(visits: float, each: int, *, inflated: float = 1.0) -> Spread:
        """As a comparison will state it, which knows what moves from its own set-ups only."""
        extra = moved(each, level, pooled * (each - 1))
        return noise.outlook.difference(n, visits, inflated=inflated, apart_seconds=apart_seconds, extra_variance=extra)

    def whole(visits: float, each: int = set_ups) -> float:
        # A comparison holds each visit against the other campaign's mean, and takes that mean's noise for its own.
        stated = difference(visits, each, inflated=1 + 1 / visits)
        true = noise.outlook.difference(
            n, visits, apart_seconds=apart_seconds, extra_variance=moved(each, 2 * (1 - USUAL_POWER))
        )
        return 1 - exp(-(stated.half_width(1 - level) + margin + true.half_width(2 * USUAL_POWER - 1)))

    def single(visits: float) -> float:
        error = sqrt(2 * noise.cv**2 / visits + difference(visits, set_ups).drift_variance)
        dof = 2 * (noise.dof + visits - 1)
        return detectable_of_cell(error, dof, margin, FALSE_DISCOVERY_RATE / (n * pairs))

    known = noise.moved if set_ups > 1 else None
    return PowerForetold(
        n,
        v,
        pairs,
        tolerance,
        effect,
        whole(v),
        single(v),
        _fewest(whole, effect, MOST_VISITS, at_least=set_ups),
        _fewest(single, effect, MOST_VISITS, at_least=set_ups),
        noise.cv,
        set_ups,
        None if known is None else sqrt(known.variance),
        None if known is None else _fewest(lambda each: whole(max(v, each), each), effect, MOST_SET_UPS, at_least=2),
    )


def _fewest(detectable: Callable[[int], float], effect: float, most: int, *, at_least: int = 1) -> int | None:
    """The fewest, of visits or set-ups, for which `effect` is detectable."""
    if detectable(most) > effect:
        return None
    low, high = max(0, at_least - 1), most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if detectable(middle) <= effect else (middle, high)
    return high
