# SPDX-License-Identifier: Apache-2.0
"""Warm-up: where an interval series settles. MSER-5, and change points to cross-check it.

Series are one-dimensional, one value an interval, in any unit: every result depends on ratios only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ioatlas.model.errors import UsageError

Floats = NDArray[np.floating[Any]]

MSER = "mser-5/1"
PELT = "pelt-l2-ar1/1"

_MAX_RHO = 0.95


def as_series(values: Sequence[float] | Floats) -> Floats:
    """A float array, shape (n,). Raises UsageError when it is not one-dimensional."""
    series = np.asarray(values, dtype=float)
    if series.ndim != 1:
        raise UsageError(
            f"an interval series has one dimension, this one has {series.ndim}",
            remedy="pass one value for each interval",
        )
    return series


def mser_cut(values: Sequence[float] | Floats) -> int:
    """Index of the first value to keep: MSER-5 (White 1997, Simulation 69(6); Spratt 1998).

    The cut d minimises sum((z_i - mean)^2) / (k - d)^2 over the batch means z_d .. z_(k-1): the squared standard error
    of what is kept. Series of fewer than 10 batches use shorter batches (n // 10). The last fifth of the batches is
    never a
    candidate: its criterion rests on too few values (White 1997 restricts it likewise). 0 when fewer than 10 values.
    """
    series = as_series(values)
    n = series.size
    if n < 10:
        return 0
    batch = min(5, n // 10)
    k = n // batch
    z = series[: k * batch].reshape(k, batch).mean(axis=1)
    kept = np.arange(k, 0, -1)
    centred = z - z.mean()  # keeps the difference of squares below accurate
    total = np.cumsum(centred[::-1])[::-1]
    squares = np.cumsum(centred[::-1] ** 2)[::-1]
    criterion = np.maximum(squares - total**2 / kept, 0.0) / kept.astype(float) ** 2
    return int(np.argmin(criterion[: k - max(2, k // 5)])) * batch


def trim_spikes(values: Floats, limit: float = 4.0) -> Floats:
    """The series with values further than `limit` robust deviations from the running median of 5 pulled in to that
    limit.

    A single slow interval is noise, not a change of level; a run of three or more passes.
    """
    series = as_series(values)
    if series.size < 5:
        return series
    padded = np.concatenate([series[:2][::-1], series, series[-2:][::-1]])
    local = np.median(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1)
    residual = series - local
    scale = 1.4826 * float(np.median(np.abs(residual - np.median(residual))))
    if scale == 0:
        scale = float(residual.std())
    trimmed: Floats = local + np.clip(residual, -limit * scale, limit * scale)
    return trimmed


@dataclass(frozen=True)
class Noise:
    """Noise of a series around its level. `sd` in the series' unit; `rho`: lag-1 autocorrelation, 0 <= rho <= 0.95."""

    sd: float
    rho: float

    @property
    def long_run_variance(self) -> float:
        """Variance of the mean times n, for first-order autoregressive noise."""
        return self.sd**2 * (1 + self.rho) / (1 - self.rho)


def noise_around(residuals: Floats, parameters: int) -> Noise:
    """Noise from the residuals of a fit with `parameters` coefficients, first-order autoregression assumed.

    The lag-1 autocorrelation of residuals is too low by about (p + (1 + 2 p) rho) / n (Kendall 1954 for p = 1, where it
    is (1 + 3 rho) / n); it is put back, because noise taken for too white makes drift out of nothing. Negative
    autocorrelation counts as 0.
    """
    n = residuals.size
    variance = float(np.mean(residuals**2)) if n else 0.0
    if n < 4 or variance == 0:
        return Noise(float(np.sqrt(variance)), 0.0)
    raw = float(np.sum(residuals[1:] * residuals[:-1]) / np.sum(residuals**2))
    rho = min(max((raw + parameters / n) / (1 - min(0.5, (1 + 2 * parameters) / n)), 0.0), _MAX_RHO)
    # The mean of n correlated values takes (1 + rho) / (1 - rho) / n of the variance with it, each further coefficient
    # as much.
    lost = min(0.75, parameters * (1 + rho) / (1 - rho) / n)
    return Noise(float(np.sqrt(variance / (1 - lost))), rho)


def without_step(series: Floats, smallest: int) -> Floats:
    """Residuals of the best fit by two levels with one change, each of `smallest` values or more."""
    n = series.size
    k = np.arange(smallest, n - smallest + 1)
    sums = np.cumsum(series - series.mean())[k - 1]
    at = int(k[np.argmax(sums**2 / (k * (n - k)))])
    return np.concatenate([series[:at] - series[:at].mean(), series[at:] - series[at:].mean()])


def change_points(values: Sequence[float] | Floats, noise: Noise, *, strength: float = 3.0) -> tuple[int, ...]:
    """Indices where a new level begins, in order; empty when the level never changes.

    The partition with the least squared error and penalty, which PELT finds too (Killick et al. 2012, JASA 107(500)).
    Penalty of one change: strength x long-run variance x ln(n), so that autocorrelated noise is not cut to pieces.
    Segments have at least max(3, n / 20) values.
    """
    series = as_series(values)
    n = series.size
    smallest = max(3, n // 20)
    if n < 2 * smallest or not np.ptp(series) > 0:
        return ()
    penalty = strength * noise.long_run_variance * float(np.log(n))
    if penalty <= 0:
        penalty = 1e-12 * float(np.var(series)) * n
    return _partition(series - series.mean(), smallest, penalty)


def _partition(series: Floats, smallest: int, penalty: float) -> tuple[int, ...]:
    """By dynamic programming over the last segment (Jackson et al. 2005), n steps over vectors. For n up to 12,000 that
    takes as long as PELT compiled, which prunes little while nothing changes.
    """
    n = series.size
    sums, squares = (np.concatenate(([0.0], np.cumsum(part))) for part in (series, series**2))
    best = np.full(n + 1, np.inf)
    best[0] = -penalty
    begins = np.zeros(n + 1, dtype=int)
    for end in range(smallest, n + 1):
        begin = np.arange(end - smallest + 1)
        cost = squares[end] - squares[begin] - (sums[end] - sums[begin]) ** 2 / (end - begin)
        total = best[begin] + cost
        begins[end] = int(np.argmin(total))
        best[end] = total[begins[end]] + penalty
    found = []
    end = int(begins[n])
    while end > 0:
        found.append(end)
        end = int(begins[end])
    return tuple(reversed(found))
