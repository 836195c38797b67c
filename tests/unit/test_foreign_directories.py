# SPDX-License-Identifier: Apache-2.0
"""Seeded edits of the journals of every procedure: whatever a stranger's directory says, a command ends in time with
status 0 or one message, starts no program and changes nothing outside.

`bench/foreign/run.py` does the same for as long as one likes.
"""

import os
import random
import shutil
import subprocess
import time

import pytest

from tests.unit.foreign import COMMANDS, Fuzzer, bases, edit, watched
from tests.unit.procedures.cases import EVERY

SEEDS = range(1, 4)
FIRST = ("dense", "points", "rounds", "trace")
"""Those that are quick to make; the long run has all."""


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory):
    place = tmp_path_factory.mktemp("foreign")
    (place / "outside").mkdir()
    (place / "outside" / "victim").write_text("kept")
    return Fuzzer(place, bases(place, FIRST))


@pytest.mark.long("store", "run", "results")
@pytest.mark.parametrize(
    "seeds", [SEEDS, pytest.param(range(4, 11), marks=pytest.mark.long("cli", "store"))], ids=["few", "more"]
)
def test_edited_journals_do_no_harm(fuzzer, seeds):
    for told, outcome in fuzzer.many(seeds):
        assert outcome.what == "", told


@pytest.mark.parametrize("command", [*COMMANDS])
def test_a_journal_that_nobody_edited_is_taken_by_every_command(fuzzer, command):
    """So that no edit is refused for another reason than the edit."""
    world = fuzzer.worlds["points"]
    outcome = fuzzer.watch(world, world.place / "whole", command)
    assert (outcome.what, outcome.code) == ("", 0), outcome.said


def test_edits_reach_every_table(fuzzer, tmp_path):
    wanted, seen = {"campaign", "target", "cell", "visit", "part", "outcome", "batch", "session"}, set()
    for seed in range(150):
        copy = tmp_path / str(seed)
        copy.mkdir()
        shutil.copy(fuzzer.worlds["dense"].directory / "journal.sqlite", copy)
        seen |= {one.split()[0].rstrip(":") for one in edit(copy, random.Random(seed)).split("; ") if one}
        shutil.rmtree(copy)
        if seen >= wanted:
            return
    assert seen >= wanted


def test_what_is_wrong_is_seen(fuzzer):
    """The watch itself: a traceback, a program, a write elsewhere and an endless command are told."""
    done = subprocess.CompletedProcess([], 0, "", "")

    def harm(what):
        exec(what, {"os": os, "subprocess": subprocess, "time": time, "place": str(fuzzer.place)})
        return done

    for what, told, limit_seconds in (
        ("1 / 0", "ZeroDivisionError", 60.0),
        ("subprocess.run(['true'])", "ran", 60.0),
        ("open(place + '/x', 'w')", "wrote", 60.0),
        ("time.sleep(600)", "did not end", 0.5),
        ("os._exit(3)", "died", 60.0),
    ):
        outcome = watched(lambda what=what: harm(what), limit_seconds, allowed=(fuzzer.place / "elsewhere",))
        assert told in outcome.what, what


def test_all_procedures_are_edited_in_the_long_run():
    assert set(FIRST) < set(EVERY)
