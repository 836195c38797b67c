# SPDX-License-Identifier: Apache-2.0
"""A campaign that ends at any step leaves a directory that every command reads, and that a session goes on with."""

import contextlib
import shutil
import sqlite3

import pytest

from ioatlas.measure.campaign import load_result
from ioatlas.measure.procedures.tune.procedure import Tune
from ioatlas.model.errors import PartialResultError
from ioatlas.plan.latency_search import Goal
from ioatlas.store.journal import Journal
from tests.unit.procedures.cases import DENSE, EVERY, FEW_CELLS, LAWS
from tests.unit.simulated import LAW, Shell, World, around_transactions, spread

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
