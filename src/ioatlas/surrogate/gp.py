# SPDX-License-Identifier: Apache-2.0
"""A Gaussian process over a grid of levels: main effects, pairs and the full interaction of Matern-5/2 axes.

    k(x, x') = v1 sum_d k_d + v2 sum_{d<e} k_d k_e + v3 prod_d k_d        (additive kernels: Duvenaud et al., NIPS 2011)

k_d is Matern-5/2 along a numeric axis and (1 if same, else c_d) along a categorical one. Few cells fix main effects;
pairs and the interaction get variance only where the data ask for it. Every k_d is a small table over levels, so
covariances of thousands of cells are look-ups. Hyperparameters are the most probable ones under weak log-normal priors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from ioatlas.surrogate.space import Floats, Ints, Space

_ROOT5 = float(np.sqrt(5.0))
BOX, LONGEST_STEP, SHORTENINGS, LEAST_GAIN = 6.0, 2.0, 20, 2e-9
"""Of the search for hyperparameters: standard deviations of its prior within which each is looked for, those that one
step takes, how often it is shortened, and the part of the value whose gain ends the search.
"""
SMALL = 24
"""Rows from which half a matrix is inverted by halves again."""


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

    def covariance(self, hyper: Hyper, rows: Ints, columns: Ints) -> Floats:
        """Shape (len(rows), len(columns)), without the rough part."""
        total = np.zeros((len(rows), len(columns)))
        squares = np.zeros_like(total)
        product = np.ones_like(total)
        for d, length in enumerate(hyper.length):
            part = self._table(d, length)[0][np.ix_(self.space.index[rows, d], self.space.index[columns, d])]
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
        # All matrices are symmetric: what is computed of them is one triangle, as a vector, (n (n+1) / 2,).
        count = len(rows)
        triangle = np.tril_indices(count)
        at = self.space.index[rows]
        pick = [at[triangle[0], d] * len(axis.levels) + at[triangle[1], d] for d, axis in enumerate(self.space.axes)]
        twice = np.where(triangle[0] == triangle[1], 1.0, 2.0)
        if self.separate is not None:
            twice *= self.separate[rows[triangle[0]]] == self.separate[rows[triangle[1]]]
        shared, given = twice > 0, known[triangle]
        diagonal = np.flatnonzero(triangle[0] == triangle[1])
        full = np.zeros((count, count))
        prior_mean = replace(self.start(scale_var, 0.0), rough_var=scale_var * 0.003).vector()
        prior_sd = np.concatenate([np.where(self.numeric, 0.8, 1.5), [1.5, 1.5, 1.5], [2.0]])

        def objective(away: Floats) -> tuple[float, Floats]:
            """At hyperparameters so many standard deviations of their prior away from its mean."""
            hyper = Hyper.of(prior_mean + away * prior_sd)
            tables = [self._table(d, hyper.length[d]) for d in range(self.count)]
            parts = [tables[d][0].take(pick[d]) for d in range(self.count)]
            total, squares, product = np.zeros(len(given)), np.zeros(len(given)), np.ones(len(given))
            for part in parts:
                total += part
                squares += part * part
                product *= part
            pairs = 0.5 * (total * total - squares)
            covariance = hyper.variance[0] * total + hyper.variance[1] * pairs + hyper.variance[2] * product
            covariance *= shared
            covariance += given
            covariance[diagonal] += (noise_var + hyper.rough_var) / weight
            full[triangle] = covariance
            try:
                lower = np.linalg.cholesky(full)
            except np.linalg.LinAlgError:  # not positive, by rounding
                return np.inf, away
            root = _inverted(lower)
            inverse = root.T @ root
            alpha = inverse @ residual
            value = 0.5 * residual @ alpha + np.sum(np.log(np.diag(lower))) + 0.5 * away @ away
            middle = inverse[triangle] - alpha[triangle[0]] * alpha[triangle[1]]
            rough = 0.5 * hyper.rough_var * float(np.sum(middle[diagonal] / weight))
            middle *= twice  # a sum over the triangle is one over the matrix
            gradient = np.empty_like(away)
            mains = middle * (hyper.variance[0] + hyper.variance[1] * total)
            paired, whole = hyper.variance[1] * middle, hyper.variance[2] * middle * product
            for d, part in enumerate(parts):
                inner = mains - paired * part
                inner += whole / np.maximum(part, 1e-12)
                gradient[d] = 0.5 * inner @ tables[d][1].take(pick[d])
            gradient[self.count] = 0.5 * hyper.variance[0] * middle @ total
            gradient[self.count + 1] = 0.5 * hyper.variance[1] * middle @ pairs
            gradient[self.count + 2] = 0.5 * hyper.variance[2] * middle @ product
            gradient[-1] = rough
            return float(value), gradient * prior_sd + away

        found, value = _minimum(objective, (start.vector() - prior_mean) / prior_sd, iterations)
        return Hyper.of(prior_mean + found * prior_sd), -value


def _minimum(
    function: Callable[[Floats], tuple[float, Floats]], start: Floats, iterations: int
) -> tuple[Floats, float]:
    """(place, value there) of the least value that so many steps find of a function that also gives its slope.

    BFGS (Nocedal and Wright 2006, section 6.1) within BOX, from a curvature of 1, which is the prior's, with steps
    shortened until they gain a part of what the slope promises.
    """
    z = np.clip(start, -BOX, BOX)
    value, slope = function(z)
    inverse = np.eye(len(z))
    for _ in range(iterations):
        step = -inverse @ slope
        step *= min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), 1e-300))
        for _ in range(SHORTENINGS):
            tried = np.clip(z + step, -BOX, BOX)
            there, slope_there = function(tried)
            if there <= value + 1e-4 * min(float(slope @ (tried - z)), 0.0):
                break
            step *= 0.25
        else:
            break
        moved, turned, gain = tried - z, slope_there - slope, value - there
        z, value, slope = tried, there, slope_there
        bent = float(moved @ turned)
        if bent > 0:
            aside = np.eye(len(z)) - np.outer(moved, turned) / bent
            inverse = aside @ inverse @ aside.T + np.outer(moved, moved) / bent
        if gain <= LEAST_GAIN * max(abs(value), 1.0):
            break
    return z, value


def _inverted(lower: NDArray[np.floating]) -> Floats:
    """Inverse of a lower triangular matrix, by halves: as products, in which BLAS is fastest."""
    half = len(lower) // 2
    if half < SMALL:
        return np.linalg.inv(lower).astype(np.float64)
    inverse = np.zeros(lower.shape)
    inverse[:half, :half], inverse[half:, half:] = _inverted(lower[:half, :half]), _inverted(lower[half:, half:])
    inverse[half:, :half] = -inverse[half:, half:] @ (lower[half:, :half] @ inverse[:half, :half])
    return inverse


@dataclass(frozen=True)
class Posterior:
    """Solved linear system of one training set: enough for predictions, leave-one-out residuals and updates.

    root: inverse of the lower triangular root of the covariance, (n, n). alpha: solution, (n,).
    """

    root: Floats
    alpha: Floats

    @classmethod
    def of(cls, covariance: Floats, residual: Floats) -> Posterior:
        jitter = 1e-10 * float(np.mean(np.diag(covariance)))
        root = _inverted(np.linalg.cholesky(covariance + jitter * np.eye(len(residual))))
        return cls(root, root.T @ (root @ residual))

    def whiten(self, cross: Floats) -> Floats:
        """L^-1 cross, cross of shape (n, m)."""
        return self.root @ cross

    def leave_one_out(self) -> tuple[Floats, Floats]:
        """(reading minus its prediction from the others, variance of that): Rasmussen and Williams, section 5.4.2."""
        variance = 1.0 / np.sum(self.root**2, axis=0)
        return self.alpha * variance, variance


P = ParamSpec("P")
R = TypeVar("R")


def one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Runs the function with BLAS held to one thread."""

    @wraps(function)
    def limited(*arguments: P.args, **named: P.kwargs) -> R:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(limits=1, user_api="blas"):
            return function(*arguments, **named)

    return limited
