# SPDX-License-Identifier: Apache-2.0
"""What is foretold of a comparison, against what then happens."""

import numpy as np
import pytest

from ioatlas.analysis.compare import Reading, compare
from ioatlas.analysis.power import foretell, noise_of
from ioatlas.stats.outlook import level_outlook


def campaign(rng, levels, visits=3, cv=0.05, drift=0.0) -> list[Reading]:
    order = np.concatenate([rng.permutation(levels.size) for _ in range(visits)])
    walk = np.cumsum(rng.normal(size=order.size)) * drift
    values = levels[order] * np.exp(cv * rng.normal(size=order.size) + walk)
    return [Reading(str(c), float(v), 2.0 * t) for t, (c, v) in enumerate(zip(order, values, strict=True))]


def by_cell(readings: list[Reading]) -> dict[str, list[Reading]]:
    found: dict[str, list[Reading]] = {}
    for reading in readings:
        found.setdefault(reading.cell, []).append(reading)
    return found


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(8)


def test_what_is_foretold_is_what_comparisons_state_and_find(rng):
    foretold, stated, single, stated_single, found = [], [], [], [], 0
    for _ in range(15):
        levels = np.exp(rng.normal(size=40))
        first, second = campaign(rng, levels), campaign(rng, levels)
        power = foretell(noise_of(by_cell(first)))
        same = compare(first, second)
        slower = [Reading(r.cell, (1 - power.whole) * r.value, r.time) for r in second]
        found += compare(first, slower).whole.outcome == "lower"
        foretold.append(power.whole)
        stated.append(same.whole.detectable)
        single.append(power.cell)
        stated_single.append(np.median([cell.detectable for cell in same.cells]))
    assert np.median(foretold) == pytest.approx(np.median(stated), rel=0.3)
    assert np.median(single) == pytest.approx(np.median(stated_single), rel=0.15)
    assert found >= 10  # at 80%, fewer of 15 have a chance of 6%; the draws are fixed


def set_up_again(rng, readings: list[Reading], times: int, sd: float) -> list[Reading]:
    """The readings as of so many set-ups one after another, whose levels differ."""
    moved = np.exp(rng.normal(size=times) * sd)
    part = len(readings) // times
    return [
        Reading(r.cell, r.value * float(moved[at // part]), r.time + 1000.0 * (at // part), at // part)
        for at, r in enumerate(readings)
    ]


def test_what_moves_between_set_ups_is_in_what_could_be_found(rng):
    foretold, stated, single, stated_single, found = [], [], [], [], 0
    for _ in range(30):
        levels = np.exp(rng.normal(size=20))
        first, second = (set_up_again(rng, campaign(rng, levels, visits=8), 4, 0.03) for _ in range(2))
        power = foretell(noise_of(by_cell(first)), set_ups=4)
        slower = [Reading(r.cell, (1 - power.whole) * r.value, r.time, r.set_up) for r in second]
        found += compare(first, slower).whole.outcome == "lower"
        same = compare(first, second)
        foretold.append(power.whole)
        stated.append(same.whole.detectable)
        single.append(power.cell)
        stated_single.append(np.median([cell.detectable for cell in same.cells]))
    assert np.median(foretold) == pytest.approx(np.median(stated), rel=0.3)
    assert np.median(single) == pytest.approx(np.median(stated_single), rel=0.3)
    assert found >= 20  # at 80%, fewer of 30 have a chance of 3%; the draws are fixed


def test_more_set_ups_find_less_and_how_many_the_effect_takes_is_told(rng):
    levels = np.exp(rng.normal(size=20))
    noise = noise_of(by_cell(set_up_again(rng, campaign(rng, levels, visits=8, cv=0.01), 4, 0.06)))
    assert noise.moved is not None
    two = foretell(noise, visits=8, set_ups=2)
    assert two.whole > foretell(noise, visits=8, set_ups=8).whole > foretell(noise, visits=8).whole
    assert two.set_up_sd == pytest.approx(0.06, rel=0.6)
    assert two.visits_whole is None  # no number of visits makes up for two set-ups
    needed = two.set_ups_whole
    assert foretell(noise, visits=max(8, needed), set_ups=needed).whole <= 0.10
    assert foretell(noise, visits=max(8, needed - 1), set_ups=needed - 1).whole > 0.10


def test_of_one_set_up_nothing_is_told_of_others(rng):
    noise = noise_of(by_cell(campaign(rng, np.exp(rng.normal(size=20)))))
    assert noise.moved is None
    told = foretell(noise, set_ups=3)
    assert (told.set_up_sd, told.set_ups_whole) == (None, None)
    assert told.whole == foretell(noise).whole


def test_noise_and_time_come_from_the_campaign(rng):
    noise = noise_of(by_cell(campaign(rng, np.exp(rng.normal(size=60)), cv=0.08)))
    assert noise.cv == pytest.approx(0.08, rel=0.15)
    assert noise.visits == 3
    assert noise.outlook.seconds == pytest.approx(2.0)


def test_more_visits_and_cells_find_less_and_more_pairs_more(rng):
    noise = noise_of(by_cell(campaign(rng, np.exp(rng.normal(size=40)))))
    usual = foretell(noise)
    assert foretell(noise, visits=12).whole < usual.whole
    assert foretell(noise, visits=12).cell < usual.cell
    assert foretell(noise, cells=400).whole < usual.whole
    assert foretell(noise, cells=400).cell > usual.cell
    assert foretell(noise, pairs=10).whole > usual.whole
    assert foretell(noise, pairs=10).cell > usual.cell


def test_visits_for_the_effect_are_the_fewest_that_find_it(rng):
    noise = noise_of(by_cell(campaign(rng, np.exp(rng.normal(size=40)), cv=0.15)))
    needed = foretell(noise).visits_cell
    assert foretell(noise, visits=needed).cell <= 0.10 < foretell(noise, visits=needed - 1).cell


def test_drift_makes_a_whole_map_harder_and_visits_do_not_help_alone(rng):
    levels = np.exp(rng.normal(size=40))
    calm = foretell(noise_of(by_cell(campaign(rng, levels, cv=0.03))))
    moving = foretell(noise_of(by_cell(campaign(rng, levels, cv=0.03, drift=0.02))))
    assert moving.whole > 2 * calm.whole


def test_single_visits_say_nothing_of_noise(rng):
    levels = np.exp(rng.normal(size=40))
    assert noise_of(by_cell(campaign(rng, levels, visits=1))) is None
    assert noise_of(by_cell(campaign(rng, levels[:2], visits=2))) is None
    assert noise_of({}) is None


def test_the_levels_of_cells_do_not_matter(rng):
    times, cells = np.arange(60.0), [*range(20)] * 3
    noise = rng.normal(size=60) * 0.1
    plain = level_outlook(times, noise, cells)
    moved = level_outlook(times, noise + np.array(cells) * 3.0, cells)
    assert plain.white == pytest.approx(moved.white)
    assert plain.weights == pytest.approx(moved.weights)
