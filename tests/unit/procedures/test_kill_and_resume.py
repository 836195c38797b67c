# SPDX-License-Identifier: Apache-2.0
"""A campaign that is killed at any moment and resumed ends with the cells and values of one that nobody disturbed."""

from collections import defaultdict
from functools import cache

import pytest

from tests.unit.procedures.cases import EVERY, make_world
from tests.unit.simulated import killed, moments, spread

pytestmark = pytest.mark.usefixtures("no_law")
MOMENTS = {"dense": 12}
FEWER = 3
SOON = ("dense", "by law", "tune", "fixed work")
"""Those of the long run alone go on as one of these does."""
LATER = pytest.mark.long("procedures", "run", "store")
BEGUN_AGAIN = frozenset({"fixed work", "iozone", "rounds", "trees"})
"""Visits build on files that a resumed session makes anew: some are made once more, with seeds of their own."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Of a procedure's name: (world, what it came to without a kill, how many moments that has)."""

    @cache
    def made(name):
        world = make_world(tmp_path_factory.mktemp("killed"), name)
        world.keep()
        total = moments(world)
        world.check()
        return world, world.made(), total

    return made


@pytest.mark.parametrize(
    ("name", "number"),
    [
        pytest.param(name, number, marks=[LATER] if number % FEWER != 1 or name not in SOON else [])
        for name in EVERY
        for number in range(MOMENTS.get(name, FEWER))
    ],
)
def test_killed_and_resumed_it_ends_as_if_nothing_had_happened(undisturbed, name, number):
    world, reference, total = undisturbed(name)
    count = MOMENTS.get(name, FEWER)
    world.restore()
    assert killed(world, spread(count, total)[number])
    before = world.finished()
    assert world.session().complete
    world.check()
    after = world.finished()
    assert {key: after.get(key) for key in before} == before
    if name == "by law":  # what it measures next follows from the time that is left, which the kill took some of
        assert {row[2] for row in world.made() if len(row) > 2} == {"sweep", "beside"}
    elif name in BEGUN_AGAIN:
        assert_alike(world.made(), reference)
    else:
        assert swept(world.made()) == swept(reference)


def swept(made):
    """All visits. Latencies since each I/O was due are of a log in milliseconds: equal within a thousandth."""
    return [
        (*row[:11], pytest.approx(row[11], rel=1e-3)) if len(row) > 2 and row[2] == "curve" else row for row in made
    ]


def assert_alike(made, reference):
    """The same cells in the same replicates, or more of these, with values apart by noise alone."""
    assert [row for row in made if len(row) == 2] == [row for row in reference if len(row) == 2]
    found, wanted = defaultdict(list), defaultdict(list)
    for rows, kept in ((made, found), (reference, wanted)):
        for row in rows:
            if len(row) > 2:
                kept[row[0], row[8]].append((row[1], row[9], row[11]))
    assert found.keys() == wanted.keys()
    for place, visits in wanted.items():
        assert {replicate for replicate, _, _ in visits} <= {replicate for replicate, _, _ in found[place]}
        usual = [latency for *_, latency in visits if latency]
        for _, moved, latency in found[place]:
            assert moved == pytest.approx(visits[0][1], rel=0.2)
            assert not latency or min(usual) * 0.9 < latency < max(usual) * 1.1
