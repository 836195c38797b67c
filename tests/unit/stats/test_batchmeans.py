# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

from ioatlas.stats.batchmeans import autocorrelation, autocorrelation_time, batch_means


def ar(seed, rho, n):
    noise = lfilter([1], [1, -rho], np.random.default_rng(seed).normal(size=n + 300))[300:]
    return 100 + 20 * noise * np.sqrt(1 - rho**2)


def test_autocorrelation_is_the_definition():
    series = ar(0, 0.5, 200)
    centred = series - series.mean()
    for lag in (1, 2, 7):
        assert autocorrelation(series, 10)[lag] == pytest.approx((centred[lag:] @ centred[:-lag]) / (centred @ centred))
    assert autocorrelation([3.0] * 50, 3).tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.6, 0.9])
def test_autocorrelation_time_of_an_ar1_is_known(rho):
    found = np.mean([autocorrelation_time(ar(seed, rho, 4000)) for seed in range(20)])
    assert found == pytest.approx((1 + rho) / (1 - rho), rel=0.1)


@pytest.mark.parametrize(("rho", "n"), [(0.0, 400), (0.6, 1600), (0.9, 6400)])
def test_batch_means_cover_and_are_seldom_refused(rho, n):
    found = [batch_means(ar(seed, rho, n)) for seed in range(400)]
    given_ = [result for result in found if not result.too_short]
    assert len(given_) >= 0.95 * len(found)
    # 93 to 97%, and 2.3 standard errors of 400 tries.
    assert 0.91 <= np.mean([result.interval.covers(100.0) for result in given_]) <= 0.985
    assert all(result.batches >= 10 and result.lag1 < 0.2 and result.batch_intervals >= 5 * result.tau_intervals for result in given_)


def test_windows_that_are_too_short_are_refused():
    assert all(batch_means(ar(seed, 0.9, 200)).too_short for seed in range(50))
    assert batch_means([]).too_short
    assert batch_means([1.0] * 49).too_short


def test_a_constant_window_is_exact():
    result = batch_means([7.0] * 200)
    assert (result.interval.low, result.interval.estimate, result.interval.high) == (7.0, 7.0, 7.0)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 1e9), max_size=300))
def test_any_window_gets_an_interval_or_a_reason(values):
    result = batch_means(values)
    assert result.too_short == result.interval.withheld
    assert bool(result.interval.reason) == result.too_short
