# SPDX-License-Identifier: Apache-2.0
"""Damaged and hostile input gives one error, never a traceback, and nothing of it reaches the job file as an option."""

import re

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.examples import examples

from ioatlas.model.errors import IoAtlasError
from ioatlas_translate import TOOLS, translate

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
