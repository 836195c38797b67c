# SPDX-License-Identifier: Apache-2.0
"""Sequential tests of a change and of a level: how often each errs, whatever level, noise and windows are."""

from math import exp, log

import numpy as np
import pytest

from ioatlas.model.visit import Histogram
from ioatlas.stats.sequential import ALLOWANCE, HELD, Watcher, limit_for, run_length
from ioatlas.stats.windows import FEWEST, RISK, of_mean, of_percentile


def watch(values, *, limit, least=0.0):
    """All changes of a series."""
    watcher = Watcher(limit, least)
    return [found for value in values if (found := watcher.take(value)) is not None]


def first_alarm(draws, limit, least=0.0, most=3000):
    """Values until the first change is found."""
    watcher = Watcher(limit, least)
    for count, value in enumerate(draws.normal(1000.0, 7.0, most), 1):
        if watcher.take(float(value)) is not None:
            return count
    return most


def test_the_limit_has_the_run_length_that_was_asked_for():
    for rounds in (5_000, 100_000):
        assert run_length(limit_for(rounds)) == pytest.approx(rounds, rel=1e-6)
    assert limit_for(5_000) == pytest.approx(3.455, abs=0.001)
    assert limit_for(100_000) == pytest.approx(4.949, abs=0.001)


@pytest.mark.long("stats")
def test_long_runs_keep_their_digits():
    """Of a limit that is hardly ever passed each standard deviation more makes runs exp(2 ALLOWANCE) times as long
    (Lundberg's exponent), whichever processor computes it.
    """
    lengths = [run_length(float(limit)) for limit in range(3, 25)]
    assert list(np.diff(np.log(lengths))) == pytest.approx([2 * ALLOWANCE] * 21, rel=0.04)
    assert run_length(limit_for(1e20)) == pytest.approx(1e20, rel=1e-6)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_what_is_no_limit_and_no_number_of_rounds_is_refused(value):
    with pytest.raises(ValueError, match="limit"):
        run_length(value)
    with pytest.raises(ValueError, match="limit"):
        limit_for(value)


@pytest.mark.long("stats")
def test_the_length_of_runs_is_that_of_simulated_ones():
    """Both sides are watched: changes come twice as often as on one."""
    draws, limit = np.random.default_rng(7), 2.2
    lengths = [first_alarm(draws, limit) for _ in range(150)]
    assert np.mean(lengths) == pytest.approx(run_length(limit) / 2, rel=0.2)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_level_and_noise_do_not_matter(scale):
    values = np.random.default_rng(3).normal(50.0, 1.0, 200)
    values[120:] -= 3.0
    plain = watch(list(values), limit=limit_for(5000))
    other = watch(list(scale * values + 17 * scale), limit=limit_for(5000))
    assert [(one.since, one.at) for one in plain] == [(one.since, one.at) for one in other]
    (found,) = plain
    assert 117 <= found.since <= 122 <= found.at + 1 <= 128
    assert found.after - found.before == pytest.approx(-3.0, abs=1.0)


@pytest.mark.long("stats")
def test_one_stray_value_is_no_change_and_two_are():
    assert limit_for(20) >= HELD - ALLOWANCE
    values = [float(value) for value in np.random.default_rng(1).normal(0.0, 1.0, 40)]
    assert watch([*values, -1000.0], limit=limit_for(10_000)) == []
    assert len(watch([*values, -1000.0, -1000.0], limit=limit_for(10_000))) == 1


def test_a_change_below_the_tolerance_is_none_until_it_grows():
    quiet = [100.0 + 0.01 * (-1) ** at for at in range(30)]
    assert watch([*quiet, *[99.0] * 30], limit=limit_for(5000), least=2.0) == []
    (found,) = watch([*quiet, *[99.0] * 30, *[90.0] * 9], limit=limit_for(5000), least=2.0)
    assert found.since in (59, 60)


def test_after_a_change_the_new_level_is_the_measure():
    draws = np.random.default_rng(5)
    values = [*draws.normal(10, 0.1, 50), *draws.normal(8, 0.1, 50), *draws.normal(10, 0.1, 50)]
    down, up = watch([float(value) for value in values], limit=limit_for(10_000))
    assert (down.since, up.since) == (50, 100)
    assert down.after < down.before
    assert up.after > up.before


def test_a_rhythm_is_no_change():
    draws, plain, phased = np.random.default_rng(9), Watcher(limit_for(1e5)), Watcher(limit_for(1e5))
    found = [0, 0]
    for at in range(24 * 20):
        value = float((10 if at % 24 < 12 else 6) + draws.normal(0, 0.2))
        found[0] += plain.take(value) is not None
        found[1] += phased.take(value, at % 24) is not None
    assert found[0] > 5
    assert found[1] == 0
    assert any(phased.take(8.0, at % 24) for at in range(6))


def test_values_without_noise_are_watched_too():
    (found,) = watch([5.0] * 10 + [4.0] * 3, limit=limit_for(5000))
    assert found.since == 10


def _following(correlation: float, count: int) -> list[float]:
    """Values about 0, one standard deviation wide, each of which follows the last."""
    new = np.random.default_rng(2).normal(size=count)
    values = [float(new[0])]
    for each in new[1:]:
        values.append(correlation * values[-1] + float(np.sqrt(1 - correlation**2) * each))
    return values


@pytest.mark.long("stats")
def test_values_that_follow_each_other_are_no_change_and_a_change_of_them_is():
    for correlation in (0.3, 0.6):
        values = _following(correlation, 3000)
        assert len(watch(values, limit=limit_for(70_000))) <= 1
        fallen = [value - (5 if at >= 200 else 0) for at, value in enumerate(values[:230])]
        found = watch(fallen, limit=limit_for(70_000))
        assert [one.after < one.before for one in found] == [True]
        assert 198 <= found[0].since <= 202


LOOKS = (6, 8, 10, 13, 22, 38, 66, 117)
P99 = 2.3263


def _followed(random, sequences, follow):
    """Standard normal windows, each of which follows the last."""
    values = random.standard_normal((sequences, LOOKS[-1]))
    for at in range(1, LOOKS[-1]):
        values[:, at] = follow * values[:, at - 1] + np.sqrt(1 - follow**2) * values[:, at]
    return values


def _decided(tell, windows, limit):
    """-1 below the limit, 1 above, 0 undecided; and after how many windows."""
    for look in LOOKS:
        low, high = tell(windows[:look]).interval()
        if high < limit or low > limit:
            return (-1 if high < limit else 1), look
    return 0, LOOKS[-1]


def _histogram(values):
    """In bins of a 64th of a doubling, as fio has them."""
    bins, counts = np.unique(np.rint(64 * np.log2(values)), return_counts=True)
    return Histogram(tuple(zip(np.exp2(bins / 64).astype(int).tolist(), counts.tolist(), strict=True)))


def _mean(values):
    return of_mean(values, np.ones(len(values)))


def _p99(windows):
    return of_percentile(windows, 0.01)


@pytest.mark.long("stats")
@pytest.mark.parametrize(("follow", "moves"), [(0.0, 0.05), (0.0, 0.5), (0.5, 0.05), (0.5, 0.5)])
def test_a_mean_at_its_limit_is_decided_in_less_than_one_of_a_hundred(follow, moves):
    random = np.random.default_rng(20261124)
    each = np.exp(moves * _followed(random, 1000, follow))
    assert np.mean([_decided(_mean, one, exp(moves**2 / 2))[0] != 0 for one in each]) < 0.01


def test_a_rate_far_above_its_limit_is_decided_though_its_windows_differ_by_more_than_half():
    random = np.random.default_rng(1)
    found = [_decided(_mean, 3 * np.exp(0.6 * one - 0.18), 1.0) for one in _followed(random, 40, 0.3)]
    assert all(side == 1 for side, _ in found)
    assert np.median([look for _, look in found]) <= 38  # 66 without the bet


def _share(values):
    return of_mean(values, np.ones(len(values)), shares=True)


def test_a_share_that_is_missed_by_far_is_decided_though_its_windows_hang_together():
    random = np.random.default_rng(5)
    taken = []
    for levels in _followed(random, 40, 0.5):
        side, look = _decided(_share, np.minimum(1, 0.58 * np.exp(0.2 * levels)), 0.95)
        assert side == -1
        taken.append(look)
    assert np.median(taken) <= 38  # 66 by the differences between windows alone
    assert _share([0.3, 0.6] * 10).interval()[1] < 0.95
    assert _share([1.0] * 9 + [0.9]).interval()[1] == 1.0


@pytest.mark.long("stats")
@pytest.mark.parametrize("follow", [0.0, 0.5])
def test_a_share_at_its_limit_is_seldom_called_missed(follow):
    random = np.random.default_rng(6)
    each = np.maximum(0, 1 - 0.05 * np.exp(_followed(random, 120, follow) - 0.5))
    assert np.mean([_decided(_share, one, each.mean())[0] == -1 for one in each]) < 0.01


@pytest.mark.long("stats")
@pytest.mark.parametrize(("follow", "moves"), [(0.0, 0.3), (0.5, 0.05), (0.5, 0.3)])
def test_a_percentile_at_its_limit_is_decided_in_less_than_one_of_a_hundred(follow, moves):
    random = np.random.default_rng(20261124)
    limit = 1e6 * exp(P99 * np.hypot(0.4, moves))
    wrong = 0
    for levels in _followed(random, 40, follow):
        lat = 1e6 * np.exp(moves * levels[:, None] + 0.4 * random.standard_normal((LOOKS[-1], 200)))
        wrong += _decided(_p99, [_histogram(one) for one in lat], limit)[0] != 0
    assert wrong == 0  # one of 40 is more than one of a hundred


@pytest.mark.parametrize("times", [1 / 3, 3.0])
def test_three_times_from_the_limit_is_decided_soon_though_windows_move(times):
    random = np.random.default_rng(7)
    limit = 1e6 * exp(P99 * np.hypot(0.4, 0.3)) * times
    taken = []
    for levels in _followed(random, 10, 0.2):
        lat = 1e6 * np.exp(0.3 * levels[:, None] + 0.4 * random.standard_normal((LOOKS[-1], 200)))
        side, look = _decided(_p99, [_histogram(one) for one in lat], limit)
        assert side == (-1 if times > 1 else 1)
        taken.append(look)
    assert np.median(taken) <= 38


def test_a_limit_far_off_is_decided_soon_though_each_window_follows_the_last():
    random = np.random.default_rng(11)
    limit = 1000e6 * exp(P99 * np.hypot(0.4, 0.2))
    for levels in _followed(random, 20, 0.9):
        lat = 1e6 * np.exp(0.2 * levels[:, None] + 0.4 * random.standard_normal((LOOKS[-1], 200)))
        side, look = _decided(_p99, [_histogram(one) for one in lat], limit)
        assert side == -1
        assert look <= LOOKS[3]


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_what_far_too_many_exceed_is_decided_soon_however_windows_differ(share):
    random, taken = np.random.default_rng(5), []
    for levels in _followed(random, 20, 0.2):
        slow = np.where(random.random((LOOKS[-1], 200)) < share, 20e6 * np.exp(np.abs(levels[:, None])), 1e6)
        side, look = _decided(_p99, [_histogram(one) for one in slow], 10e6)
        assert side == 1
        taken.append(look)
    assert np.median(taken) <= LOOKS[3]
    assert max(taken) <= LOOKS[4]


def test_what_it_would_take_grows_towards_the_limit():
    random = np.random.default_rng(3)
    told = _mean(np.exp(0.3 * random.standard_normal(20)))
    low, high = told.interval()
    takes = [told.times(high * share, 100) for share in (1.01, 0.97, 0.9)]
    assert takes[0] == 1
    assert takes == sorted(takes)
    assert told.times((low * high) ** 0.5, 100) == 100


def test_too_few_windows_tell_nothing_and_windows_without_a_difference_all():
    low, high = _mean([1.0, 1.1, 0.9]).interval()
    assert low < 0.01
    assert high == float("inf")
    assert _mean([3.0] * 8).interval() == pytest.approx((3.0, 3.0))
    assert _mean([0.0] * 8) is None
    assert of_percentile([Histogram(((1000, 5),))] * 8, 0.01) is None
    assert log(1 / RISK) > FEWEST


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("count", [2, 3])
def test_two_windows_have_one_step_and_warn_of_nothing(count):
    values = np.arange(1.0, count + 1)
    low, high = of_mean(values, np.ones(count)).interval()
    assert low <= values.mean() <= high
