# SPDX-License-Identifier: Apache-2.0
"""Campaigns of timed commands, which earlier versions made: read and checked as far as that goes, and made no more.

The bundle was packed by a version that timed commands, of a simulated target.
"""

import shutil
from pathlib import Path

import pytest

from ioatlas.bundle import opening
from ioatlas.bundle.verify import verify
from ioatlas.campaign import load_result
from ioatlas.errors import UsageError
from ioatlas.model.verdict import VerdictCode
from ioatlas.procedures.application.procedure import Application
from ioatlas.procedures.options import read_campaign
from tests.unit.simulated import Shell

BUNDLE = Path(__file__).parent / "past" / "works.ioatlas.zip"


def test_every_work_has_its_figure_in_its_unit_with_an_interval():
    result = load_result(opening.opened_directory(BUNDLE))
    first, second = result.headlines
    assert (first.label, first.unit, second.label, second.unit) == ("first", "s", "second", "tps")
    assert all(one.low < one.value < one.high for one in result.headlines)
    (table,) = [one for one in result.tables if one.title == "Works"]
    assert [row[0] for row in table.rows] == ["first", "second"]
    assert {row[5] for row in table.rows} == {VerdictCode.STEADY}
    assert all(one.bw_bytes_per_s is None for one in result.estimates)  # bytes that nobody counted


def test_it_is_verified_but_for_what_the_commands_left():
    found = verify(BUNDLE)
    assert not found.refused, found.checks
    assert not found.verified
    assert "raw output" in {check.name for check in found.checks if check.state == "note"}


def test_every_command_reads_it_and_none_goes_on_with_it(tmp_path):
    shell = Shell()
    (tmp_path / "target").mkdir()
    place = tmp_path / "works"
    shutil.copytree(opening.opened_directory(BUNDLE), place)
    for command in (["show", place], ["show", place, "-v"], ["export", place, "--format", "csv"], ["list", tmp_path]):
        done = shell(*command)
        assert (done.returncode, done.stderr) == (0, ""), done
    again = shell("reproduce", BUNDLE, tmp_path / "target")
    assert again.returncode == 2, again
    assert "no longer timed" in again.stderr
    with pytest.raises(UsageError, match="no longer timed"):
        Application().restore(None, place)


def test_no_campaign_file_brings_commands():
    with pytest.raises(UsageError, match="work"):
        read_campaign('[target]\npath = "/mnt"\n[[work]]\nname = "a"\ncommand = "true"\n')
