# SPDX-License-Identifier: Apache-2.0
"""Directories and files on real file systems: read-only, full, unmounted, exchanged, silent, and misread by fio."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import ioatlas
from ioatlas.load.fio.jobfile import JobSection, render_job
from ioatlas.model.errors import IoAtlasError, RefusedError, UsageError
from ioatlas.target import trouble
from ioatlas.target.direct import direct_io_alignment
from ioatlas.target.guard import check_before_start, check_writable, confirm_overwrite
from ioatlas.target.identity import check_identity, identify, recognise
from ioatlas.target.opening import open_target
from ioatlas.target.place import check_journal_place, check_space
from ioatlas.target.workspace import Workspace, clean
from tests.real.target_lab import run, wait_for

pytestmark = [pytest.mark.needs("root"), pytest.mark.unmeasured]


@pytest.mark.needs("mkfs.ext4")
def test_a_read_only_mount_is_only_read(bench):
    device = bench.loop()
    run("mkfs.ext4", "-q", device)
    target = open_target(str(bench.mount(device, "-o", "ro")))
    check_before_start(target, writes=False)
    with pytest.raises(IoAtlasError, match="mounted read-only"):
        check_before_start(target, writes=True)
    with pytest.raises(IoAtlasError, match="read-only"):
        Workspace(target, "c1", lambda _: None)


def test_a_read_only_bind_mount_is_only_read(bench):
    point = bench.mount("tmpfs", "-t", "tmpfs")
    (point / "data").write_bytes(bytes(8192))
    run("mount", "-o", "remount,ro", str(point))
    for path in (point, point / "data"):
        with pytest.raises(IoAtlasError, match="mounted read-only"):
            check_writable(open_target(str(path)))


@pytest.mark.needs("unshare")
@pytest.mark.parametrize("below", ["", "/share"])
def test_an_unmounted_mount_point_of_fstab_is_refused(bench, below):
    point = bench.directory / "my nas"
    (point / "share").mkdir(parents=True)
    fstab = bench.directory / "fstab"
    fstab.write_text(f"# nas\nserver:/x {str(point).replace(' ', chr(92) + '040')} nfs noauto 0 0\n")
    program = (
        "import sys; from ioatlas.target.opening import open_target; from ioatlas.model.errors import IoAtlasError\n"
        "try: print('opened', open_target(sys.argv[1]).kind)\n"
        "except IoAtlasError as error: print(type(error).__name__, error)\n"
    )

    def opened(mount=""):
        script = f'mount --bind "$1" /etc/fstab; {mount} "$2" -c "$3" "$4"'
        return run(
            "unshare", "--mount", "sh", "-c", script, "sh", str(fstab), sys.executable, program, f"{point}{below}"
        )

    text = opened()
    assert text.startswith("RefusedError")
    assert "nothing is mounted there" in text
    assert opened(f"mount -t tmpfs tmpfs '{point}'; mkdir -p '{point}/share';") == "opened directory"


@pytest.mark.needs("mkfs.ext4")
def test_a_mount_that_went_away_is_noticed(bench):
    device = bench.loop()
    run("mkfs.ext4", "-q", device)
    point = bench.mount(device)
    target = open_target(str(point))
    check_identity(target)
    run("umount", str(point))
    with pytest.raises(RefusedError) as caught:
        check_identity(target)
    for fact in ("device_number was", "source was", "fs_uuid was"):
        assert fact in str(caught.value)
    run("mount", device, str(point))
    check_identity(target)


@pytest.mark.needs("mkfs.ext4")
def test_the_same_file_system_under_another_device_name_is_known_again_in_a_later_session(bench):
    image = bench.image()
    run("mkfs.ext4", "-q", str(image))
    first = bench.loop(image)
    point = bench.directory / "disk"
    point.mkdir()
    run("mount", first, str(point))
    target = open_target(str(point))
    run("umount", str(point))
    second = bench.loop(image)
    run("mount", second, str(point))
    bench.undo_later(lambda: run("umount", str(point)))
    assert first != second
    with pytest.raises(RefusedError, match="source was"):
        check_identity(target)
    again = recognise(target)
    assert dict(again.identity.facts)["source"] == second
    check_identity(again)


@pytest.mark.needs("mkfs.ext4")
def test_another_file_system_at_the_same_place_is_never_the_same(bench):
    point = bench.directory / "disk"
    point.mkdir()
    for number in range(2):
        device = bench.loop()
        run("mkfs.ext4", "-q", device)
        run("mount", device, str(point))
        if number == 0:
            target = open_target(str(point))
            run("umount", str(point))
    bench.undo_later(lambda: run("umount", str(point)))
    with pytest.raises(RefusedError, match="fs_uuid was"):
        recognise(target)


def test_a_full_file_system_is_one_clear_error(bench):
    point = bench.mount("tmpfs", "-t", "tmpfs", "-o", "size=1m")
    target = open_target(str(point))
    check_space(target, 900 << 10)
    with pytest.raises(IoAtlasError, match="a tenth stays free"):
        check_space(target, 1 << 20)
    with pytest.raises(OSError, match="No space"):
        (point / "filler").write_bytes(bytes(2 << 20))
    with pytest.raises(IoAtlasError, match="not enough space"):
        check_space(target, 4096)
    with pytest.raises(IoAtlasError, match="no space left"), Workspace(target, "c1", lambda _: None) as workspace:
        workspace.direct_io()
    (point / "filler").unlink()
    assert clean(target, "c1", ["direct-probe"]).directory_gone


def test_inodes_are_counted(bench):
    target = open_target(str(bench.mount("tmpfs", "-t", "tmpfs", "-o", "nr_inodes=10")))
    check_space(target, 1, needed_files=3)
    with pytest.raises(IoAtlasError, match="inodes"):
        check_space(target, 1, needed_files=100)


def test_a_file_system_mounted_on_the_workspace_is_refused(bench):
    target = open_target(str(bench.mount("tmpfs", "-t", "tmpfs")))
    with Workspace(target, "c1", lambda _: None) as workspace:
        run("mount", "-t", "tmpfs", "tmpfs", workspace.path)
        with pytest.raises(RefusedError, match="another file system"):
            workspace.check()
        assert not workspace.remove([]).directory_gone
        run("umount", workspace.path)
    assert clean(target, "c1", []).directory_gone


def test_nothing_counts_as_cleaned_while_the_target_is_unmounted(bench):
    point = bench.mount("tmpfs", "-t", "tmpfs")
    image = bench.image()
    run("mkfs.ext4", "-q", str(image))
    run("mount", str(image), str(point))
    target = open_target(str(point))
    names = []
    with Workspace(target, "c1", names.append) as workspace:
        open(workspace.file_path("load"), "wb").close()
    run("umount", str(point))
    with pytest.raises(RefusedError, match="source was"):
        clean(target, "c1", names)
    run("mount", str(image), str(point))
    assert clean(recognise(target), "c1", names).removed == ("load",)
    run("umount", str(point))


@pytest.mark.needs("mkfs.ext4", "chattr")
def test_an_immutable_directory_is_one_clear_error(bench):
    device = bench.loop()
    run("mkfs.ext4", "-q", device)
    point = bench.mount(device)
    run("chattr", "+i", str(point))
    with pytest.raises(IoAtlasError, match="does not permit"):
        Workspace(open_target(str(point)), "c1", lambda _: None)


NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}


def interpreter_of_nobody():
    """A Python that an ordinary user may run, with the package's source readable too; pyenv's is often below /root."""
    environment = {"PYTHONPATH": str(Path(ioatlas.__file__).parents[1])}
    for executable in (sys.executable, "/usr/bin/python3"):
        try:
            run(executable, "-c", "import ioatlas.target", **NOBODY, env=environment)
        except (OSError, subprocess.CalledProcessError):
            continue
        return executable, environment
    pytest.skip("no Python here that an ordinary user may run")


def test_without_permission_there_is_one_clear_error(bench):
    executable, environment = interpreter_of_nobody()
    program = (
        "import sys; from ioatlas.target.guard import *; from ioatlas.target.opening import *\n"
        "for path in sys.argv[1:]:\n"
        "    try: check_before_start(open_target(path), writes=True); print('fine')\n"
        "    except IoAtlasError as error: print(error.what)\n"
    )
    with tempfile.TemporaryDirectory(
        prefix="iop", dir="/tmp"
    ) as parent:  # pytest's own directories are closed to others
        os.chmod(parent, 0o755)
        places = []
        for mode in (0o700, 0o755, 0o777):
            places.append(f"{parent}/{mode:o}")
            os.mkdir(places[-1])
            os.chmod(places[-1], mode)
        places.append(bench.loop())
        Path(parent, "file").write_bytes(bytes(4096))
        places.append(f"{parent}/file")
        lines = run(executable, "-c", program, *places, env=environment, **NOBODY).splitlines()
    assert lines == ["permission denied", "permission denied", "fine", "permission denied", "permission denied"]


def served_by_fuse(bench, point):
    command = f"nbdfuse {point} --command nbdkit -s memory 16M"
    process = bench.start(*command.split(), stderr=subprocess.DEVNULL)
    bench._undo.pop()
    wait_for(lambda: os.path.ismount(point))
    return process


@pytest.mark.needs("nbdkit", "nbdfuse", "fusermount3")
def test_a_silent_file_system_does_not_hold_us(bench, monkeypatch):
    point = bench.directory / "fuse"
    point.mkdir()
    process = served_by_fuse(bench, point)
    target = open_target(str(point))
    with pytest.raises(RefusedError, match="network file system"):
        check_journal_place(str(point), target)
    monkeypatch.setattr(trouble, "PATIENCE_SECONDS", 0.5)
    process.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(IoAtlasError, match=r"does not answer within 0\.5 s"):
            open_target(str(point / "nbd"))
    finally:
        process.send_signal(signal.SIGCONT)
        run("fusermount3", "-u", "-z", str(point))
        process.wait(timeout=300)


@pytest.mark.needs("nbdkit", "nbdfuse")
def test_a_dead_fuse_server_is_one_clear_error(bench):
    point = bench.directory / "fuse"
    point.mkdir()
    process = served_by_fuse(bench, point)
    target = open_target(str(point))
    process.kill()
    process.wait()
    try:
        with pytest.raises(IoAtlasError, match="not connected"):
            check_identity(target)
        with pytest.raises(IoAtlasError, match="not connected"):
            open_target(str(point))
    finally:
        run("umount", "--lazy", str(point))


def test_a_file_behind_a_loop_device_or_swap_is_not_written(bench):
    image = bench.image()
    check_writable(open_target(str(image)))
    device = bench.loop(image)
    with pytest.raises(RefusedError, match=f"the file behind {device}"):
        check_writable(open_target(str(image)))


@pytest.mark.needs("mkfs.ext4", "mkswap", "swapon")
def test_an_active_swap_file_is_not_written(bench):
    device = bench.loop()
    run("mkfs.ext4", "-q", device)
    area = bench.mount(device) / "swapfile"
    area.write_bytes(bytes(4 << 20))
    area.chmod(0o600)
    run("mkswap", str(area))
    bench.swap(area)
    with pytest.raises(IoAtlasError, match="swap"):
        check_writable(open_target(str(area)))


def test_a_file_another_process_writes_is_not_written(bench):
    image = bench.image(4096)
    command = [sys.executable, "-c", f"f = open({str(image)!r}, 'r+b'); print('up', flush=True); input()"]
    process = bench.start(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "up\n"
    with pytest.raises(RefusedError, match=rf"\(pid {process.pid}\) has it open for writing"):
        check_writable(open_target(str(image)))


def test_a_file_with_a_second_name_is_not_written(bench):
    image, folder = bench.image(8192), bench.directory / "elsewhere"
    folder.mkdir()
    (folder / "thesis").hardlink_to(image)
    with pytest.raises(RefusedError, match=f"has 2 names .*-samefile {image}"):
        check_writable(open_target(str(image)))
    other = image.with_name("beside")
    other.hardlink_to(image)
    with pytest.raises(RefusedError, match=f"has 3 names .*: {other}\n"):
        check_writable(open_target(str(image)))
    check_before_start(open_target(str(image)), writes=False)
    other.unlink()
    (folder / "thesis").unlink()
    check_writable(open_target(str(image)))


def test_overwriting_a_file_wants_its_full_name_and_size(bench):
    image = bench.image(8192)
    target = open_target(str(image))
    confirm_overwrite(target, f"{image} 8192")
    confirm_overwrite(target, f"{image} 8 KiB")
    for typed in (None, "", "yes", str(image), "8192", f"{image} 8193", f"{image.name} 8192"):
        with pytest.raises(RefusedError, match=f"--overwrite '{image} 8192'"):
            confirm_overwrite(target, typed)


def test_a_file_that_changed_is_noticed(bench):
    image = bench.image(8192)
    target = open_target(str(image))
    check_identity(target)
    os.truncate(image, 4096)
    with pytest.raises(RefusedError, match="size_bytes was 8192, is 4096"):
        check_identity(target)
    image.unlink()
    with pytest.raises(IoAtlasError, match="nothing at this path"):
        check_identity(target)
    image.mkdir()
    with pytest.raises(IoAtlasError, match="now a directory"):
        check_identity(target)
    image.rmdir()
    image.symlink_to("/etc/passwd")
    with pytest.raises(IoAtlasError, match="now a symbolic link"):
        check_identity(target)


@pytest.mark.parametrize("path", ["/proc/self/mountinfo", "/sys/block", "/dev", "/proc/sys/vm"])
def test_kernel_interfaces_are_refused(path):
    with pytest.raises(RefusedError, match="no storage"):
        open_target(os.path.realpath(path))


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero"])
def test_character_devices_are_refused(path):
    with pytest.raises(UsageError, match="character device"):
        open_target(path)


FILESYSTEMS = [
    pytest.param(["mkfs.ext4", "-q"], id="ext4", marks=pytest.mark.needs("mkfs.ext4")),
    pytest.param(["mkfs.xfs", "-q"], id="xfs", marks=pytest.mark.needs("mkfs.xfs")),
    pytest.param(["mkfs.btrfs", "-q"], id="btrfs", marks=pytest.mark.needs("mkfs.btrfs")),
]


def mount_vfat(bench):
    device = bench.loop()
    run("mkfs.vfat", device)
    return bench.mount(device)


def mount_overlay(bench):
    for name in ("lower", "upper", "work"):
        (bench.directory / name).mkdir()
    options = f"lowerdir={bench.directory}/lower,upperdir={bench.directory}/upper,workdir={bench.directory}/work"
    return bench.mount("overlay", "-t", "overlay", "-o", options)


def mount_btrfs(bench):
    device = bench.loop(bench.image(128 << 20))
    run("mkfs.btrfs", "-q", device)
    return bench.mount(device)


def mount_sshfs(bench):
    """Mounts sshfs that talks to an SFTP server through a pipe: a real FUSE file system without a real network."""
    server = next(
        (path for path in ("/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server") if os.path.exists(path)),
        None,
    )
    if server is None:
        pytest.skip("no SFTP server here")
    pipe = bench.directory / "pipe"
    pipe.write_text(f"#!/bin/sh\nexec {server}\n")
    pipe.chmod(0o755)
    (bench.directory / "far").mkdir()
    point = bench.directory / "sshfs"
    point.mkdir()
    run("sshfs", f"host:{bench.directory}/far", str(point), "-o", f"ssh_command={pipe}")
    bench.undo_later(lambda: run("fusermount3", "-u", str(point)))
    return point


MOUNTS = [
    pytest.param(mount_vfat, id="vfat", marks=pytest.mark.needs("mkfs.vfat")),
    pytest.param(mount_overlay, id="overlay"),
    pytest.param(mount_btrfs, id="btrfs", marks=pytest.mark.needs("mkfs.btrfs")),
    pytest.param(mount_sshfs, id="sshfs", marks=pytest.mark.needs("sshfs", "fusermount3")),
]


@pytest.mark.parametrize("mount", MOUNTS)
def test_the_whole_life_of_a_workspace(bench, mount, request):
    try:
        point = mount(bench)
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip().partition("\n")[0].rpartition(": ")[2]
        pytest.skip(f"{request.node.callspec.id} cannot be mounted here: {said}")
    target = open_target(str(point))
    names = []
    with Workspace(target, "c1", names.append) as workspace:
        workspace.direct_io()
        path = workspace.file_path("load")
        run("fio", "--name=j", "--rw=write", "--size=1048576", "--bs=65536", f"--filename={path}", "--thread")
        for _ in range(2):
            check_before_start(target, writes=True)
            workspace.check()
        (point / ".ioatlas-c1" / "foreign").write_text("mine")
        removal = workspace.remove(names)
        assert removal.removed == ("load",)
        assert removal.left == ("foreign: not made by ioatlas",)
    (point / ".ioatlas-c1" / "foreign").unlink()
    with Workspace(target, "c1", names.append) as workspace:
        assert workspace.remove(names).directory_gone
    assert os.listdir(point) == []


@pytest.mark.needs("sshfs", "fusermount3")
def test_the_journal_is_refused_on_a_network_file_system(bench):
    point = mount_sshfs(bench)
    with pytest.raises(RefusedError, match=r"network file system \(fuse\.sshfs\)"):
        check_journal_place(str(point / "new" / "campaign"), open_target(str(bench.directory)))


@pytest.mark.parametrize("sector_bytes", [512, 4096])
@pytest.mark.parametrize("mkfs", FILESYSTEMS)
def test_direct_io_of_a_file_system_is_what_a_trial_finds(bench, mkfs, sector_bytes):
    device = bench.loop(bench.image(320 << 20), "--sector-size", str(sector_bytes))
    run(*mkfs, device)
    target = open_target(str(bench.mount(device)))
    names = []
    with Workspace(target, "c1", names.append) as workspace:
        found = workspace.direct_io()
        assert found.supported, found
        path = workspace.file_path("trial")
        with open(path, "wb") as file:
            file.write(os.urandom(1 << 20))
        assert direct_io_alignment(path) == found
        job = ["fio", "--name=j", "--rw=randread", f"--filename={path}", "--direct=1", "--thread", "--number_ios=16"]
        run(*job, f"--bs={found.offset_alignment_bytes}")
        if found.offset_alignment_bytes > 512:
            smaller = [*job, f"--bs={found.offset_alignment_bytes // 2}"]
            assert subprocess.run(smaller, check=False, capture_output=True).returncode != 0
        assert workspace.remove(names).directory_gone
    assert os.listdir(target.location) in ([], ["lost+found"])


def test_direct_io_of_tmpfs_is_reported_as_found(bench):
    target = open_target(str(bench.mount("tmpfs", "-t", "tmpfs")))
    names = []
    with Workspace(target, "c1", names.append) as workspace:
        found = workspace.direct_io()
        job = (
            f"--name=j --rw=write --size=65536 --bs=4096 --direct=1 --thread --filename={workspace.file_path('trial')}"
        )
        command = ["fio", *job.split()]
        assert (subprocess.run(command, check=False, capture_output=True).returncode == 0) == found.supported
        if not found.supported:
            assert "no O_DIRECT" in found.why_not
        assert workspace.remove(names).directory_gone


ODD = """col:on a\\:b quo'te dou"ble com,ma equ=al dol$lar per%cent ünïcode br[ack]et"""
ODD_NAMES = ["with blank", *ODD.split()]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_fio_writes_the_very_file_of_an_odd_name(bench, name):
    image = bench.directory / "files" / name
    image.parent.mkdir()
    image.write_bytes(bytes(8192))
    target = open_target(str(image))
    section = JobSection(
        "j", {"ioengine": "psync", "filename": target.location, "rw": "write", "bs": 4096, "size": 8192, "thread": 1}
    )
    job = bench.directory / "odd.fio"
    job.write_text(render_job([section]))
    run("fio", str(job), cwd=str(bench.directory))
    assert os.listdir(image.parent) == [name]
    assert image.read_bytes() != bytes(8192)
    assert image.stat().st_size == 8192
    assert identify(target) == target.identity


@pytest.mark.parametrize("name", ["semi;colon", "ha#sh", "new\nline", "tail ", "${HOME}", "x$pagesize", "x$ncpus"])
def test_a_name_that_fio_would_misread_is_refused(bench, name):
    image = bench.directory / name
    image.write_bytes(bytes(8192))
    with pytest.raises(UsageError, match="fio cannot be given this path"):
        open_target(str(image))
