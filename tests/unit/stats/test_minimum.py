# SPDX-License-Identifier: Apache-2.0
"""Minima agree with scipy's, which the command line does not import."""

import numpy as np
import pytest
from scipy import optimize

from ioatlas.stats.minimum import nelder_mead


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
