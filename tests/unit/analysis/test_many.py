# SPDX-License-Identifier: Apache-2.0
"""Several sides at once: who is told apart from whom, and how often wrongly."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioatlas.answer.analysis.compare import Reading, compare
from ioatlas.answer.analysis.many import compare_many, letters, turned
from tests.examples import examples


def side(rng: np.random.Generator, levels: np.ndarray, visits: int = 3, cv: float = 0.03) -> dict[str, list[Reading]]:
    found: dict[str, list[Reading]] = {}
    order = np.concatenate([rng.permutation(levels.size) for _ in range(visits)])
    for when, cell in enumerate(order):
        value = levels[cell] * np.exp(cv * rng.normal())
        found.setdefault(str(cell), []).append(Reading(str(cell), float(value), float(when)))
    return found


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def levels_of(rng: np.random.Generator, n: int = 24) -> np.ndarray:
    return 1e8 * np.exp(rng.normal(size=n))


def test_equal_sides_are_ties_and_one_that_is_slower_comes_last(rng):
    levels = levels_of(rng)
    found = compare_many([side(rng, levels), side(rng, 0.9 * levels), side(rng, levels)], visits=[True] * 3)
    assert [(place.best, place.worst) for place in found.ranking] == [(1, 2), (1, 2), (3, 3)]
    assert found.ranking[-1].side == 1
    assert [place.letters for place in found.ranking] == ["a", "a", "b"]
    assert {(p.first, p.second): p.whole.outcome for p in found.pairs}[0, 1] == "lower"


def test_of_latencies_the_lower_one_is_the_better(rng):
    levels = levels_of(rng)
    sides = [side(rng, levels), side(rng, 0.8 * levels), side(rng, levels)]
    found = compare_many(sides, visits=[True] * 3, higher_is_better=False)
    assert found.ranking[0].side == 1
    assert found.ranking[0].alone > 12
    assert found.undecided == found.n_common - found.ranking[0].alone


def test_with_a_reference_only_its_pairs_are_tested(rng):
    levels = levels_of(rng)
    sides = [side(rng, levels) for _ in range(4)]
    found = compare_many(sides, visits=[True] * 4, reference=2)
    assert {(pair.first, pair.second) for pair in found.pairs} == {(2, 0), (2, 1), (2, 3)}
    assert found.map_level == pytest.approx(0.05 / 3)
    assert found.ranking == ()


def test_two_sides_are_compared_as_two_campaigns(rng):
    levels = levels_of(rng)
    sides = [side(rng, levels), side(rng, 0.93 * levels)]
    alone = compare(*[[reading for cell in one.values() for reading in cell] for one in sides])
    (pair,) = compare_many(sides, visits=[True, True]).pairs
    assert pair.whole == alone.whole
    assert pair.cells == alone.cells


def test_the_maps_interval_is_wider_where_it_is_one_of_several(rng):
    levels = levels_of(rng)
    sides = [side(rng, levels) for _ in range(3)]
    (alone,) = compare_many(sides[:2], visits=[True] * 2).pairs
    among = compare_many(sides, visits=[True] * 3).pair(0, 1)
    assert among.whole.low < alone.whole.low < alone.whole.high < among.whole.high
    assert among.whole.detectable > alone.whole.detectable


def test_maps_are_compared_over_the_cells_that_all_have(rng):
    levels = levels_of(rng)
    third = side(rng, levels)
    first, second = side(rng, levels), side(rng, levels)
    # Where the third has nothing, the second is far slower: no business of the ranking.
    for cell in list(third)[:6]:
        del third[cell]
        second[cell] = [Reading(cell, 0.2 * r.value, r.time) for r in second[cell]]
    found = compare_many([first, second, third], visits=[True] * 3)
    assert found.n_common == 18
    pair = found.pair(0, 1)
    assert pair.whole.ratio == pytest.approx(1, abs=0.03)
    assert pair.count("lower") == 6


def test_single_values_have_a_ratio_and_no_test(rng):
    levels = levels_of(rng)
    table = side(rng, 0.5 * levels, visits=1)
    found = compare_many([side(rng, levels), table, side(rng, levels)], visits=[True, False, True])
    pair = found.pair(0, 1)
    assert pair.whole is None
    assert pair.cells == ()
    assert len(pair.untested) == 24
    assert pair.ratio == pytest.approx(0.5, abs=0.03)
    assert {place.letters for place in found.ranking} == {"a"}


def test_a_pair_turned_round_says_the_same(rng):
    levels = levels_of(rng)
    (pair,) = compare_many([side(rng, levels), side(rng, 0.9 * levels)], visits=[True] * 2).pairs
    back = turned(pair)
    assert back.whole.outcome == "higher"
    assert back.whole.low * pair.whole.high == pytest.approx(1)
    again = turned(back)
    assert [cell.outcome for cell in again.cells] == [cell.outcome for cell in pair.cells]
    assert again.cells[0].low == pytest.approx(pair.cells[0].low)


def test_a_wide_tolerance_calls_less(rng):
    levels = levels_of(rng)
    sides = [side(rng, levels), side(rng, 0.9 * levels)]
    assert compare_many(sides, visits=[True] * 2).pairs[0].whole.outcome == "lower"
    wide = compare_many(sides, visits=[True] * 2, tolerance=0.2)
    assert wide.pairs[0].whole.outcome == "same"
    assert wide.effect == pytest.approx(0.4)


@pytest.mark.long("analysis", "stats")
def test_with_no_difference_maps_are_called_different_at_most_at_the_level_together(rng):
    called = 0
    for _ in range(30):
        levels = levels_of(rng, 12)
        found = compare_many([side(rng, levels) for _ in range(3)], visits=[True] * 3, tolerance=0.0)
        called += any(pair.whole.outcome in ("higher", "lower") for pair in found.pairs)
    assert called <= 5  # at 5% more than 5 of 30 have a chance of 0.3%


@given(st.integers(1, 7), st.data())
@examples(200)
def test_a_letter_is_shared_exactly_where_nothing_was_told_apart(n, data):
    pairs = [frozenset(pair) for pair in combinations(range(n), 2)]
    apart = set(data.draw(st.lists(st.sampled_from(pairs), unique=True))) if pairs else set()
    found = letters(range(n), apart)
    for a, b in combinations(range(n), 2):
        assert bool(set(found[a]) & set(found[b])) == (frozenset({a, b}) not in apart)
    assert all(found.values())
    assert found[0].startswith("a")


def turns(rng: np.random.Generator, factor: float) -> list[dict[str, list[Reading]]]:
    """Two targets of one campaign whose visits are shuffled together, while all of it wanders by some 15%."""
    levels = levels_of(rng)
    sides: list[dict[str, list[Reading]]] = [{}, {}]
    wander = np.cumsum(rng.normal(scale=0.15 / 12, size=3 * 48))
    when = 0
    for _ in range(3):
        for place in rng.permutation(48):
            which, cell = divmod(int(place), 24)
            value = levels[cell] * (factor if which else 1.0) * np.exp(wander[when] + 0.03 * rng.normal())
            sides[which].setdefault(str(cell), []).append(Reading(str(cell), float(value), float(when)))
            when += 1
    return sides


@pytest.mark.long("analysis", "stats")
def test_what_drifts_moves_both_sides_that_were_visited_in_turns(rng):
    """Of 40 pairs that do not differ 2 may be called different, 4 standard deviations at most 7; a difference that the
    drift hides between campaigns is found.
    """

    def called(factor: float, campaigns: list[str]) -> int:
        pairs = [
            compare_many(turns(rng, factor), visits=[True] * 2, campaigns=campaigns).pairs[0].whole for _ in range(40)
        ]
        return sum(whole is not None and whole.outcome not in {"not different", "same"} for whole in pairs)

    assert called(1.0, ["one", "one"]) <= 7
    assert called(0.9, ["one", "one"]) >= 36
    assert called(0.9, ["one", "other"]) < 20


def test_sides_measured_one_after_the_other_share_no_drift(rng):
    levels = levels_of(rng)
    late = {
        name: [Reading(name, one.value, one.time + 1000) for one in values]
        for name, values in side(rng, levels).items()
    }
    sides = [side(rng, levels), late]
    one, other = (compare_many(sides, visits=[True] * 2, campaigns=which) for which in (["a", "a"], ["a", "b"]))
    assert one.pairs[0].whole == other.pairs[0].whole
