# SPDX-License-Identifier: Apache-2.0
"""The process's linear algebra and its search for hyperparameters against scipy's."""

import numpy as np
import pytest
from scipy import linalg, optimize

from ioatlas.surrogate import gp
from ioatlas.surrogate.gp import BOX, GridKernel, Posterior
from ioatlas.surrogate.space import Space

SIZES, DEPTHS = [2**n for n in range(12, 20)], [1, 2, 4, 8, 16]


def covariance(n):
    place = np.sort(np.random.default_rng(n).random(n))
    return np.exp(-np.abs(place[:, None] - place) / 0.3) + 1e-3 * np.eye(n)


@pytest.mark.parametrize("n", [1, 2, 30, 47, 48, 49, 200])
def test_a_posterior_is_what_scipy_solves(n):
    matrix, residual = covariance(n), np.random.default_rng(1).standard_normal(n)
    posterior = Posterior.of(matrix, residual)
    inverse = linalg.inv(matrix)
    assert posterior.alpha == pytest.approx(inverse @ residual, rel=1e-5, abs=1e-5)
    columns = np.random.default_rng(2).standard_normal((n, 3))
    root = linalg.cholesky(matrix, lower=True)
    assert posterior.whiten(columns) == pytest.approx(linalg.solve_triangular(root, columns, lower=True), abs=1e-5)
    assert posterior.leave_one_out()[1] == pytest.approx(1 / np.diag(inverse), rel=1e-5)


def test_a_reading_is_left_out_of_its_own_prediction():
    matrix, residual = covariance(12), np.random.default_rng(3).standard_normal(12)
    gap, variance = Posterior.of(matrix, residual).leave_one_out()
    for at in range(12):
        rest = np.arange(12) != at
        weight = np.linalg.solve(matrix[rest][:, rest], matrix[rest, at])
        assert gap[at] == pytest.approx(residual[at] - weight @ residual[rest], abs=1e-5)
        assert variance[at] == pytest.approx(matrix[at, at] - weight @ matrix[rest, at], rel=1e-5)


def test_a_minimum_is_found_where_scipy_finds_it():
    value, place = gp._minimum(lambda z: (float(optimize.rosen(z)), optimize.rosen_der(z)), np.full(6, -1.5), 200)[::-1]
    assert value < 1e-6
    assert place == pytest.approx(np.ones(6), abs=1e-3)


def test_the_search_stays_in_its_box_and_passes_what_has_no_value():
    def bowl(z):
        away = z - np.array([2.9, 0.5])
        return (float(away @ away), 2 * away) if z[0] < 3 else (np.inf, np.zeros(2))

    place, value = gp._minimum(bowl, np.array([-50.0, 1.0]), 100)
    assert place == pytest.approx([2.9, 0.5], abs=1e-4)
    assert value < 1e-8
    place, _ = gp._minimum(lambda z: (float(-z.sum()), -np.ones(2)), np.zeros(2), 100)
    assert place.tolist() == [BOX, BOX]


def test_hyperparameters_are_as_likely_as_those_of_scipy(monkeypatch):
    seen = []

    def both(function, start, iterations):
        place, value = own(function, start, iterations)
        box = [(-BOX, BOX)] * len(start)
        found = optimize.minimize(function, start, jac=True, method="L-BFGS-B", bounds=box)
        seen.append((value, found.fun, optimize.check_grad(lambda z: function(z)[0], lambda z: function(z)[1], start)))
        return place, value

    own = gp._minimum
    monkeypatch.setattr(gp, "_minimum", both)
    space = Space.of(
        [
            {"direction": way, "bs": bs, "iodepth": depth}
            for way in ("read", "write")
            for bs in SIZES
            for depth in DEPTHS
        ]
    )
    rng = np.random.default_rng(4)
    kernel = GridKernel(space)
    for n in (12, 40, 60):
        rows = rng.permutation(len(space))[:n]
        residual = 0.2 * np.sin(space.index[rows, 1]) + 0.05 * rng.standard_normal(n)
        start = kernel.start(0.02, 0.002)
        kernel.fit(rows, residual, np.full(n, 0.002), np.zeros((n, n)), start, 0.02, 40, np.ones(n))
    assert len(seen) == 3
    for ours, scipys, wrong in seen:
        assert ours < scipys + 0.01
        assert wrong < 1e-3
