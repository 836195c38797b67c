# SPDX-License-Identifier: Apache-2.0
import pytest

from ioatlas.model.estimate import Bound, Limit


@pytest.mark.parametrize(("probability", "odds"), [(None, ""), (0.55, " (55%)"), (0.97, " (97%)")])
def test_odds_are_a_number(probability, odds):
    assert Limit("link", 0.99, probability=probability).odds == odds


def test_what_a_part_of_the_target_lets_through_is_a_bound():
    assert Limit("target bandwidth", most_bytes_per_s=5e7).bound == Bound("target bandwidth", 5e7, "law")
    assert Limit("latency").bound is None
