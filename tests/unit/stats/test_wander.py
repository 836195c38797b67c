# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from ioatlas.stats.drift import FEWEST, wander


def sweep(rng, cells, replicates, level=lambda _n: 0.0, noise=0.05, rho=0.0):
    """(cells, values) in the order of time; every replicate visits every cell in an order of its own."""
    truth = rng.normal(size=cells)
    keys, values = [], []
    state = rng.normal()
    for _ in range(replicates):
        for cell in rng.permutation(cells):
            state = rho * state + math.sqrt(1 - rho**2) * rng.normal()
            values.append(1e8 * math.exp(truth[cell] + level(len(values)) + noise * state))
            keys.append(int(cell))
    return keys, values


def there_and_back(number):
    """Ten times slower and back within 60 visits."""
    return math.log(1 - 0.9 * (1 - abs(1 - number % 60 / 30)))


@pytest.mark.parametrize(("cells", "replicates"), [(8, 8), (8, 4), (24, 2), (60, 3)])
def test_a_target_that_goes_down_and_comes_back_inside_replicates_wandered(cells, replicates):
    found = wander(*sweep(np.random.default_rng(1), cells, replicates, there_and_back))
    assert found is not None
    assert found.low < -0.5
    assert found.high > 0.2
    # The ends of the way, give or take a few visits; it may go several times.
    assert min(abs(found.low_at % 60 - 30), 30) <= 8
    assert min(found.high_at % 60, 60 - found.high_at % 60) <= 15


@pytest.mark.parametrize(("noise", "rho"), [(0.02, 0.0), (0.2, 0.0), (0.2, 0.6)])
def test_noise_does_not_wander_even_where_neighbours_agree(noise, rho):
    rng = np.random.default_rng(2)
    found = [wander(*sweep(rng, cells, 4, noise=noise, rho=rho)) for cells in (8, 30, 60) for _ in range(40)]
    assert sum(one is not None for one in found) <= 1


def test_a_small_way_is_not_told():
    assert wander(*sweep(np.random.default_rng(3), 20, 4, lambda n: 0.05 * there_and_back(n), noise=0.001)) is None


def test_few_readings_and_cells_read_once_tell_nothing():
    keys, values = sweep(np.random.default_rng(4), FEWEST // 2 - 1, 2, there_and_back)
    assert wander(keys, values) is None
    assert wander(range(100), [math.exp(there_and_back(n)) for n in range(100)]) is None
    assert wander([0] * 100, [1e8] * 100) is None
    assert wander([], []) is None


def test_places_are_those_of_the_input():
    rng = np.random.default_rng(5)
    keys, values = sweep(rng, 8, 8, there_and_back)
    plain = wander(keys, values)
    more = wander(["once", *keys], [1.0, *values])
    assert (more.low_at, more.high_at) == (plain.low_at + 1, plain.high_at + 1)
