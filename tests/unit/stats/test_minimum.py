# SPDX-License-Identifier: Apache-2.0
"""Minima agree with scipy's, which the command line does not import."""

import numpy as np
import pytest
from scipy import optimize

from ioatlas.analysis.saturation import _model, _starts
from ioatlas.stats.minimum import least_squares, nelder_mead


@pytest.mark.parametrize("seed", range(20))
def test_the_simplex_is_that_of_scipy(seed):
    draw = np.random.default_rng(seed)
    matrix = 2 * np.eye(2) + draw.normal(size=(2, 2)) / 3
    centre = draw.normal(size=2)

    def cost(at):
        moved = matrix @ (at - centre)
        return float(moved @ moved + (moved**4).sum())

    start = draw.normal(size=2) * draw.integers(0, 2, size=2)  # zeros too
    theirs = optimize.minimize(cost, start, method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-4})
    found, value = nelder_mead(cost, list(start), xatol=1e-4, fatol=1e-4)
    np.testing.assert_allclose(found, theirs.x, atol=2e-4)
    assert value == pytest.approx(theirs.fun, abs=2e-4)


def test_a_simplex_that_finds_no_end_stops():
    found, value = nelder_mead(lambda at: float(-at[0]), [1.0], xatol=1e-9, fatol=1e-9)
    assert np.isfinite(found).all()
    assert value < -1.0


@pytest.mark.parametrize("law", ["linear", "usl", "bounds"])
@pytest.mark.parametrize("seed", range(10))
def test_least_squares_are_those_of_scipy(law, seed):
    draw = np.random.default_rng(seed)
    n = np.array([1.0, 2, 4, 8, 16, 32])
    log_x = np.log(np.minimum(1000 * n, 9000)) + 0.05 * draw.normal(size=n.size)

    def residuals(logs):
        return np.log(_model(law, logs, n)) - log_x

    def best(squares):
        return min(squares(start) for start in _starts(law, n, log_x))

    theirs = best(lambda start: 2 * optimize.least_squares(residuals, start, max_nfev=200).cost)
    ours = best(lambda start: least_squares(residuals, start)[1])
    assert ours == pytest.approx(theirs, rel=1e-4)


def test_a_start_at_the_answer_stays_there():
    found, squares = least_squares(lambda at: at - np.array([1.0, 2.0]), [1.0, 2.0])
    assert found.tolist() == [1.0, 2.0]
    assert squares == 0.0
