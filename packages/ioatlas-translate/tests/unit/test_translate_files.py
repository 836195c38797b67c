# SPDX-License-Identifier: Apache-2.0
"""Files that jobs share, include, or have for themselves, and options that are written twice or in part."""

import re

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from read_samples import jobs, levels
from tests.examples import examples

from ioatlas.load.fio.jobfile import JobSection, render_job
from ioatlas.measure.procedures.options import read_campaign
from ioatlas.model.cell import Cell
from ioatlas.model.errors import IoAtlasError
from ioatlas.model.options import read_option
from ioatlas_translate import TOOLS, translate
from ioatlas_translate.campaign_text import render_campaigns
from ioatlas_translate.command import Source
from ioatlas_translate.jobfile_read import parse_job_file

MIB = 1 << 20


def test_file_names_of_repeated_lines_add_up(tmp_path):
    path = tmp_path / "a.fio"
    path.write_text("[global]\nfilename=g\n[a]\nfilename=b:c\nfilename=b\nsize=1m\n[b]\nsize=1m\n")
    text = translate("fio", str(path)).job_file
    assert "filename=ioatlas-target-1:ioatlas-target-2:ioatlas-target-3\n" in text
    assert "filename=ioatlas-target-1\n" in text


def test_a_direction_without_a_split_keeps_its_block_size():
    (job,) = jobs("fio", "fio --name=a --rw=randrw --bs=8k --bssplit=,,8M/25:32M/75 --size=1g")
    assert job["bssplit_bytes"] == [[], [], [[8 * MIB, 25], [32 * MIB, 75]]]
    assert job["bs_bytes"] == 8192


def test_an_engine_of_windows_is_replaced_and_said_to_be():
    translation = translate("fio", "fio --name=a --ioengine=windowsaio --direct=1 --iodepth=8 --size=1m")
    assert translation.jobs[0].section.options["ioengine"] == "libaio"
    assert levels(translation, "ioengine") == {"approximate"}


def test_zones_of_a_zoned_device_do_not_become_strides():
    """Without zonemode=zbd, fio takes a zonesize as one of zonemode=strided."""
    words = "fio --name=a --rw=randwrite --bs=64k --zonemode=zbd --zonesize=256m --max_open_zones=32 --size=1g"
    translation = translate("fio", words)
    assert not {"zonemode", "zonesize", "max_open_zones"} & translation.jobs[0].section.options.keys()
    assert {
        levels(translation, name) == {"not expressible"} for name in ("zonemode", "zonesize", "max_open_zones")
    } == {True}
    kept = translate("fio", words.replace("=zbd", "=strided")).jobs[0].section.options
    assert kept["zonesize"] == 256 * MIB


def test_a_missing_include_is_told_in_the_same_words(tmp_path):
    (tmp_path / "p.parm").write_text("include=disks\nsd=sd1,lun=x,size=1g\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=max\n")
    (tmp_path / "a.fio").write_text("[a]\ninclude disks\nsize=1m\n")
    told = [
        [entry for entry in translate(tool, str(tmp_path / name)).fidelity if entry.attribute == "include"]
        for tool, name in (("vdbench", "p.parm"), ("fio", "a.fio"))
    ]
    assert told[0] == told[1]
    assert told[0][0].level == "not expressible"


def test_more_files_than_fio_holds_are_told():
    text = (
        "fsd=f,anchor=/d,depth=1,width=10,files=50000,size=4k\nfwd=w,fsd=f,operation=read,threads=8\n"
        "rd=r,fwd=w,fwdrate=max,elapsed=9"
    )
    translation = translate("vdbench", text)
    options = translation.jobs[0].section.options
    assert len(options["filename"]) * 8 <= 250_000
    assert options["size"] == len(options["filename"]) * 4096
    assert "approximate" in levels(translation, "files")


def test_jobs_that_fio_gives_files_of_their_own_have_them_in_the_campaign():
    (text,) = render_campaigns(translate("fio", "fio --name=a --rw=read --size=1m --numjobs=4"))
    assert read_campaign(text).sharing == "private"


def test_a_long_list_of_files_is_written_in_lines_that_fio_reads_whole(tmp_path):
    names = tuple(f"ioatlas-target-1.{number}" for number in range(1000))
    text = render_job([JobSection("a", {"filename": names})])
    assert max(map(len, text.splitlines())) <= 4095
    (section,) = parse_job_file(Source(text, "a.fio", tmp_path, from_file=True), {}).sections
    assert tuple(section.options["filename"].split(":")) == names


def test_a_campaign_takes_a_split_of_one_direction():
    name, value = read_option("bssplit", ",64k/50:32k/50", where="bssplit")
    assert value == ",65536/50:32768/50"
    assert Cell.of("t", {name: value, "bs": 4096}).block_sizes == (4096, 32768, 65536)


SEEDS = {
    "diskspd": "diskspd -t2 -o4 -r -b4K -w30 -rdpct90/10:10/90 -g10i -B1M:2M -c10M -Z1M -a0,1 x y",
    "iozone": "iozone -a -i 0 -i 2 -r 64k -s 4m -n 4k -g 8m -t 2 -j 3 -H 4 -+p 30 -F a b -+w 10",
    "vdbench": "compratio=2\nsd=sd1,lun=x,size=1g,threads=4\n"
    "wd=w,sd=sd1,xf=(4k,50,8k,50),seekpct=20,hotband=(10,20),skew=5\n"
    "rd=r,wd=*,iorate=(1-9,2),forthreads=(1-4,d),elapsed=10",
    "xdd": "xdd -op read -targets 2 a b -reqsize 8 -numreqs 10 -seek random -seek range 100 -throttle bw 3 "
    "-rwratio 30 -datapattern hex ab -qd 2",
    "orion": "orion -run advanced -matrix row -num_disks 2 -num_large 1 -type seq -write 10 -size_small 4",
    "fio": "[global]\nbs=4k\n[a]\nrw=randrw:8\nbssplit=4k/40:8k-16k/60\nsize=(1024*1024)\nrunning=${X}\n"
    "zonemode=strided\nrandom_distribution=zoned:60/10:40/90\n",
}
PIECES = ["", " ", "\n", "\0", "é", "-1", "99999999999999999999", "${A}", *"0=:,()/%k'\"\\[]"]


def check(tool: str, text: str) -> None:
    try:
        job_file = translate(tool, text).job_file
    except IoAtlasError:
        return
    for line in job_file.splitlines():
        assert not line or re.match(r"^\[[^\[\]]+\]$|^[A-Za-z][\w\-]*(=.+)?$", line)
        assert not re.match(r"^(exec_|read_iolog|write_|include|ioengine=external)", line)


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_the_seeds_themselves_are_read(tool):
    assert translate(tool, SEEDS[tool]).jobs


@examples(120, suppress_health_check=list(HealthCheck))
@given(tool=st.sampled_from(sorted(TOOLS)), data=st.data())
def test_mutated_commands(tool, data):
    text = SEEDS[tool]
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 6))
        piece = data.draw(st.sampled_from(PIECES))
        text = text[:start] + piece + text[start + length :]
    check(tool, text)


@examples(60)
@given(tool=st.sampled_from(sorted(TOOLS)), text=st.text(max_size=80))
def test_any_text(tool, text):
    check(tool, text)


INJECTIONS = [
    ("diskspd", 'diskspd -c1M "x\nexec_prerun=touch /tmp/pwned"'),
    ("vdbench", "sd=sd1,lun=x\nwd=w\nexec_prerun=id,sd=sd1\nrd=r,wd=w,iorate=max"),
    (
        "fio",
        (
            "[a]\nexec_prerun=touch "
            "/tmp/pwned\nfilename=/dev/sda\nrw=write\nsize=1m\nioengine=external:/tmp/evil.so\n"
            "read_iolog=/etc/passwd"
        ),
    ),
    ("fio", "[a]\nrw=write\nsize=1m\nbuffer_pattern='/etc/shadow'\nwrite_bw_log=/etc/cron.d/x"),
]


@pytest.mark.parametrize(("tool", "text"), INJECTIONS)
def test_nothing_is_smuggled_into_the_job_file(tool, text):
    check(tool, text)
    try:
        job_file = translate(tool, text).job_file
    except IoAtlasError:
        return
    for word in ("exec_", "/dev/sda", "pwned", "evil", "/etc/"):
        assert word not in job_file
