# SPDX-License-Identifier: Apache-2.0
"""How well the level of a whole campaign is known when the target drifts slowly while it is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ioatlas.stats.distributions import NEWTON_STEPS, t_beyond, t_tail
from ioatlas.stats.warmup import Floats

METHOD = "white-plus-ou/1"
STRETCHES = 24
SHARES = np.array([0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97])
TIMES = 10
LONGEST = 2.0


@dataclass(frozen=True)
class Spread:
    """Distribution of the error of a difference of levels: a mixture of Student's t, all with `dof` degrees of freedom.

    weights, scales: shape (g,), weights sum to 1; scales are logarithms. drift_variance: expected variance of the part
                     that is drift.
    """

    weights: Floats
    scales: Floats
    dof: float
    drift_variance: float
    method: str = METHOD

    def beyond(self, x: float) -> float:
        """P(error > x)."""
        known = self.scales > 0
        chance = np.where(known, t_tail(x / np.where(known, self.scales, 1.0), self.dof), float(x < 0))
        return float(self.weights @ chance)

    def half_width(self, confidence: float = 0.95) -> float:
        """The h for which P(|error| <= h) is `confidence`."""
        tail = (1 - confidence) / 2
        if self.beyond(0.0) <= tail:
            return 0.0
        # Of a tail, which is convex, no step of Newton's passes the root from below.
        weights, scales = self.weights[self.scales > 0], self.scales[self.scales > 0]
        x = 1e-6 * float(scales.max())
        for _ in range(NEWTON_STEPS):
            tails, slopes = t_beyond(x / scales, self.dof)
            step = x * float((weights @ tails - tail) / (weights @ slopes))
            x += step
            if step <= 1e-9 * x:
                break
        return x


def level_spread(campaigns: Sequence[tuple[Floats, Floats]], *, extra_variance: float = 0.0) -> Spread | None:
    """Error of the sum of the campaigns' mean levels (their difference has the same), each from its visits' residuals.

    campaigns: (times, residuals) for each, shape (n,): seconds and logarithms, with the cells' levels taken out.
    Model: residual = level + white noise + Ornstein-Uhlenbeck drift, the share q of drift and its correlation time tau
    the same in all campaigns. Residuals are averaged over up to 24 stretches of time each; the likelihood of their
    contrasts (REML: Patterson and Thompson 1971, Biometrika 58) over a grid of q and tau with prior weights 1 - q, the
    variance integrated out, gives the mixture. Correlation times reach to twice the longest campaign: drift that is
    slower still cannot be told from a change of the target. None with fewer than 4 stretches of visits in one campaign.
    extra_variance is added to every component.
    """
    pieces = [
        _stretches(np.asarray(times, dtype=float), np.asarray(residuals, dtype=float)) for times, residuals in campaigns
    ]
    if not pieces or any(means.size < 4 or not np.isfinite(means).all() for _, means, _ in pieces):
        return None
    lengths = [float(np.ptp(at)) for at, _, _ in pieces]
    gaps = [float(np.median(np.diff(at))) for at, _, _ in pieces]
    shortest, longest = min(gaps) / 2, max(lengths)
    if not 0 < shortest < longest:
        return None
    taus = np.geomspace(shortest, LONGEST * longest, TIMES)
    share = np.repeat(SHARES, TIMES)
    tau = np.tile(taus, SHARES.size)
    dof = sum(means.size - 1 for _, means, _ in pieces)
    log_det = np.zeros(share.size)
    squares = np.zeros(share.size)
    mean_variance = np.zeros(share.size)
    drift_variance = np.zeros(share.size)
    for at, means, counts in pieces:
        k = means.size
        drift = np.exp(-np.abs(at[:, None] - at[None, :])[None] / tau[:, None, None]) * share[:, None, None]
        covariance = drift + (1 - share)[:, None, None] * np.diag(counts.mean() / counts)[None]
        contrast = _contrasts(k)
        inner = contrast @ covariance @ contrast.T
        more_log_det, more_squares = profiled(inner, contrast @ means)
        log_det += more_log_det
        squares += more_squares
        weight = counts / counts.sum()
        mean_variance += np.einsum("i,gij,j->g", weight, covariance, weight)
        drift_variance += np.einsum("i,gij,j->g", weight, drift, weight)
    if not squares.min() > 0:
        return Spread(np.ones(1), np.array([np.sqrt(extra_variance)]), float(dof), extra_variance)
    # Strong drift is held less likely beforehand, in proportion to 1 - q: short campaigns cannot rule it out and would
    # find nothing.
    logs = np.log(1 - share) - 0.5 * (log_det + dof * np.log(squares))
    weights = np.exp(logs - np.logaddexp.reduce(logs))
    variance = squares / dof
    scales = np.sqrt(variance * mean_variance + extra_variance)
    return Spread(weights, scales, float(dof), float(weights @ (variance * drift_variance)) + extra_variance)


def profiled(covariances: Floats, y: Floats) -> tuple[Floats, Floats]:
    """(logarithm of the determinant, y' covariance^-1 y) of each covariance, shape (g, k, k); y of shape (k,)."""
    solved = np.linalg.solve(covariances, np.broadcast_to(y[:, None], (*covariances.shape[:-1], 1)))[..., 0]
    return np.linalg.slogdet(covariances)[1], solved @ y


def _stretches(times: Floats, residuals: Floats) -> tuple[Floats, Floats, NDArray[np.float64]]:
    """(mean time, mean residual, visits) of up to STRETCHES stretches with equally many visits each."""
    order = np.argsort(times, kind="stable")
    parts = np.array_split(order, max(1, min(STRETCHES, order.size // 2)))
    at = np.array([times[part].mean() for part in parts])
    means = np.array([residuals[part].mean() for part in parts])
    return at, means, np.array([part.size for part in parts], dtype=float)


def _contrasts(k: int) -> Floats:
    """Orthonormal contrasts (Helmert), shape (k - 1, k): every row sums to 0."""
    rows = np.tril(np.ones((k - 1, k)), 0)
    index = np.arange(1, k)
    rows[index - 1, index] = -index
    result: Floats = rows / np.sqrt(index * (index + 1))[:, None]
    return result
