# SPDX-License-Identifier: Apache-2.0
"""From what a person typed to a target: a directory, a file, a block device or a URI, or one clear error."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import replace

from ioatlas.load.fio.executor import lacks_engine
from ioatlas.load.machine.devices import device_of, devices_under_filesystem
from ioatlas.load.machine.mounts import PSEUDO_TYPES, mount_of, unmounted_mount_point
from ioatlas.model.errors import IoAtlasError, RefusedError, UsageError
from ioatlas.model.options import render_value
from ioatlas.model.target import URI_ENGINES, Identity, Target, check_no_secret, check_uri, masked, scheme_of
from ioatlas.target import nbd
from ioatlas.target.identity import describe_mode, identify, kind_of
from ioatlas.target.trouble import answer_within

WORKSPACE_PREFIX = ".ioatlas-"
"""How the one subdirectory begins that ioatlas makes in a directory target."""

NOT_YET = Identity((("set_up", "later"),))
"""The identity of a target that has to be set up first: no guard takes it for one that is there."""

MARKER = "ioatlas-marker.json"
"""The file in it that says whose it is."""

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]*):(//.*)?$", re.DOTALL)


_DEVICE = re.compile("/dev/(?!shm/)")
_NVME_CHARACTER = re.compile(r"/dev/ng(\d+)n(\d+)")
_INSTEAD = {
    "nfs": ("nfs", "mount it (`mount -t nfs HOST:/PATH /mnt/nas`) and name the mount point"),
    "iscsi": (
        "libiscsi",
        "log in by the kernel (`iscsiadm -m node -T IQN -p HOST --login`) and name its device, or export it by NBD",
    ),
    "s3": ("http", "mount it (`mount-s3` or `s3fs`) and name the mount point: objects themselves are not measured"),
    "smb": (None, "mount it (`mount -t cifs //HOST/SHARE /mnt/nas`) and name the mount point"),
    "rbd": (None, "map the image (`rbd map POOL/IMAGE`) and name its block device"),
    "gfapi": (None, "mount the volume (`mount -t glusterfs HOST:/VOLUME /mnt/nas`) and name the mount point"),
}
"""What is not opened by a URI: fio's engine for it, and what works instead."""


def open_target(location: str, name: str | None = None) -> Target:
    """The target at `location`, with its identity. Nothing is written.

    name: how tables call it; without one the last part of the path, the device's or the export's name.
    Raises IoAtlasError for what is missing, unmounted, not permitted, silent or no storage; UsageError for what fio
    cannot be given.
    """
    if not location.strip():
        raise UsageError("no target is named", remedy="name a directory, file, block device or URI such as nbd://host")
    scheme = _SCHEME.match(location)
    if scheme is not None and (scheme.group(2) is not None or scheme.group(1).lower() in URI_KINDS):
        _check_without_mount(scheme.group(1).lower(), location)
        if scheme.group(1).lower() not in URI_KINDS:
            known = ", ".join(URI_KINDS.values())
            raise UsageError(
                f"ioatlas cannot measure a {scheme.group(1)}: URI",
                where=masked(location),
                remedy=f"use a path or one of {known}",
            )
        check_no_secret(location)
        return _open_nbd(location, name)
    path = os.path.join(os.getcwd(), location)
    target = answer_within(lambda: _open_path(path, name), location)
    return replace(target, identity=identify(target))


def expected_target(location: str, name: str, size_bytes: int) -> Target | None:
    """A target that is to be set up later, as far as its location tells: an export, a block device, or a directory
    where it ends in a slash. None where it does not tell. size_bytes: how far it will be used.
    """
    scheme = _SCHEME.match(location)
    if scheme is not None and scheme.group(1).lower() in URI_KINDS:
        check_no_secret(location)
        check_uri(location)
        engine = URI_ENGINES[scheme_of(location)]
        return Target(name, "uri", location, NOT_YET, size_bytes, ioengine=engine)
    if _DEVICE.match(location) and os.path.normpath(location) == location:
        return Target(name, "block", location, NOT_YET, size_bytes)
    if location.endswith("/"):
        return Target(name, "directory", os.path.normpath(os.path.join(os.getcwd(), location)), NOT_YET)
    return None


def _check_without_mount(scheme: str, location: str) -> None:
    """Raises UsageError for a protocol that is not measured without a mount, and where fio has no engine for it."""
    if scheme in _INSTEAD:
        engine, instead = _INSTEAD[scheme]
        lacks = f", and the installed fio has no {engine} engine" if engine and lacks_engine(engine) else ""
        raise UsageError(f"ioatlas does not open {scheme}: URIs{lacks}", where=masked(location), remedy=instead)
    if scheme in URI_ENGINES and lacks_engine(URI_ENGINES[scheme]):
        raise UsageError(
            f"the installed fio has no {URI_ENGINES[scheme]} engine",
            where=masked(location),
            remedy="install a fio that has it, or connect it (`nbd-client`) and name its block device",
        )


def _open_path(path: str, name: str | None) -> Target:
    bare = path.rstrip("/") or "/"
    _check_mounted(bare)
    try:
        status = os.lstat(bare)
    except FileNotFoundError as error:
        # Never a new file: a mistyped mount point would become one on the local disk.
        raise UsageError(
            "there is nothing at this path",
            where=masked(bare),
            remedy=_REMOTE
            if _LOOKS_REMOTE.search(path)
            else "check the path; a NAS must be mounted first, a directory must be there already",
        ) from error
    if stat.S_ISLNK(status.st_mode):
        status = _follow(bare)
    real = os.path.realpath(bare, strict=True)
    if path.endswith("/") and not stat.S_ISDIR(status.st_mode):
        raise IoAtlasError(
            f"it is {describe_mode(status.st_mode)}, not a directory", where=path, remedy="leave out the final slash"
        )
    check_fio_can_name(real)
    kind = kind_of(status.st_mode)
    if kind is None:
        what = describe_mode(status.st_mode)
        remedy = "name a directory, a file or a block device"
        if stat.S_ISSOCK(status.st_mode):
            remedy = f"for an NBD server write nbd+unix:///?socket={real}"
        elif (namespace := _NVME_CHARACTER.fullmatch(real)) is not None:
            remedy = f"name its block device, which has all guards: /dev/nvme{namespace[1]}n{namespace[2]}"
        raise UsageError(f"it is {what}, which holds no data that could be measured", where=path, remedy=remedy)
    if kind == "block":
        return _block_target(real, name)
    _check_real_storage(real)
    if kind == "file":
        _check_readable(real)
    else:
        _check_permitted(real, os.R_OK | os.X_OK)
    return Target(
        name=name or os.path.basename(real) or "root",
        kind=kind,
        location=real,
        size_bytes=status.st_size if kind == "file" else None,
        free_bytes=_free_bytes(real),
        logical_block_bytes=_filesystem_block_bytes(real),
    )


_LOOKS_REMOTE = re.compile(r"^//|/\\\\|/[A-Za-z0-9.\-]+:/|/[a-z]+:[^/]+/")
_REMOTE = "that names a share or an image on a server: mount it, then name the mount point, or export it by NBD (nbd://HOST/EXPORT)"


def _free_bytes(directory: str) -> int | None:
    """What is free there; None where the file system does not say, as some FUSE clients."""
    room = os.statvfs(directory)
    return room.f_bavail * room.f_frsize if room.f_blocks else None


def _follow(link: str) -> os.stat_result:
    """What a link named as target leads to: block devices are followed (/dev/disk/by-id/...),
    anything else must be named itself.
    """
    try:
        status = os.stat(link)
    except FileNotFoundError as error:
        raise IoAtlasError(
            f"it is a symbolic link to {os.readlink(link)}, where there is nothing",
            where=link,
            remedy="mount or create what it leads to",
        ) from error
    if not stat.S_ISBLK(status.st_mode):
        raise RefusedError(
            "it is a symbolic link, which may lead elsewhere tomorrow",
            where=link,
            remedy=f"name the real path: {os.path.realpath(link)}",
        )
    return status


def _check_mounted(path: str) -> None:
    point = unmounted_mount_point(os.path.normpath(path)) or unmounted_mount_point(os.path.realpath(path))
    if point is not None:
        raise RefusedError(
            f"{point} is a mount point of /etc/fstab and nothing is mounted there: "
            "the load would run on the disk below it",
            where=path,
            remedy=f"mount it (`mount {point}`), or take it out of /etc/fstab",
        )


def _check_real_storage(path: str) -> None:
    mount = mount_of(path)
    if mount.fs_type in PSEUDO_TYPES:
        raise RefusedError(
            f"it lies on {mount.fs_type}, an interface to the kernel and no storage",
            where=path,
            remedy="name a path on a real file system; a missing device node means that the device is not connected",
        )
    if mount.fs_type == "autofs":
        raise IoAtlasError("its automatic mount did not happen", where=path, remedy="mount it by hand to see the error")
    inside = path
    while inside != "/":
        if os.path.basename(inside).startswith(WORKSPACE_PREFIX) and os.path.lexists(os.path.join(inside, MARKER)):
            raise RefusedError(
                "it lies inside the subdirectory of another campaign",
                where=inside,
                remedy="name the directory above it",
            )
        inside = os.path.dirname(inside)


def _check_readable(path: str) -> None:
    os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC))


def _check_permitted(path: str, mode: int) -> None:
    if not os.access(path, mode, effective_ids=True):
        raise IoAtlasError(
            "permission denied", where=path, remedy="run as a user who may use it, or change its permissions"
        )


def check_fio_can_name(path: str) -> None:
    """Raises UsageError for a path that fio would read as another one; `:` is no obstacle,
    the job-file writer escapes it.
    """
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            "its name is not valid UTF-8", where=repr(path), remedy="rename it, or bind-mount it to a plain name"
        ) from error
    try:
        render_value("filename", path)
    except UsageError as error:
        raise UsageError(
            f"fio cannot be given this path: {error.what}",
            where=repr(path),
            remedy="rename it, or bind-mount it to a plain name",
        ) from error


def _block_target(path: str, name: str | None) -> Target:
    device = device_of(path)
    if device.size_bytes == 0:
        raise IoAtlasError(
            "this device has no size: it holds no medium or is not set up", where=path, remedy="connect or set it up"
        )
    _check_readable(path)
    return Target(
        name=name or device.name,
        kind="block",
        location=path,
        size_bytes=device.size_bytes,
        logical_block_bytes=device.queue("logical_block_size") or 512,
    )


def _filesystem_block_bytes(path: str) -> int:
    """The largest logical block size below a file system, 512 where there is no block device:
    a first guess for direct I/O.
    """
    return max((device.queue("logical_block_size") or 512 for device in devices_under_filesystem(path)), default=512)


def _open_nbd(uri: str, name: str | None) -> Target:
    check_uri(uri)
    rest = uri.partition("://")[2]
    export = nbd.read_export(uri)
    if export.size_bytes == 0:
        raise IoAtlasError("this export has no size", where=uri, remedy="check the export's name")
    place = rest.partition("?")[0].strip("/")
    target = Target(
        name=name or (place if ".." not in place.split("/") else "") or "nbd",
        kind="uri",
        location=uri,
        size_bytes=export.size_bytes,
        logical_block_bytes=export.minimum_block_bytes or 512,  # the NBD protocol's advice when the server says nothing
        ioengine=URI_ENGINES[scheme_of(uri)],
    )
    return replace(target, identity=identify(target))


URI_KINDS = {"nbd": "nbd://HOST[:PORT][/EXPORT]", "nbd+unix": "nbd+unix:///EXPORT?socket=PATH"}
"""Every scheme a target may have, and how it is written."""
