# SPDX-License-Identifier: Apache-2.0
"""Is it still the same target? The facts that say so, and their comparison before every start of the load."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from functools import cache

from ioatlas.load.machine.devices import BlockDevice, device_number, device_of
from ioatlas.load.machine.mounts import Mount, mount_of
from ioatlas.model.errors import IoAtlasError, RefusedError
from ioatlas.model.target import Identity, Target, TargetKind
from ioatlas.target import nbd
from ioatlas.target.signatures import filesystem_uuid
from ioatlas.target.trouble import answer_within

_ASSIGNED_BY_KERNEL = frozenset({"device_number", "source"})
"""Facts that a reboot or a new mount may change although the storage is the same."""


def identify(target: Target) -> Identity:
    """The facts of the target as it is now, strings throughout.

    directory: fs_type, source, mount_root, device_number, fs_uuid where a block device with one lies below;
    file:      the same, and inode (not on FUSE, where inode numbers come and go) and size_bytes;
    block:     size_bytes, serial and wwn; without either the device number and, of a loop device, the file behind it;
    uri:       size_bytes, whether it is read-only, and what the server calls it (of Ceph).
    Raises IoAtlasError when the target has gone, is of another kind now, or does not answer.
    """
    if target.kind == "uri":
        export = nbd.read_export(target.location)
        told = (("read_only", "yes" if export.read_only else "no"), ("size_bytes", str(export.size_bytes)))
        return Identity(tuple(sorted((*told, *export.facts))))
    return answer_within(lambda: _identify_path(target), target.location)


def check_identity(target: Target) -> None:
    """Before every start inside a session: raises RefusedError naming each fact that differs from `target.identity`."""
    _refuse(target, target.identity.differences(identify(target)))


def recognise(target: Target) -> Target:
    """At the start of a later session: the target with its facts as they are now, or RefusedError when it is another
    one.

    After a reboot or a new mount a file system may have another device number or device name, if its UUID is the same,
    or, for file systems without a device (network, tmpfs), another device number, if type and source are the same.
    Every other fact must hold.
    """
    now = identify(target)
    _refuse(target, _stable(target.identity, now).differences(_stable(now, target.identity)))
    return replace(target, identity=now)


def _refuse(target: Target, differences: tuple[str, ...]) -> None:
    if differences:
        raise RefusedError(
            "this is not the target it was: " + "; ".join(differences),
            where=target.location,
            remedy="connect or mount what was measured before, or start a new campaign",
        )


def _stable(facts: Identity, other: Identity) -> Identity:
    """`facts` without those that may change between two sessions, judged by what both sides know."""
    mine, theirs = dict(facts.facts), dict(other.facts)
    dropped: set[str] = set()
    if mine.get("fs_uuid") and mine.get("fs_uuid") == theirs.get("fs_uuid"):
        dropped |= _ASSIGNED_BY_KERNEL
    elif (
        "fs_type" in mine
        and mine.get("device_number", "").startswith("0:")
        and theirs.get("device_number", "").startswith("0:")
    ):
        dropped.add("device_number")
    if not (mine.get("fs_uuid") and theirs.get("fs_uuid")):
        dropped.add("fs_uuid")  # reading it needs a permission that one session may lack
    return Identity(tuple((name, value) for name, value in facts.facts if name not in dropped))


def _identify_path(target: Target) -> Identity:
    status = os.lstat(target.location)
    kind = kind_of(status.st_mode)
    if kind != target.kind:
        raise IoAtlasError(
            f"it was a {target.kind} and is now {describe_mode(status.st_mode)}",
            where=target.location,
            remedy="put back what was measured before",
        )
    if kind == "block":
        facts = _block_facts(device_of(target.location))
    else:
        os.statvfs(target.location)  # a round trip to the server: the status above may come from a cache
        facts = _filesystem_facts(target.location, status)
        if kind == "file":
            facts["size_bytes"] = str(status.st_size)
            if not facts["fs_type"].startswith("fuse"):
                facts["inode"] = str(status.st_ino)
    return Identity(tuple(sorted(facts.items())))


def _filesystem_facts(path: str, status: os.stat_result) -> dict[str, str]:
    mount = mount_of(path)
    facts = {
        "fs_type": mount.fs_type,
        "source": mount.source,
        "mount_root": mount.root,
        "device_number": device_number(status.st_dev),
    }
    device = BlockDevice.of_path(mount.source)
    uuid = _filesystem_uuid(device.node, mount) if device is not None else None
    if uuid:
        facts["fs_uuid"] = uuid
    return facts


@cache
def _filesystem_uuid(node: str, mount: Mount) -> str | None:
    """Read once for each mount: the same mount has the same UUID,
    and reading it again would disturb what is being measured.
    """
    del mount  # the key of the cache
    return filesystem_uuid(node)


def _block_facts(device: BlockDevice) -> dict[str, str]:
    facts = {"size_bytes": str(device.size_bytes)}
    if device.is_partition:
        facts["partition"] = device.read("partition")
    facts |= {name: value for name, value in (("serial", device.serial), ("wwn", device.wwn)) if value}
    if "serial" not in facts and "wwn" not in facts:
        facts["device_number"] = device.number
        backing = device.loop_backing_file
        if backing is not None:
            facts["backing_file"] = backing
    return facts


def kind_of(mode: int) -> TargetKind | None:
    """The kind of target a file mode stands for; None for links, character devices, pipes and sockets."""
    if stat.S_ISDIR(mode):
        return "directory"
    if stat.S_ISREG(mode):
        return "file"
    return "block" if stat.S_ISBLK(mode) else None


def describe_mode(mode: int) -> str:
    """What a file mode stands for, for people."""
    for test, words in (
        (stat.S_ISDIR, "a directory"),
        (stat.S_ISREG, "a regular file"),
        (stat.S_ISBLK, "a block device"),
        (stat.S_ISCHR, "a character device"),
        (stat.S_ISLNK, "a symbolic link"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
    ):
        if test(mode):
            return words
    return "something unknown"
