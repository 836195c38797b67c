# SPDX-License-Identifier: Apache-2.0
"""The sequential test of a level: how often it errs when it is asked again and again, of windows that hang together."""

from math import exp, log

import numpy as np
import pytest

from ioatlas.model.visit import Histogram
from ioatlas.stats.windows import FEWEST, RISK, of_mean, of_percentile

LOOKS = (6, 8, 10, 13, 22, 38, 66, 117)
P99 = 2.3263


def _following(random, sequences, follow):
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
    each = np.exp(moves * _following(random, 1000, follow))
    assert np.mean([_decided(_mean, one, exp(moves**2 / 2))[0] != 0 for one in each]) < 0.01


def test_a_rate_far_above_its_limit_is_decided_though_its_windows_differ_by_more_than_half():
    random = np.random.default_rng(1)
    found = [_decided(_mean, 3 * np.exp(0.6 * one - 0.18), 1.0) for one in _following(random, 40, 0.3)]
    assert all(side == 1 for side, _ in found)
    assert np.median([look for _, look in found]) <= 38  # 66 without the bet


def _share(values):
    return of_mean(values, np.ones(len(values)), shares=True)


def test_a_share_that_is_missed_by_far_is_decided_though_its_windows_hang_together():
    random = np.random.default_rng(5)
    taken = []
    for levels in _following(random, 40, 0.5):
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
    each = np.maximum(0, 1 - 0.05 * np.exp(_following(random, 120, follow) - 0.5))
    assert np.mean([_decided(_share, one, each.mean())[0] == -1 for one in each]) < 0.01


@pytest.mark.long("stats")
@pytest.mark.parametrize(("follow", "moves"), [(0.0, 0.3), (0.5, 0.05), (0.5, 0.3)])
def test_a_percentile_at_its_limit_is_decided_in_less_than_one_of_a_hundred(follow, moves):
    random = np.random.default_rng(20261124)
    limit = 1e6 * exp(P99 * np.hypot(0.4, moves))
    wrong = 0
    for levels in _following(random, 40, follow):
        lat = 1e6 * np.exp(moves * levels[:, None] + 0.4 * random.standard_normal((LOOKS[-1], 200)))
        wrong += _decided(_p99, [_histogram(one) for one in lat], limit)[0] != 0
    assert wrong == 0  # one of 40 is more than one of a hundred


@pytest.mark.parametrize("times", [1 / 3, 3.0])
def test_three_times_from_the_limit_is_decided_soon_though_windows_move(times):
    random = np.random.default_rng(7)
    limit = 1e6 * exp(P99 * np.hypot(0.4, 0.3)) * times
    taken = []
    for levels in _following(random, 10, 0.2):
        lat = 1e6 * np.exp(0.3 * levels[:, None] + 0.4 * random.standard_normal((LOOKS[-1], 200)))
        side, look = _decided(_p99, [_histogram(one) for one in lat], limit)
        assert side == (-1 if times > 1 else 1)
        taken.append(look)
    assert np.median(taken) <= 38


def test_a_limit_far_off_is_decided_soon_though_each_window_follows_the_last():
    random = np.random.default_rng(11)
    limit = 1000e6 * exp(P99 * np.hypot(0.4, 0.2))
    for levels in _following(random, 20, 0.9):
        lat = 1e6 * np.exp(0.2 * levels[:, None] + 0.4 * random.standard_normal((LOOKS[-1], 200)))
        side, look = _decided(_p99, [_histogram(one) for one in lat], limit)
        assert side == -1
        assert look <= LOOKS[3]


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_what_far_too_many_exceed_is_decided_soon_however_windows_differ(share):
    random, taken = np.random.default_rng(5), []
    for levels in _following(random, 20, 0.2):
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
