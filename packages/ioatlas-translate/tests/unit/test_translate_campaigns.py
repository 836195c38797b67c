# SPDX-License-Identifier: Apache-2.0
"""The campaign files of a translation are ones that ioatlas reads, and together they hold its cells."""

import json
import math
import re

import pytest
from click.testing import CliRunner
from translated import jobs

from ioatlas.measure.procedures.options import read_campaign
from ioatlas.model.errors import UsageError
from ioatlas_translate import translate
from ioatlas_translate.campaign_text import render_campaigns
from ioatlas_translate.cli import command

COMMANDS = [
    ("iozone", "iozone -a -i 0 -i 1 -i 2 -n 1m -g 8m -y 64k -q 256k", None),
    ("orion", "orion -run simple -num_disks 2", 14),
    (
        "vdbench",
        (
            "sd=s,lun=x,size=1g\nwd=w,sd=s\n"
            "rd=r,wd=w,iorate=max,elapsed=9,warmup=1,forxfersize=(4k-64k,d),forthreads=(2,4),forrdpct=(0,70,100)"
        ),
        30,
    ),
    ("fio", "fio --name=a --rw=randread --bs=4k --size=1g --name=b --rw=randread --bs=8k --size=1g", 2),
]


@pytest.mark.parametrize(("tool", "text", "cells"), COMMANDS)
def test_campaigns_read_back(tool, text, cells):
    documents = render_campaigns(translate(tool, text))
    found = sum(math.prod(len(v) for v in read_campaign(document).axes.values()) for document in documents)
    assert found == cells if cells else found > 0


def test_a_full_cross_is_one_campaign():
    documents = render_campaigns(translate(*COMMANDS[2][:2]))
    sizes = [math.prod(len(v) for v in read_campaign(document).axes.values()) for document in documents]
    # Reads and writes cross with 5 sizes and 2 depths; the mixed load has one option more.
    assert sizes == [20, 10]


def test_command_line(tmp_path):
    runner = CliRunner()
    done = runner.invoke(command, ["xdd", "-op read -targets 1 x -reqsize 1 -numreqs 10", "--json"])
    assert done.exit_code == 0
    assert json.loads(done.output)["jobs"][0]["bs_bytes"] == 1024
    done = runner.invoke(command, [*COMMANDS[2][:2], "-o", str(tmp_path / "out")])
    assert done.exit_code == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"job.fio", "campaign.toml", "campaign-2.toml", "fidelity.txt"} <= names
    assert runner.invoke(command, ["nosuch", "x"]).exit_code == 2


@pytest.mark.parametrize("words", [["CrystalDiskMark", "nvme"], ["--json", "kdiskmark", "--size=1g"]])
def test_tests_with_a_name_are_told_as_the_command_that_they_start(words):
    error = CliRunner().invoke(command, words).exception
    assert isinstance(error, UsageError)
    tool, text = re.search(r"ioatlas translate (\w+) '([^']+)'", error.remedy).groups()
    (job,) = jobs(tool, text)
    assert (job["rw"], job["bs_bytes"], job["iodepth"], job["runtime_seconds"]) == ("read", 1 << 20, 8, 5)
    assert "ramp_time_seconds" not in job
