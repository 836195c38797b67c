# SPDX-License-Identifier: Apache-2.0
"""A process that dies while it makes a campaign leaves it whole, or leaves a place where it is made anew."""

import os
import random
import shutil
import signal
import sqlite3
import time

import pytest

from ioatlas.model.errors import UsageError
from ioatlas.store import schema
from ioatlas.store.journal import Journal
from tests.unit.procedures.cases import DENSE, TRACE
from tests.unit.procedures.test_ended_anywhere import SET_UPS
from tests.unit.simulated import World, killed, moments, spread

FACTS = "[facts]\n'nic.speed' = '1 Gb/s'\n"
KINDS = {"trace": TRACE, "set-ups": SET_UPS}


LATER = pytest.mark.long("store", "run")


@pytest.fixture(params=["trace", pytest.param("set-ups", marks=LATER)])
def making(request, tmp_path):
    """A world, and what makes its campaign."""
    world = World(tmp_path)
    for name in "ab":
        (world.target / name).mkdir()
    (tmp_path / "facts.toml").write_text(FACTS)
    return world, lambda one: one.start(KINDS[request.param], facts=tmp_path / "facts.toml")


def whole(world):
    """What a campaign begins with."""
    journal = world.journal()
    try:
        planned = world.rows("select cell_key, block, seed, purpose from visit order by visit_id")
        files = {path.name for path in world.directory.iterdir()}
        return journal.format, journal.cells(), planned, files, [one.name for one in journal.targets()]
    finally:
        journal.close()


def check_made_or_not(world, made, wanted):
    """The campaign is whole, or a new one takes its place and is made to its end like any other."""
    try:
        found = whole(world)
    except UsageError:
        made(world)
        found = whole(world)
    assert found == wanted


@pytest.mark.parametrize("most", [8, pytest.param(1000, marks=LATER)])
def test_it_is_whole_or_made_anew_wherever_it_died(making, most):
    world, made = making
    made(world)
    wanted = whole(world)
    shutil.rmtree(world.directory)
    total = moments(world, made)
    assert total > 5
    for moment in spread(most, total):
        shutil.rmtree(world.directory)
        assert killed(world, moment, made)
        check_made_or_not(world, made, wanted)
    assert world.session().complete


def test_so_it_is_when_the_kernel_kills_it(making):
    world, made = making
    begin = time.monotonic()
    made(world)
    longest = time.monotonic() - begin
    wanted = whole(world)
    generator = random.Random(1)
    for _ in range(8):
        shutil.rmtree(world.directory)
        pid = os.fork()
        if not pid:
            made(world)
            os._exit(0)
        time.sleep(generator.uniform(0, longest))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        check_made_or_not(world, made, wanted)


@pytest.fixture
def unmade(tmp_path):
    """A directory as an earlier version left it: some of the tables, and a file that belonged to the campaign."""
    world = World(tmp_path)
    world.directory.mkdir()
    with sqlite3.connect(world.directory / "journal.sqlite") as link:
        for name in ("campaign", "session"):
            link.execute(schema.TABLES[name].made)
    (world.directory / "testbed.toml").write_text(FACTS)
    return world


def test_nothing_of_the_one_that_was_never_begun_is_taken_over(unmade):
    with pytest.raises(UsageError, match="never begun"):
        unmade.session()
    unmade.start(DENSE)
    assert not (unmade.directory / "testbed.toml").exists()
    assert unmade.session().complete


def test_what_is_somebody_elses_stays(unmade):
    (unmade.directory / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        unmade.start(DENSE)
    assert (unmade.directory / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("statement", ["create table mine (x)", "insert into session values (1, 0, null, '{}')"])
def test_a_file_that_holds_anything_is_never_made_anew(unmade, statement):
    with sqlite3.connect(unmade.directory / "journal.sqlite") as link:
        link.execute(statement)
    with pytest.raises(UsageError, match="already here"):
        unmade.start(DENSE)
    assert (unmade.directory / "testbed.toml").exists()


def test_of_two_that_are_made_at_once_there_is_one(tmp_path):
    with Journal.making(tmp_path) as one:
        one.begin_campaign("a" * 12, "one", "0", {"spec": {}}, [])
        assert Journal.is_unmade(tmp_path)
    with pytest.raises(UsageError, match="already here"), Journal.making(tmp_path):
        raise AssertionError
    assert [row[0] for row in sqlite3.connect(tmp_path / "journal.sqlite").execute("pragma user_version")] == [
        schema.VERSION
    ]
