# SPDX-License-Identifier: Apache-2.0
"""The campaign of a bundle on another target: the same plan, and an answer that says what came of it."""

import json
from dataclasses import replace

import pytest

from ioatlas.bundle.opening import opened_directory
from ioatlas.bundle.pack import pack
from ioatlas.bundle.redaction import RedactPlan
from ioatlas.bundle.reproduce import specification
from ioatlas.plan.spec import CampaignSpec
from ioatlas.store.journal import Journal
from tests.simulate.law import Way
from tests.unit.bundle.made import bundle_file, campaign, packed
from tests.unit.simulated import LAW, Shell, World

SMALL = """
visits = {visits}
window = "200ms"
[target]
path = "TARGET"
[sweep]
rw = "randread"
bs = ["4k", "64k"]
size = "1m"
direct = 0
iodepth = [1, 4]
ioengine = "libaio"
"""
QUIET = replace(LAW, noise=0.002)


def of_world(place, visits=4):
    place.mkdir()
    world = World(place, QUIET)
    world.run(SMALL.format(visits=visits))
    return bundle_file(place, pack(world.directory, plan=RedactPlan()).data())


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return of_world(tmp_path_factory.mktemp("theirs") / "world")


def said(told):
    """The last line, which says what came of it."""
    return json.loads(told.stdout.splitlines()[-1])


def test_the_same_on_a_like_target_is_reproduced(bundle, target, tmp_path):
    mine = tmp_path / "mine"
    told = Shell(replace(QUIET, seed=5))("reproduce", bundle, target, "--out", mine, "--yes", "--json")
    assert said(told)["outcome"] == "reproduced", told.stdout[-2000:]
    assert told.returncode == 0
    assert "target       target" in told.stderr
    journal = Journal.open(mine)
    spec = CampaignSpec.from_record(journal.plan()["spec"])
    assert [target.location for target in journal.targets()] == [str(target)]
    assert (spec.visits, spec.window_seconds, spec.order_seed) == (4, 0.2, 1)
    journal.close()
    again = Shell(QUIET)("reproduce", bundle, "--out", mine)
    assert again.returncode == 0
    assert "REPRODUCED" in again.stdout


def test_a_slower_target_differs_and_it_says_where(bundle, target, tmp_path):
    slow = replace(QUIET, random_read=Way(150e-6, 60_000, 1.5e9))
    told = Shell(slow)("reproduce", bundle, target, "--out", tmp_path / "mine", "--yes")
    assert told.returncode == 3
    assert "DIFFERS" in told.stdout
    assert "the map as a whole is -" in told.stdout
    assert "4 KiB" in told.stdout


def test_what_is_too_noisy_to_tell_is_not_called_reproduced(target, tmp_path):
    told = Shell(replace(LAW, noise=0.3))(
        "reproduce", of_world(tmp_path / "noisy", visits=1), target, "--out", tmp_path / "mine", "--yes", "--json"
    )
    assert told.returncode == 3
    assert said(told)["outcome"] in ("not comparable", "differs")
    assert said(told)["outcome"] != "reproduced"


def test_another_sweep_is_not_comparable(bundle):
    told = Shell()("reproduce", bundle, "--out", campaign("trace"), "--json")
    assert told.returncode == 3
    assert said(told)["outcome"] == "not comparable"
    assert "no measured cell in common" in said(told)["reasons"][0]


def test_a_dry_run_shows_the_plan_and_makes_nothing(bundle, target, tmp_path):
    told = Shell()("reproduce", bundle, target, "--out", tmp_path / "mine", "--dry-run")
    assert told.returncode == 0
    assert "cells        4, 4 visits each" in told.stdout
    assert not (tmp_path / "mine").exists()


def test_guards_and_typed_confirmations_are_those_of_map(bundle, tmp_path):
    writing = tmp_path / "writing"
    writing.mkdir()
    world = World(writing)
    world.run(SMALL.format(visits=1).replace("randread", "randwrite"))
    other = bundle_file(tmp_path, pack(world.directory, plan=RedactPlan()).data())
    file = tmp_path / "file"
    file.write_bytes(bytes(1 << 20))
    told = Shell()("reproduce", other, file, "--out", tmp_path / "mine", "--yes")
    assert told.returncode == 2
    assert "--overwrite" in told.stderr
    assert file.read_bytes() == bytes(1 << 20)
    told = Shell()("reproduce", bundle, "--dry-run")
    assert told.returncode == 2


def test_a_trace_goes_with_its_bundle(target, tmp_path):
    path = bundle_file(tmp_path, packed("trace").data())
    told = Shell()("reproduce", path, target, "--dry-run")
    assert told.returncode == 0, told.stderr
    assert "100 I/Os" in told.stdout


def test_commands_of_a_bundle_are_never_run(tmp_path, target):
    place = tmp_path / "set-up"
    place.mkdir()
    world = World(place)
    (world.target / "one").mkdir()
    text = SMALL.format(visits=1).replace('[target]\npath = "TARGET"\n', "")
    text = text.replace('bs = ["4k", "64k"]', 'bs = "4k"').replace("[1, 4]", "1")
    text += f'[[configuration]]\nname = "one"\npath = "{world.target}/one"\nbefore = "touch {tmp_path}/ran"\n'
    world.run(text)
    assert (tmp_path / "ran").exists()
    (tmp_path / "ran").unlink()
    path = bundle_file(tmp_path, pack(world.directory, plan=RedactPlan()).data())
    for command in (("show", path), ("verify", path), ("reproduce", path, target, "--yes")):
        told = Shell()(*command)
        assert not (tmp_path / "ran").exists()
    assert told.returncode == 2
    assert "bring commands" in told.stderr


def test_a_reproduction_keeps_the_sheet_of_the_bundle_unless_another_is_named(bundle, target):
    opened = opened_directory(bundle)
    (opened / "product.toml").write_text("", encoding="utf-8")
    assert specification(opened, str(target))[0].product == str(opened / "product.toml")
    assert specification(opened, str(target), "mine.toml")[0].product == "mine.toml"
