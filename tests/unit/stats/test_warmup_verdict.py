# SPDX-License-Identifier: Apache-2.0
"""Warm-up cuts and verdicts: known shapes, hostile input, and false alarms counted on series that never change."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioatlas.model.errors import UsageError
from ioatlas.stats import verdict, warmup
from ioatlas.stats.verdict import FEWEST, judge
from ioatlas.stats.warmup import Noise, change_points, mser_cut, noise_around, trim_spikes, without_step
from tests.examples import examples


def noise(seed, n, rho=0.0, cv=0.2):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n + 200)
    for i in range(1, y.size):
        y[i] = rho * y[i - 1] + math.sqrt(1 - rho**2) * y[i]
    return np.maximum(1 + cv * y[200:], 0.0)


def brute_mser(series, batch):
    z = [np.mean(series[i * batch : (i + 1) * batch]) for i in range(len(series) // batch)]
    k = len(z)
    best = min(range(k - max(2, k // 5)), key=lambda d: np.sum((z[d:] - np.mean(z[d:])) ** 2) / (k - d) ** 2)
    return best * batch


@pytest.mark.parametrize("n", [10, 15, 19, 20, 49, 200])
def test_mser_is_the_minimum_of_its_definition_with_short_batches_for_short_series(n):
    for seed in range(20):
        series = noise(seed, n, 0.4)
        series[: n // 3] *= 0.6
        assert mser_cut(series) == brute_mser(series, max(1, min(5, n // 10)))


def test_mser_finds_an_initial_step_and_keeps_all_of_a_constant():
    series = np.concatenate([np.full(30, 10.0), np.full(120, 100.0)]) + np.random.default_rng(0).normal(size=150)
    assert 30 <= mser_cut(series) <= 75
    assert mser_cut([7.0] * 100) == mser_cut([1.0, 2.0]) == 0


def test_a_single_spike_is_trimmed_and_a_run_is_not():
    series = noise(1, 60, cv=0.05)
    spiked = series.copy()
    spiked[20] = 0.0
    assert trim_spikes(spiked)[20] > 0.5
    spiked[40:50] = 0.0
    assert trim_spikes(spiked)[45] < 0.2


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.6])
def test_autocorrelation_of_residuals_is_recovered_on_average(rho):
    found = [noise_around(x - x.mean(), 1).rho for x in (noise(seed, 200, rho) for seed in range(100))]
    assert np.mean(found) == pytest.approx(rho, abs=0.06)


def test_change_points_lie_at_the_changes():
    rng = np.random.default_rng(3)
    series = np.concatenate([np.full(40, 1.0), np.full(40, 2.0), np.full(40, 1.5)]) + 0.05 * rng.normal(size=120)
    fitted = np.repeat([series[:40].mean(), series[40:80].mean(), series[80:].mean()], 40)
    assert change_points(series, noise_around(series - fitted, 3)) == (40, 80)


SHAPES = {
    "flat": np.ones,
    "warm-up": lambda n: np.where(np.arange(n) < 0.2 * n, 0.5, 1.0),
    "slowdown": lambda n: np.where(np.arange(n) < 0.25 * n, 2.0, 1.0),
    "drifting": lambda n: 0.5 + np.arange(n) / n,
    "bistable": lambda n: np.where(np.arange(n) // (n // 8) % 2, 1.0, 2.0),
    "unstable": lambda n: np.where((np.arange(n) > 0.4 * n) & (np.arange(n) < 0.7 * n), 0.4, 1.0),
}


@pytest.mark.parametrize("label", SHAPES)
@pytest.mark.parametrize("n", [100, pytest.param(400, marks=pytest.mark.long("stats"))])
def test_known_shapes_get_their_verdict(label, n):
    # CV 8%, and lag-1 autocorrelation 0.3, as 10 to 50 ms intervals have on a quiet target.
    found = [judge(SHAPES[label](n) * noise(seed, n, 0.3, 0.08)).label for seed in range(40)]
    assert found.count(label) >= 38, found


def test_the_cut_is_where_the_warm_up_ends_and_in_milliseconds():
    for seed in range(20):
        verdict = judge(SHAPES["warm-up"](100) * noise(seed, 100, 0.3, 0.1), interval_ms=20)
        assert verdict.label == "warm-up"
        # MSER-5 may put it a little later; a late cut costs data, an early one would keep warm-up.
        assert 18 <= verdict.cut <= 30
        assert verdict.cut_ms == verdict.cut * 20
        assert verdict.steady
        assert verdict.verdict.text == f"warm-up({verdict.cut_ms} ms)"


def test_a_cut_in_the_second_half_is_a_slowdown_late_and_not_steady():
    for seed in range(20):
        verdict = judge(np.where(np.arange(100) < 65, 2.0, 1.0) * noise(seed, 100, 0.3, 0.1))
        assert (verdict.label, verdict.late, verdict.steady) == ("slowdown", True, False)


def test_interval_ends_give_the_cut_its_time():
    series = SHAPES["warm-up"](100) * noise(2, 100, cv=0.05)
    ends = np.arange(1, 101) * 37
    verdict = judge(series, end_ms=ends.tolist())
    assert verdict.cut_ms == 37 * verdict.cut
    with pytest.raises(UsageError):
        judge(series, end_ms=[1, 2])


@pytest.mark.parametrize("rho", [0.0, pytest.param(0.3, marks=pytest.mark.long("stats")), 0.6])
@pytest.mark.parametrize("n", [20, 50, pytest.param(200, marks=pytest.mark.long("stats"))])
def test_false_alarms_on_stationary_noise_stay_below_five_percent(rho, n):
    alarms = sum(judge(noise(1000 + seed, n, rho)).label != "flat" for seed in range(300))
    # 5% of 300 is 15; 24 is what 5% exceeds once in a hundred times.
    assert alarms <= 24


def test_stalls_and_silence():
    series = noise(5, 100, cv=0.1)
    series[50:70] = 0
    verdict = judge(series)
    assert verdict.label == "unstable"
    assert "stalled" in verdict.reason
    assert judge([0.0] * 50).label == "unstable"
    assert judge([0.0]).label == "unstable"


@pytest.mark.parametrize("length", range(6))
def test_too_few_points_get_no_verdict(length):
    verdict = judge([100.0] * length)
    assert (verdict.label, verdict.n) == ("too short", length)
    assert not verdict.steady


def test_missing_intervals_are_left_out_and_the_cut_counts_them():
    series = (SHAPES["warm-up"](100) * noise(4, 100, cv=0.05)).tolist()
    for index in (3, 17, 60, 61):
        series[index] = math.nan
    verdict = judge(series, interval_ms=10)
    assert (verdict.label, verdict.n) == ("warm-up", 96)
    assert 18 <= verdict.cut <= 25


def test_negative_throughput_is_refused():
    with pytest.raises(UsageError, match="negative"):
        judge([1.0] * 30 + [-1.0])
    with pytest.raises(UsageError, match="dimension"):
        judge([[1.0, 2.0], [3.0, 4.0]])


def test_counting_steps_are_not_levels():
    """One job whose I/Os take 0.45 intervals, give or take a tenth: intervals count 2 or 3 of them."""
    for seed in range(30):
        ends = np.cumsum(0.45 * (1 + 0.1 * np.random.default_rng(seed).normal(size=400)))
        counts = np.histogram(ends, bins=np.arange(101))[0]
        assert judge(counts * 4096.0, quantum=4096.0).label == "flat"


def test_jobs_in_step_are_no_stall():
    """Eight jobs complete together every 9 intervals: 8 of 9 intervals are empty, and nothing stalls."""
    counts = np.zeros(400)
    counts[::9] = 8
    verdict = judge(counts, quantum=1.0, outstanding=8)
    assert verdict.label in ("flat", "too short")


@examples(150)
@given(st.lists(st.floats(0, 1e12) | st.just(math.nan), max_size=120))
def test_any_series_gets_a_verdict(values):
    verdict = judge(values, interval_ms=10)
    assert 0 <= verdict.cut <= max(0, len(values) - 1)
    assert verdict.cut == 0 or verdict.label in ("warm-up", "slowdown")
    assert verdict.n <= len(values)
    if verdict.n < FEWEST:
        assert verdict.label in ("too short", "unstable")


@examples(50)
@given(st.integers(0, 1000), st.floats(1e-6, 1e12), st.sampled_from(sorted(SHAPES)))
def test_verdicts_do_not_depend_on_the_unit(seed, factor, shape):
    series = SHAPES[shape](100) * noise(seed, 100, 0.3, 0.1)
    one, other = judge(series), judge(series * factor)
    assert (one.label, one.cut) == (other.label, other.cut)


@pytest.mark.parametrize("level", [0.2, 1.6])
def test_what_the_end_cuts_off_is_judged_as_if_it_passed(level):
    """A tenth of the window at another level, at its end or in the middle."""
    at = np.arange(50)
    for place in (at >= 45, abs(at - 25) < 3):
        found = [judge(np.where(place, level, 1.0) * noise(seed, 50, 0.3, 0.08)) for seed in range(40)]
        assert sum(one.label == "flat" for one in found) >= 36
        assert not any(one.late for one in found)


@pytest.mark.parametrize("level", [0.5, 2.0])
@pytest.mark.parametrize("begin", [30, 33, 38])
def test_a_change_in_the_second_half_before_the_last_fifth_is_late_and_not_steady(level, begin):
    at = np.arange(50)
    found = [judge(np.where(at < begin, 1.0, level) * noise(seed, 50, 0.3, 0.08)) for seed in range(40)]
    assert sum(one.late and not one.steady for one in found) >= 38


@pytest.mark.parametrize(("level", "share"), [(9.8, 10), (3.0, 10), (0.2, 18)])
def test_a_change_at_the_end_that_moves_the_windows_mean_is_late(level, share):
    begin = 100 - share
    verdict = judge(np.where(np.arange(100) < begin, 1.0, level) * noise(1, 100, 0.3, 0.02))
    assert verdict.late, verdict
    assert abs(verdict.cut - begin) <= 2


@pytest.mark.parametrize("level", [0.0, 0.1, 0.5])
def test_a_dip_that_has_passed_before_the_last_fifth_is_no_late_change(level):
    at = np.arange(100)
    for seed in range(10):
        verdict = judge(np.where((at >= 75) & (at < 83), level, 1.0) * noise(seed, 100, 0.3, 0.02))
        assert verdict.label == "flat", verdict


@pytest.mark.parametrize("begin", [80, 85, 90])
def test_a_load_that_comes_through_only_at_the_end_settled_late(begin):
    verdict = judge(np.where(np.arange(100) < begin, 0.0, 1.0) * noise(1, 100, 0.3, 0.02))
    assert (verdict.label, verdict.cut, verdict.late) == ("warm-up", begin, True)


@pytest.mark.parametrize("n", [20, 47, 100])
def test_the_best_step_is_the_one_with_the_least_residuals(n):
    for seed in range(20):
        series = np.where(np.arange(n) < n // 3, 1.0, 1.2) + 0.3 * np.random.default_rng(seed).normal(size=n)
        smallest = max(3, n // 20)
        least = min(
            sum(float(np.sum((part - part.mean()) ** 2)) for part in (series[:at], series[at:]))
            for at in range(smallest, n - smallest + 1)
        )
        found = without_step(series, max(3, n // 20))
        assert float(found @ found) == pytest.approx(least)


def test_what_one_stretch_leaves_on_the_wrong_side_is_counted_by_trying_all():
    rng = np.random.default_rng(3)
    for n in (5, 9, 14):
        for _ in range(20):
            in_high = rng.random(n) < 0.5
            stretches = [(a, b) for a in range(n + 1) for b in range(a, n + 1)]
            wrong = min(
                int(np.sum(in_high != (inside if other else ~inside)))
                for a, b in stretches
                for inside in [(np.arange(n) >= a) & (np.arange(n) < b)]
                for other in (True, False)
            )
            assert verdict._misplaced(in_high) == wrong


@pytest.mark.parametrize(
    ("levels", "start", "mean"),
    [
        ([1.0, 2.0, 2.1, 2.0], 10, 61.0 / 30),
        ([2.0, 2.0, 2.0], 0, 2.0),
        ([1.0, 2.0], 10, 2.0),
        ([2.0, 1.0, 2.0, 2.0], 20, 2.0),
        ([1.0, 1.0, 0.0], 20, 1e-300),
        ([1.0, 1.11, 1.0], 20, 1.0),
        ([1.0, 1.09, 1.0], 0, 30.9 / 30),
    ],
)
def test_the_tail_is_all_stretches_that_agree_with_it(levels, start, mean):
    edges = [10 * place for place in range(len(levels) + 1)]
    assert verdict._tail(edges, levels, np.repeat(levels, 10)) == (start, pytest.approx(mean))


def test_a_verdict_tells_its_cut_where_it_has_one():
    assert (judge([5.0] * 50).label, judge([5.0] * 50).verdict.text) == ("flat", "flat")
    cut = judge(np.repeat([1.0, 2.0], [20, 80]) * noise(3, 100, cv=0.01), interval_ms=50)
    assert cut.verdict.text == "warm-up(1000 ms)"
    assert (cut.cut, cut.n, cut.late, cut.steady) == (20, 100, False, True)


def test_residuals_without_noise_have_none():
    assert noise_around(np.zeros(20), 2) == Noise(0.0, 0.0)


def test_a_spike_on_a_series_that_hardly_moves_is_pulled_in_by_the_spread_of_all():
    quiet = np.where(np.arange(40) == 20, 900.0, 100.0)
    spread = (quiet - 100.0).std()
    assert trim_spikes(quiet)[20] == pytest.approx(100.0 + 4 * spread)
    assert np.all(np.delete(trim_spikes(quiet), 20) == 100.0)


def stairs(levels, shares, n=400):
    lengths = [round(share * n) for share in shares]
    return np.repeat(np.array(levels), lengths) + np.random.default_rng(0).normal(0, 0.6, n)


@pytest.mark.parametrize(
    ("levels", "shares", "n", "label"),
    [
        ([150.0, 130.0, 135.0, 100.0], [0.1, 0.1, 0.1, 0.7], 200, "slowdown"),  # up again by 4%: still one fall
        ([200.0, 150.0, 156.0, 100.0], [0.1, 0.1, 0.2, 0.6], 400, "slowdown"),
        ([200.0, 150.0, 156.0, 100.0], [0.2, 0.2, 0.2, 0.4], 400, "drifting"),  # beyond the middle
    ],
)
def test_stairs_are_one_fall_or_a_drift(levels, shares, n, label):
    told = judge(stairs(levels, shares, n))
    assert told.label == label
    assert label == "drifting" or told.cut == round(sum(shares[:3]) * n)


@pytest.mark.parametrize("seed", range(5))
def test_the_ends_are_trimmed_by_the_series_turned_back_on_itself(seed):
    series = noise(seed, 40)
    series[seed % 2] = 9.0
    padded = np.pad(series, 2, mode="symmetric")
    local = np.array([np.median(padded[place : place + 5]) for place in range(40)])
    off = series - local
    limit = 4 * 1.4826 * np.median(np.abs(off - np.median(off)))
    assert trim_spikes(series) == pytest.approx(np.clip(series, local - limit, local + limit))


def cost_of(series, cuts, penalty):
    parts = np.split(series, cuts)
    return sum(((part - part.mean()) ** 2).sum() for part in parts) + penalty * len(cuts)


@pytest.mark.parametrize("seed", range(20))
def test_no_other_cuts_cost_less(seed):
    generator = np.random.default_rng(seed)
    n = int(generator.integers(6, 17))
    series = 100 + np.repeat(generator.normal(0, 3, 4), -(-n // 4))[:n] * (seed % 3) + generator.normal(0, 1, n)
    penalty = 3 * np.log(n)
    every = [
        cuts
        for k in range(n // 3)
        for cuts in itertools.combinations(range(3, n - 2), k)
        if min(np.diff([0, *cuts, n])) >= 3
    ]
    best = min(every, key=lambda cuts: cost_of(series, cuts, penalty))
    assert warmup.change_points(series, warmup.Noise(1.0, 0.0)) == best


def test_a_long_series_is_cut_where_its_level_changes():
    series = np.random.default_rng(3).normal(100, 1, 3000)
    series[1000:] += 2
    (cut,) = warmup.change_points(series, warmup.Noise(1.0, 0.0))
    assert abs(cut - 1000) <= 3


@pytest.mark.parametrize(("first", "label"), [(4.8, "slowdown"), (0.2, "warm-up")])
def test_a_start_of_one_interval_is_cut(first, label):
    """200 I/Os of credit in the first 20 ms of a second at 2,000 IOPS: the mean would be 8% too high."""
    noise = np.random.default_rng(5).normal(1, 0.03, 50)
    series = 8000 * np.concatenate([[first], noise])
    found = judge(series, interval_ms=20)
    assert (found.label, found.cut, found.cut_ms) == (label, 1, 20)
    assert found.steady
    assert series[found.cut :].mean() == pytest.approx(8000, rel=0.02)
    middle = 8000 * np.concatenate([noise[:25], [first], noise[25:]])
    assert judge(middle, interval_ms=20).label == "flat"  # elsewhere it belongs to the target


def test_a_start_that_hardly_moves_the_mean_is_left():
    noise = np.random.default_rng(6).normal(1, 0.01, 400)
    assert judge(np.concatenate([[1.5], noise]), interval_ms=20).cut == 0
