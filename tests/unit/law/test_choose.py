# SPDX-License-Identifier: Apache-2.0
"""The next load: main cells first, for as long as they fall, within the time there is."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioatlas.answer.law.choose import MAIN_SECONDS, MOST_WAVE, main_cells, next_load, seconds_of_others
from ioatlas.answer.law.fit import fit_law
from ioatlas.answer.law.told import tell
from tests.examples import examples
from tests.unit.law.stepped import MIB, QUICK, START, Bucket, Target, drawn, mapped

BOTH = ("read", "write")


@examples(15)
@given(seed=st.integers(0, 10**6), total=st.sampled_from([20.0, 60.0, 240.0]))
def test_no_budget_is_overrun(seed, total):
    target = drawn(seed)
    _, left = mapped(target, total)
    assert left >= -START
    assert target.now <= total


def test_a_target_that_is_far_away_is_asked_for_many_large_blocks_at_once():
    """One block alone takes 0.2 s; it moves 80 MB/s once 16 are in flight."""
    far = Target(dict.fromkeys(BOTH, 0.2), dict.fromkeys(BOTH, 1e4), dict.fromkeys(BOTH, 4e8))
    courses, _ = mapped(far)
    [large] = [
        main.cell for main in main_cells(QUICK, courses, 60.0) if (main.role, main.direction) == ("large", "read")
    ]
    assert large.outstanding == 16


def test_slow_targets_keep_little_in_flight():
    slow = Target(dict.fromkeys(BOTH, 0.01), dict.fromkeys(BOTH, 100.0), dict.fromkeys(BOTH, 1.2e6))
    courses, _ = mapped(slow)
    for main in main_cells(QUICK, courses, 60.0):
        if main.role == "large":
            assert main.cell.outstanding * main.cell.bs_bytes / 1.2e6 <= max(MOST_WAVE * 60, MIB / 1.2e6) * 1.1


@pytest.mark.parametrize(
    ("alone_seconds", "stream", "most"),
    [(4e-3, 2.2e6, 16.4e6), (14e-3, 1.2e6, 17e6), (5e-3, 7e6, 60e6), (1e-3, 0.8e6, 11e6), (2e-3, 12e6, 30e6)],
)
def test_where_one_stream_is_slow_as_many_are_asked_for_as_move_most(alone_seconds, stream, most):
    """A block of 1 MiB takes 0.1 to 1.3 s alone, of which nothing is due to how fast the target moves bytes."""
    slow = Target(dict.fromkeys(BOTH, alone_seconds), dict.fromkeys(BOTH, 4000.0), dict.fromkeys(BOTH, 35e6))
    slow.alone = lambda way, bs, outstanding: min(outstanding / (alone_seconds + bs / stream), most / bs)
    courses, _ = mapped(slow)
    for way in BOTH:
        made = [one for one in courses if one.direction == way and one.cell.rw == way and one.bs == MIB]
        assert max(one.tail * MIB for one in made) == pytest.approx(slow.alone(way, MIB, 16) * MIB, rel=0.1)


def test_an_arm_that_seeks_between_streams_is_asked_for_one_alone_and_told_by_it():
    arm = Target(dict.fromkeys(BOTH, 5e-3), dict.fromkeys(BOTH, 160.0), dict.fromkeys(BOTH, 110e6), between=0.003)
    arm.alone = lambda way, bs, outstanding: 1 / (1 / 160 + bs / 110e6 - (bs == MIB and outstanding == 1) / 175)
    courses, _ = mapped(arm)
    for way in BOTH:
        made = [one for one in courses if (one.cell.rw, one.bs) == (way, MIB) and one.outstanding == 1]
        assert len(made) > 1
        told = tell(fit_law(courses), made[0].cell, way)
        assert told.value * MIB == pytest.approx(arm.alone(way, MIB, 1) * MIB, rel=0.05)
        assert told.value > 1.3 * arm.alone(way, MIB, 16)


def test_a_load_that_still_falls_is_made_again_at_once():
    bucket = Bucket("bytes", BOTH, 10e6, 40e6, 40e6)
    target = Target(dict.fromkeys(BOTH, 1e-3), dict.fromkeys(BOTH, 1e4), dict.fromkeys(BOTH, 15e6), buckets=[bucket])
    courses, _ = mapped(target)
    large = [c for c in courses if c.bs == MIB and c.cell.rw == "read"]
    assert large
    assert min(c.tail * c.bs for c in large) == pytest.approx(10e6, rel=0.05)


@pytest.mark.parametrize("bandwidth", [1.2e6, 1.5e6, 3e6, 15e6])
def test_in_a_short_budget_every_main_cell_has_its_turn(bandwidth):
    target = Target(dict.fromkeys(BOTH, 1e-3), dict.fromkeys(BOTH, 1e4), dict.fromkeys(BOTH, bandwidth))
    courses, _ = mapped(target, 10.0)
    made = {(one.cell.rw, one.cell.bs_bytes, one.outstanding > 1) for one in courses}
    assert made >= {("randread", 4096, True), ("randwrite", 4096, True)}
    assert {rw for rw, _, _ in made} >= {"read", "write"}


@pytest.mark.parametrize("total", [45.0, 60.0])
def test_every_main_cell_is_repeated_before_the_time_is_over(total):
    target = Target(dict.fromkeys(BOTH, 1e-3), dict.fromkeys(BOTH, 1e4), dict.fromkeys(BOTH, 60e6))
    courses, _ = mapped(target, total)
    made = Counter((one.cell.key, one.direction) for one in courses)
    mains = [one for one in main_cells(QUICK, courses, total) if one.role != "second"]
    assert all(made[one.cell.key, one.direction] > 1 for one in mains)
    order = [one.cell.rw == "randwrite" for one in courses]
    assert order == sorted(order), "random writes come last: a cache may need minutes to store them"


def test_where_the_writing_of_files_took_the_time_one_load_is_made_all_the_same():
    courses, _ = mapped(Target(dict.fromkeys(BOTH, 0.05), dict.fromkeys(BOTH, 20.0), dict.fromkeys(BOTH, 1e6)))
    assert next_load(QUICK, courses[:1], total=10.0, left=0.0, begun=False).why == "first"
    assert next_load(QUICK, courses[:1], total=10.0, left=0.0) is None


def test_of_many_cells_at_most_so_many_are_measured_of_each_footprint_and_none_is_far_from_its_time():
    """Of 1,008 cells 40: those that the main numbers rest on, and others, of every size and direction."""
    sizes = [MIB << n for n in range(4, 10)]
    many = [
        replace(one, options=tuple(sorted({**one.option, "size": size, "bs": bs}.items())))
        for one in QUICK
        for size in sizes
        for bs in [4096 << n for n in range(7)]
    ]
    target = Target(dict.fromkeys(BOTH, 2e-4), dict.fromkeys(BOTH, 5e4), dict.fromkeys(BOTH, 4e8))
    courses, left = [], MAIN_SECONDS + seconds_of_others(40)
    total = left
    while (one := next_load(many, courses, total=total, left=left, most=40)) is not None:
        courses.append(replace(target.load(one.cell, one.seconds), visit_id=len(courses) + 1))
        left -= one.seconds + START
    made = {course.cell.key: course.cell for course in courses}
    assert 30 <= len(made) <= 40
    assert {(one.size_bytes, one.directions) for one in made.values()} == {
        (size, (way,)) for size in sizes for way in BOTH
    }
    mains = {one.cell.key for one in main_cells(many, courses, MAIN_SECONDS)}
    spent = sum(course.seconds for course in courses if course.cell.key in mains)
    assert spent > MAIN_SECONDS / 2


def test_nothing_is_asked_for_where_no_time_is_left():
    assert next_load(QUICK, [], total=60.0, left=0.3) is None
    assert next_load([], [], total=60.0, left=60.0) is None
