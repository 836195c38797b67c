# SPDX-License-Identifier: Apache-2.0
"""A target that moves inside replicates as much as between them: readings that stay on one side of their cells' levels
for several visits in a row.

Cells are visited in random orders, so without drift the order of the residuals tells nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import log1p

import numpy as np

from ioatlas.stats.drift import RELEVANT_SHIFT
from ioatlas.stats.warmup import Floats

METHOD = "wander/1"
FEWEST = 32
"""Readings of cells that were read more than once."""
LAGS = range(2, 7)
"""Distances, in visits, at which residuals are held against each other. What two neighbours share may be noise of the
moment.
"""
PERSISTENT = 0.5
"""Share of the residuals' variance that must still be common at these distances: of noise in which neighbours agree by
0.6 it is 0.17.
"""
LESS_PERSISTENT, STRONG = 0.3, 0.25
"""The same of a common part whose standard deviation is a quarter and more, which no noise of the moment has."""
RELEVANT = log1p(RELEVANT_SHIFT) / 2
"""Standard deviation of that common part, logarithms: one deviation up and one down are a relevant shift."""
_WIDTH = 5
_WILD = 3.0


@dataclass(frozen=True)
class Path:
    """Level over time. low, high: the running median's extremes, logarithms against the middle, and the readings at
    which they stand.
    """

    low: float
    high: float
    low_at: int
    high_at: int
    method: str = METHOD


def wander(cells: Sequence[Hashable], values: Sequence[float]) -> Path | None:
    """How the level wandered over readings in the order of time; None where it did not, or nobody can tell.

    cells, values: shape (n,); values positive. A cell read once tells nothing. Places are those of the input.
    """
    logs = np.log(np.asarray(values, dtype=float))
    places: dict[Hashable, list[int]] = {}
    for place, cell in enumerate(cells):
        places.setdefault(cell, []).append(place)
    residual = np.full(logs.size, np.nan)
    for mine in places.values():
        if len(mine) > 1:
            residual[mine] = logs[mine] - logs[mine].mean()
    kept = np.flatnonzero(np.isfinite(residual))
    if kept.size < FEWEST:
        return None
    series = residual[kept]
    series = series - float(np.median(series))
    spread = 1.4826 * float(np.median(np.abs(series)))
    tame = np.clip(series, -_WILD * spread, _WILD * spread)
    variance = float(np.mean(tame**2))
    if variance <= 0:
        return None
    common = float(np.mean([np.mean(tame[:-lag] * tame[lag:]) for lag in LAGS]))
    share = LESS_PERSISTENT if common >= STRONG**2 else PERSISTENT
    if common < max(share * variance, RELEVANT**2):
        return None
    level = _running_median(series)
    low, high = int(np.argmin(level)), int(np.argmax(level))
    return Path(float(level[low]), float(level[high]), int(kept[low]), int(kept[high]))


def _running_median(series: Floats) -> Floats:
    """Of _WIDTH readings, of fewer at the ends."""
    half = _WIDTH // 2
    return np.array([float(np.median(series[max(0, at - half) : at + half + 1])) for at in range(series.size)])
