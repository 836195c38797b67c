# SPDX-License-Identifier: Apache-2.0
"""How well the level of a campaign yet to come will be known, from the noise and the drift of one that was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ioatlas.stats.level import LONGEST, SHARES, STRETCHES, TIMES, Spread, profiled
from ioatlas.stats.warmup import Floats

METHOD = "white-plus-ou-within-cells/1"
_BINS = 240
_FEWEST_STRETCHES = 4


@dataclass(frozen=True)
class LevelOutlook:
    """Noise of single visits and drift of the target, as a mixture of which nobody knows better.

    weights, white, drift, tau: shape (g,): white variance of a visit, drift variance (logarithms), and its correlation
    time in seconds. dof: that the variances are known with. seconds: from one visit to the next.
    """

    weights: Floats
    white: Floats
    drift: Floats
    tau: Floats
    dof: float
    seconds: float
    method: str = METHOD

    def difference(
        self,
        cells: int,
        visits: float,
        *,
        inflated: float = 1.0,
        apart_seconds: float | None = None,
        extra_variance: float = 0.0,
    ) -> Spread:
        """Error of the difference of two campaigns of so many cells and visits of each.

        inflated: of the white part, where a comparison takes it for larger than it is. apart_seconds: from one visit to
        the next; as in the campaign that was made when None. extra_variance: of what moves both besides.
        """
        n = cells * visits
        length = n * (self.seconds if apart_seconds is None else apart_seconds) / self.tau
        slow = np.where(length > 1e-6, 2 / length * (1 - -np.expm1(-length) / length), 1.0)
        drift = 2 * self.drift * slow + extra_variance
        scales = np.sqrt(2 * self.white * inflated / n + drift)
        # What a comparison knows of the noise comes from stretches of both campaigns.
        dof = 2.0 * (min(STRETCHES, max(_FEWEST_STRETCHES, n // 2)) - 1)
        return Spread(self.weights, scales, dof, float(self.weights @ drift))


def level_outlook(times: Floats, logs: Floats, cells: Sequence[int]) -> LevelOutlook | None:
    """From one campaign's visits: seconds, logarithms of values, and the number of each one's cell.

    As `level_spread`, with the means of the cells taken out of values and covariance alike, so that drift slower than
    a replicate is not taken for a difference of cells. None with too few cells of two visits or more.
    """
    from scipy.special import softmax

    order = np.argsort(times, kind="stable")
    at, y = np.asarray(times, dtype=float)[order], np.asarray(logs, dtype=float)[order]
    cell = np.unique(np.asarray(cells)[order], return_inverse=True)[1]
    several = np.bincount(cell)[cell] > 1
    at, y = at[several], y[several]
    cell = np.unique(cell[several], return_inverse=True)[1]
    n = at.size
    if n < 2 * _FEWEST_STRETCHES:
        return None
    stretches = np.array_split(np.arange(n), min(STRETCHES, n // 2))
    contrast = _within_cells(stretches, cell)
    means = np.array([at[stretch].mean() for stretch in stretches])
    gap, length = float(np.median(np.diff(means))), float(np.ptp(means))
    if not 0 < gap / 2 < length:
        return None
    white = contrast @ contrast.T * (n / len(stretches))
    basis = _range(white)
    bins = np.array_split(np.arange(n), min(_BINS, n))
    coarse = np.stack([contrast[:, part].sum(axis=1) for part in bins], axis=1)
    centres = np.array([at[part].mean() for part in bins])
    share = np.repeat(SHARES, TIMES)
    tau = np.tile(np.geomspace(gap / 2, LONGEST * length, TIMES), SHARES.size)
    found = basis.T @ contrast @ y
    dof = basis.shape[1]
    distance = np.abs(centres[:, None] - centres[None, :])
    coarse = basis.T @ coarse
    drifts = np.tile(coarse @ np.exp(-distance / tau[:TIMES, None, None]) @ coarse.T, (SHARES.size, 1, 1))
    q = share[:, None, None]
    log_det, squares = profiled(q * drifts + (1 - q) * (basis.T @ white @ basis), found)
    if not squares.min() > 0:
        return None
    # All shares of drift alike beforehand: a plan rather promises too little.
    weights = softmax(-0.5 * (log_det + dof * np.log(squares)))
    variance = squares / dof
    per_visit = variance * (1 - share) * n / len(stretches)
    seconds = float(np.ptp(at)) / (n - 1)
    return LevelOutlook(weights, per_visit, variance * share, tau, float(dof), seconds)


def _within_cells(stretches: Sequence[NDArray[np.intp]], cell: NDArray[np.intp]) -> Floats:
    """Means over stretches of what is left of each visit when its cell's mean is taken away, as a matrix."""
    count = np.bincount(cell)
    rows = []
    for stretch in stretches:
        own = np.zeros(cell.size)
        own[stretch] = 1 / stretch.size
        of_cells = np.bincount(cell[stretch], minlength=count.size) / stretch.size
        rows.append(own - (of_cells / count)[cell])
    return np.stack(rows)


def _range(matrix: Floats) -> Floats:
    """An orthonormal basis of what a symmetric matrix reaches."""
    values, vectors = np.linalg.eigh(matrix)
    kept: Floats = vectors[:, values > 1e-9 * values.max()]
    return kept
