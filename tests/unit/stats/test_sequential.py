# SPDX-License-Identifier: Apache-2.0
"""Sequential changes: run lengths that were asked for, whatever level and noise are."""

import numpy as np
import pytest

from ioatlas.stats.sequential import ALLOWANCE, HELD, Watcher, limit_for, run_length


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
