# SPDX-License-Identifier: Apache-2.0
"""Tails and quantiles against scipy's, far out and for few and many degrees of freedom."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import special, stats

from ioatlas.stats.distributions import beta_below, f_tail, log_gamma, normal_tail, t_beyond, t_quantile, t_tail

near = partial(pytest.approx, rel=1e-10, abs=0.0)
SMALLEST = 1e-13
freedom = st.floats(-0.5, 6).map(lambda log: 10**log)
tail = st.floats(-12, math.log10(0.5)).map(lambda log: 10**log)


@given(tail, freedom)
def test_t_goes_from_tail_to_quantile_and_back(p, dof):
    t = t_quantile(p, dof)
    assert special.stdtr(dof, t) == near(p)
    assert t_tail(-t, dof) == near(p)
    assert t_tail(t, dof) == near(1 - p)
    assert t_quantile(1 - p, dof) == -t_quantile(1 - (1 - p), dof)


@given(freedom, st.floats(1e-3, 30))
def test_the_density_of_t_is_scipys(dof, t):
    exact = t * stats.t.pdf(t, dof)
    assume(exact > SMALLEST)
    assert t_beyond(t, dof)[1] == near(exact)


@given(st.integers(1, 200), freedom, tail)
def test_the_tail_of_f_is_scipys(upper, lower, p):
    x = stats.f.isf(p, upper, lower)
    assume(0 < x < 1e100)
    assert f_tail(upper, lower, x) == near(special.fdtrc(upper, lower, x))


@given(st.floats(0.2, 1e4), st.floats(0.2, 1e4), st.floats(-8, 8))
def test_the_incomplete_beta_function_is_scipys(a, b, deviations):
    mean = a / (a + b)
    x = mean + deviations * math.sqrt(mean * (1 - mean) / (a + b + 1))
    assume(0 <= x <= 1)
    exact = special.betainc(a, b, x)
    assume(exact > SMALLEST or x == 0)
    assert beta_below(a, b, x) == near(exact)


def test_f_with_very_many_degrees_of_freedom_below_is_chi_square():
    for dof in (1, 2, 7, 101):
        for x in np.linspace(0.1, dof + 9 * math.sqrt(2 * dof), 20).tolist():
            assert f_tail(dof, 1e9, x / dof) == pytest.approx(special.chdtrc(dof, x), rel=1e-5)


def test_infinitely_many_degrees_of_freedom_are_the_normal_distribution():
    x = np.linspace(-9, 12, 400)
    assert normal_tail(x) == near(special.ndtr(-x))
    assert t_tail(x, math.inf) == near(special.ndtr(-x))
    for p in (1e-12, 1e-3, 0.4, 0.5, 0.975):
        assert t_quantile(p, math.inf) == near(special.ndtri(p))


def test_the_logarithm_of_gamma_is_scipys():
    x = np.geomspace(0.05, 1e9, 500)
    assert log_gamma(x) == pytest.approx(special.gammaln(x), rel=1e-12, abs=1e-12)


def test_arrays_are_as_their_numbers():
    t, dof = np.array([-40.0, -1.0, 0.0, 0.3, 7.0, 1e9]), np.array([[0.7], [3.0], [250.0]])
    assert t_tail(t, 3.0).tolist() == pytest.approx([t_tail(one, 3.0) for one in t.tolist()], rel=1e-14)
    found = f_tail(np.array([1.0, 4.0]), dof, np.array([0.5, 20.0]))
    assert found == near(special.fdtrc([1, 4], dof, [0.5, 20.0]))


def test_ends_are_exact_and_what_is_no_number_stays_none():
    assert beta_below(3.0, 2.0, np.array([0.0, 1.0])).tolist() == [0.0, 1.0]
    assert t_tail(np.array([-np.inf, 0.0, np.inf]), 3.0).tolist() == [1.0, 0.5, 0.0]
    assert f_tail(2, 5.0, 0.0) == 1.0
    assert math.isnan(t_tail(math.nan, 3.0))


@pytest.mark.parametrize("dof", [0.5, 1, 6.5, 300, 1e6])
def test_tails_fall(dof):
    t = np.concatenate([np.linspace(0, 3, 2000), np.geomspace(3.01, 1e3, 300)])
    falls = np.diff(t_tail(t, dof)) <= 0
    assert falls.all()
    assert (np.diff(f_tail(3, dof, t)) <= 0).all()
