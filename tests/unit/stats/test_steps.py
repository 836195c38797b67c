# SPDX-License-Identifier: Apache-2.0
"""Steps in a short series: the false alarms that are promised, and steps that are found where they are."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from ioatlas.stats.steps import FEWEST, find_steps, smallest_step


@pytest.mark.parametrize("n", [4, 6, 12, 30])
def test_series_without_a_step_alarm_as_seldom_as_promised(n):
    draws = np.random.default_rng(n)
    alarms = sum(bool(find_steps(draws.normal(size=n), false_alarms=0.05)) for _ in range(1000))
    assert alarms <= 50 + 3 * 7, "5% of 1000, and three standard deviations"
    assert alarms >= 50 - 3 * 7, "a limit that is too strict is no limit of 5%"


def test_a_step_is_found_where_it_is_and_measured():
    draws = np.random.default_rng(7)
    values = np.concatenate([draws.normal(0.0, 0.01, 8), draws.normal(-0.2, 0.01, 6)])
    (step,) = find_steps(values)
    assert step.at == 8
    assert step.low < -0.2 < step.high
    assert step.p < 0.001


def test_the_newest_value_alone_can_be_a_step():
    values = [0.0, 0.01, -0.01, 0.005, -0.004, 0.002, 0.3]
    (step,) = find_steps(values)
    assert step.at == 6
    assert step.change == pytest.approx(0.3, abs=0.02)


@pytest.mark.parametrize("level", [0.1, 1 / 3, 13.8155])
def test_equal_values_have_no_step_however_their_sums_are_rounded(level):
    assert not any(find_steps([level] * n) for n in range(FEWEST, 40))


def test_a_level_costs_no_digits():
    values = np.random.default_rng(1).normal(size=30)
    values[15:] += 3.0
    assert [step.at for step in find_steps(values + 1e8)] == [step.at for step in find_steps(values)] == [15]


def test_two_steps_are_both_found():
    draws = np.random.default_rng(3)
    levels = np.repeat([0.0, 0.3, 0.1], 8)
    assert [step.at for step in find_steps(levels + draws.normal(0, 0.01, 24))] == [8, 16]


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0, 9.0]])
def test_too_few_values_give_no_step(values):
    assert find_steps(values) == ()
    assert len(values) < FEWEST


def test_values_without_noise():
    assert find_steps([2.0] * 9) == ()
    (step,) = find_steps([2.0] * 5 + [3.0] * 4)
    assert (step.at, step.change, step.low, step.high) == (5, 1.0, 1.0, 1.0)


@given(st.integers(0, 1000), st.floats(-5, 5), st.floats(0.01, 100))
def test_steps_do_not_depend_on_level_or_unit(seed, level, unit):
    values = np.random.default_rng(seed).normal(size=10) + np.repeat([0.0, 3.0], 5)
    plain = find_steps(values, false_alarms=0.05)
    moved = find_steps(level + unit * values, false_alarms=0.05)
    assert [step.at for step in plain] == [step.at for step in moved]
    assert [step.change * unit for step in plain] == pytest.approx([step.change for step in moved])


@pytest.mark.parametrize("n", [6, 12, 25])
def test_the_smallest_step_is_found_as_often_as_told(n):
    size = smallest_step(n, 0.02, false_alarms=0.01, power=0.8)
    draws = np.random.default_rng(n)
    found = 0
    for _ in range(400):
        values = draws.normal(0, 0.02, n)
        values[-1] += size
        found += any(step.at == n - 1 for step in find_steps(values, false_alarms=0.01))
    assert 0.68 <= found / 400 <= 0.92
    assert smallest_step(FEWEST - 1, 0.02) is None


def test_a_steps_interval_is_students():
    draws = np.random.default_rng(11)
    before, after = draws.normal(0.0, 0.05, 9), draws.normal(0.4, 0.05, 5)
    (step,) = find_steps(np.concatenate([before, after]))
    known = scipy.stats.ttest_ind(after, before).confidence_interval(0.95)
    assert (step.low, step.high) == pytest.approx((known.low, known.high))
