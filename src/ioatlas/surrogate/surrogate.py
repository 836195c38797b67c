# SPDX-License-Identifier: Apache-2.0
"""The model of a map: mechanistic law, Gaussian process on its residual, noise measured apart.

log X = law(theta) + g + d + e:  theta about its most probable value, linearised, so that its uncertainty widens the
intervals and is shared between cells; g the process of `gp`; d a cell's own part; e noise of a reading. All in natural
logarithms of I/Os (or bytes, where nothing tells I/Os) per second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ioatlas.model.map_model import ChangePoint
from ioatlas.surrogate.gp import GridKernel, Hyper, Posterior
from ioatlas.surrogate.law import Law, Variant
from ioatlas.surrogate.space import Floats, Ints, Space

PRIOR_SD = 0.06
"""Log sd assumed before there are repeats: between a limited lab target (0.01) and a shared virtual disk (0.14)."""
PRIOR_PAIRS = 1.5
LEAST_VAR = 1e-6
STUDENT_DOF = 4.0
"""Readings are taken as Student-t with this many degrees of freedom: stalls are rare and far out."""


@dataclass(frozen=True)
class Noise:
    """sd: log standard deviation of one reading, without its tail. pairs: independent differences it rests on."""

    sd: float
    pairs: int

    @property
    def var(self) -> float:
        return self.sd**2


def measure_noise(visits: Sequence[Sequence[float]]) -> Noise:
    """Robust log sd of one reading from cells visited more than once: log readings, cell by cell.

    Scale of a Student-t with 4 degrees of freedom, by iterated weights, with `PRIOR_PAIRS` pseudo-observations of
    `PRIOR_SD`, as far as that is not far above the others.
    """
    squares = _squares(visits)
    var = PRIOR_SD**2 if not len(squares) else max(float(np.median(squares)) / 0.55, 1e-8)
    for _ in range(30):
        total = float(np.sum((STUDENT_DOF + 1) / (STUDENT_DOF + squares / var) * squares))
        var = (total + PRIOR_PAIRS * min(PRIOR_SD**2, 4 * var)) / (len(squares) + PRIOR_PAIRS)
    return Noise(float(np.sqrt(max(var, LEAST_VAR))), len(squares))


def _squares(visits: Sequence[Sequence[float]]) -> Floats:
    """Squared differences of each reading from the mean of those before it, of the variance of one reading."""
    gaps = [
        float(cell[i + 1] - np.mean(cell[: i + 1])) / np.sqrt(1 + 1 / (i + 1))
        for cell in visits
        for i in range(len(cell) - 1)
    ]
    return np.array(gaps, dtype=float) ** 2


FIT_ITERATIONS = 40
LAW_ITERATIONS = 15
CANDIDATE_LAW_ITERATIONS = 8
NARROWEST_REST, WIDEST_REST = 0.03, 0.2
"""Bounds of the standard deviation of the readings about the law that its fit is told."""
MEDIAN_OF_NORMAL = 0.6745
LAW_VAR = 0.15**2
"""Variance of the log readings about the law, expected beforehand."""


@dataclass(frozen=True)
class Training:
    """Cells measured so far: cells (n,), their mean log reading (n,), visits (n,), and the noise of one reading."""

    cells: Ints
    mean: Floats
    visits: Ints
    noise: Noise

    @classmethod
    def of(cls, readings: Mapping[int, Sequence[float]]) -> Training:
        """From log readings by cell. Three or more readings count by their median, two by their mean."""
        cells = sorted(readings)
        centre = [float(np.median(readings[c])) if len(readings[c]) > 2 else float(np.mean(readings[c])) for c in cells]
        noise = measure_noise([readings[cell] for cell in cells if len(readings[cell]) > 1])
        visits = np.array([len(readings[c]) for c in cells], dtype=np.int64)
        return cls(np.array(cells, dtype=np.int64), np.array(centre), visits, noise)

    @property
    def read_var(self) -> Floats:
        """Variance that noise leaves in each cell's mean reading, (n,)."""
        return self.noise.var / self.visits


@dataclass(frozen=True)
class Prediction:
    """Mean of the log and variances, shape (n,). `smooth_var`: what more cells would remove; `rough_var`: a cell's own
    part; `noise_var`: of one reading.
    """

    mean: Floats
    smooth_var: Floats
    rough_var: float
    noise_var: float

    def variance(self, readings: float = np.inf) -> Floats:
        """Of the geometric mean of so many readings of a cell not yet measured; of its true value when infinite."""
        return self.smooth_var + self.rough_var + self.noise_var / readings


@dataclass(frozen=True)
class Surrogate:
    """A fitted model. Made by `fit`; immutable."""

    space: Space
    training: Training
    law: Law
    theta: Floats
    kernel: GridKernel
    hyper: Hyper
    weight: Floats
    posterior: Posterior
    slope: Floats
    log_evidence: float
    """Of the readings at the most probable hyperparameters, their prior included: to compare models of the same
    readings.
    """

    @property
    def change_points(self) -> tuple[ChangePoint, ...]:
        return (*self.law.cliffs, *self.law.steps)

    @property
    def variants(self) -> frozenset[Variant]:
        return self.law.variants

    def weights_of(self, cells: Ints) -> Floats:
        """The weights found for these cells; 1 for cells that are new."""
        known = dict(zip(self.training.cells.tolist(), self.weight.tolist(), strict=True))
        return np.array([known.get(cell, 1.0) for cell in cells.tolist()])

    def _cross(self, rows: Ints) -> tuple[Floats, Floats, Floats]:
        """(prior mean, its scaled derivative by the parameters, covariance with the training cells): (m,), (m, p),
        (n, m).
        """
        mean, slope = _mean_and_slope(self.law, self.theta, rows)
        return mean, slope, self.kernel.covariance(self.hyper, self.training.cells, rows) + self.slope @ slope.T

    def predict(self, rows: Ints) -> Prediction:
        mean, slope, cross = self._cross(rows)
        half = self.posterior.whiten(cross)
        prior = self.kernel.variance(self.hyper) + np.sum(slope**2, axis=1)
        smooth = np.maximum(prior - np.sum(half**2, axis=0), 1e-10)
        return Prediction(mean + cross.T @ self.posterior.alpha, smooth, self.hyper.rough_var, self.training.noise.var)

    def covariance(self, rows: Ints) -> Floats:
        """Posterior covariance of the smooth part between cells, (m, m)."""
        _, slope, cross = self._cross(rows)
        half = self.posterior.whiten(cross)
        return self.kernel.covariance(self.hyper, rows, rows) + slope @ slope.T - half.T @ half

    @property
    def nugget(self) -> Floats:
        """Variance of each training cell's mean about the smooth surface, without weights: noise and rough part."""
        return self.training.read_var + self.hyper.rough_var

    def leave_one_out(self) -> tuple[Floats, Floats]:
        """(mean reading minus its prediction from the other cells, variance of that as if every cell had full
        weight).
        """
        gap, variance = self.posterior.leave_one_out()
        return gap, variance - self.nugget / self.weight + self.nugget


def _mean_and_slope(law: Law, theta: Floats, rows: Ints) -> tuple[Floats, Floats]:
    fitted, jacobian = law.jacobian(theta, rows)
    return fitted + jacobian @ (law.prior_mean - theta), jacobian * law.prior_sd


def fit(
    space: Space,
    training: Training,
    *,
    change_points: tuple[ChangePoint, ...] = (),
    variants: frozenset[Variant] = frozenset(),
    separate: Ints | None = None,
    start: Surrogate | None = None,
    iterations: int = FIT_ITERATIONS,
    robust: bool = True,
) -> Surrogate:
    """Fits everything to these cells.

    variants: as in `Law`. separate: regime of each cell, (len(space),). start: a fit of the same space to begin
    from. robust: False for a
    candidate that is compared, not kept: one short fit at the weights of `start`.
    """
    cells, reading = training.cells, training.mean
    noise_var = training.read_var
    kernel = GridKernel(space, separate)
    law = Law(space, cells, reading, change_points, variants)
    theta = _fit_law(law, training, start, robust)
    hyper = start.hyper if start is not None else kernel.start(LAW_VAR, training.noise.var)
    mean, slope = _mean_and_slope(law, theta, cells)
    known = slope @ slope.T
    residual = reading - mean
    weight = _first_weights(training, law, theta, start, robust)
    for _ in range(2 if robust else 1):
        hyper, log_evidence = kernel.fit(cells, residual, noise_var, known, hyper, LAW_VAR, iterations, weight)
        smooth, nugget = kernel.covariance(hyper, cells, cells) + known, noise_var + hyper.rough_var
        weight = _weights(smooth, nugget, residual, weight) if robust else weight
    posterior = Posterior.of(smooth + np.diag(nugget / weight), residual)
    return Surrogate(space, training, law, theta, kernel, hyper, weight, posterior, slope, log_evidence)


def _spread(values: Floats) -> float:
    """Robust standard deviation about 0 of a normal law's core."""
    return float(np.median(np.abs(values))) / MEDIAN_OF_NORMAL


def _fit_law(law: Law, training: Training, start: Surrogate | None, robust: bool) -> Floats:
    cells, reading, noise_var = training.cells, training.mean, training.read_var
    if start is not None:
        theta = law.carried(start.law, start.theta)
    else:
        theta = law.fit(cells, reading, noise_var + WIDEST_REST**2, law.prior_mean, LAW_ITERATIONS)
    for _ in range(2 if robust else 1):
        rest = float(np.clip(_spread(reading - law.predict(theta, cells)), NARROWEST_REST, WIDEST_REST))
        iterations = LAW_ITERATIONS if robust else CANDIDATE_LAW_ITERATIONS
        theta = law.fit(cells, reading, noise_var + rest**2, theta, iterations)
    return theta


def _first_weights(training: Training, law: Law, theta: Floats, start: Surrogate | None, robust: bool) -> Floats:
    """Of each training cell before the process is fitted: it must not learn its roughness from outlying cells."""
    cells = training.cells
    if start is not None:
        weight = start.weights_of(cells)
        # Whether a jump is real is asked of what repeats have confirmed, in full.
        return weight if robust else np.where(training.visits > 1, 1.0, weight)
    # Those far from the law count little at first, and come back if others agree.
    left = training.mean - law.predict(theta, cells)
    scale = max(_spread(left), NARROWEST_REST)
    return np.asarray(np.minimum(1.0, (STUDENT_DOF + 1) / (STUDENT_DOF + (left / scale) ** 2)))


def _weights(smooth: Floats, nugget: Floats, residual: Floats, weight: Floats) -> Floats:
    """Weights of a Student-t about the smooth surface: a cell far from where the others put it pulls less, however
    often it was read.

    A repeat can show that the cell is outlying, not that its neighbours are; when they are, they say so themselves.
    Leave-one-out, so that no cell vouches for itself; shape (n,).
    """
    for _ in range(3):
        gap, variance = Posterior.of(smooth + np.diag(nugget / weight), residual).leave_one_out()
        standard = gap**2 / np.maximum(variance - nugget / weight + nugget, 1e-12)
        weight = np.minimum(1.0, (STUDENT_DOF + 1) / (STUDENT_DOF + standard))
    return weight
