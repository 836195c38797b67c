# SPDX-License-Identifier: Apache-2.0
"""How well one window's mean is known, from the intervals inside it: autocorrelation time and batch means.

This says whether a window is long enough. It never gives the interval of a cell: visits differ by more than windows show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from ioatlas.stats.intervals import Interval, t_quantile
from ioatlas.stats.warmup import Floats, as_series

METHOD = "batch-means/1"
FEWEST_BATCHES = 10
BATCH_TAUS = 5.0
LARGEST_LAG1 = 0.2


def autocorrelation(values: Sequence[float] | Floats, largest_lag: int) -> Floats:
    """Autocorrelation at lags 0 .. largest_lag, shape (largest_lag + 1,); the usual (biased, positive definite) estimate.

    A constant series has 1 at lag 0 and 0 elsewhere.
    """
    series = as_series(values)
    n = series.size
    centred = series - series.mean()
    variance = float(centred @ centred)
    result = np.zeros(largest_lag + 1)
    result[0] = 1.0
    if variance > 1e-24 * max(1.0, float(series @ series)):
        size = 1 << (2 * n - 1).bit_length()
        spectrum = np.abs(np.fft.rfft(centred, size)) ** 2
        lags = min(largest_lag, n - 1)
        result[: lags + 1] = np.fft.irfft(spectrum, size)[: lags + 1] / variance
    return result


def autocorrelation_time(values: Sequence[float] | Floats) -> float:
    """Integrated autocorrelation time tau = 1 + 2 sum(rho_k), in intervals, at least 1.

    The variance of the mean of n values is about variance x tau / n. The sum stops at the first lag M >= 5 tau(M) (Sokal 1997, Monte Carlo
    Methods in Statistical Mechanics, section 3). Each rho_k is raised by tau / n, which subtracting the sample mean took from it; the
    last estimate of tau is used for that.
    """
    series = as_series(values)
    n = series.size
    if n < 4:
        return 1.0
    rho = autocorrelation(series, n // 2)
    tau = 1.0
    for _ in range(3):
        sums = 1 + 2 * np.cumsum(rho[1:] + tau / n)
        enough = np.flatnonzero(np.arange(1, sums.size + 1) >= 5 * np.maximum(sums, 1.0))
        tau = max(1.0, float(sums[enough[0]] if enough.size else sums.max()))
    return tau


@dataclass(frozen=True)
class WindowPrecision:
    """Precision of one window's mean.

    interval:      of the window's mean, in the unit of the series; withheld when the window is too short.
    tau_intervals: integrated autocorrelation time; batches, batch_intervals: how the window was cut; lag1: of the batch means.
    too_short:     no division into 10 batches of 5 autocorrelation times with nearly independent means exists.
    """

    interval: Interval
    tau_intervals: float
    batches: int
    batch_intervals: int
    lag1: float
    too_short: bool


def batch_means(values: Sequence[float] | Floats, confidence: float = 0.95) -> WindowPrecision:
    """Interval of a stationary window's mean from at least 10 batches, each at least 5 autocorrelation times long.

    As many batches as the length rule allows, up to 40; while the lag-1 autocorrelation of their means is 0.2 or more, batches are made
    longer, down to 10 of them. What autocorrelation is left is charged for: variance x (1 + lag1) / (1 - lag1) when lag1 > 0
    (Tafazzoli et al. 2011, N-Skart, European Journal of Operational Research 211(2), section 3). Shape (n,), warm-up already cut.
    """
    series = as_series(values)
    series = series[np.isfinite(series)]
    n = series.size
    estimate = float(series.mean()) if n else None
    tau = autocorrelation_time(series)

    def short(reason: str, lag1: float = 0.0, batches: int = 0, length: int = 0) -> WindowPrecision:
        return WindowPrecision(
            Interval(estimate, None, None, batches, confidence, METHOD, reason), tau, batches, length, lag1, too_short=True
        )

    if n < FEWEST_BATCHES * 5:
        return short(f"{n} intervals, batch means take {FEWEST_BATCHES * 5}")
    # tau summed to lag 5 tau has the relative error sqrt(2 (10 tau + 1) / n) (Madras and Sokal 1988, appendix C): windows that only pass
    # because tau came out low would be the ones whose interval is too narrow.
    most = min(40, int(n / (BATCH_TAUS * tau * (1 + sqrt(2 * (10 * tau + 1) / n)))))
    if most < FEWEST_BATCHES:
        return short(f"{n} intervals hold {n / tau:.0f} autocorrelation times, batch means take {FEWEST_BATCHES * BATCH_TAUS:.0f}")
    lag1, batches, length = 0.0, most, n // most
    while batches >= FEWEST_BATCHES:
        length = n // batches
        means = series[n - batches * length :].reshape(batches, length).mean(axis=1)
        lag1 = float(autocorrelation(means, 1)[1]) + 1 / batches
        if lag1 < LARGEST_LAG1:
            return _interval(series, means, lag1, tau, confidence)
        if batches == FEWEST_BATCHES:
            break
        batches = max(FEWEST_BATCHES, int(batches * 0.7))
    return short(f"batch means are correlated (lag 1: {lag1:.2f})", lag1, batches, length)


def _interval(series: Floats, means: Floats, lag1: float, tau: float, confidence: float) -> WindowPrecision:
    b = means.size
    variance = float(means.var(ddof=1)) / b
    if lag1 > 0:
        variance *= (1 + lag1) / (1 - lag1)
    centre = float(means.mean())
    half = t_quantile((1 + confidence) / 2, b - 1) * sqrt(variance)
    interval = Interval(centre, centre - half, centre + half, b, confidence, METHOD)
    return WindowPrecision(interval, tau, b, series.size // b, lag1, too_short=False)
