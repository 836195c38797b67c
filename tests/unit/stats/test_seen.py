# SPDX-License-Identifier: Apache-2.0
"""Intervals over few visits, bounded by what was seen: coverage on synthetic visits, and no powers of ten."""

import math

import numpy as np
import pytest

from ioatlas.stats.intervals import FAR, SEEN_METHOD, TOO_FAR, bounded, few_visits_interval, log_t_interval

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
