# SPDX-License-Identifier: Apache-2.0
"""Streams that a source runs at once become a campaign that runs them at once."""

import json

import pytest

from ioatlas.measure.procedures.load_points.plan import build_streams_plan
from ioatlas.measure.procedures.options import read_campaign
from ioatlas.model.target import Target
from ioatlas.stats.gates import offered_iops
from ioatlas_translate import translate
from ioatlas_translate.campaign_text import render_campaigns

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
