# SPDX-License-Identifier: Apache-2.0
"""Job files for Windows and macOS, and their paths."""

import subprocess

import pytest

from ioatlas.load.fleet.bare import warnings_of
from ioatlas.load.fleet.hosts import Host
from ioatlas.load.fleet.systems import engine_of, job_for, path_of, remarks_of
from ioatlas.model.errors import UsageError

JOB = """[global]
group_reporting=1

[v1]
ioengine=libaio
filename=C\\:\\data/.ioatlas-x/a.bin:C\\:\\data/b.bin
iodepth=8
direct=1

[v2]
thread=1
filename=/x
rw=read
"""


@pytest.mark.parametrize(
    ("path", "system", "told"),
    [
        (r"C:\data", "windows", r"C:\data"),
        ("D:/data/x", "windows", r"D:\data\x"),
        (r"\\.\PhysicalDrive1", "windows", r"\\.\PhysicalDrive1"),
        (r"\\nas\share\x", "windows", r"\\nas\share\x"),
        ("/Volumes/a:b", "macos", "/Volumes/a:b"),
        ("/mnt/nas", "linux", "/mnt/nas"),
    ],
)
def test_paths_are_spelt_as_fio_wants_them(path, system, told):
    assert path_of(path, system) == told


@pytest.mark.parametrize(
    ("path", "system"), [("/mnt/nas", "windows"), ("data", "windows"), (r"C:\a:b", "windows"), ("C:\\x", "macos")]
)
def test_what_is_no_path_there_is_refused(path, system):
    with pytest.raises(UsageError, match="is no path of"):
        path_of(path, system)


def test_a_job_for_windows():
    job = job_for(JOB, "windows")
    assert job.count("ioengine=windowsaio") == 2
    assert job.count("thread=1") == 2
    assert r"filename=C\:\data\.ioatlas-x\a.bin:C\:\data\b.bin" in job
    assert "libaio" not in job


def test_a_job_for_macos_and_linux():
    job = job_for(JOB, "macos")
    assert "ioengine=posixaio" in job
    assert "ioengine=psync" in job
    assert "filename=/x" in job
    assert job_for(JOB, "linux") == JOB


def test_a_translated_job_is_read_by_fio(tmp_path):
    """Fio here knows no windowsaio; all else of the job it has to accept, threads and paths too."""
    job = job_for(JOB, "macos").replace("C\\:\\data", str(tmp_path))
    (tmp_path / "job.fio").write_text(job + "size=4k\n")
    done = subprocess.run(["fio", "--parse-only", tmp_path / "job.fio"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout


@pytest.mark.parametrize("system", ["windows", "macos"])
def test_what_the_system_has_not_is_refused(system):
    with pytest.raises(UsageError, match="not in fio for"):
        engine_of("nbd", system)
    with pytest.raises(UsageError, match="hipri is an option of Linux"):
        job_for("[j]\nhipri=1\n", system)
    assert engine_of("null", system) == "null"
    assert remarks_of(system)
    assert not remarks_of("linux")


def test_an_open_port_is_warned_of():
    told = " ".join(warnings_of([Host("a", "ssh", "a"), Host("b", "fio", "10.0.0.1"), Host("c", listen="10.0.0.2")]))
    assert "b, c can run commands there" in told
    assert not warnings_of([Host("a", "ssh", "a")])
