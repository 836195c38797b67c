# SPDX-License-Identifier: Apache-2.0
"""What fixed rate to size by: the rule on curves of which the answer is known."""

import random

import pytest

from ioatlas.answer.analysis.load_curve import (
    Rate,
    RateState,
    advice,
    mean_interval,
    percentile_interval,
    rates_text,
    size_up,
)
from ioatlas.model.visit import Histogram

W, B, X = RateState.WITHIN, RateState.BORDERLINE, RateState.OVER
MS = 1e6


def sized(*states, overloaded=()):
    return size_up([Rate(1000.0 * n, state, overloaded=n in overloaded) for n, state in enumerate(states, 1)])


@pytest.mark.parametrize(
    ("states", "safe", "borderline", "over"),
    [
        ((W, W, W), 3000, None, None),
        ((W, W, X), 2000, None, 3000),
        ((W, B, X, X), 1000, (2000, 2000), 3000),
        ((W, X, W, X), 1000, (2000, 3000), 4000),  # one that was too slow once makes higher ones doubtful
        ((W, W, B), 2000, (3000, 3000), None),
        ((B, W, X), None, (1000, 2000), 3000),
        ((X, X), None, None, 1000),
    ],
)
def test_a_rate_is_safe_when_all_below_it_are_and_too_much_when_all_above_are(states, safe, borderline, over):
    found = sized(*states)
    assert (found.safe_iops, found.borderline_iops, found.over_iops) == (safe, borderline, over)
    assert found.highest_iops == 1000 * len(states)


def test_the_order_of_rates_does_not_matter():
    rates = [Rate(1000.0 * n, state, overloaded=False) for n, state in enumerate((W, W, B, X), 1)]
    shuffled = list(rates)
    random.Random(3).shuffle(shuffled)
    assert size_up(shuffled) == size_up(rates)
    assert size_up([]) is None


@pytest.mark.parametrize(
    ("low", "high", "visits", "short", "state"),
    [
        (1, 4, 1, 0, W),
        (4, 6, 1, 0, B),
        (6, 7, 1, 0, X),
        (1, 4, 1, 1, X),
        (1, 4, 3, 1, B),  # carried twice of three times
        (1, 4, 3, 2, X),
        (None, None, 1, 0, B),
    ],
)
def test_a_rate_is_judged_by_the_ends_of_its_interval_and_by_what_was_carried(low, high, visits, short, state):
    ends = [None if end is None else end * MS for end in (low, high)]
    assert RateState.of(*ends, 5 * MS, n_visits=visits, n_overloaded=short) is state


def test_without_a_limit_only_overload_counts():
    assert RateState.of(9 * MS, 99 * MS, None, n_visits=1, n_overloaded=0) is W
    assert RateState.of(1 * MS, 1 * MS, None, n_visits=1, n_overloaded=1) is X


@pytest.mark.parametrize(
    ("found", "told", "do"),
    [
        (sized(W, B, B, X, overloaded=(4,)), "safe to 1000 IOPS, borderline 2000 to 3000, overloaded at 4000", "1000"),
        (sized(W, X), "safe to 1000 IOPS, over the limit at 2000", "1000"),
        (sized(W, W), "safe to 2000 IOPS, the highest rate tried", "2000"),
        (sized(X, X, overloaded=(1, 2)), "no rate tried was safe, overloaded at 1000", "less than 1000"),
    ],
)
def test_the_sentence_says_what_to_size_by(found, told, do):
    assert rates_text(found) == told
    assert f"for {do} IOPS" in advice(found)


def test_intervals_hold_the_truth_about_as_often_as_they_claim():
    """Exponential latencies, whose mean and percentile are known."""
    draw = random.Random(11)
    tail, middle, tries, n = 4.605 * MS, MS, 300, 1000
    held = [0, 0]
    for _ in range(tries):
        counts = {}
        for _ in range(n):
            value = round(draw.expovariate(1 / MS))
            counts[value] = counts.get(value, 0) + 1
        histogram = Histogram.from_counts(counts)
        low, high = percentile_interval(histogram, 99)
        held[0] += low <= tail <= high
        low, high = mean_interval(histogram)
        held[1] += low <= middle <= high
    assert all(0.91 * tries <= count <= 0.995 * tries for count in held)


def test_of_few_ios_the_slowest_bounds_the_percentile():
    histogram = Histogram.from_counts({1: 99, 50: 1})
    assert percentile_interval(histogram, 99) == (1.0, 50.0)
