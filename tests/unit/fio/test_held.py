# SPDX-License-Identifier: Apache-2.0
"""Loads that reach their files by descriptor: what they are given, what they inherit, and where they end up."""

import os

import pytest

from ioatlas.load.fio.executor import LoadProcess, SystemExecutor
from ioatlas.load.fio.held import by_descriptor, moved, moved_job, reached, with_names

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
    done = SystemExecutor().run(load, stop_asked=lambda: False, started=lambda *_: None)
    assert done.exit_code == 0, done.stderr
    assert precious.read_bytes() == b"mine"
    assert {one.name: one.stat().st_size for one in (tmp_path / "moved").iterdir()} == dict.fromkeys(names, 16384)
    assert str(path) in (tmp_path / "job.fio").read_text().replace("\\:", ":"), "what is kept has the name"
