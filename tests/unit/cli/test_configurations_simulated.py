# SPDX-License-Identifier: Apache-2.0
"""Configurations on the command line: who answers, what is shown before it runs, and how a failure ends."""

import json

import pytest

from tests.unit.simulated import Shell

pytestmark = pytest.mark.usefixtures("no_law")

ioatlas = Shell()
CAMPAIGN = """
[sweep]
rw = "write"
bs = "64k"
size = "4m"
[[configuration]]
name = "slow"
path = "{place}/target"
factors = {{switch = "old"}}
ask = "plug in the old switch"
before = '''
echo old >> log
test ! -e broken
'''
[[configuration]]
name = "quick"
path = "{place}/target"
factors = {{switch = "new"}}
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "target").mkdir()
    (tmp_path / "c.toml").write_text(CAMPAIGN.format(place=tmp_path))
    return tmp_path


def measure(place, *more):
    return ioatlas("map", "--campaign", place / "c.toml", "-o", place / "c", "--yes", *more)


def test_without_a_terminal_somebody_has_to_answer(place):
    found = measure(place)
    assert found.returncode == 2
    assert "configuration slow: it asks a person (plug in the old switch)" in found.stderr
    assert "--answer yes" in found.stderr
    assert not (place / "c").exists()


def test_with_an_answer_it_runs_and_says_which_one_it_is_at(place):
    found = measure(place, "--answer", "yes")
    assert found.returncode == 0, found.stderr
    assert "Configuration slow" in found.stderr
    assert (place / "log").read_text() == "old\n"
    assert "Writes with new instead of old" in found.stdout or "Writes with old instead of new" in found.stdout


def test_events_name_the_configuration(place):
    found = measure(place, "--answer", "yes", "--json")
    events = [json.loads(line) for line in found.stdout.splitlines()]
    told = [one for one in events if one["event"] == "configuration"]
    assert {one["configuration"] for one in told} == {"slow", "quick"}
    assert {one["state"] for one in told} == {"begun"}


def test_what_failed_ends_with_four_and_resume_shows_what_it_will_run(place):
    (place / "broken").touch()
    found = measure(place, "--answer", "yes")
    assert found.returncode == 4
    assert "slow: its command `before` ended with 1" in found.stderr
    (place / "broken").unlink()
    again = ioatlas("resume", place / "c", "--answer", "yes")
    assert again.returncode == 0, again.stderr
    assert "slow: before echo old >> log; test ! -e broken" in again.stderr
    assert "slow: ask    plug in the old switch" in again.stderr
    shown = json.loads(ioatlas("show", place / "c", "--json").stdout)
    assert {row["configuration"] for row in shown["rows"] if row["bw_bytes_per_s"]} == {"slow", "quick"}


def test_passed_over_it_is_left_for_later(place):
    found = measure(place, "--answer", "skip")
    assert found.returncode == 4
    assert "passed over" in found.stderr
    assert ioatlas("resume", place / "c", "--answer", "stop").returncode == 4
    assert ioatlas("resume", place / "c", "--answer", "yes").returncode == 0


def test_the_plan_shows_factors_and_commands(place):
    found = ioatlas("plan", "--campaign", place / "c.toml")
    assert "factors      slow: switch = old" in found.stdout
    assert "set up       slow: before echo old >> log; test ! -e broken" in found.stdout
    assert "measured one after another, because slow has to be set up first" in found.stdout
    told = json.loads(ioatlas("plan", "--campaign", place / "c.toml", "--json").stdout)
    assert told["order"] == "blocked"
    assert [one["configuration"] for one in told["configurations"]] == ["slow", "quick"]


def test_bare_numbers_of_a_factor_have_its_name(place):
    one = CAMPAIGN.format(place=place).replace('ask = "plug in the old switch"\n', "").replace("test ! -e broken\n", "")
    text = one.replace('{switch = "old"}', "{drives = 3, mtu = 1500}").replace(
        '{switch = "new"}', "{drives = 7, mtu = 9000}"
    )
    (place / "c.toml").write_text(text)
    found = measure(place)
    assert found.returncode == 0, found.stderr
    rows = [line.split()[:2] for line in found.stdout.splitlines()]
    assert ["drives", "7"] in rows
    assert ["drives", "3"] in rows
