# SPDX-License-Identifier: Apache-2.0
"""A Gaussian process over a grid of levels: main effects, pairs and the full interaction of Matern-5/2 axes.

    k(x, x') = v1 sum_d k_d + v2 sum_{d<e} k_d k_e + v3 prod_d k_d        (additive kernels: Duvenaud et al., NIPS 2011)

k_d is Matern-5/2 along a numeric axis and (1 if same, else c_d) along a categorical one. Few cells fix main effects;
pairs and the interaction get variance only where the data ask for it. Every k_d is a small table over levels, so
covariances of thousands of cells are look-ups. Hyperparameters are the most probable ones under weak log-normal priors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ioatlas.surrogate.space import Floats, Ints, Space

_ROOT5 = float(np.sqrt(5.0))


@dataclass(frozen=True)
class Hyper:
    """length: per axis (numeric: length scale in units of the axis' range; categorical: logit of the correlation).
    variance: of main effects, pairs, interaction. rough_var: variance of what neighbours cannot tell (a cell's own
    part).
    """

    length: Floats
    variance: Floats
    rough_var: float

    def vector(self) -> Floats:
        return np.concatenate([self.length, np.log(self.variance), [np.log(self.rough_var)]])

    @classmethod
    def of(cls, vector: Floats) -> Hyper:
        return cls(vector[:-4], np.exp(vector[-4:-1]), float(np.exp(vector[-1])))


class GridKernel:
    """Tables of the axes of one space. `separate`: categories across which nothing of this kernel is shared, shape
    (n,).
    """

    def __init__(self, space: Space, separate: Ints | None = None) -> None:
        self.space = space
        self.separate = separate
        self.numeric = np.array([axis.numeric for axis in space.axes], dtype=bool)
        self.count = len(space.axes)
        self._gap = [np.abs(axis.place[:, None] - axis.place[None, :]) for axis in space.axes]

    def start(self, scale_var: float, noise_var: float) -> Hyper:
        length = np.where(self.numeric, np.log(0.7), 0.0)
        return Hyper(
            length,
            np.array([0.3, 0.2, 0.3]) * scale_var / np.array([max(self.count, 1), max(self.count, 1), 1]),
            max(0.1 * noise_var, 1e-5),
        )

    def _table(self, axis: int, length: float) -> tuple[Floats, Floats]:
        """k_d over levels and its derivative by the (log or logit) length: both (levels, levels)."""
        gap = self._gap[axis]
        if self.numeric[axis]:
            scaled = _ROOT5 * gap / np.exp(length)
            decay = np.exp(-scaled)
            return (1 + scaled + scaled**2 / 3) * decay, scaled**2 * (1 + scaled) / 3 * decay
        other = 1 / (1 + np.exp(-length))
        same = gap == 0
        return np.where(same, 1.0, other), np.where(same, 0.0, other * (1 - other))

    def parts(self, hyper: Hyper, rows: Ints, columns: Ints) -> list[Floats]:
        at = self.space.index
        return [
            self._table(d, hyper.length[d])[0][at[rows, d][:, None], at[columns, d][None, :]] for d in range(self.count)
        ]

    def covariance(self, hyper: Hyper, rows: Ints, columns: Ints) -> Floats:
        """Shape (len(rows), len(columns)), without the rough part."""
        total = np.zeros((len(rows), len(columns)))
        squares = np.zeros_like(total)
        product = np.ones_like(total)
        for part in self.parts(hyper, rows, columns):
            total += part
            squares += part**2
            product *= part
        out = hyper.variance[0] * total + hyper.variance[1] * 0.5 * (total**2 - squares) + hyper.variance[2] * product
        if self.separate is not None:
            out *= self.separate[rows][:, None] == self.separate[columns][None, :]
        return np.asarray(out)

    def variance(self, hyper: Hyper) -> float:
        d = self.count
        return float(hyper.variance[0] * d + hyper.variance[1] * d * (d - 1) / 2 + hyper.variance[2])

    def fit(
        self,
        rows: Ints,
        residual: Floats,
        noise_var: Floats,
        known: Floats,
        start: Hyper,
        scale_var: float,
        iterations: int,
        weight: Floats,
    ) -> tuple[Hyper, float]:
        """(most probable hyperparameters, log evidence there with their prior, but for a constant).

        residual:  readings minus the mean, shape (n,).
        noise_var: variance of each reading's noise, (n,).
        known:     covariance that is given (the uncertainty of the mean's parameters), (n, n).
        weight:    what noise and rough part are divided by, (n,).
        """
        from scipy.linalg import cho_solve, cholesky
        from scipy.optimize import minimize

        at = self.space.index[rows]
        pick: list[Callable[[Floats], Floats]] = []
        for d in range(self.count):
            pick.append(lambda table, d=d: table[at[:, d][:, None], at[:, d][None, :]])  # type: ignore[misc]
        mask = None if self.separate is None else self.separate[rows][:, None] == self.separate[rows][None, :]
        identity = np.eye(len(rows))
        prior_mean = np.concatenate(
            [
                np.where(self.numeric, np.log(0.7), 0.0),
                np.log(self.start(scale_var, 0.01).variance),
                [np.log(scale_var * 0.003)],
            ]
        )
        prior_sd = np.concatenate([np.where(self.numeric, 0.8, 1.5), [1.5, 1.5, 1.5], [2.0]])

        def objective(vector: Floats) -> tuple[float, Floats]:
            hyper = Hyper.of(vector)
            tables = [self._table(d, hyper.length[d]) for d in range(self.count)]
            parts = [pick[d](tables[d][0]) for d in range(self.count)]
            total = sum(parts) if parts else np.zeros_like(identity)
            squares = sum(part**2 for part in parts) if parts else np.zeros_like(identity)
            product = np.ones_like(identity)
            for part in parts:
                product = product * part
            pairs = 0.5 * (total**2 - squares)
            kernel = hyper.variance[0] * total + hyper.variance[1] * pairs + hyper.variance[2] * product
            if mask is not None:
                kernel = kernel * mask
            full = kernel + known + np.diag((noise_var + hyper.rough_var) / weight)
            try:
                lower = cholesky(full, lower=True, check_finite=False)
            except np.linalg.LinAlgError:
                return 1e25, np.zeros_like(vector)
            alpha = cho_solve((lower, True), residual, check_finite=False)
            inverse = cho_solve((lower, True), identity, check_finite=False)
            away = (vector - prior_mean) / prior_sd
            value = 0.5 * residual @ alpha + np.sum(np.log(np.diag(lower))) + 0.5 * away @ away
            middle = inverse - np.outer(alpha, alpha)
            rough = 0.5 * hyper.rough_var * float(np.sum(np.diag(middle) / weight))
            if mask is not None:
                middle = middle * mask
            gradient = np.empty_like(vector)
            for d in range(self.count):
                slope = pick[d](tables[d][1])
                inner = (
                    hyper.variance[0]
                    + hyper.variance[1] * (total - parts[d])
                    + hyper.variance[2] * product / np.maximum(parts[d], 1e-12)
                )
                gradient[d] = 0.5 * np.sum(middle * inner * slope)
            gradient[self.count] = 0.5 * hyper.variance[0] * np.sum(middle * total)
            gradient[self.count + 1] = 0.5 * hyper.variance[1] * np.sum(middle * pairs)
            gradient[self.count + 2] = 0.5 * hyper.variance[2] * np.sum(middle * product)
            gradient[-1] = rough
            return float(value), gradient + away / prior_sd

        span = 6.0 * prior_sd
        bounds = list(zip(prior_mean - span, prior_mean + span, strict=True))
        begin = np.clip(start.vector(), prior_mean - span, prior_mean + span)
        found = minimize(objective, begin, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": iterations})
        return Hyper.of(found.x if np.isfinite(found.fun) else begin), -float(found.fun)


@dataclass(frozen=True)
class Posterior:
    """Solved linear system of one training set: enough for predictions, leave-one-out residuals and updates."""

    lower: Floats
    alpha: Floats

    @classmethod
    def of(cls, covariance: Floats, residual: Floats) -> Posterior:
        from scipy.linalg import cho_solve, cholesky

        jitter = 1e-10 * float(np.mean(np.diag(covariance)))
        lower = cholesky(covariance + jitter * np.eye(len(residual)), lower=True, check_finite=False)
        return cls(lower, cho_solve((lower, True), residual, check_finite=False))

    @property
    def log_evidence(self) -> float:
        residual = self.lower @ (self.lower.T @ self.alpha)
        return float(
            -0.5 * residual @ self.alpha
            - np.sum(np.log(np.diag(self.lower)))
            - 0.5 * len(self.alpha) * np.log(2 * np.pi)
        )

    def whiten(self, cross: Floats) -> Floats:
        """L^-1 cross, cross of shape (n, m)."""
        from scipy.linalg import solve_triangular

        return np.asarray(solve_triangular(self.lower, cross, lower=True, check_finite=False))

    def leave_one_out(self) -> tuple[Floats, Floats]:
        """(reading minus its prediction from the others, variance of that): Rasmussen and Williams, section 5.4.2."""
        from scipy.linalg import cho_solve

        inverse = cho_solve((self.lower, True), np.eye(len(self.alpha)), check_finite=False)
        variance = 1.0 / np.diag(inverse)
        return self.alpha * variance, variance
