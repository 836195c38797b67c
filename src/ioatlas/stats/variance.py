# SPDX-License-Identifier: Apache-2.0
"""Variance of one visit, learnt from all cells together, so that two or three visits of a cell can have an interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, inf, log

import numpy as np

from ioatlas.stats.minimum import nelder_mead
from ioatlas.stats.warmup import Floats

METHOD = "pool-f-censored/1"
FEWEST_CELLS = 8
EQUAL = 1e-24
"""Variance of logarithms below which readings are equal: it is that of rounding, another one on each processor."""
_CENSORED = 0.9
"""Variances above this quantile only count as 'at least this large'."""


@dataclass(frozen=True)
class PooledVariance:
    """What all cells together say about the noise of one visit.

    variance_log: typical variance of the logarithm of one visit's value.
    dof:          how much it says about any one cell, in degrees of freedom: small when cells differ in noise, inf when
                  all share one.
    n_cells:      cells with two visits or more.
    """

    variance_log: float
    dof: float
    n_cells: int
    method: str = METHOD

    def with_own(self, variance_log: float, n: int) -> tuple[float, float]:
        """(variance, degrees of freedom) of one visit of a cell whose own n visits have this variance: shrunk towards
        that of all cells (Smyth 2004, moderated t).
        """
        if self.dof == inf:
            return self.variance_log, inf
        dof = self.dof + n - 1
        return (self.dof * self.variance_log + (n - 1) * variance_log) / dof, dof


def pool_variance(visits: Iterable[Sequence[float]]) -> PooledVariance | None:
    """Pooled variance of log values over cells; `visits` holds one list of visit values for each cell.

    Model: a cell's true variance is scaled inverse chi-square around s0^2 with d0 degrees of freedom, so its sample
    variance with d degrees is s0^2 F(d, d0) (Smyth 2004, section 3). s0^2 and d0 maximise the likelihood, in which the
    largest tenth of the variances is censored: a few cells that are noisy for a reason of their own do not widen every
    interval (the aim of Phipson et al. 2016, Annals of Applied Statistics 10(2)). Cells with a zero value have no
    logarithm and are left out. None below 8 cells with two visits or more, or when no two visits ever differ.
    """
    samples = []
    for values in visits:
        array = np.asarray(values, dtype=float)
        if array.size >= 2 and np.all(np.isfinite(array)) and np.all(array > 0):
            samples.append((float(np.log(array).var(ddof=1)), array.size - 1))
    if len(samples) < FEWEST_CELLS:
        return None
    variance = np.array([sample[0] for sample in samples])
    dof = np.array([sample[1] for sample in samples], dtype=float)
    typical = float(variance @ dof / dof.sum())
    if typical < EQUAL:
        return None
    # Equal readings (coarse counters) have variance 0, which no continuous law produces: they count as very small.
    variance = np.maximum(variance, 1e-6 * typical)
    from scipy.special import chdtri, fdtrc, gammaln

    quantiles = {d: float(np.quantile(variance[dof == d], _CENSORED)) for d in np.unique(dof)}
    limit = np.array([quantiles[d] for d in dof])
    censored = variance > limit
    d, seen, beyond_d, beyond_limit = dof[~censored], variance[~censored], dof[censored], limit[censored]
    of_d = gammaln(d / 2)

    def cost(parameters: Floats) -> float:
        scale = exp(min(max(parameters[0], -50.0), 50.0))
        d0 = exp(min(max(parameters[1], -1.0), 6.0))
        ratio = seen / scale
        density = gammaln((d + d0) / 2) - of_d - gammaln(d0 / 2) + d / 2 * np.log(d / d0) + (d / 2 - 1) * np.log(ratio)
        density -= (d + d0) / 2 * np.log1p(d * ratio / d0) + log(scale)
        beyond = fdtrc(beyond_d, d0, beyond_limit / scale)
        value = -np.sum(density) - np.sum(np.log(np.maximum(beyond, 1e-300)))
        return float(value) if np.isfinite(value) else 1e300

    start = log(max(float(np.median(variance / chdtri(dof, 0.5) * dof)), 1e-6 * typical))
    best = min(
        (nelder_mead(cost, [start, log(d0)], xatol=1e-3, fatol=1e-4) for d0 in (4.0, 40.0)),
        key=lambda found: found[1],
    )[0]
    # No cell can say more about a variance than the pool as a whole has seen.
    d0 = min(exp(min(max(float(best[1]), -1.0), 6.0)), float(dof.sum()))
    # Above 300 degrees of freedom Student's t is the normal to three digits.
    return PooledVariance(exp(float(best[0])), d0 if d0 < 300 else inf, len(samples))
