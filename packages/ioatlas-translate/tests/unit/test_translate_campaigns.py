# SPDX-License-Identifier: Apache-2.0
"""The campaign files of a translation are ones that ioatlas reads, hold its cells, and run streams at once."""

import json
import math
import re

import pytest
from click.testing import CliRunner
from read_samples import jobs

from ioatlas.measure.procedures.load_points.plan import build_streams_plan
from ioatlas.measure.procedures.options import read_campaign
from ioatlas.model.errors import UsageError
from ioatlas.model.target import Target
from ioatlas.stats.gates import offered_iops
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


DIRECTORY = Target("t", "directory", "/mnt/t", free_bytes=1 << 36)
SD = "sd=s1,lun=/dev/x,size=64m,threads=8\n"


def planned(text):
    return build_streams_plan(read_campaign(text), (DIRECTORY,)).to_measure


def campaigns(tool, source, tmp_path):
    path = tmp_path / "source"
    path.write_text(source)
    return render_campaigns(translate(tool, str(path)))


def test_skewed_streams_keep_their_shares(tmp_path):
    source = SD + "wd=a,sd=s1,skew=60,rdpct=70,xfersize=8k\nwd=b,sd=s1,skew=40,rdpct=0,seekpct=0,xfersize=64k\n"
    source += "rd=r1,wd=*,iorate=max,elapsed=30\nrd=r2,wd=*,iorate=(500,1000),elapsed=30\n"
    (text,) = campaigns("vdbench", source, tmp_path)
    free, slow, fast = planned(text)
    assert free.loop == "closed"
    weights = [dict(options)["flow"] for _, options in free.streams]
    assert weights[0] / weights[1] == pytest.approx(1.5)
    assert offered_iops(slow) == pytest.approx(500, abs=2)
    assert offered_iops(fast) == pytest.approx(1000, abs=2)
    assert all(dict(options)["rate_process"] == "poisson" for _, options in fast.streams)
    assert [dict(options)["bs"] for _, options in free.streams] == [8192, 65536]


def test_targets_of_the_source_lie_behind_each_other(tmp_path):
    job = (
        "[global]\nsize=32m\ntime_based\nruntime=5\n[r]\nrw=randread\nbs=4k\nfilename=/tmp/a\n[w]\nrw=write\n"
        "bs=64k\nfilename=/tmp/b\n"
    )
    (text,) = campaigns("fio", job, tmp_path)
    assert "/tmp/" not in text
    (cell,) = planned(text)
    assert [dict(options).get("offset", 0) for _, options in cell.streams] == [0, 32 << 20]
    assert cell.end_bytes == 64 << 20


@pytest.mark.parametrize(
    "job",
    [
        "[global]\nsize=32m\n[r]\nrw=randread\n[w]\nrw=write\n",  # ends with its work
        # nobody knows where a ends
        "[global]\ntime_based\nruntime=5\n[r]\nrw=read\nfilename=a\n[w]\nrw=write\nfilename=b\n",
        "[global]\ntime_based\nruntime=5\nsize=32m\n[r]\nrw=read\nrate_iops=5\n[w]\nrw=write\n",  # one paced, one not
    ],
)
def test_what_cannot_run_at_once_in_a_campaign_says_so(job, tmp_path):
    texts = campaigns("fio", job, tmp_path)
    assert texts
    assert not any("[[stream]]" in text for text in texts)
    assert any("runs streams at once" in text for text in texts)


def test_streams_after_each_other_stay_cells(tmp_path):
    job = "[global]\nsize=32m\ntime_based\nruntime=5\n[r]\nrw=randread\nbs=4k\n[w]\nstonewall\nrw=write\nbs=64k\n"
    texts = campaigns("fio", job, tmp_path)
    assert not any("[[stream]]" in text for text in texts)
    assert not any("at once" in text for text in texts)


def test_json_lists_them(tmp_path):
    path = tmp_path / "x"
    path.write_text(SD + "wd=a,sd=s1,skew=50\nwd=b,sd=s1,skew=50,rdpct=0\nrd=r,wd=*,iorate=max,elapsed=30\n")
    told = json.loads(json.dumps(translate("vdbench", str(path)).to_dict()))
    assert "[[stream]]" in told["campaigns"][0]
    assert told["campaign_toml"].count("[[stream]]") == 2
