# SPDX-License-Identifier: Apache-2.0
"""`ioatlas history` over a library of campaigns of one target that became slower."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner

from ioatlas.cli import ioatlas
from tests.simulate.clock import BEGIN_SECONDS, VirtualClock
from tests.simulate.law import Law, Way
from tests.unit.simulated import Shell

pytestmark = pytest.mark.usefixtures("no_law")

SWEEP = """
window = "300ms"
[sweep]
rw = ["randread", "randwrite"]
bs = ["32k", "64k"]
size = ["1m"]
direct = 0
"""
DAY = 86_400.0


def measure(home: Path, folder: str, day: int, reads: float, target: str = "disk") -> None:
    (home / target).mkdir(exist_ok=True)
    (home / folder).mkdir(exist_ok=True)
    (home / "sweep.toml").write_text(SWEEP)
    law = Law(
        read=Way(10e-6, 1e6, reads * (1 + 0.004 * (-1) ** day)), write=Way(10e-6, 1e6, 50e6), noise=0.01, seed=day
    )
    shell = Shell(law, clock=VirtualClock(BEGIN_SECONDS + day * DAY))
    sweep = ["--campaign", home / "sweep.toml", "--visits", "2", "-o", home / folder / f"day{day:02}", "--yes"]
    done = shell("map", home / target, *sweep)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    """Ten campaigns; from the seventh on reads are a fifth slower. One more is of another target."""
    home = tmp_path_factory.mktemp("library")
    for day in range(10):
        measure(home, "old" if day < 4 else "new", day, 100e6 if day < 6 else 80e6)
    measure(home, "new", 50, 100e6, target="other")
    (home / "config" / "ioatlas").mkdir(parents=True)
    (home / "config" / "ioatlas" / "config.toml").write_text(f'results = "{home}/new"\nlibrary = ["{home}/old"]\n')
    return home


@pytest.fixture(autouse=True)
def at_home(library, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(library / "config"))
    monkeypatch.delenv("IOATLAS_RESULTS", raising=False)


def run(*arguments):
    return CliRunner().invoke(ioatlas, [str(each) for each in arguments])


def test_without_a_target_the_targets_are_listed(library):
    found = json.loads(run("history", "--json").output)
    assert [(Path(each["target"]).name, each["campaigns"]) for each in found] == [("other", 1), ("disk", 10)]
    assert "ioatlas history TARGET" in run("history").output


def test_the_step_is_found_in_reads_and_not_in_writes(library):
    found = json.loads(run("history", library / "disk", "--json").output)
    whole, reads, writes = found["parts"]
    assert [len(part["campaigns"]) for part in found["parts"]] == [10, 10, 10]
    (change,) = reads["changes"]
    assert Path(change["campaign"]).name == "day06"
    assert change["low"] < 0.8 < change["high"]
    assert (reads["verdict"], writes["verdict"], whole["verdict"]) == ("worse", "unchanged", "worse")


def test_the_screen_answers_before_the_table(library):
    lines = run("history", library / "disk").output.splitlines()
    assert "throughput over 10 campaigns" in lines[0]
    assert "fell by 1" in lines[1]
    assert "on 2023-11-20" in lines[1]
    (marked,) = [line for line in lines if " -20% " in line or " -19% " in line or " -21% " in line]
    assert "day06" in marked
    assert "1.00" in next(line for line in lines if "day00" in line)


def test_it_gates_writes_its_files_and_says_what_got_worse(library, tmp_path):
    files = ["--junit", tmp_path / "j.xml", "--markdown", tmp_path / "s.md", "-o", tmp_path / "f.svg"]
    done = run("history", library / "disk", "--fail-if-worse", *files)
    assert done.exit_code == 3 or getattr(done.exception, "exit_code", 0) == 3
    suite = ET.parse(tmp_path / "j.xml").getroot().find("testsuite")
    assert [case.find("failure") is not None for case in suite.findall("testcase")] == [True, True, False]
    summary = (tmp_path / "s.md").read_text()
    assert "Reads fell by 2" in summary
    assert "a look says so wrongly with a chance of 1%" in summary
    assert "a chance of 1%" in suite.find("system-out").text
    assert (tmp_path / "f.svg").read_text().count("over the first campaign") >= 1
    old = run("history", library / "disk", "--recent", "1", "--fail-if-worse")
    assert old.exit_code == 0
    assert "NO NEW CHANGE SHOWN" in old.output.splitlines()[0]


def test_campaigns_may_be_named_one_by_one(library):
    found = json.loads(run("history", library / "old" / "day00", "day04", "day06", "--json").output)
    assert [part["verdict"] for part in found["parts"]] == ["too few"] * 3
    assert "1 more campaign is needed" in run("history", library / "old" / "day00", "day04", "day06").output


@pytest.mark.parametrize(
    ("arguments", "what", "remedy"),
    [
        (["history", "/nowhere"], "no campaign of /nowhere", "ioatlas history"),
        (["history", "--fail-if-worse"], "say which target", "ioatlas history"),
        (["history", "day04", "nowhere"], "nowhere is no campaign", "name one target"),
        (["trend", "day04", "-o", "x.txt"], "x.txt is no drawing", ".png"),
        (["history", "day04", "--false-alarms", "70%"], "between 0 and 50%", "1%"),
        (["history", "day04", "--tolerance", "wide"], "wide", ""),
    ],
)
def test_what_cannot_be_done_is_one_message(arguments, what, remedy):
    done = run(*arguments)
    assert getattr(done.exception, "exit_code", None) == 2
    assert what in str(done.exception)
    assert remedy in str(done.exception)
