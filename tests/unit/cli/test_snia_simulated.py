# SPDX-License-Identifier: Apache-2.0
"""Tests in rounds on simulated targets: a steady one, one that grows, a kill, a stop, and what is no such test."""

import json
import os
import tempfile
from pathlib import Path

import pytest

from ioatlas.model.errors import PartialResultError
from ioatlas.stats.steadystate import steady_state
from tests.simulate.law import Law, Way
from tests.unit.simulated import Shell, World, killed, moments

SIZE = 8 << 20
RATE = 5 << 20
WAY = Way(20e-6, 1e6, RATE)
STEADY = Law(read=WAY, write=WAY, noise=0.005)
ONE_CELL = {"rwmixread": "[0]", "bs": '["4k"]'}
BUFFERED = ONE_CELL | {"direct": 0}


@pytest.fixture
def target():
    """A directory that takes direct I/O."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("IOATLAS_TEST_DISK", "/var/tmp")) as place:
        yield Path(place)


def text(profile="snia-pts", window="200ms", more="", **sweep):
    lines = "\n".join(f"{name} = {value}" for name, value in {"size": SIZE, **sweep}.items())
    return f'profile = "{profile}"\nwindow = "{window}"\n{more}\n[sweep]\n{lines}\n'


def campaign(directory, **options):
    path = directory / "c.toml"
    path.write_text(text(**options))
    return path


def exported(directory):
    done = Shell()("export", directory, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_limited_target_reaches_the_steady_state_that_the_definition_says(target, tmp_path):
    shell = Shell(STEADY)
    file = campaign(tmp_path, window="300ms", rwmixread="[50, 0]", bs='["16k", "4k"]')
    planned = json.loads(shell("plan", target, "--campaign", file, "--json").stdout)
    done = shell("map", target, "--campaign", file, "-o", tmp_path / "o")
    assert done.returncode == 0, done.stderr
    assert planned["snia"][0]["fill_bytes"] == 2 * SIZE
    assert planned["snia"][0]["cells_per_round"] == 4
    assert planned["snia"][0]["least_seconds"] < planned["snia"][0]["most_seconds"]
    assert "rounds       5 to 25" in done.stderr  # the time it takes is shown first
    result = exported(tmp_path / "o")
    (test,) = result["rounds"]
    judged = steady_state(test["values"])
    assert judged.met
    assert test["met"] is True
    assert test["window"] == [judged.round_number - 4, judged.round_number]
    assert test["average"] == pytest.approx(judged.average)
    assert test["average"] == pytest.approx(RATE / 4096, rel=0.1)
    assert len(test["values"]) == judged.round_number  # nothing is run after it is met
    cells = {(cell["read_percent"], cell["bs_bytes"]): cell for cell in test["cells"]}
    assert set(cells) == {(50, 16384), (50, 4096), (0, 16384), (0, 4096)}
    assert cells[0, 4096]["tracked"]
    assert cells[0, 4096]["value"] == pytest.approx(judged.average)
    assert any("60 s" in text for text in test["deviations"])
    assert "not possible" in test["purge"]
    rows = {(row["rwmixread"], row["bs_bytes"], row["direction"]): row for row in result["rows"]}
    assert rows[0, 4096, "write"]["iops"] == pytest.approx(judged.average)
    assert {row["verdict"] for row in result["rows"]} == {"steady"}
    assert {row["state"] for row in result["rows"]} == {"filled-twice"}
    assert {row["n_visits"] for row in result["rows"]} == {5}
    (told,) = [finding["values"] for finding in result["findings"] if finding["code"] == "rounds"]
    assert (told["met"], told["n_rounds"]) == (True, len(test["values"]))


def test_a_target_that_grows_from_round_to_round_is_not_met_after_25_rounds(target, tmp_path):
    growing = Law(read=WAY, write=WAY, drift_per_hour=3600 * 10.0)
    file = campaign(tmp_path, **ONE_CELL)
    done = Shell(growing)("map", target, "--campaign", file, "-o", tmp_path / "o", "--json")
    assert done.returncode == 0, done.stderr
    rounds = [event for event in map(json.loads, done.stdout.splitlines()) if event["event"] == "round"]
    assert [event["round"] for event in rounds] == list(range(1, 26))
    result = exported(tmp_path / "o")
    (test,) = result["rounds"]
    assert test["met"] is False
    assert test["ended"] == "no steady state in 25 rounds"
    assert test["window"] == [21, 25]
    assert test["average"] == pytest.approx(sum(test["values"][20:]) / 5)
    assert {row["verdict"] for row in result["rows"]} == {"no steady state"}
    (told,) = [finding["values"] for finding in result["findings"] if finding["code"] == "rounds"]
    assert (told["met"], told["n_rounds"]) == (False, 25)


def rounds_of(world):
    """How many rounds have been made."""
    return world.rows("select count(distinct block) from visit where purpose = 'sweep' and status = 'done'")[0][0]


def test_a_killed_test_in_a_directory_is_filled_again_and_its_rounds_go_on(tmp_path):
    world = World(tmp_path, STEADY)
    world.start(text(more='[target]\npath = "TARGET"', **BUFFERED))
    world.keep()
    total = moments(world)
    world.restore()
    assert killed(world, total // 2)
    made = rounds_of(world)
    assert made >= 1
    assert world.session().complete
    assert world.left_on_target() == []
    result = exported(world.directory)
    (test,) = result["rounds"]
    assert test["first"] == made + 1
    assert test["window"][0] >= test["first"]
    assert len(test["values"]) >= test["first"] + 4
    assert any("interrupted after round" in text for text in result["settings"].values())
    assert result["settings"]["bytes of sequential fill"] == str(2 * 2 * SIZE)


def test_a_stopped_test_on_a_file_goes_on_without_a_new_fill(tmp_path):
    """What nobody but the test changes needs no second fill: a file, a device, an export."""
    world = World(tmp_path, STEADY)
    file = world.target / "data"
    file.write_bytes(bytes(SIZE))
    confirmed = {"overwrite": f"{file} {SIZE}"}
    world.start(text(more=f'[target]\npath = "{file}"', **BUFFERED), **confirmed)
    with pytest.raises(PartialResultError, match="stopped"):
        world.session(lambda: rounds_of(world) >= 2, **confirmed)
    assert world.session(**confirmed).complete
    result = exported(world.directory)
    (test,) = result["rounds"]
    assert test["first"] == 1
    assert result["settings"]["bytes of sequential fill"] == str(2 * SIZE)
    assert any("went on without" in text for text in result["settings"].values())


def test_the_other_tests_of_the_specification_run_too(target, tmp_path):
    shell = Shell(Law(read=Way(20e-6, 1e6, 400e6), write=Way(20e-6, 1e6, 400e6), noise=0.005))
    (tmp_path / "s").mkdir()
    done = shell(
        "map", target, "--campaign", campaign(tmp_path / "s", profile="snia-saturation"), "-o", tmp_path / "s/o"
    )
    assert done.returncode == 0, done.stderr
    (test,) = exported(tmp_path / "s/o")["rounds"]
    assert test["ended"] == "4 times the range was written"
    assert test["written_bytes"][-1] >= 4 * SIZE
    assert test["written_bytes"] == sorted(test["written_bytes"])
    assert all(written < 4 * SIZE for written in test["written_bytes"][:-1])
    (tmp_path / "t").mkdir()
    file = campaign(tmp_path / "t", profile="snia-throughput", more='budget = "9s"')
    done = shell("map", target, "--campaign", file, "-o", tmp_path / "t/o")
    assert done.returncode == 0, done.stderr
    tests = exported(tmp_path / "t/o")["rounds"]
    assert [test["part"] for test in tests] == ["bs 1 MiB", "bs 128 KiB"][: len(tests)]
    assert all([cell["read_percent"] for cell in test["cells"]] == [100, 0] for test in tests)
    planned = json.loads(shell("plan", target, "--profile", "snia-latency", "--json").stdout)
    assert planned["snia"][0]["cells_per_round"] == (9 if 512 in planned["axes"]["bs"] else 6)


@pytest.mark.parametrize(
    ("sweep", "more", "word"),
    [
        ({"numjobs": "[1, 2]"}, "", "numjobs"),
        ({"bs": '["8k"]'}, "", "tracks one cell"),
        ({}, 'prepare = "fresh"', "one range"),
        ({}, 'purge = "discard"', "block device"),
        ({}, "visits = 3", "visits"),
    ],
)
def test_a_sweep_that_cannot_be_a_test_is_refused(tmp_path, target, sweep, more, word):
    refused = Shell()("plan", target, "--campaign", campaign(tmp_path, more=more, **sweep))
    assert refused.returncode == 2, refused.stdout
    assert word in refused.stderr
