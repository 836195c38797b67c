# SPDX-License-Identifier: Apache-2.0
"""`ioatlas watch` over a simulated target that becomes slower: rounds, alarm, command, kill, timer, guards."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest

from ioatlas.cli import ioatlas
from tests.simulate.law import Law, Way
from tests.unit.simulated import Shell

pytestmark = pytest.mark.usefixtures("no_law")

FAST = Law(read=Way(10e-6, 1e6, 100e6), write=Way(10e-6, 1e6, 50e6), noise=0.01)
SLOW = replace(FAST, read=Way(10e-6, 1e6, 70e6))
CELLS = """
visits = 2
budget = "5s"
window = "300ms"
[sweep]
rw = ["randread", "randwrite"]
bs = ["64k"]
size = "1m"
"""
EVERY = ("--every", "1h", "--share", "0.5%")


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """Six quiet rounds, and the shell that made them."""
    home = tmp_path_factory.mktemp("watched")
    (home / "disk").mkdir()
    (home / "cells.toml").write_text(CELLS)
    shell = Shell(FAST)
    done = watch(shell, home, "--until", "5h", "--json")
    return home, shell, done


def watch(shell, home, *more):
    return shell("watch", home / "disk", "--campaign", home / "cells.toml", *EVERY, "-o", home / "w", *more)


def events(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def copy(begun, tmp_path):
    """A copy of the watch that may go on its own way."""
    home, shell, _ = begun
    shutil.copytree(home / "w", tmp_path / "w")
    (tmp_path / "cells.toml").write_text(CELLS)
    (tmp_path / "disk").symlink_to(home / "disk")
    shell.executor.change_law(FAST)
    return Place(home / "disk", tmp_path, shell)


class Place:
    def __init__(self, target: Path, home: Path, shell: Shell) -> None:
        self.target, self.home, self.shell = target, home, shell

    def __call__(self, *more):
        cells = ["--campaign", self.home / "cells.toml"]
        return self.shell("watch", self.target, *cells, *EVERY, "-o", self.home / "w", *more)


def test_quiet_rounds_end_with_0_and_keep_to_the_share(begun):
    home, _, done = begun
    told = [one for one in events(done) if one["event"] == "watched"]
    assert (done.returncode, done.stderr, len(told)) == (0, "", 6)
    assert all(one["seconds"] <= 0.005 * 3600 for one in told)
    assert [one["began"] - told[0]["began"] for one in told] == pytest.approx([3600 * n for n in range(6)], abs=1)
    assert sorted(path.name for path in (home / "disk").iterdir()) == []


@pytest.mark.long("cli", "watch")
def test_quiet_tells_only_news_and_verbose_tells_the_evidence(copy):
    quiet, verbose = copy("--until", "1h", "-q"), copy("--until", "1h", "-v")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    assert "of an alarm's evidence" in verbose.stdout
    assert "; round-" in verbose.stdout
    copy.shell.executor.change_law(SLOW)
    told = copy("--until", "alarm", "-q")
    assert told.returncode == 3
    assert told.stdout.startswith("ALARM: ")


def test_open_shows_the_newest_round(copy):
    with mock.patch("ioatlas.cli.list.click.launch", return_value=0) as launch:
        copy("--until", "1h", "--open")
    newest = max(path for path in (copy.home / "w").iterdir() if path.name.startswith("round-"))
    launch.assert_called_once_with(str((newest / "report.html").resolve()))
    assert (newest / "report.html").exists()


def test_a_slower_target_is_told_once_with_3_and_the_command(copy):
    copy.shell.executor.change_law(SLOW)
    told = copy.home / "told"
    command = f'printf "%s\\n" "$IOATLAS_ALARM" >> {told}; cat >> {told}.json'
    done = copy("--until", "alarm", "--alarm", command, "--json")
    assert done.returncode == 3, done.stderr
    alarm = next(one for one in events(done) if one["event"] == "alarm")
    (change,) = alarm["changes"]
    assert change["chart"] == "randread 64 KiB x1"
    assert change["low"] < 0.71
    assert change["high"] > 0.69
    made = [one for one in events(done) if one["event"] == "watched"]
    assert change["since"] == made[0]["round"]
    assert len(made) <= 4
    assert told.read_text().count("fell by") == 1
    assert json.loads((told.parent / "told.json").read_text())["changes"] == [change]
    again = copy("--until", "3h")
    assert (again.returncode, "ALARM" in again.stdout) == (0, False)


def test_a_killed_round_is_finished_and_an_untold_alarm_is_told(copy):
    copy.shell.executor.change_law(SLOW)
    copy("--until", "alarm")
    log = copy.home / "w" / "rounds.jsonl"
    *lines, last = log.read_text().splitlines()
    assert "told" in json.loads(last)
    log.write_text("\n".join(lines) + '\n{"name":"round-2')  # killed before it was told, in the middle of a line
    told = copy("--once")
    assert (told.returncode, told.stdout.count("ALARM")) == (3, 1)
    log.write_text("\n".join(lines[:-1]) + "\n")  # killed before the round's line was written
    told = copy("--once", "--json")
    assert [one["event"] for one in events(told)].count("alarm") == 1


def test_once_waits_for_its_share(copy):
    first, second = copy("--once"), copy("--once")
    assert (first.returncode, second.returncode) == (0, 0)
    assert "the share allows the next one in" in second.stdout


def test_a_target_that_is_gone_is_told_after_three_rounds(copy):
    copy.target.rename(copy.target.with_name("away"))
    try:
        done = copy("--until", "4h", "--json")
        new = copy.shell("watch", copy.target, *EVERY, "-o", copy.home / "new", "--once")
    finally:
        copy.target.with_name("away").rename(copy.target)
    told = events(done)
    assert done.returncode == 3
    seen = [one["event"] for one in told if one["event"] != "waiting"]
    assert seen[:4] == [*["watched"] * 3, "alarm"]
    assert (seen.count("alarm"), seen[-1]) == (1, "done")
    assert "could not be measured in 3 rounds" in next(one for one in told if one["event"] == "alarm")["text"]
    assert (new.returncode, (copy.home / "new").exists()) == (2, False), "one that never was there is named at once"


USE = """
title = "readers"
window = "300ms"
[[load]]
rw = "randread"
bs = "64k"
size = "1m"
direct = 0
[[require]]
rate = "85MB/s"
"""


@pytest.mark.long("cli", "watch", "procedures")
def test_a_target_that_stops_fitting_a_use_is_told_at_the_second_round(copy, tmp_path):
    (tmp_path / "mine.toml").write_text(USE)
    metrics = tmp_path / "m.prom"
    words = ["--for", tmp_path / "mine.toml", "--every", "1h", "--share", "1%", "-o", tmp_path / "fit"]

    def rounds(*more):
        done = copy.shell("watch", copy.target, *words, "--json", "--metrics", metrics, *more)
        told = events(done)
        made = [one["fits"][0]["answer"] for one in told if one["event"] == "watched"]
        return done.returncode, made, [one for one in told if one["event"] in ("alarm", "better")]

    assert rounds("--until", "1h") == (0, ["pass", "pass"], [])
    assert 'ioatlas_watch_fits{target="disk",use="mine"} 1' in metrics.read_text().replace(str(copy.target), "disk")
    copy.shell.executor.change_law(SLOW)
    assert rounds("--until", "30m")[:2] == (0, [])
    status, made, told = rounds("--until", "alarm")
    assert (status, made, [one["event"] for one in told]) == (3, ["fail", "fail"], ["alarm"])
    assert "does not fit" in told[0]["text"]
    assert [one["use"] for one in told[0]["changes"]] == ["mine"]
    assert rounds("--until", "90m")[:2] == (0, ["fail"]), "told once"
    copy.shell.executor.change_law(FAST)
    status, made, told = rounds("--until", "90m")
    assert (status, made[-1], [one["event"] for one in told]) == (0, "pass", ["better"])


def test_a_use_says_itself_what_is_measured(copy, tmp_path, monkeypatch):
    (tmp_path / "mine.toml").write_text(USE)
    words = ["watch", copy.target, *EVERY, "-o", tmp_path / "x", "--for"]
    for more in (["--size", "1m"], ["--tolerance", "3%"], ["--campaign", copy.home / "cells.toml"]):
        done = copy.shell(*words, "etcd", *more)
        assert (done.returncode, "leave it out" in done.stderr) == (2, True), done.stderr
    monkeypatch.chdir(tmp_path)
    told = json.loads(copy.shell(*words, "mine.toml", "--dry-run", "--json").stdout)["watch"]
    assert told["quantity"] == "fit"
    assert not (tmp_path / "x").exists()


def test_others_are_refused(copy, tmp_path):
    (copy.home / "cells.toml").write_text(CELLS.replace("64k", "32k"))
    other = copy("--once")
    assert (other.returncode, "other cells are watched there" in other.stderr) == (2, True)
    for words, said in (
        (["--share", "0.01%"], "too little for a round"),
        (["--every", "12s", "--share", "50%"], "less often (--every 13s)\n"),
        (["--every", "20s", "--share", "10%"], "(--every 63s) or give it more (--share 31%)"),
        (["--every", "1s"], "at least 10 s apart"),
        (["--false-alarms", "1h"], "are no alarm"),
        (["--until", "soon"], "is no time"),
        (["--rhythm", "1h"], "at least two rounds"),
    ):
        done = copy.shell("watch", tmp_path, *EVERY, "-o", tmp_path / "x", *words)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "x").exists()


def test_a_dry_run_writes_nothing(copy, tmp_path):
    done = copy.shell("watch", copy.target, "--every", "1h", "-o", tmp_path / "new", "--dry-run", "--json")
    told = json.loads(done.stdout)
    assert told["watch"]["false_alarm_seconds"] == 365 * 86_400
    assert told["watch"]["mean_rounds_until_found_by_sd"]["5"] < 3
    assert not (tmp_path / "new").exists()


def test_the_example_for_systemd_makes_one_round():
    text = (Path(__file__).parents[3] / "examples" / "systemd" / "ioatlas-watch.service").read_text()
    (started,) = re.findall(r"^ExecStart=\S+/ioatlas (.*)$", text, re.MULTILINE)
    name, *words = started.split()
    assert ioatlas.get_command(None, name).make_context(name, words).params["once"]
