# SPDX-License-Identifier: Apache-2.0
"""Intervals over visits against closed forms and scipy, and what they do when they must not be given."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import special, stats

from ioatlas.model.errors import UsageError
from ioatlas.stats.distributions import beta_below, f_tail, log_gamma, normal_tail, t_beyond, t_quantile, t_tail
from ioatlas.stats.intervals import (
    FAR,
    SEEN_METHOD,
    TOO_FAR,
    PooledVariance,
    bounded,
    exceeds_pool,
    few_visits_interval,
    log_t_interval,
    median_interval,
    moderated_log_interval,
    order_statistic_ranks,
    pool_variance,
    rank_coverage,
)

positive = st.floats(1e-3, 1e12)


def test_log_t_equals_scipy_on_the_logarithms():
    values = [812.0, 905.5, 870.1, 790.3]
    found = log_t_interval(values)
    low, high = stats.t.interval(0.95, 3, loc=np.log(values).mean(), scale=stats.sem(np.log(values)))
    assert (found.low, found.high) == pytest.approx((math.exp(low), math.exp(high)))
    assert found.estimate == pytest.approx(stats.gmean(values))
    assert (found.method, found.n, found.confidence) == ("log-t/1", 4, 0.95)


def test_log_t_withholds_below_three_visits():
    for values in ([], [5.0], [5.0, 6.0]):
        found = log_t_interval(values)
        assert found.withheld
        assert found.reason
        assert found.relative_half_width == math.inf


def test_a_stalled_visit_gives_the_plain_interval_and_says_so():
    values = [0.0, 100.0, 110.0]
    found = log_t_interval(values)
    low, high = stats.t.interval(0.95, 2, loc=np.mean(values), scale=stats.sem(values))
    assert (found.method, found.low) == ("t/1", 0.0)
    assert low < 0
    assert found.high == pytest.approx(high)
    assert "zero" in found.reason
    assert log_t_interval([0.0, 0.0, 0.0]).withheld


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_values_that_are_no_throughput_are_refused(bad):
    for function in (log_t_interval, median_interval):
        with pytest.raises(UsageError):
            function([1.0, 2.0, bad])
    with pytest.raises(UsageError):
        log_t_interval([1.0, 2.0, 3.0], confidence=95)


def test_a_variance_that_is_known_gives_the_normal_interval_and_one_visit_that_of_the_pool():
    known = PooledVariance(0.03, math.inf, 50).beside(0.01)
    found = moderated_log_interval([100.0, 121.0], known)
    half = 1.959964 * 0.2 / math.sqrt(2)
    assert found.estimate == pytest.approx(110.0)
    assert found.high == pytest.approx(110.0 * math.exp(half), rel=1e-6)
    one = moderated_log_interval([100.0], PooledVariance(0.04, 10, 50))
    assert one.high == pytest.approx(100 * math.exp(stats.t.ppf(0.975, 10) * 0.2))
    assert moderated_log_interval([], known).withheld


def test_visits_far_apart_get_no_pooled_interval():
    equal = [[float(value)] * visits for value in np.geomspace(1e3, 1e9, 50) for visits in (3, 9)]
    none = PooledVariance(0.0, 5.0, 50)
    assert not any(moderated_log_interval(visits, none).withheld for visits in equal), "only rounding sets them apart"
    assert moderated_log_interval([100.0, 300.0], PooledVariance(0.0025, 30.0, 50)).withheld
    own = moderated_log_interval([100.0, 300.0, 200.0], PooledVariance(0.0025, 30.0, 50))
    assert own.method == "log-t/1"


def test_moderated_interval_is_smyths():
    values, pool = [100.0, 108.0, 95.0], PooledVariance(0.01, 6.0, 40)
    logs = np.log(values)
    variance = (6 * 0.01 + 2 * logs.var(ddof=1)) / 8
    half = stats.t.ppf(0.975, 8) * math.sqrt(variance / 3)
    found = moderated_log_interval(values, pool)
    assert found.low == pytest.approx(math.exp(logs.mean() - half))
    assert found.n == 3


@pytest.mark.parametrize(
    ("n", "low", "high", "coverage"),
    [(6, 1, 6, 0.96875), (9, 2, 8, 0.9609375), (12, 3, 10, 0.96142578), (20, 6, 15, 0.95861053), (30, 10, 21, 0.95722)],
)
def test_ranks_of_the_median_are_the_published_ones(n, low, high, coverage):
    assert order_statistic_ranks(n, 0.95) == (low, high)
    assert rank_coverage(n, low) == pytest.approx(coverage, abs=1e-5)


@pytest.mark.parametrize(("n", "ranks"), [(7, (1, 7)), (10, (2, 9)), (13, (3, 11)), (20, (5, 16)), (30, (9, 22))])
def test_ranks_at_97_5_percent(n, ranks):
    assert order_statistic_ranks(n, 0.975) == ranks


def test_rank_coverage_is_binomial_and_no_table_entry_falls_short():
    for n in range(6, 41):
        low, high = order_statistic_ranks(n, 0.95)
        coverage = rank_coverage(n, low)
        assert coverage >= 0.95
        assert coverage == pytest.approx(1 - 2 * stats.binom.cdf(low - 1, n, 0.5))
        assert high == n + 1 - low
    assert order_statistic_ranks(5, 0.95) is None
    assert median_interval([1.0, 2, 3, 4, 5]).withheld


@given(st.lists(positive, min_size=6, max_size=40))
def test_median_interval_holds_the_median_and_only_observed_values(values):
    found = median_interval(values)
    assert found.low in values
    assert found.high in values
    assert found.low <= found.estimate <= found.high


@given(st.lists(st.floats(1.0, 1e9), min_size=3, max_size=20), st.floats(1e-3, 1e3))
def test_log_intervals_scale_with_the_unit(values, factor):
    one, other = log_t_interval(values), log_t_interval([value * factor for value in values])
    assert other.estimate == pytest.approx(one.estimate * factor, rel=1e-9)
    assert other.low == pytest.approx(one.low * factor, rel=1e-6, abs=1e-300)
    assert one.low <= one.estimate <= one.high


@given(st.lists(st.floats(1.0, 1e9), min_size=6, max_size=20))
def test_higher_confidence_is_never_narrower(values):
    for function in (log_t_interval, median_interval):
        wide, narrow = function(values, 0.968), function(values, 0.9)
        assert wide.low <= narrow.low
        assert wide.high >= narrow.high


def cells(seed, count, visits, sd, d0=None):
    rng = np.random.default_rng(seed)
    own = np.full(count, sd**2) if d0 is None else sd**2 * d0 / rng.chisquare(d0, count)
    return np.exp(rng.normal(size=(count, 1)) + rng.normal(size=(count, visits)) * np.sqrt(own)[:, None])


def test_pool_finds_the_common_variance():
    pool = pool_variance(cells(0, 400, 3, 0.12).tolist())
    assert math.sqrt(pool.variance_log) == pytest.approx(0.12, rel=0.08)
    # 400 variances of 2 degrees each cannot tell 20 from infinitely many; they can from 5.
    assert pool.dof > 12
    assert pool.n_cells == 400


def test_pool_sees_that_cells_differ():
    pool = pool_variance(cells(1, 600, 4, 0.12, d0=5).tolist())
    assert 3 <= pool.dof <= 9
    assert math.sqrt(pool.variance_log) == pytest.approx(0.12, rel=0.15)


def test_pool_is_robust_to_a_few_wild_cells():
    table = cells(2, 200, 2, 0.05).tolist()
    clean = pool_variance(table)
    wild = pool_variance([[1.0, 50.0] if index < 10 else row for index, row in enumerate(table)])
    assert math.sqrt(wild.variance_log / clean.variance_log) < 1.3


def test_a_pool_of_cells_that_have_nothing_in_common_ends_with_a_variance():
    pool = pool_variance([[1.0, float(np.exp(10.0**power))] for power in range(-9, 3)])
    assert 0 < pool.variance_log < math.inf
    assert 0 < pool.dof < 2


def test_pool_needs_cells_that_can_say_something():
    assert pool_variance([]) is None
    assert pool_variance([[1.0, 1.1]] * 3) is None
    assert pool_variance([[5.0, 5.0]] * 20) is None
    for visits in (3, 9):
        # Their mean may differ from each of them by rounding.
        assert pool_variance([[float(value)] * visits for value in np.geomspace(1e3, 1e9, 20)]) is None
    assert pool_variance([[0.0, 5.0]] * 20) is None
    assert pool_variance([[5.0]] * 20) is None


@pytest.mark.parametrize("d0", [None, 5])
def test_moderated_intervals_of_two_visits_cover_95_percent(d0):
    table = cells(3, 2000, 2, 0.12, d0)
    rng = np.random.default_rng(3)
    if d0 is not None:
        rng.chisquare(d0, 2000)
    truth = np.exp(rng.normal(size=2000))
    pool = pool_variance(table.tolist())
    found = [moderated_log_interval(row, pool) for row in table.tolist()]
    given_ = [(interval, t) for interval, t in zip(found, truth, strict=True) if not interval.withheld]
    covered = np.mean([interval.covers(t) for interval, t in given_])
    assert len(given_) >= 0.98 * 2000
    assert 0.93 <= covered <= 0.97


def test_a_visit_that_measured_zero_takes_three_for_an_interval():
    def interval(values):
        return moderated_log_interval(values, PooledVariance(0.01, 20.0, 40))

    assert interval([0.0, 100.0, 110.0]) == log_t_interval([0.0, 100.0, 110.0])
    two = interval([0.0, 100.0])
    assert (two.withheld, two.estimate, two.n, two.reason) == (True, 50.0, 2, "a visit measured zero")
    assert interval([0.5, 0.51]).method != "t/1"


def test_what_is_withheld_still_says_the_level():
    assert log_t_interval([4.0, 9.0]).estimate == pytest.approx(6.0)
    assert log_t_interval([0.0, 9.0]).estimate == 4.5
    assert median_interval([1.0, 2.0, 30.0]).estimate == 2.0
    nothing = log_t_interval([])
    assert (nothing.estimate, nothing.low, nothing.high, nothing.n) == (None, None, None, 0)
    assert log_t_interval([0.0, 0.0, 0.0]).estimate == 0.0


def test_the_median_interval_is_made_of_the_ranks_given():
    values = [float(v) for v in range(10, 0, -1)]
    low, high = order_statistic_ranks(10, 0.95)
    found = median_interval(values)
    assert (found.estimate, found.low, found.high) == (5.5, float(low), float(high))
    assert found.covers(float(low))
    assert found.covers(float(high))
    assert not found.covers(high + 0.1)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 1.5, -0.1])
def test_a_confidence_lies_between_0_and_1(confidence):
    with pytest.raises(UsageError, match="confidence"):
        log_t_interval([1.0, 2.0, 3.0], confidence)


def test_a_pool_without_noise_allows_none():
    assert not exceeds_pool(0.0, 3, 0.0, math.inf)
    assert exceeds_pool(1e-9, 3, 0.0, math.inf)
    limit = stats.chi2.isf(0.01, 3) / 3
    assert [exceeds_pool(share * limit, 3, 1.0, math.inf) for share in (0.99, 1.01)] == [False, True]
    limit = stats.f.isf(0.01, 3, 12)
    assert [exceeds_pool(share * limit, 3, 1.0, 12) for share in (0.99, 1.01)] == [False, True]


def test_a_pool_takes_four_cells_and_a_spread_is_shrunk_to_its_own_figures():
    table = cells(5, 4, 3, 0.1).tolist()
    assert pool_variance(table).n_cells == 4
    assert pool_variance(table[:3]) is None
    wide = pool_variance(cells(6, 3000, 6, 0.12, d0=30).tolist())
    assert 20 <= wide.dof <= 45
    assert math.sqrt(wide.variance_log) == pytest.approx(0.12, rel=0.05)
    assert pool_variance(cells(7, 1500, 20, 0.12).tolist()).dof == math.inf


def test_a_pool_is_the_maximum_of_its_likelihood():
    """Against scipy's F distribution, the largest tenth of the variances known only to be larger than the limit."""
    table = cells(8, 300, 4, 0.1, d0=8)
    pool = pool_variance(table.tolist())
    variances = np.log(table).var(axis=1, ddof=1)
    limit = np.quantile(variances, 0.9)
    kept, beyond = variances[variances <= limit], np.count_nonzero(variances > limit)

    def likelihood(variance, d0):
        exact = stats.f.logpdf(kept / variance, 3, d0) - np.log(variance)
        return exact.sum() + beyond * stats.f.logsf(limit / variance, 3, d0)

    best = likelihood(pool.variance_log, pool.dof)
    for share in (0.9, 0.97, 1.03, 1.1):
        assert likelihood(pool.variance_log * share, pool.dof) < best
        assert likelihood(pool.variance_log, pool.dof * share) < best + 1e-3
    assert likelihood(pool.variance_log, pool.dof * 1.5) < best - 0.1


def test_a_cell_with_a_value_that_is_none_is_left_out_of_the_pool():
    table = cells(9, 20, 3, 0.1).tolist()
    assert pool_variance([*table, [1.0, math.nan, 2.0], [1.0, math.inf]]) == pool_variance(table)


def test_a_relative_width_is_half_the_interval_over_the_estimate():
    interval = log_t_interval([9.0, 10.0, 11.0])
    assert interval.relative_half_width == (interval.high - interval.low) / 2 / interval.estimate
    assert log_t_interval([0.0, 0.0, 0.0]).relative_half_width == math.inf
    assert log_t_interval([9.0, 10.0]).relative_half_width == math.inf


@pytest.mark.parametrize("d0", [None, 3])
def test_two_visits_of_four_to_fourteen_cells_whose_windows_waver_differently_cover_95_percent(d0):
    """Spread between visits that all share, and what is seen inside them, of which each cell has its own."""
    rng = np.random.default_rng(11)
    covered, alone, pools = [], [], []
    for count in (4, 6, 9, 14) * 20:
        within = 0.03**2 * np.exp(1.2 * rng.normal(size=count))
        own = (0.03**2 + within) * (1 if d0 is None else d0 / rng.chisquare(d0, count))
        table = np.exp(rng.normal(size=(count, 2)) * np.sqrt(own)[:, None])
        seen = within * rng.chisquare(14, count) / 14
        pool = pool_variance(table.tolist(), seen.tolist())
        found = [
            moderated_log_interval(row, pool.beside(inside)) for row, inside in zip(table.tolist(), seen, strict=True)
        ]
        covered += [one.covers(1.0) for one in found if not one.withheld]
        alone += [one.relative_half_width for one in found]
        pools.append(pool.dof)
    assert 0.92 <= np.mean(covered) <= 0.98
    assert np.median(alone) < 0.15, "by two visits alone it is 0.3"
    wide = moderated_log_interval([1.0, 9.0], PooledVariance(0.0009, 10.0, 12).beside(0.0025))
    assert wide.apart, "what is seen inside does not explain it"


CELLS, IOS = 1500, 200


def tails_of(visits: int, between: float, within: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(99th percentile, median, slowest I/O) of each visit, shape (CELLS, visits), of lognormal latencies."""
    rng = np.random.default_rng(7)
    level = np.exp(between * rng.normal(size=(CELLS, visits)))
    latencies = np.exp(within * rng.normal(size=(CELLS, visits, IOS))) * level[:, :, None]
    return (*np.quantile(latencies, (0.99, 0.5), axis=2, method="higher"), latencies.max(axis=2))


@pytest.mark.long("stats")
@pytest.mark.parametrize("visits", [3, 5])
@pytest.mark.parametrize(("between", "within"), [(0.05, 0.3), (0.3, 0.02), (0.6, 0.02), (1.0, 0.5)])
def test_bounded_intervals_cover_the_truth_as_often_as_they_say(visits, between, within):
    tails, medians, slowest = tails_of(visits, between, within)
    truth = math.exp(float(np.log(tails).mean()))
    found = [
        bounded(log_t_interval(row), row, [*low, *high])
        for row, low, high in zip(tails.tolist(), medians.tolist(), slowest.tolist(), strict=True)
    ]
    shown = [one for one in found if not one.withheld]
    assert sum(one.covers(truth) for one in shown) / len(shown) > 0.93
    # What is withheld tells nothing wrong, and stays rare where visits are not whole powers of ten apart.
    assert len(shown) / len(found) > (0.99 if between <= 0.3 else 0.6)
    assert all(one.high <= FAR * one.low for one in shown)


def test_usual_intervals_stay_as_they_are():
    values = [101.0, 99.0, 104.0]
    assert few_visits_interval(values) == log_t_interval(values)


def test_two_worlds_give_no_interval_of_ten_powers_of_ten():
    """A stall met some visits and not others: 1.2 ms and 520 ms."""
    values = [1.2e6, 520e6, 1.3e6]
    assert log_t_interval(values).high > 1e4 * log_t_interval(values).low
    found = bounded(log_t_interval(values), values, [1.1e6, 530e6])
    assert found.withheld
    assert found.apart
    assert found.reason.startswith(TOO_FAR)
    assert "more visit" in found.reason


def test_what_was_seen_within_the_visits_ends_the_interval():
    values = [10.0, 40.0, 12.0]
    found = bounded(log_t_interval(values), values, [8.0, 44.0])
    assert (found.low, found.high) == (4.0, 88.0)
    assert found.method.endswith(SEEN_METHOD)


def test_a_stall_that_was_measured_as_zero_keeps_its_interval_from_zero():
    values = [0.0, 100.0, 110.0]
    found = few_visits_interval(values)
    assert found.low == 0.0
    assert found.high <= 220.0


def test_what_is_withheld_stays_withheld():
    assert few_visits_interval([5.0]) == log_t_interval([5.0])
    assert few_visits_interval([0.0, 0.0, 0.0]).withheld


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
