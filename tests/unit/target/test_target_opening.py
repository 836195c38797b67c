# SPDX-License-Identifier: Apache-2.0
"""What a person may type as a target, paths and URIs, without any special device or mount."""

import os
import socket
import threading
import time
from dataclasses import replace

import pytest

from ioatlas.load.machine.mounts import Mount, mount_of, read_mountinfo
from ioatlas.model.errors import IoAtlasError, RefusedError, UsageError
from ioatlas.model.options import ENGINES
from ioatlas.model.target import (
    URI_ENGINES,
    Identity,
    Target,
    check_no_secret,
    check_uri,
    masked,
    place_options,
    scheme_of,
)
from ioatlas.target import opening
from ioatlas.target.direct import direct_io_alignment
from ioatlas.target.guard import check_extent, check_writable
from ioatlas.target.identity import _stable, check_identity, identify, recognise
from ioatlas.target.layout import remedy_for
from ioatlas.target.opening import open_target
from ioatlas.target.place import UNTOLD_BYTES, check_journal_place, check_space, usable_bytes
from ioatlas.target.trouble import answer_within
from tests.facts import has


def test_a_directory(tmp_path):
    target = open_target(str(tmp_path))
    has(target, kind="directory", location=str(tmp_path), size_bytes=None, name=tmp_path.name)
    assert target.free_bytes == pytest.approx(os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize, rel=0.2)
    facts = dict(target.identity.facts)
    assert {"fs_type", "source", "device_number"} <= facts.keys()
    assert facts["device_number"] == f"{os.major(tmp_path.stat().st_dev)}:{os.minor(tmp_path.stat().st_dev)}"
    check_identity(target)
    check_writable(target)


def test_a_relative_path_and_dots_become_absolute(tmp_path, monkeypatch):
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    for typed in ("a/b", "./a/b", "a/../a/b/", "a/b/.", f"{tmp_path}//a/b"):
        assert open_target(typed).location == str(tmp_path / "a" / "b")


def test_dots_after_a_link_lead_where_the_kernel_leads(tmp_path, monkeypatch):
    (tmp_path / "far" / "inside").mkdir(parents=True)
    (tmp_path / "near").mkdir()
    (tmp_path / "near" / "link").symlink_to(tmp_path / "far" / "inside")
    monkeypatch.chdir(tmp_path / "near")
    assert open_target("link/..").location == str(tmp_path / "far")


def test_a_file_has_size_and_inode(tmp_path):
    file = tmp_path / "f"
    file.write_bytes(bytes(8192))
    target = open_target(str(file), "mine")
    assert (target.kind, target.size_bytes, target.name) == ("file", 8192, "mine")
    assert dict(target.identity.facts)["inode"] == str(file.stat().st_ino)
    with pytest.raises(IoAtlasError, match="not a directory"):
        open_target(f"{file}/")
    with pytest.raises(IoAtlasError, match="not a directory"):
        open_target(f"{file}/x")


def test_a_missing_path_is_never_made_by_accident(tmp_path):
    for typed in ("nas", "nas/", "no/such"):
        with pytest.raises(IoAtlasError, match="nothing at this path"):
            open_target(str(tmp_path / typed) + ("/" if typed.endswith("/") else ""))
    assert os.listdir(tmp_path) == []


def test_links_are_not_followed_but_explained(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "file").write_bytes(bytes(512))
    for name, to in (("to-directory", "real"), ("to-file", "file")):
        (tmp_path / name).symlink_to(tmp_path / to)
        with pytest.raises(RefusedError, match=f"name the real path: {tmp_path / to}"):
            open_target(str(tmp_path / name))
        with pytest.raises(RefusedError, match="symbolic link"):
            open_target(f"{tmp_path / name}/")
    (tmp_path / "dangling").symlink_to("gone")
    with pytest.raises(IoAtlasError, match="to gone, where there is nothing"):
        open_target(str(tmp_path / "dangling"))
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(IoAtlasError, match="circle"):
        open_target(str(tmp_path / "circle"))


def test_pipes_and_sockets_hold_no_data(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="named pipe"):
        open_target(str(tmp_path / "pipe"))
    with socket.socket(socket.AF_UNIX) as listener:
        previous = os.getcwd()
        os.chdir(tmp_path)  # socket paths are short
        try:
            listener.bind("s")
        finally:
            os.chdir(previous)
        with pytest.raises(UsageError, match="a socket"):
            open_target(str(tmp_path / "s"))


@pytest.mark.parametrize(
    "typed", ["", "  ", "gopher://x/y", "rbd://pool", "http://host/", "nbd+ssh://host/x", "NBD:", "rbd:", "gfapi:"]
)
def test_what_is_no_target_is_one_clear_error(typed):
    with pytest.raises(IoAtlasError) as caught:
        open_target(typed)
    assert caught.value.remedy


@pytest.mark.parametrize(
    "typed",
    ["nbd://user:pw9@127.0.0.1:1/x", "s3://key:pw9@host/bucket", "ftp://user:pw9@host/x", "rbd:pool/image:key=pw9"],
)
def test_no_refusal_tells_a_password(typed):
    with pytest.raises(IoAtlasError) as caught:
        open_target(typed)
    assert "pw9" not in f"{caught.value} {caught.value.where} {caught.value.remedy}"


def test_a_path_with_a_colon_is_a_path(tmp_path):
    for name in ("C:", "smb-share:server=nas,share=x", "a:b"):
        (tmp_path / name).mkdir()
        assert open_target(str(tmp_path / name)).location == str(tmp_path / name)


def test_a_name_that_is_not_utf8(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(path)
    with pytest.raises(UsageError, match="UTF-8"):
        open_target(os.fsdecode(path))


def test_every_difference_is_named(tmp_path):
    target = open_target(str(tmp_path))
    facts = dict(target.identity.facts) | {"fs_type": "nfs4", "source": "nas:/export", "device_number": "0:99"}
    changed = Target(target.name, target.kind, target.location, Identity(tuple(sorted(facts.items()))))
    with pytest.raises(RefusedError) as caught:
        check_identity(changed)
    for words in ("fs_type was nfs4, is ", "source was nas:/export, is ", "device_number was 0:99, is "):
        assert words in str(caught.value)


def test_a_later_session_forgives_only_what_the_kernel_assigns(tmp_path):
    nas = {"fs_type": "nfs4", "source": "nas:/export", "mount_root": "/", "device_number": "0:45"}
    disk = {"fs_type": "ext4", "source": "/dev/sdb1", "mount_root": "/", "device_number": "8:17", "fs_uuid": "u1"}

    def differences(before, **changes):
        before, after = (Identity(tuple(sorted(facts.items()))) for facts in (before, {**before, **changes}))
        return _stable(before, after).differences(_stable(after, before))

    assert differences(nas, device_number="0:46") == ()
    assert differences(nas, device_number="254:0") != ()
    assert differences(nas, source="nas:/other", device_number="0:46") != ()
    assert differences(nas, fs_type="ext4") != ()
    assert differences(disk, source="/dev/sdc1", device_number="8:33") == ()
    assert differences(disk, source="/dev/sdc1", fs_uuid="u2") != ()
    assert differences(disk, mount_root="/subvolume") != ()
    assert differences(disk, fs_uuid="") == ()  # not readable in one of the sessions
    assert differences(disk, fs_uuid="", source="/dev/sdc1") != ()
    target = open_target(str(tmp_path))
    assert recognise(target) == target


def test_a_deleted_directory_is_one_clear_error(tmp_path):
    directory = tmp_path / "d"
    directory.mkdir()
    target = open_target(str(directory))
    directory.rmdir()
    for check in (check_identity, identify, check_writable):
        with pytest.raises(IoAtlasError, match="nothing at this path"):
            check(target)


def test_space_keeps_a_tenth_free(tmp_path):
    target = open_target(str(tmp_path))
    check_space(target, 0)
    check_space(target, int(target.free_bytes * 0.5))
    for share in (0.95, 1.0, 10.0):
        with pytest.raises(IoAtlasError, match="a tenth stays free"):
            check_space(target, int(target.free_bytes * share))


def test_little_may_be_put_where_nobody_says_what_is_free(tmp_path):
    untold = replace(open_target(str(tmp_path)), location="/proc")
    assert os.statvfs("/proc").f_blocks == 0
    check_space(untold, UNTOLD_BYTES, needed_files=1000)
    assert usable_bytes(untold) == UNTOLD_BYTES
    with pytest.raises(IoAtlasError, match="does not say how much is free"):
        check_space(untold, UNTOLD_BYTES + 1)


@pytest.mark.parametrize(
    "said",
    [
        "fio: io_u error on file /mnt/nas/shared.dat: Disk quota exceeded: write offset=41910272, buflen=32768",
        "fio: pid=1, err=122/file:io_u.c:1846, func=io_u error, error=Disk quota exceeded",
    ],
)
def test_a_quota_that_is_used_up_has_its_own_remedy(said):
    assert "quota" in remedy_for(said)
    assert "fio.err" not in remedy_for(said)


def test_free_space_that_nobody_tells_is_not_taken_for_none(tmp_path, monkeypatch):
    silent = os.statvfs("/proc")
    monkeypatch.setattr(os, "statvfs", lambda _: silent)
    assert open_target(str(tmp_path)).free_bytes is None


def test_extent_of_a_directory_is_open(tmp_path):
    check_extent(open_target(str(tmp_path)), 1 << 60)


def test_the_journal_is_refused_inside_the_target(tmp_path):
    (tmp_path / "nas").mkdir()
    target = open_target(str(tmp_path / "nas"))
    for place in ("nas", "nas/out", "nas/deep/er/out", "nas/../nas/out"):
        with pytest.raises(RefusedError, match="inside the target"):
            check_journal_place(str(tmp_path / place), target)
    (tmp_path / "link").symlink_to("nas")
    with pytest.raises(RefusedError, match="inside the target"):
        check_journal_place(str(tmp_path / "link" / "out"), target)
    (warning,) = check_journal_place(str(tmp_path / "out"), target)
    assert "own file system" in warning


def test_the_journal_is_refused_beside_its_own_target_file(tmp_path):
    (tmp_path / "f").write_bytes(bytes(512))
    with pytest.raises(RefusedError, match="campaign's own directory"):
        check_journal_place(str(tmp_path), open_target(str(tmp_path / "f")))
    with pytest.raises(IoAtlasError, match="not a directory"):
        check_journal_place(str(tmp_path / "f" / "out"), open_target(str(tmp_path)))


def test_direct_io_of_an_empty_or_missing_file(tmp_path):
    (tmp_path / "f").touch()
    found = direct_io_alignment(str(tmp_path / "f"))
    assert found.supported or found.why_not
    with pytest.raises(IoAtlasError, match="nothing at this path"):
        direct_io_alignment(str(tmp_path / "gone"))


def test_mountinfo_is_read_as_the_kernel_writes_it(tmp_path):
    lines = (
        r"36 35 98:0 /mnt1 /mnt/my\040nas rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue",
        r"37 35 0:45 / /a\134b\011c ro,relatime - nfs4 server:/ex\040port rw,vers=4.2",
        r"38 35 0:46 / /x rw - fuse.sshfs user@host: ro",
        "short line",
    )
    (tmp_path / "mountinfo").write_text("\n".join(lines) + "\n")
    assert read_mountinfo(str(tmp_path / "mountinfo")) == [
        Mount(36, "98:0", "/mnt1", "/mnt/my nas", "ext3", "/dev/root", "rw,noatime,errors=continue"),
        Mount(37, "0:45", "/", "/a\\b\tc", "nfs4", "server:/ex port", "ro,relatime,rw,vers=4.2"),
        Mount(38, "0:46", "/", "/x", "fuse.sshfs", "user@host:", "rw,ro"),
    ]


NETWORK = "nfs nfs4 cifs smb3 fuse.sshfs fuse.glusterfs 9p ceph fuse.gvfsd-fuse fuse"
LOCAL = "ext4 xfs zfs tmpfs fuseblk overlay"


@pytest.mark.parametrize(
    ("fs_type", "network"), [*((name, True) for name in NETWORK.split()), *((name, False) for name in LOCAL.split())]
)
def test_network_file_systems(fs_type, network):
    assert Mount(1, "0:1", "/", "/", fs_type, "x", "rw").is_network is network


def test_the_mount_of_a_path_is_the_kernels(tmp_path):
    assert mount_of("/proc").fs_type == "proc"
    mount = mount_of(str(tmp_path))
    assert os.path.commonpath([mount.mount_point, str(tmp_path)]) == mount.mount_point


def test_waiting_has_an_end():
    stuck = threading.Event()
    start = time.monotonic()
    with pytest.raises(IoAtlasError, match=r"does not answer within 0\.05 s"):
        answer_within(lambda: stuck.wait(60), "there", 0.05)
    assert time.monotonic() - start < 30
    stuck.set()
    assert answer_within(lambda: 42, "there") == 42
    with pytest.raises(ZeroDivisionError):
        answer_within(lambda: 1 // 0, "there")


@pytest.mark.parametrize("name", ["nas:/export/data", "10.0.0.5:/export", "//nas/share", "\\\\nas\\share"])
def test_a_share_that_is_named_instead_of_mounted_is_explained(name):
    with pytest.raises(IoAtlasError) as caught:
        open_target(name)
    assert "mount it, then name the mount point" in caught.value.remedy


@pytest.mark.parametrize(
    ("uri", "instead"),
    [
        ("nfs://host/export", "mount -t nfs"),
        ("iscsi://host/iqn.2026-01.lab/1", "iscsiadm"),
        ("s3://host/bucket", "mount-s3"),
        ("smb://host/share", "mount -t cifs"),
        ("rbd://pool/image", "rbd map"),
        ("gfapi://host/volume/file", "mount -t glusterfs"),
    ],
)
def test_what_is_not_opened_is_said_with_what_works(uri, instead, monkeypatch):
    monkeypatch.setattr(opening, "lacks_engine", lambda name: True)
    with pytest.raises(UsageError) as error:
        open_target(uri)
    assert instead in str(error.value)


def test_a_fio_without_the_engine_is_said_before_anything_is_asked(monkeypatch):
    monkeypatch.setattr(opening, "lacks_engine", lambda name: True)
    with pytest.raises(UsageError, match="the installed fio has no") as error:
        open_target("nbd://host/x")
    assert "nbd-client" in str(error.value)


def test_a_path_that_looks_like_an_image_stays_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rbd:pool").mkdir()
    (tmp_path / "rbd:pool" / "image").mkdir()
    target = open_target("rbd:pool/image")
    assert target.kind == "directory"


def test_each_scheme_has_an_engine_that_a_sweep_may_name():
    assert set(URI_ENGINES.values()) <= set(ENGINES)


def test_places_in_the_options_of_each_engine():
    assert place_options("nbd://host/x") == (("uri", "nbd://host/x"),)
    assert dict(place_options("rbd://pool/image")) == {"clientname": "admin", "pool": "pool", "rbdname": "image"}
    assert dict(place_options("rbd://bench@pool/image"))["clientname"] == "bench"


@pytest.mark.parametrize(
    "uri", ["rbd://pool", "rbd://pool/", "rbd://pool/a/b", "rbd://pool/a:b", "rbd://a@b@pool/image"]
)
def test_a_uri_that_does_not_name_one_place_is_refused(uri):
    with pytest.raises(UsageError, match="this is not rbd:POOL/IMAGE"):
        check_uri(uri)


def test_the_scheme_is_in_small_letters():
    assert scheme_of("RBD://a/b") == "rbd"


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("nbd://user:pw@host:10809/disk", "nbd://user:***@host:10809/disk"),
        ("nbd+unix://u:pw@/disk?socket=/s", "nbd+unix://u:***@/disk?socket=/s"),
        ("iscsi://user%pw@host:3260/iqn.x/1", "iscsi://user%***@host:3260/iqn.x/1"),
        ("s3://bucket?access_key=AK&secret_key=pw", "s3://bucket?access_key=***&secret_key=***"),
        ("rbd:pool/image:id=x:key=pw", "rbd:pool/image:id=x:key=***"),
    ],
)
def test_a_password_is_never_shown_and_never_taken(typed, shown):
    assert masked(typed) == shown
    with pytest.raises(UsageError) as caught:
        check_no_secret(typed)
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize(
    "typed",
    ["nbd://alice@host/disk", "nbd://[::1]:10809/disk", "rbd://client@pool/key", "nbd+unix:///monkey=1?socket=/a:b@c"],
)
def test_a_uri_without_a_password_is_as_it_was(typed):
    assert masked(typed) == typed
    check_no_secret(typed)
