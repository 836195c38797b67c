# SPDX-License-Identifier: Apache-2.0
"""A target looked at through a client's shell: the same refusals as on this machine."""

import contextlib
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from ioatlas.load.fio.process import find_fio
from ioatlas.load.fleet.executor import open_client
from ioatlas.load.fleet.hosts import read_clients
from ioatlas.model.errors import IoAtlasError, RefusedError
from ioatlas.target import far
from ioatlas.target.guard import check_block_device
from ioatlas.target.opening import open_target
from tests.real.conftest import disk_directory
from tests.real.ssh_hosts import BUSYBOX, poor_path
from tests.real.target_lab import Bench

pytestmark = [pytest.mark.needs("root"), pytest.mark.unmeasured]


@pytest.fixture(scope="module")
def client():
    one = open_client(read_clients("local:1").hosts[0], find_fio().path)
    yield one
    one.close()


@pytest.fixture
def loop():
    """An empty loop device and its file."""
    with disk_directory() as place, contextlib.ExitStack() as stack:
        file = place / "disk"
        file.write_bytes(b"")
        os.truncate(file, 64 << 20)
        yield attached(file, stack), file, stack


def attached(file, stack):
    bench = Bench(file.parent)
    stack.callback(bench.clear)
    return bench.loop(file)


def _output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def reasons(client, device):
    return list(far._reasons(client, far.look(client, device)))


def refused_here(device):
    with disk_directory() as other:  # a target is opened somewhere; the guard looks at the device alone
        target = replace(open_target(str(other), name="x"), kind="block", location=device)
    try:
        check_block_device(target)
    except IoAtlasError:
        return True
    return False


def nothing(device, file, stack):
    """The device as it was made."""


def file_system(device, file, stack):
    _output("mkfs.ext4", "-q", device)


def mounted(device, file, stack):
    _output("mkfs.ext4", "-q", device)
    place = Path(f"{file}.mount")
    place.mkdir()
    _output("mount", device, place)
    stack.callback(subprocess.run, ["umount", place], check=True)


def partitions(device, file, stack):
    subprocess.run(["sfdisk", "-q", device], input="size=8M\n", text=True, check=True, capture_output=True)


def swap(device, file, stack):
    _output("mkswap", device)


def _holds(pid, device):
    """Whether a process has it open. What it opens and closes while it starts may go meanwhile."""
    for one in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            if device in os.readlink(one):
                return True
    return False


def newer_than_wipefs(device, file, stack):
    """The magic of bcachefs, which older versions of libblkid do not know."""
    with Path(device).open("r+b") as opened:
        opened.seek(4096 + 24)
        opened.write(bytes.fromhex("c68573f666ce90a9d96a60cf803df7ef"))


def opened_for_writing(device, file, stack):
    holder = subprocess.Popen(["sh", "-c", f"exec 3<>{device}; exec sleep 600"])
    stack.callback(holder.wait)
    stack.callback(holder.kill)
    while not _holds(holder.pid, device):
        pass


def mounted_by_another_way(device, file, stack):
    """A second loop device of the same file, with what is mounted there."""
    mounted(attached(file, stack), file, stack)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (nothing, ""),
        (file_system, "holds ext4"),
        (mounted, "is mounted on"),
        (partitions, "dos"),
        (swap, "holds swap"),
        (newer_than_wipefs, "holds bcachefs"),
        (opened_for_writing, "open for writing"),
        (mounted_by_another_way, "which leads to the same bytes, is mounted"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_device_is_refused_there_when_it_is_refused_here(client, loop, make, said):
    device, _, _ = loop
    make(*loop)
    told = reasons(client, device)
    assert bool(told) == refused_here(device)
    assert bool(told) == bool(said)
    assert said in "; ".join(told)


def test_the_same_place_is_known_by_what_was_written_there(client):
    with disk_directory() as place:
        target = open_target(str(place), name="x")
        (place / ".ioatlas-abc").mkdir()
        (place / ".ioatlas-abc" / "marker").write_text('{"campaign": "abc"}\n')
        marker = (f"{place}/.ioatlas-abc/marker", '{"campaign": "abc"}\n')
        seen = far.check_far(client, target, str(place), writes=True, marker=marker)
        assert seen.facts["fs_type"]
        assert seen.free_bytes == pytest.approx(shutil.disk_usage(place).free, rel=0.05)
        with pytest.raises(RefusedError, match="it is another one") as caught:
            far.check_far(client, target, "/", writes=True, marker=("/.ioatlas-abc/marker", marker[1]))
        assert caught.value.where == "local1: /"
        with pytest.raises(RefusedError, match="there it is not there"):
            far.check_far(client, target, str(place / "missing"), writes=False)
        with pytest.raises(RefusedError, match="proc holds no data"):
            far.check_far(client, target, "/proc", writes=False)


def test_a_file_is_known_by_size_and_content(client):
    with disk_directory() as place:
        one, other = place / "one", place / "other"
        one.write_bytes(os.urandom(10_000))
        other.write_bytes(os.urandom(10_000))
        target = open_target(str(one), name="x")
        assert far.check_far(client, target, str(one), writes=True, held=str(one)).size_bytes == 10_000
        with pytest.raises(RefusedError, match="not the same file"):
            far.check_far(client, target, str(other), writes=False)
        (place / "second").hardlink_to(one)
        with pytest.raises(RefusedError, match="2 names"):
            far.check_far(client, target, str(one), writes=True, held=str(one))
        (place / "second").unlink()
        with other.open("r+b"), one.open("r+b"), pytest.raises(RefusedError, match="open for writing"):
            far.check_far(client, target, str(one), writes=True, held=str(one))


def test_a_device_without_a_number_is_not_taken_for_the_same(client, loop):
    device, _, _ = loop
    with pytest.raises(RefusedError, match="no serial number or WWN"):
        far.check_far(client, open_target(device, name="x"), device, writes=False)


@pytest.mark.parametrize("size", [0, 1, 255, 256, 4096])
def test_a_checksum_is_that_of_posix(size):
    data = os.urandom(size)
    assert (
        far.cksum(data)
        == subprocess.run(["cksum"], input=data, capture_output=True, check=True).stdout.decode().strip()
    )


@pytest.mark.skipif(BUSYBOX is None, reason="there is no busybox")
def test_busybox_sees_the_same_and_refuses_what_it_cannot_see(client, loop, tmp_path, monkeypatch):
    device, _, _ = loop
    before = far.look(client, device)
    monkeypatch.setenv("PATH", str(poor_path(tmp_path)))
    poor = far.look(client, device)
    assert (poor.number, poor.root, poor.writable) == (before.number, True, True)
    assert poor.block == before.block
    assert "wipefs of util-linux" in "; ".join(reasons(client, device))


def test_a_client_that_runs_nothing_is_refused():
    class Bare:
        name = "bare"

        def run(self, command, *, seconds=10.0):
            return None

    with disk_directory() as place, pytest.raises(RefusedError, match="nothing can be run there"):
        far.check_far(Bare(), open_target(str(place), name="x"), str(place), writes=True)
