# SPDX-License-Identifier: Apache-2.0
"""The sequential test of a share: how often it errs when it is asked again and again, of windows that hang together."""

import numpy as np
import pytest

from ioatlas.stats.share import FEWEST, MOST_WORTH, RISK, apart, interval, worth

LOOKS = (8, 13, 22, 38, 66, 117)
SEQUENCES = 2_500
LIMIT = 0.01


def _following(random, follow):
    """Standard normal windows, each of which follows the last."""
    values = random.standard_normal((SEQUENCES, LOOKS[-1]))
    for at in range(1, LOOKS[-1]):
        values[:, at] = follow * values[:, at - 1] + np.sqrt(1 - follow**2) * values[:, at]
    return values


def _wrong(values, draws, limit):
    """In how many sequences an interval leaves the limit out at any look, though the share is the limit."""
    wrong = 0
    for each in values:
        for look in LOOKS:
            shares = each[:look]
            counted = min(draws * look, worth(shares, [draws] * look))
            low, high = interval(float(shares.mean()), counted, limit)
            if not low <= limit <= high:
                wrong += 1
                break
    return wrong / len(values)


@pytest.mark.parametrize("follow", [0.0, 0.5])
def test_a_rate_at_its_limit_is_decided_in_less_than_one_of_a_hundred(follow):
    random = np.random.default_rng(20261124)
    assert _wrong(0.5 + 0.05 * _following(random, follow), MOST_WORTH, 0.5) < 0.01


@pytest.mark.parametrize("follow", [0.0, 0.5])
def test_a_share_at_its_limit_is_decided_in_less_than_one_of_a_hundred(follow):
    """Draws of a window are slow with a chance that moves from window to window, and is the limit on average."""
    random = np.random.default_rng(20261124)
    moves = np.exp(0.5 * _following(random, follow))
    draws = 300
    counts = random.binomial(draws, np.minimum(1.0, LIMIT * moves / np.exp(0.125)))
    assert _wrong(counts / draws, draws, LIMIT) < 0.01


def test_levels_around_a_limit_are_not_told_to_lie_apart_from_it():
    random = np.random.default_rng(20261124)
    values = 0.3 * _following(random, 0.5)
    assert np.mean([any(apart(each[:look], 0.7) for look in LOOKS) for each in values]) < 0.01


def test_independent_draws_are_worth_about_what_they_are():
    random = np.random.default_rng(7)
    counted = [worth(random.binomial(200, 0.1, 200) / 200, [200] * 200) for _ in range(50)]
    assert 0.5 < np.median(counted) / 40_000 < 1.0


def test_an_interval_holds_its_share_and_narrows():
    widths = []
    for draws in (100, 1000, 10_000):
        low, high = interval(0.02, draws, LIMIT)
        assert 0 <= low < 0.02 < high <= 1
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)
    assert interval(0.0, 1000.0, LIMIT)[1] < LIMIT
    assert FEWEST > 2
    assert RISK < 0.01
