# SPDX-License-Identifier: Apache-2.0
"""What repeated readings of the same cells say about the noise of one reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ioatlas.surrogate.space import Floats

PRIOR_SD = 0.06
"""Log sd assumed before there are repeats: between a limited lab target (0.01) and a shared virtual disk (0.14)."""
PRIOR_PAIRS = 1.5
MODE_PAIRS = (1.0, 2.0, 4.0, 8.0, 32.0, 128.0)
"""How many differences the noise of all modes counts as beside a mode's own: the spread between the modes says which."""
LEAST_VAR = 1e-6
STUDENT_DOF = 4.0
"""Readings are taken as Student-t with this many degrees of freedom: stalls are rare and far out."""


@dataclass(frozen=True)
class Noise:
    """sd: log standard deviation of one reading, without its tail, all modes taken together. pairs: independent differences it rests on.

    var_of_mode: variance of one reading of each mode, shape (modes,).
    """

    sd: float
    pairs: int
    var_of_mode: Floats


def measure_noise(visits_by_mode: Sequence[Sequence[Sequence[float]]]) -> Noise:
    """Robust log sd of one reading from cells visited more than once: log readings, cell by cell, for each mode.

    Scale of a Student-t with 4 degrees of freedom, fitted by iterated weights, with `PRIOR_PAIRS` pseudo-observations. The variances of the modes
    are drawn from a scaled inverse chi-squared law about the common one (Gelman et al., Bayesian Data Analysis, 3rd ed., section 2.6); its degrees
    of freedom are averaged over by their evidence, so that quiet writes beside noisy reads keep their own noise and modes alike share one.
    """
    squares = [_squares(visits) for visits in visits_by_mode]
    pooled = np.concatenate([np.zeros(0), *squares])
    start = PRIOR_SD**2 if not len(pooled) else max(float(np.median(pooled)) / 0.55, 1e-8)
    var, _ = _scale(pooled, start, PRIOR_PAIRS, PRIOR_SD**2)
    sums = np.array([_scale(own, var, 1.0, var)[1] for own in squares])
    counts = np.array([len(own) for own in squares])
    common = max(var, LEAST_VAR)
    return Noise(float(np.sqrt(common)), len(pooled), np.maximum(_of_modes(sums, counts, common), LEAST_VAR))


def _squares(visits: Sequence[Sequence[float]]) -> Floats:
    """Squared differences of each reading from the mean of those before it, each of the variance of one reading."""
    gaps = [float(cell[i + 1] - np.mean(cell[: i + 1])) / np.sqrt(1 + 1 / (i + 1)) for cell in visits for i in range(len(cell) - 1)]
    return np.array(gaps, dtype=float) ** 2


def _scale(squares: Floats, var: float, prior_pairs: float, prior_var: float) -> tuple[float, float]:
    """(variance, weighted sum of squares) of a Student-t; `prior_var` counts as `prior_pairs` differences, as far as it is not far above the others."""
    total = 0.0
    for _ in range(30):
        total = float(np.sum((STUDENT_DOF + 1) / (STUDENT_DOF + squares / var) * squares))
        var = (total + prior_pairs * min(prior_var, 4 * var)) / (len(squares) + prior_pairs)
    return var, total


def _of_modes(sums: Floats, counts: Floats, var: float) -> Floats:
    """Variance of each mode from its sum of squares and the common variance, shape (modes,)."""
    from scipy.special import gammaln

    prior = np.array(MODE_PAIRS)[:, None]
    half = (prior + counts) / 2
    evidence = np.sum(gammaln(half) - gammaln(prior / 2) - counts / 2 * np.log(prior * var) - half * np.log1p(sums / (prior * var)), axis=1)
    share = np.exp(evidence - evidence.max())
    return np.asarray(np.exp(share / share.sum() @ np.log((prior * var + sums) / (prior + counts))))
