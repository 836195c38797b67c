# SPDX-License-Identifier: Apache-2.0
"""How well a campaign's level is known: closed forms of the mixture, and coverage with and without drift."""

import math

import numpy as np
import pytest
from scipy import stats

from ioatlas.stats.drift import FEWEST, Spread, _contrasts, _stretches, level_spread, wander


def test_a_spread_of_one_component_is_students():
    spread = Spread(np.ones(1), np.array([0.2]), 7.0, 0.0)
    assert spread.beyond(0.3) == pytest.approx(stats.t.sf(0.3 / 0.2, 7))
    assert spread.beyond(-0.3) == pytest.approx(1 - stats.t.sf(0.3 / 0.2, 7))
    assert spread.half_width() == pytest.approx(0.2 * stats.t.ppf(0.975, 7))
    assert spread.half_width(0.8) == pytest.approx(0.2 * stats.t.ppf(0.9, 7))


def test_a_mixture_is_weighed_and_a_component_without_spread_is_a_step():
    spread = Spread(np.array([0.25, 0.75]), np.array([0.0, 0.2]), 7.0, 0.0)
    assert spread.beyond(0.3) == pytest.approx(0.75 * stats.t.sf(0.3 / 0.2, 7))
    assert spread.beyond(-0.3) == pytest.approx(0.25 + 0.75 * stats.t.sf(-0.3 / 0.2, 7))
    assert spread.beyond(spread.half_width()) == pytest.approx(0.025, abs=1e-6)
    assert Spread(np.ones(2) / 2, np.zeros(2), 7.0, 0.0).half_width() == 0.0


def test_a_mixture_that_is_nearly_certain_has_no_width():
    assert Spread(np.array([0.99, 0.01]), np.array([0.0, 1.0]), 10.0, 0.0).half_width() == 0.0
    assert Spread(np.array([0.9, 0.1]), np.array([0.0, 1.0]), 10.0, 0.0).half_width() > 0.0


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_of_residuals_that_are_no_numbers_nothing_is_known(value):
    """They once gave an error of 0."""
    residuals = np.random.default_rng(1).normal(0, 0.01, 100)
    residuals[7] = value
    assert level_spread([(np.arange(100.0), residuals)]) is None


@pytest.mark.parametrize("k", [2, 5, 24])
def test_contrasts_are_orthonormal_and_know_no_level(k):
    rows = _contrasts(k)
    assert rows.shape == (k - 1, k)
    assert rows @ rows.T == pytest.approx(np.eye(k - 1))
    assert rows.sum(axis=1) == pytest.approx(np.zeros(k - 1), abs=1e-12)


def test_stretches_are_in_the_order_of_time_and_hold_two_visits_at_least():
    at, means, counts = _stretches(np.array([3.0, 1.0, 2.0, 4.0, 5.0]), np.array([30.0, 10.0, 20.0, 40.0, 50.0]))
    assert counts.tolist() == [3, 2]
    assert at.tolist() == [2.0, 4.5]
    assert means.tolist() == [20.0, 45.0]
    assert _stretches(np.arange(1000.0), np.zeros(1000))[2].size == 24


def campaign(seed, n=96, drift=0.0, tau=200.0):
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(5, 15, n))
    gaps = np.abs(times[:, None] - times[None, :])
    slow = np.linalg.cholesky(np.exp(-gaps / tau) + 1e-9 * np.eye(n)) @ rng.normal(size=n) if drift else np.zeros(n)
    return times, 0.1 * rng.normal(size=n) + drift * slow


def test_white_noise_gives_about_the_plain_interval_of_a_mean():
    plain = 0.1 / math.sqrt(96) * stats.t.ppf(0.975, 95)
    widths = [level_spread([campaign(seed)]).half_width() for seed in range(20)]
    assert 1.2 < np.median(widths) / plain < 2.2, "wider, for drift cannot be ruled out"


@pytest.mark.long("stats")
@pytest.mark.parametrize(("drift", "least"), [(0.0, 0.95), (0.1, 0.85)])
def test_intervals_of_a_level_cover_where_the_plain_ones_do_not(drift, least):
    covered, plain = [], []
    for seed in range(80):
        times, residuals = campaign(seed, drift=drift)
        error = abs(residuals.mean())
        covered.append(error <= level_spread([(times, residuals)]).half_width())
        plain.append(error <= stats.sem(residuals) * stats.t.ppf(0.975, 95))
    assert np.mean(covered) >= least
    assert not drift or np.mean(plain) < 0.6


def test_drift_is_seen_and_widens():
    quiet, moving = level_spread([campaign(1)]), level_spread([campaign(1, drift=0.2)])
    assert moving.drift_variance > 10 * quiet.drift_variance
    assert moving.half_width() > 3 * quiet.half_width()
    both = level_spread([campaign(1), campaign(2)])
    assert both.dof == 2 * 23
    assert both.half_width() == pytest.approx(math.sqrt(2) * quiet.half_width(), rel=0.25)


def test_extra_variance_is_added_to_every_component():
    plain, more = level_spread([campaign(3)]), level_spread([campaign(3)], extra_variance=0.04)
    assert more.scales**2 - plain.scales**2 == pytest.approx(np.full(plain.scales.size, 0.04))
    assert more.drift_variance - plain.drift_variance == pytest.approx(0.04)
    flat = level_spread([(np.arange(20.0), np.zeros(20))], extra_variance=0.04)
    assert flat.half_width() == pytest.approx(0.2 * stats.t.ppf(0.975, 9))


def test_too_few_visits_or_no_time_say_nothing():
    assert level_spread([]) is None
    assert level_spread([campaign(1), campaign(1, n=7)]) is None
    assert level_spread([campaign(1, n=8)]) is not None
    assert level_spread([(np.zeros(20), np.arange(20.0))]) is None


def sweep(rng, cells, replicates, level=lambda _n: 0.0, noise=0.05, rho=0.0):
    """(cells, values) in the order of time; every replicate visits every cell in an order of its own."""
    truth = rng.normal(size=cells)
    keys, values = [], []
    state = rng.normal()
    for _ in range(replicates):
        for cell in rng.permutation(cells):
            state = rho * state + math.sqrt(1 - rho**2) * rng.normal()
            values.append(1e8 * math.exp(truth[cell] + level(len(values)) + noise * state))
            keys.append(int(cell))
    return keys, values


def there_and_back(number):
    """Ten times slower and back within 60 visits."""
    return math.log(1 - 0.9 * (1 - abs(1 - number % 60 / 30)))


@pytest.mark.parametrize(("cells", "replicates"), [(8, 8), (8, 4), (24, 2), (60, 3)])
def test_a_target_that_goes_down_and_comes_back_inside_replicates_wandered(cells, replicates):
    found = wander(*sweep(np.random.default_rng(1), cells, replicates, there_and_back))
    assert found is not None
    begin, end, moved = found
    low, high = (begin, end) if moved > 0 else (end, begin)
    assert abs(moved) > 0.7
    # The ends of the way, give or take a few visits; it may go several times.
    assert min(abs(low % 60 - 30), 30) <= 8
    assert min(high % 60, 60 - high % 60) <= 15


@pytest.mark.parametrize(("noise", "rho"), [(0.02, 0.0), (0.2, 0.0), (0.2, 0.6)])
def test_noise_does_not_wander_even_where_neighbours_agree(noise, rho):
    rng = np.random.default_rng(2)
    found = [wander(*sweep(rng, cells, 4, noise=noise, rho=rho)) for cells in (8, 30, 60) for _ in range(40)]
    assert sum(one is not None for one in found) <= 1


def test_a_small_way_is_not_told():
    assert wander(*sweep(np.random.default_rng(3), 20, 4, lambda n: 0.05 * there_and_back(n), noise=0.001)) is None


def test_few_readings_and_cells_read_once_tell_nothing():
    keys, values = sweep(np.random.default_rng(4), FEWEST // 2 - 1, 2, there_and_back)
    assert wander(keys, values) is None
    assert wander(range(100), [math.exp(there_and_back(n)) for n in range(100)]) is None
    assert wander([0] * 100, [1e8] * 100) is None
    assert wander([], []) is None


def test_places_are_those_of_the_input():
    rng = np.random.default_rng(5)
    keys, values = sweep(rng, 8, 8, there_and_back)
    begin, end, moved = wander(keys, values)
    assert wander(["once", *keys], [1.0, *values]) == (begin + 1, end + 1, pytest.approx(moved))
