# SPDX-License-Identifier: Apache-2.0
"""Every kind of translated job is run, and the bytes of each job and file are counted: none is wrongly called exact."""

import json
import subprocess
from pathlib import Path

import pytest
from test_translate_roundtrip import scaled

from ioatlas_translate import translate
from ioatlas_translate.translation import Translation

pytestmark = [pytest.mark.needs("fio"), pytest.mark.unmeasured]
KIB, MIB = 1 << 10, 1 << 20


def bytes_of_jobs(translation: Translation, folder: Path) -> list[tuple[str, int]]:
    """(section, bytes moved) of every single job, in the order of the job file."""
    text = scaled(translation).job_file.replace("group_reporting=1\n", "").replace("group_reporting\n", "")
    (folder / "job.fio").write_text(text)
    done = subprocess.run(
        ["fio", "--output-format=json", "job.fio"], capture_output=True, text=True, cwd=folder, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    found = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
    return [(job["jobname"], sum(job[way]["io_bytes"] for way in ("read", "write", "trim"))) for job in found]


def files(folder: Path) -> dict[str, int]:
    """Bytes of each file that were written with data, by name."""
    return {
        path.name: sum(any(chunk) for chunk in chunks(path.read_bytes())) * 4 * KIB for path in folder.glob("ioatlas-*")
    }


def chunks(data: bytes):
    return (data[at : at + 4 * KIB] for at in range(0, len(data), 4 * KIB))


TREE = "fsd=f,anchor=/d,depth=1,width=2,files=5,size=64k\n"
COMMANDS = [
    ("vdbench", TREE + "fwd=w,fsd=f,operation=read,xfersize=4k,threads=8\nrd=r,fwd=w,fwdrate=max,elapsed=9"),
    (
        "vdbench",
        TREE + "fwd=a,fsd=f,operation=write,fileio=random,threads=3\nfwd=b,fsd=f,operation=read,threads=2\n"
        "rd=r,fwd=(a,b),fwdrate=max,elapsed=9",
    ),
    ("vdbench", "sd=s,lun=x,size=8m,threads=4\nwd=a,sd=s,rdpct=50\nrd=r,wd=a,iorate=max,elapsed=9"),
    ("iozone", "iozone -t 4 -i 0 -i 1 -i 2 -s 1m -r 64k"),
    ("diskspd", "diskspd -c8M -b64K -t4 -o2 -si -w50 -d60 x y"),
    ("diskspd", "diskspd -c8M -b4K -t4 -o2 -r -w50 -d60 x"),
    ("xdd", "xdd -op write -targets 2 a b -reqsize 64 -blocksize 1024 -numreqs 16 -queuedepth 4"),
    ("orion", "orion -run advanced -matrix point -num_small 4 -num_large 2 -num_disks 2"),
    ("fio", "fio --name=a --rw=write --filename=b --filename=c --numjobs=4 --size=1m --bs=64k"),
    ("fio", "fio --name=a --rw=randrw --nrfiles=4 --numjobs=3 --size=1m --bs=64k --ioengine=windowsaio --iodepth=2"),
    ("fio", "fio --name=a --rw=randrw --bssplit=,64k/50:32k/50 --numjobs=2 --size=1m --filename=b"),
]


@pytest.mark.parametrize(("tool", "command"), COMMANDS, ids=[f"{n}-{tool}" for n, (tool, _) in enumerate(COMMANDS)])
def test_every_job_moves_data(tool, command, tmp_path):
    translation = translate(tool, command)
    found = bytes_of_jobs(translation, tmp_path)
    assert len(found) == sum(int(str(job.section.options.get("numjobs", 1))) for job in translation.jobs)
    assert all(moved > 0 for _, moved in found), found


def test_file_trees_are_the_same_files_for_all_jobs(tmp_path):
    found = bytes_of_jobs(translate(*COMMANDS[1]), tmp_path)
    assert len(found) == 5
    assert set(files(tmp_path)) == {f"ioatlas-target-1.{number}" for number in range(10)}
    assert {path.stat().st_size for path in tmp_path.glob("ioatlas-*")} == {64 * KIB}


def test_file_names_of_repeated_lines_are_all_used(tmp_path):
    path = tmp_path / "a.fio"
    path.write_text("[a]\nrw=write\nbs=64k\nsize=1m\nfilename=b\nfilename=c:d\nfilename=e\n")
    found = bytes_of_jobs(translate("fio", str(path)), tmp_path)
    assert found == [("a", MIB)]
    assert sorted(files(tmp_path).values()) == [256 * KIB] * 4


def test_a_pattern_without_a_job_number_is_said_to_serve_one_job(tmp_path):
    command = "fio --name=a --rw=write --bs=64k --size=1m --nrfiles=4 --numjobs=3 --filename_format='x.$filenum'"
    path = tmp_path / "a.sh"
    path.write_text(command + "\n")
    translation = translate("fio", str(path))
    assert [moved for _, moved in bytes_of_jobs(translation, tmp_path)] == [MIB, 0, 0]
    assert any("the others move nothing" in entry.reason for entry in translation.fidelity)
