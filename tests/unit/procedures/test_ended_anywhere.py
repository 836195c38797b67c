# SPDX-License-Identifier: Apache-2.0
"""A campaign that is killed or ends anywhere: every command reads its directory, a session ends as if undisturbed."""

import contextlib
import shutil
import sqlite3
from collections import defaultdict
from functools import cache

import pytest

from ioatlas.measure.campaign import load_result
from ioatlas.measure.procedures.tune.procedure import Tune
from ioatlas.model.errors import PartialResultError
from ioatlas.plan.latency_search import Goal
from ioatlas.store.journal import Journal
from tests.unit.procedures.cases import DENSE, EVERY, FEW_CELLS, LAWS, make_world
from tests.unit.simulated import LAW, Shell, World, around_transactions, killed, moments, spread

pytestmark = pytest.mark.usefixtures("no_law")

_STUDY = """
budget = "60s"
visits = 2
window = "300ms"
[target]
path = "TARGET"
[sweep]
size = "128m"
direct = 0
[streams]
study = "{study}"
load = "highest"
limit = "5ms"
points = [100, 50]
"""
_THREE = "".join(f'[[target]]\npath = "TARGET/{name}/"\n' for name in "abc")
TOGETHER = """
together = true
visits = 2
TARGETS
[sweep]
rw = "randread"
bs = 4096
size = "16m"
iodepth = 1
targets = [1, 3]
""".replace("TARGETS", _THREE)
SET_UPS = """
visits = 2
blocks = 2
[sweep]
rw = "randread"
bs = ["4k", "64k"]
size = "1m"
direct = 0
""" + "".join(f'[[configuration]]\nname = "{name}"\npath = "TARGET/{name}/"\nbefore = "true"\n' for name in "ab")
MORE = {
    "short of time": DENSE.replace("visits = 3", 'visits = 3\nbudget = "12s"'),
    "few cells, short of time": FEW_CELLS.replace("visits = 2", 'visits = 2\nbudget = "15s"'),
    "spc1-like": _STUDY.format(study="spc1-like"),
    "spc1e-like": _STUDY.format(study="spc1e-like"),
    "together": TOGETHER,
    "set-ups": SET_UPS,
}
CAMPAIGNS = {**EVERY, **MORE}
FEW = 2
"""States that are looked at where all of them would take long."""
LATER = pytest.mark.long("procedures", "run", "store")
ALIKE = (*EVERY.keys() - {"by law", "few cells", "tune"}, *MORE.keys() - {"spc1-like"})
"""They end as others do, in states that the long run looks at."""
_STATE = """
select distinct 'visit', v.purpose, v.status, c.reason from visit v join cell c using (cell_key)
union select 'outcome', name, '', '' from outcome
union select 'batch', status, '', '' from batch
union select 'campaign', complete, '', '' from campaign
order by 1, 2, 3, 4
"""


def ends(world, place):
    """Run the campaign to its end, and keep what a process that died would leave: of each kind of state the first."""
    seen, known = {}, [b""]

    def look(*_):
        path = world.directory / "journal.sqlite"
        with path.open("rb") as file:
            file.seek(24)
            count = file.read(4)  # of its changes
        if count == known[-1]:
            return
        known[:] = [count]
        with contextlib.closing(sqlite3.connect(path)) as link:
            state = tuple(link.execute(_STATE).fetchall())
        if state not in seen:
            seen[state] = place / f"{len(seen):03}"
            shutil.copytree(world.directory, seen[state])

    world.executor._moment = look
    watched = around_transactions(look, lambda: None)
    try:
        assert world.session().complete
    finally:
        watched.stop()
    world.executor._moment = lambda _what: None
    look()
    return list(seen.values())


def put_back(world, place):
    shutil.rmtree(world.directory)
    shutil.copytree(place, world.directory)


@pytest.mark.parametrize(
    ("name", "most"),
    [
        *((name, FEW) for name in CAMPAIGNS if name not in ALIKE),
        *(pytest.param(name, 1000, marks=LATER) for name in CAMPAIGNS),
    ],
)
def test_whatever_it_ends_in_it_is_read_and_gone_on_with(tmp_path, name, most):
    (tmp_path / "one").mkdir()
    world = World(tmp_path / "one", LAWS.get(name, LAW))
    for one in "abc":
        (world.target / one).mkdir()
    world.start(CAMPAIGNS[name], procedure=Tune(Goal("p99", 20e6, 2, 16)) if name == "tune" else None)
    found = ends(world, tmp_path / "ends")
    assert len(found) > 5
    for number in spread(most, len(found)):
        place = found[number]
        put_back(world, place)
        load_result(world.directory)
        error = world.tried(stop_asked=lambda: True)
        assert error is None or isinstance(error, PartialResultError), place
        Journal.open(world.directory).close()
    put_back(world, found[len(found) // 2])
    assert isinstance(world.tried(stop_asked=lambda: True), PartialResultError)
    read_by_all(world)


def read_by_all(world):
    """A campaign that died in the middle and was then stopped, as commands read it."""
    bundle = world.place / "stopped.ioatlas.zip"
    for command in (
        ("show", world.directory, "--json"),
        ("list", world.place),
        ("export", world.directory, "-o", world.place / "out.csv"),
        ("compare", world.directory, world.directory),
        ("report", world.directory),
        ("bundle", world.directory, "-o", bundle),
        ("verify", bundle),
    ):
        done = Shell()(*command)
        assert done.returncode == 0 or "no visit to compare" in done.stderr, (command, done.stderr)


MOMENTS = {"dense": 12}
FEWER = 3
SOON = ("dense", "by law", "tune", "fixed work")
"""Those of the long run alone go on as one of these does."""
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
