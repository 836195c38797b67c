# SPDX-License-Identifier: Apache-2.0
"""The search on a target whose best setting is known: it serves 16 requests at once, each in 20 ms."""

import json
from contextlib import closing

import pytest

from ioatlas.model.units import words
from ioatlas.store.journal import Journal
from tests.simulate.law import Law, Way
from tests.unit.simulated import Shell, killed

THREADS, DELAY_SECONDS = 16, 0.020
CAPACITY = THREADS / DELAY_SECONDS
LAW = Law(read=Way(DELAY_SECONDS, CAPACITY, 10e9), write=Way(DELAY_SECONDS, CAPACITY, 10e9), noise=0.01)
ON_A_FILE = ["--size", "4m", "--set", "direct=0", "--set", "ioengine=libaio"]


def tune(shell, *arguments, code=0):
    done = shell("tune", *arguments, "--json")
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.fixture(scope="module")
def shell():
    return Shell(LAW)


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    return tmp_path_factory.mktemp("target")


@pytest.fixture(scope="module")
def found(shell, target, tmp_path_factory):
    directory = tmp_path_factory.mktemp("tune") / "d"
    limits = ["--max-jobs", "1", "--max-depth", "64", "--p99", "300ms"]
    result, told = tune(shell, target, "--rw", "randread", "--bs", "4k", *ON_A_FILE, *limits, "-o", directory)
    return result, told, directory


@pytest.mark.long("cli", "procedures")
def test_the_knee_of_the_server_is_found(found):
    result, _, _ = found
    best = result["best"]
    capacity = THREADS / DELAY_SECONDS
    assert best["numjobs"] == 1
    assert 0.7 * THREADS <= best["iodepth"] <= 3 * THREADS  # a busy machine shifts the knee up
    assert 0.8 * capacity <= best["iops"] <= 1.005 * capacity
    assert best["iops_low"] <= best["iops"] <= best["iops_high"]
    assert best["n_visits"] >= 3
    assert best["bw_bytes_per_s"] == pytest.approx(best["iops"] * 4096, rel=1e-6)
    assert best["lat_p99_ns"] <= 300e6
    assert best["lat_mean_ns"] >= 0.99 * DELAY_SECONDS * 1e9


def test_it_says_what_ended_it_and_how_long_it_took(found):
    result, told, _ = found
    assert result["limited_by"] in {"throughput plateau", "latency limit", "max jobs/depth"}
    assert 0 < result["seconds"] < 200
    assert "left" in told  # an estimate of the time to come


def test_the_curve_bends_where_the_capacity_is(found):
    curve = found[0]["curve"]
    assert 10 <= len(curve) <= 12
    offered = [point["offered"] for point in curve]
    assert offered == sorted(offered)
    best = found[0]["best"]["iops"]
    assert offered[0] == pytest.approx(best / 10, rel=0.05)
    assert offered[-1] == pytest.approx(best, rel=0.01)
    assert all(point["iops"] <= 1.1 * point["offered"] for point in curve)
    assert all(point["lat_mean_ns"] >= DELAY_SECONDS * 1e9 for point in curve)
    assert not curve[1]["overloaded"] or not curve[2]["overloaded"]


def test_bounds_and_trials_agree(found):
    result = found[0]
    assert all(one["lat_p99_ns"] <= 300e6 for one in result["trials"] if one["meets"] and one["trials"] == 1)
    tried = {(one["numjobs"], one["iodepth"]) for one in result["trials"]}
    assert (result["best"]["numjobs"], result["best"]["iodepth"]) in tried
    assert result["n_trials"] == sum(one["trials"] for one in result["trials"])


def test_its_directory_is_a_campaign(shell, found):
    directory = found[2]
    assert json.loads((directory / "tune.json").read_text())["best"] == found[0]["best"]
    assert (directory / "journal.sqlite").exists()
    table = shell("export", directory, "--format", "csv")
    assert table.returncode == 0, table.stderr
    again = shell("resume", directory, "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["best"] == found[0]["best"]  # nothing was left to do


def test_a_limit_below_one_io_is_reported(shell, target, tmp_path):
    load = ["--rw", "randread", "--bs", "4k", *ON_A_FILE]
    result, _ = tune(shell, target, *load, "--mean", "10ms", "-o", tmp_path / "d", code=3)
    assert result["best"] is None
    assert result["limited_by"] == "latency limit"
    assert not any(one["meets"] for one in result["trials"])


def test_a_directory_is_left_as_it_was(shell, tmp_path):
    disk_dir = tmp_path / "disk"
    disk_dir.mkdir()
    (disk_dir / "precious").write_text("keep me")
    load = words("--rw randrw --rwmixread 70 --bs 8k --size 4m --mean 1s --max-jobs 2 --max-depth 4")
    result, _ = tune(shell, disk_dir, *load, "--set", "direct=0", "--budget", "15s", "-o", tmp_path / "d")
    assert result["best"]["iops"] > 0
    assert [path.name for path in disk_dir.iterdir()] == ["precious"]
    assert result["best"]["bw_bytes_per_s"] == pytest.approx(result["best"]["iops"] * 8192, rel=1e-6)


@pytest.mark.long("cli", "procedures", "run")
def test_killed_it_goes_on_where_it_was(target, tmp_path):
    shell, directory = Shell(LAW), tmp_path / "d"
    limits = ["--max-throughput", "--max-jobs", "1", "--max-depth", "4"]
    assert killed(shell, 300, lambda one: one("tune", target, *ON_A_FILE, *limits, "-o", directory))
    made = len(list((directory / "batches").iterdir()))
    done = shell("resume", directory, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["best"]["numjobs"], result["best"]["iodepth"]) == (1, 4)
    assert result["limited_by"] == "max jobs/depth"
    assert len(list((directory / "batches").iterdir())) > made


@pytest.mark.long("cli", "procedures")
def test_what_gains_is_proved_and_what_does_not_is_not(shell, target, tmp_path):
    """The server takes 16 at once: eight jobs and a depth of 16 gain as much, another engine nothing."""
    told, _ = tune(shell, target, "--advise", "--size", "200m", "--set", "direct=0", "-o", tmp_path / "d")
    assert told["as_it_is"] == {"numjobs": 1, "iodepth": 1, "ioengine": "libaio", "bs": 4096}
    gains = {one["option"]: one for one in told["gains"]}
    assert gains.keys() == {"numjobs", "iodepth", "ioengine", "bs"}
    for option, least, most in (("numjobs", 6, 9), ("iodepth", 11, 18)):
        one = gains[option]
        assert one["proved"]
        assert one["foretold"]["low"] <= one["gain"] <= 1.05 * one["foretold"]["high"]
        assert least <= one["low"] <= one["gain"] <= one["high"] <= most
    assert not gains["ioengine"]["proved"]
    assert gains["ioengine"]["low"] <= 1.05


def test_of_a_slow_target_each_change_is_told_within_the_usual_budget(target, tmp_path):
    """Blocks of 1 MiB take 3.5 s each: in windows as long as of a fast target they alone would take 12 minutes."""
    slow = Way(0.001, 10e3, 300e3)
    shell = Shell(Law(read=slow, write=slow, noise=0.01))
    told, _ = tune(shell, target, "--advise", "--size", "200m", "--set", "direct=0", "-o", tmp_path / "d")
    assert all(0.5 < one["low"] <= one["high"] < 2 for one in told["gains"]), told["gains"]
    with closing(Journal.open(tmp_path / "d")) as journal:
        assert 60_000 < sum(visit.ran_ms for visit in journal.visits()) < 180_000


@pytest.mark.long("cli", "procedures", "run")
def test_a_killed_advice_goes_on_and_keeps_what_was_finished(target, tmp_path):
    shell, directory = Shell(LAW), tmp_path / "d"
    load = ["--advise", "--size", "200m", "--set", "direct=0", "--budget", "1m", "-o", directory]
    assert killed(shell, 600, lambda one: one("tune", target, *load))
    with closing(Journal.open(directory)) as journal:
        before = journal.visits()
    assert before
    done = shell("resume", directory, "--json")
    assert done.returncode == 0, done.stderr
    assert all(one["low"] < one["gain"] < one["high"] for one in json.loads(done.stdout)["gains"])
    with closing(Journal.open(directory)) as journal:
        assert journal.visits()[: len(before)] == before
        assert len(journal.visits()) > len(before)


def test_what_is_in_flight_for_longer_than_a_hang_is_waited_for(target, tmp_path):
    """16 blocks of 1 MiB come back after 84 s, and nobody knows it before the first load."""
    slow = Way(0.001, 10e3, 200e3)
    load = ["--rw", "randread", "--bs", "1m", "--iodepth", "16", "--size", "64m", "--budget", "5m"]
    done = Shell(Law(read=slow, write=Way(0.001, 10e3, 100e6)))("map", target, *load, "-o", tmp_path / "d", "--json")
    assert done.returncode == 0, done.stderr
    with closing(Journal.open(tmp_path / "d")) as journal:
        assert max(visit.ran_ms for visit in journal.visits()) > 60_000


def test_an_advice_has_no_other_goal(shell, target):
    assert shell("tune", target, "--advise", "--p99", "5ms").returncode == 2
    planned = json.loads(shell("tune", target, "--advise", "--budget", "3m", "--dry-run", "--json").stdout)
    assert planned["budget_seconds"] == 180


def test_a_command_of_the_user_is_undone_and_its_gain_is_a_factor(shell, target, tmp_path):
    notes = tmp_path / "notes"
    commands = ["--cure", f"echo cure >> {notes}", "--undo", f"echo undo >> {notes}"]
    done = shell("tune", target, "--advise", *ON_A_FILE[:4], *commands, "-o", tmp_path / "d")
    assert done.returncode == 0, done.stderr
    said = notes.read_text().split()
    assert said.count("cure") == 3
    assert said[-1] == "undo"
    assert all(said[place + 1] == "undo" for place, word in enumerate(said) if word == "cure")
    assert "Factors" in done.stdout


def test_a_command_without_one_that_undoes_it_is_refused(shell, target):
    assert shell("tune", target, "--advise", "--cure", "true").returncode == 2
