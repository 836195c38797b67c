# SPDX-License-Identifier: Apache-2.0
"""Claims against synthetic results of which the right answer is known."""

import random
from dataclasses import replace
from math import exp, log

import pytest
from bench.studies.claims import Measured, check_claims
from bench.studies.study import Claim
from bench.studies.table import here, why


def claim(expected="higher", **other):
    given = {"id": "c", "says": "s", "published": "p", "of": {"drives": 11}, "over": {"drives": 3}}
    return Claim(expected=expected, **{**given, **other})


def results(ratio, *, noise=0.02, visits=3, loads=12, seed=1, limits=("drive", "link")):
    """Loads on 3 and on 11 drives; those on 11 are `ratio` times as fast."""
    dice = random.Random(seed)
    found = []
    for drives, factor, limit in ((3, 1.0, limits[0]), (11, ratio, limits[1])):
        for number in range(loads):
            values = tuple(
                1e7 * (number + 1) * factor * exp(dice.gauss(0, noise)) if noise else 1e7 * (number + 1) * factor
                for _ in range(visits)
            )
            place = {"drives": drives, "bs": 4096 << number, "direction": "read"}
            found.append(Measured(f"x{drives}", place, {"bw": values}, limit, {"link_bytes_per_s": 2e8}))
    return found


def outcome(ratio, expected, **how):
    (one,) = check_claims([claim(expected, tolerance=how.pop("tolerance", 0.02))], results(ratio, **how))
    return one.outcome


@pytest.mark.parametrize(
    ("ratio", "expected", "right"),
    [
        (2.0, "higher", "same"),
        (0.5, "higher", "differs"),
        (0.5, "lower", "same"),
        (2.0, "lower", "differs"),
        (2.0, "same", "differs"),
        (1.0, "same", "same"),
        (2.0, "", "new"),
    ],
)
def test_a_plain_difference_is_told(ratio, expected, right):
    assert outcome(ratio, expected, noise=0.005) == right


def test_what_is_equal_is_not_higher():
    assert outcome(1.0, "higher", noise=0.002) == "differs"


def test_noise_leaves_it_undecided():
    """An interval misses in one draw of twenty: of 100, 5 are expected to, with a standard deviation of 2.2."""
    for expected in ("higher", "same"):
        told = [outcome(1.0, expected, noise=0.3, visits=2, loads=2, seed=seed) for seed in range(100)]
        assert told.count("undecided") >= 100 - 16, expected


def test_wrong_answers_are_as_rare_as_promised():
    """Two sides that do not differ: an interval of 95% leaves 1 in at most one in twenty, drawn 400 times."""
    missed = 0
    for seed in range(400):
        (one,) = check_claims([claim("")], results(1.0, seed=seed, loads=3))
        (ratio,) = one.ratios
        missed += not ratio.low <= 1 <= ratio.high
    # Binomial(400, 0.05): 20 on average, sd 4.4; five of them on either side.
    assert missed <= 42
    assert missed >= 1, "an interval that never misses is too wide"


def test_the_ratio_is_that_of_common_loads():
    (one,) = check_claims([claim("higher")], results(2.0, noise=0.004)[:13])
    assert one.ratios[0].pairs == 1
    assert one.ratios[0].value == pytest.approx(2.0, rel=0.02)


def test_other_factors_have_to_be_alike():
    measured = [
        Measured(one.configuration, {**one.place, "raid": "raid5" if one.place["drives"] == 3 else "raid6"}, one.values)
        for one in results(2.0)
    ]
    (one,) = check_claims([claim("higher")], measured)
    assert one.outcome == "not measured"
    assert here(one) == "no load in common"


def test_single_visits_say_nothing():
    (one,) = check_claims([claim("higher")], results(2.0, visits=1))
    assert (one.outcome, here(one)) == ("not measured", "too few visits")


def test_intervals_of_more_claims_are_wider():
    alone, *_ = check_claims([claim("higher")], results(1.5))
    among, *_ = check_claims([claim("higher")] * 10, results(1.5))
    assert among.ratios[0].low < alone.ratios[0].low
    assert among.ratios[0].high > alone.ratios[0].high


def test_what_is_decided_leaves_its_share_to_the_others():
    close = results(1.035, noise=0.02, loads=3)
    for expected, right in (("", "undecided"), ("same", "same")):
        (one, *_) = check_claims([claim("higher"), *[claim(expected, tolerance=0.5)] * 9], close)
        assert one.outcome == right


def test_the_best_has_to_beat_each():
    three = [
        Measured(name, {"design": name, "bs": bs}, {"bw": tuple(level * exp(0.01 * n) for n in (-1, 0, 1))})
        for name, level in (("log", 9e7), ("pair", 3e7), ("box", 8e7))
        for bs in (4096, 8192, 16384)
    ]
    best = Claim(id="b", says="s", published="p", kind="best", of={"design": "log"},
                 over={"design": ["pair", "box"]}, expected="higher")  # fmt: skip
    (one,) = check_claims([best], three)
    assert (one.outcome, [ratio.name for ratio in one.ratios]) == ("same", ["pair", "box"])
    worse = best.model_copy(update={"of": {"design": "box"}, "over": {"design": ["pair", "log"]}})
    (one,) = check_claims([worse], three)
    assert one.outcome == "differs"


@pytest.mark.parametrize(("share", "right"), [(1.0, "same"), (0.6, "differs"), (0.96, "undecided")])
def test_a_ceiling_is_reached_or_not(share, right):
    noise = 0.002 if right != "undecided" else 0.03
    measured = results(share * 2e8 / 1.2e8, noise=noise)
    one = claim("same", kind="ceiling", over={}, truth="link_bytes_per_s", tolerance=0.05)
    (found,) = check_claims([one], measured)
    assert found.outcome == right
    assert found.ratios[0].value == pytest.approx(share, rel=0.06)


def test_the_spread_of_repeats_is_compared():
    wide, narrow = results(1.0, noise=0.2, visits=6), results(1.0, noise=0.02, visits=6, seed=2)
    both = [one for one in narrow if one.place["drives"] == 3] + [one for one in wide if one.place["drives"] == 11]
    (one,) = check_claims([claim("higher", kind="spread")], both)
    assert one.outcome == "same"
    assert one.ratios[0].low < 10 < one.ratios[0].high
    (one,) = check_claims([claim("lower", kind="spread")], both)
    assert one.outcome == "differs"


def test_one_load_that_spreads_far_is_no_spread_of_all():
    still = results(1.0, noise=0.01, visits=4)
    values = {"bw": tuple(1e7 * exp(0.025 * n) for n in (-1, 1, -1, 1))}
    (one,) = check_claims([claim("higher", kind="spread")], [*still[:-1], replace(still[-1], values=values)])
    assert one.outcome == "undecided"


@pytest.mark.parametrize(
    ("limits", "right"), [(("x", "link"), "same"), (("x", "drive bandwidth"), "differs"), (("x", ""), "undecided")]
)
def test_a_limit_is_named_or_not(limits, right):
    one = claim("link", kind="limit", over={})
    (found,) = check_claims([one], results(1.0, limits=limits))
    assert found.outcome == right


def test_a_limit_named_now_and_then_is_undecided():
    mixed = [
        Measured(o.configuration, o.place, o.values, "link" if n % 2 else "drive") for n, o in enumerate(results(1.0))
    ]
    (found,) = check_claims([claim("link", kind="limit", over={})], mixed)
    assert found.outcome == "undecided"


def test_the_reason_names_both_limits():
    (one,) = check_claims([claim("higher", note="Slower drives.")], results(2.0))
    assert why(one) == "Limits: link 12 against drive 12. Slower drives."
    assert here(one).endswith(" MB/s, 12 loads")
    assert log(one.ratios[0].value) == pytest.approx(log(2.0), abs=0.05)
