# SPDX-License-Identifier: Apache-2.0
"""Loads as processes: what they are given and inherit, files that they reach by descriptor, and the load of names."""

import json
import os
import stat
import subprocess
import sys
import time

import pytest

from ioatlas.load.fio.collect import SCRIPT, TOLD, names_process
from ioatlas.load.fio.executor import Executor, LoadProcess, SystemClock, SystemExecutor, limit_seconds
from ioatlas.load.fio.held import by_descriptor, moved, moved_job, reached, with_names
from ioatlas.load.fio.names_load import rounded
from ioatlas.load.fio.output import parse_fio_json
from ioatlas.load.fio.process import Minder, Program
from ioatlas.model.errors import IoAtlasError, UsageError

JOB = r"""[v1]
filename=/nas\:1/.ioatlas-x/shared.dat:/nas\:1/.ioatlas-xy/other
[v2]
directory=/nas\:1/.ioatlas-x
filename_format=private.$jobnum
[v3]
filename=/data/file
replay_redirect=/nas:1/.ioatlas-x/shared.dat
"""


@pytest.fixture
def open_directory(tmp_path):
    path = tmp_path / "a:b"
    path.mkdir()
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    yield path, descriptor
    os.close(descriptor)


def test_names_give_way_to_descriptors_and_come_back(open_directory):
    _, descriptor = open_directory
    there = reached(descriptor)
    assert there == f"/proc/self/fd/{descriptor}/."
    places = {"/nas:1/.ioatlas-x": there, "/data/file": "/proc/self/fd/9"}
    text = moved_job(JOB, places)
    assert f"filename={there}/shared.dat:" + r"/nas\:1/.ioatlas-xy/other" in text
    assert f"directory={there}\n" in text
    assert "filename=/proc/self/fd/9\n" in text
    assert f"replay_redirect={there}/shared.dat" in text
    assert moved("/data/file.2", places) == "/data/file.2"
    assert moved("--output=/data/file", places) == "--output=/data/file"
    said = f"fio: {there}/shared.dat: /proc/self/fd/99 {there}"
    named = with_names(said, {"/nas:1/.ioatlas-x": descriptor})
    assert named == "fio: /nas:1/.ioatlas-x/shared.dat: /proc/self/fd/99 /nas:1/.ioatlas-x"


def test_nothing_changes_where_nothing_is_held(tmp_path):
    with by_descriptor(("--eta=never", "job.fio"), tmp_path, {}) as (arguments, inherited):
        assert (arguments, inherited) == (["--eta=never", "job.fio"], [])


@pytest.mark.needs("fio")
@pytest.mark.parametrize("private", [True, False])
def test_a_load_stays_in_the_directory_that_is_held(open_directory, tmp_path, private):
    """Another one has taken its name, with links to what is not to be touched."""
    path, descriptor = open_directory
    precious = tmp_path / "precious"
    precious.write_bytes(b"mine")
    os.rename(path, tmp_path / "moved")
    path.mkdir()
    names = ("private.0", "private.1") if private else ("shared.dat",)
    for name in names:
        (path / name).symlink_to(precious)
    place = f"{path}".replace(":", "\\:")
    where = (
        f"directory={place}\nfilename_format=private.$jobnum\nnumjobs=2" if private else f"filename={place}/shared.dat"
    )
    (tmp_path / "job.fio").write_text(f"[w]\n{where}\nthread=1\nrw=write\nbs=4k\nsize=16k\n")
    load = LoadProcess("fio", ("--output=said", "job.fio"), tmp_path, "sink", 60, held={str(path): descriptor})
    done = SystemExecutor().run(load)
    assert done.exit_code == 0, done.stderr
    assert precious.read_bytes() == b"mine"
    assert {one.name: one.stat().st_size for one in (tmp_path / "moved").iterdir()} == dict.fromkeys(names, 16384)
    assert str(path) in (tmp_path / "job.fio").read_text().replace("\\:", ":"), "what is kept has the name"


def tool(folder, name, script):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def on_path(tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def test_a_program_is_found_once_and_run_in_its_directory(tmp_path, on_path):
    path = tool(on_path, "fio", 'case "$1" in --version) echo fio-3.40;; *) pwd; echo "$@"; sleep 0.2;; esac')
    executor: Executor = SystemExecutor()
    assert executor.find("fio") == Program(str(path), "fio-3.40")
    seen = []
    load = LoadProcess("fio", ("--eta=never", "job.fio"), tmp_path, "said", limit_seconds(0))
    outcome = executor.run(load, Minder(started=lambda pid, ticks: seen.append((pid, ticks))))
    assert (outcome.exit_code, outcome.stopped) == (0, "")
    assert (tmp_path / "said").read_text().split() == [str(tmp_path), "--eta=never", "job.fio"]
    assert seen[0][0] > 0
    assert seen[0][1] > 0
    path.unlink()
    assert executor.find("fio").path == str(path)


def test_a_program_that_is_missing_or_unknown_is_named(on_path, monkeypatch):
    monkeypatch.setenv("PATH", str(on_path))
    with pytest.raises(IoAtlasError, match="fio is not installed"):
        SystemExecutor().find("fio")
    with pytest.raises(UsageError, match="iozone is not installed"):
        SystemExecutor().find("iozone")
    tool(on_path, "iozone", "echo something else")
    with pytest.raises(IoAtlasError, match="does not say which IOzone"):
        SystemExecutor().find("iozone")
    tool(on_path, "iozone", "echo '        Version $Revision: 3.489 $'")
    assert SystemExecutor().find("iozone").version == "3.489"


def test_a_load_ends_when_asked_or_overdue(tmp_path, on_path):
    tool(on_path, "iozone", 'case "$1" in -v) echo "Version \\$Revision: 3.489 \\$";; *) exec sleep 30;; esac')
    executor = SystemExecutor()
    asked = LoadProcess("iozone", (), tmp_path, "said", 20.0)
    assert executor.run(asked, Minder(lambda: True)).stopped == "asked"
    overdue = LoadProcess("iozone", (), tmp_path, "said", 0.2)
    ticks = []
    assert executor.run(overdue, Minder(tick=ticks.append)).stopped == "overdue"
    assert ticks
    assert not executor.stop_orphan(os.getpid(), -1)


def test_the_limit_leaves_room_for_what_a_run_may_take_longer():
    assert limit_seconds(0) >= 30
    assert limit_seconds(100) == pytest.approx(180)


def test_the_clock_is_the_machines():
    clock = SystemClock()
    before = clock.monotonic()
    clock.sleep(0.01)
    assert clock.monotonic() >= before + 0.01
    assert abs(clock.time() - time.time()) < 5


JOBS, FILES = 2, 20


@pytest.fixture
def tree(tmp_path):
    for job in range(JOBS):
        folder = tmp_path / f"job.{job}"
        folder.mkdir()
        for number in range(FILES):
            (folder / f"f.{job}.{number}").touch()
    return tmp_path


def section_of(tree, operation, direction="read"):
    told = {
        "name": "v7-1",
        "operation": operation,
        "direction": direction,
        "jobs": JOBS,
        "files": FILES,
        "passes": 3,
        "top": str(tree),
        "folder": "job.$jobnum",
        "names": "job.$jobnum/f.$jobnum.$filenum",
        "renamed": "job.$jobnum/r.$jobnum.$filenum",
    }
    process = names_process(told, tree, limit_seconds=60)
    assert json.loads((tree / TOLD).read_text())["operation"] == operation
    return subprocess.run(
        [sys.executable, *process.arguments], cwd=tree, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize(("operation", "calls"), [("open", JOBS * FILES), ("list", JOBS * 3), ("rename", JOBS * FILES)])
def test_every_file_is_done_once_and_told_as_fio_tells(tree, operation, calls):
    way = "write" if operation == "rename" else "read"
    ended = section_of(tree, operation, way)
    assert (ended.returncode, ended.stderr) == (0, "")
    (output,) = parse_fio_json((tree / "fio.json").read_text()).outputs
    (job,) = output.jobs
    figures = job.directions[way]
    assert job.name == "v7-1"
    assert figures.total_ios == figures.io_bytes == calls
    assert figures.lat.samples == calls
    assert figures.lat.mean_ns > 0
    assert figures.runtime_ms >= 1
    mark = "r" if operation == "rename" else "f"
    assert len(list(tree.rglob(f"{mark}.*.*"))) == JOBS * FILES
    assert not list(tree.glob("*.times"))


def test_a_file_that_is_missing_is_named_and_nothing_is_told_as_measured(tree):
    (tree / "job.1/f.1.5").unlink()
    ended = section_of(tree, "open")
    assert ended.returncode != 0
    assert "No such file or directory" in ended.stderr
    assert "f.1.5" in ended.stderr
    assert not (tree / "fio.json").exists()


def test_it_needs_nothing_of_ioatlas():
    assert "import ioatlas" not in SCRIPT.read_text()
    assert "from ioatlas" not in SCRIPT.read_text()


@pytest.mark.parametrize("value", [1, 127, 128, 4321, 10**9])
def test_a_latency_keeps_its_first_bits(value):
    assert 0 <= value - rounded(value) <= value / 64
