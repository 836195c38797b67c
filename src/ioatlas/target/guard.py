# SPDX-License-Identifier: Apache-2.0
"""What must hold before a target is written: nobody's data is on it, and a person has named it in full. No flag turns a
guard off.

Reading is never refused here: a read-only sweep may run on a mounted disk.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import stat
from collections.abc import Callable
from pathlib import Path

from ioatlas.load.fio.process import text_of
from ioatlas.load.machine.devices import (
    BlockDevice,
    above,
    below,
    btrfs_siblings,
    device_of,
    loops_of_file,
    same_storage,
)
from ioatlas.load.machine.mounts import Mount, every_visible_mount, mount_of, unescape
from ioatlas.model.errors import IoAtlasError, RefusedError
from ioatlas.model.target import Target
from ioatlas.model.units import format_size
from ioatlas.target import nbd
from ioatlas.target.identity import check_identity, identify
from ioatlas.target.signatures import read_signatures
from ioatlas.target.trouble import answer_within, speaking, spoken

SPIN_UP_SECONDS = 60.0
"""How long reading a few blocks may take: a disk in standby has to spin up first."""

SHORTEST_SERIAL = 4
"""A shorter serial number, such as the `0` of some USB bridges, names nothing: the size is asked for."""


def check_before_start(target: Target, *, writes: bool) -> None:
    """Everything that must hold right before fio starts: the same target, and, when it will be written, every guard
    again.

    Trim counts as writing. Raises RefusedError or IoAtlasError.
    """
    check_identity(target)
    if writes:
        check_writable(target)


def check_writable(target: Target) -> None:
    """Raises when the target cannot or must not be written: read-only, not permitted, in use, or holding data
    (block devices).
    """
    if target.kind == "block":
        answer_within(lambda: check_block_device(target), target.location, SPIN_UP_SECONDS)
    elif target.kind == "uri":
        _check_export(target.location)
    else:
        answer_within(lambda: _check_writable_path(target), target.location)


def _check_export(uri: str) -> None:
    if nbd.read_export(uri).read_only:
        raise IoAtlasError(
            "the server exports it read-only", where=uri, remedy="add --read-only, or export it for writing"
        )


def _check_writable_path(target: Target) -> None:
    path = target.location
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        raise IoAtlasError(
            "it is mounted read-only",
            where=target.location,
            remedy=f"mount {mount_of(path).mount_point} for writing, or name one file of it with --read-only",
        )
    if os.path.isdir(path):
        if not os.access(path, os.W_OK | os.X_OK, effective_ids=True):
            raise IoAtlasError(
                "permission denied",
                where=target.location,
                remedy="run as a user who may write there, or change its permissions",
            )
        return
    with speaking(target.location):
        os.close(os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC))
    _check_one_name(path)
    _check_file_unused(path)


def _check_one_name(path: str) -> None:
    """A second name of a file may be one that nobody has thought of: what lies under it would be lost too."""
    status = Path(path).lstat()
    if status.st_nlink < 2:
        return
    beside: list[str] = []
    with contextlib.suppress(PermissionError), os.scandir(os.path.dirname(path)) as entries:
        beside = sorted(
            one.path
            for one in entries
            if one.inode() == status.st_ino and one.path != path and _same_file(one.path, path)
        )
    told = ", ".join(beside) or f"`find {mount_of(path).mount_point} -xdev -samefile {shlex.quote(path)}` tells where"
    raise RefusedError(
        f"it must not be written: it has {status.st_nlink} names (hard links): {told}",
        where=path,
        remedy="make a copy and measure that: `cp FILE NEW`",
    )


def _check_file_unused(path: str) -> None:
    reasons = [f"it is the file behind {device.node}" for device in loops_of_file(path)]
    reasons += [f"{area} is active swap" for area in swap_areas() if _same_file(area, path)]
    reasons += [f"{who} has it open for writing" for who in writers_of_file(path)]
    refuse(path, reasons, "choose a file that nothing uses")


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def check_extent(target: Target, end_bytes: int) -> None:
    """Raises when a load would reach past the end: fio deletes
    and lays out anew a file that is shorter than the load.
    """
    if target.size_bytes is not None and end_bytes > target.size_bytes:
        raise RefusedError(
            f"the load reaches to byte {end_bytes}, but the target ends at {target.size_bytes} "
            f"({format_size(target.size_bytes)})",
            where=target.location,
            remedy="choose smaller sizes or offsets, or a larger target",
        )


def check_block_device(target: Target) -> None:
    """Raises RefusedError naming every reason why a block device must not be written.

    The device itself, everything above and below it, and everything that leads to the same bytes by another way (a
    second path to the same LUN, another loop device of the same file) are looked at for: mounts in any visible mount
    namespace, active swap, partitions, holders, signatures; the device itself also for another exclusive user and for
    processes that have it open for writing.
    """
    device = device_of(target.location)
    if device.read_only:
        raise IoAtlasError(
            "the device is read-only",
            where=target.location,
            remedy="add --read-only, or make it writable (`blockdev --setrw`)",
        )
    related = [device, *below(device)]
    for other in same_storage(device):
        related += [other, *(found for found in above(other) if found not in related)]
    related += [found for found in above(device) if found not in related]

    mounts = list(every_visible_mount())
    swaps = {number for area in swap_areas() if (number := _number_of(area)) is not None}
    chain = {device, *below(device)}
    reasons: list[str] = []
    for each in related:
        _check_node(each)
        label = "it" if each == device else f"{each.node}, which {_relation(device, each)},"
        reasons += [f"{label} is mounted on {point}" for point in _mount_points(each, mounts)]
        if each.number in swaps:
            reasons.append(f"{label} is active swap")
        partitions = [partition.node for partition in each.partitions() if partition != device]
        if partitions:
            reasons.append(f"{label} has partitions ({', '.join(partitions)})")
        holders = [holder.node for holder in each.holders() if holder not in chain]
        if holders:
            reasons.append(f"{label} is held by {', '.join(holders)}")
        try:
            reasons += [f"{label} holds {signature}" for signature in read_signatures(each.node)]
        except IoAtlasError as error:  # what cannot be read cannot be called empty
            reasons.append(f"{label} cannot be searched for signatures ({error.what})")
    if device.is_partition:
        reasons.append(f"it is a partition of {device.disk.node}, which has a partition table")
    if not reasons:  # a mount or holder shows here too, with less to say
        reasons += _exclusive_user(device)
    reasons += [f"{who} has it open for writing" for who in writers_of_devices({_rdev(each) for each in related})]
    refuse(target.location, reasons, "choose a device that holds nothing; erasing one is left to you")


def _check_node(device: BlockDevice) -> None:
    """The node must stand for the device, or the probe would look at another one (a container's /dev may be stale)."""
    if BlockDevice.of_path(device.node) != device:
        raise RefusedError(
            f"the kernel calls it {device.number}, and no such node is in /dev, so it cannot be looked into",
            where=device.node,
            remedy="run where /dev is complete",
        )


def refuse(location: str, reasons: list[str], remedy: str) -> None:
    """Raises RefusedError naming every reason; nothing without one."""
    if reasons:
        unique = list(dict.fromkeys(reasons))
        raise RefusedError("it must not be written: " + "; ".join(unique), where=location, remedy=remedy)


def _relation(device: BlockDevice, other: BlockDevice) -> str:
    if other in below(device):
        return "lies below it"
    if other in above(device):
        return "is built on it"
    return "leads to the same bytes"


def _mount_points(device: BlockDevice, mounts: list[Mount]) -> list[str]:
    """Where a device is mounted: by device number, or, for file systems with anonymous numbers (btrfs),
    by source or membership.
    """
    siblings = {member.number for member in btrfs_siblings(device)}
    points = []
    for mount in mounts:
        if mount.device_number == device.number:
            points.append(mount.mount_point)
        elif mount.device_number.startswith("0:") and mount.source.startswith("/dev/"):
            source = BlockDevice.of_path(mount.source)
            if source is not None and (source == device or source.number in siblings):
                points.append(mount.mount_point)
    if not points and siblings:
        points.append("a btrfs file system that is not visible from here")
    return list(dict.fromkeys(points))


def _number_of(path: str) -> str | None:
    device = BlockDevice.of_path(path)
    return device.number if device is not None else None


def _rdev(device: BlockDevice) -> int:
    major, minor = device.number.split(":")
    return os.makedev(int(major), int(minor))


def _exclusive_user(device: BlockDevice) -> list[str]:
    """The kernel refuses O_EXCL on a block device that a file system, array, volume or swap has claimed, seen or unseen
    (open(2)).
    """
    try:
        os.close(os.open(device.node, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
    except OSError as error:
        if error.errno == errno.EBUSY:
            return ["the kernel says that something has it in exclusive use"]
        raise spoken(error, device.node) from error
    return []


def confirm_destroy(target: Target, typed: str | None) -> None:
    """A block device is written only after its serial number or its size has been typed in full.

    Accepted are the serial number or WWN, the size in bytes, and the size as tables show it (`256 MiB`, exact).
    Raises RefusedError saying what to type.
    """
    device = device_of(target.location)
    size = device.size_bytes
    names = [name for name in (device.serial, device.wwn) if name and len(name) >= SHORTEST_SERIAL]
    if typed is not None and typed.strip() in {*names, str(size), format_size(size)}:
        return
    what = "nothing was typed" if not typed else f"{typed!r} is neither its serial number nor its size"
    serial = f"its serial number ({names[0]}) or " if names else ""
    raise RefusedError(
        f"everything on it will be lost, and that was not confirmed: {what}",
        where=target.location,
        remedy=f"type {serial}its size in bytes ({size}) in full: --destroy {names[0] if names else size}",
    )


def confirm_overwrite(target: Target, typed: str | None) -> None:
    """An existing file or an export is written only after its full name and size in bytes have been typed.

    Raises RefusedError saying what to type.
    """
    if target.kind in ("directory", "block"):
        return
    size = int(dict(identify(target).facts)["size_bytes"])
    accepted = {f"{target.location} {size}", f"{target.location} {format_size(size)}"}
    if typed is not None and " ".join(typed.split()) in {" ".join(text.split()) for text in accepted}:
        return
    what = "nothing was typed" if not typed else f"{typed!r} is not its full name and size"
    raise RefusedError(
        f"what is in it will be lost, and that was not confirmed: {what}",
        where=target.location,
        remedy=f"type its full name and size: --overwrite {shlex.quote(f'{target.location} {size}')}",
    )


def swap_areas() -> list[str]:
    """Paths of every active swap partition and swap file."""
    lines = text_of("/proc/swaps", "surrogateescape").splitlines()[1:]
    return [unescape(line.split()[0]) for line in lines if line.split()]


def writers_of_devices(rdevs: set[int]) -> list[str]:
    """`name (pid N)` of every other process that holds a block device with one of these st_rdev open for writing."""
    return _writers("/dev/", lambda status: stat.S_ISBLK(status.st_mode) and status.st_rdev in rdevs)


def writers_of_file(path: str) -> list[str]:
    """`name (pid N)` of every other process that holds the file at `path` open for writing."""
    wanted = os.stat(path)
    return _writers(
        os.path.basename(path), lambda status: (status.st_dev, status.st_ino) == (wanted.st_dev, wanted.st_ino)
    )


def _writers(part: str, matches: Callable[[os.stat_result], bool]) -> list[str]:
    """Processes with a writable descriptor whose name holds `part` and whose file `matches`.

    The name is compared first: asking for the status of every open file could block on another, dead file system.
    Processes of other users are seen by root only.
    """
    found = []
    own = str(os.getpid())
    for pid in os.listdir("/proc"):
        if not pid.isdigit() or pid == own:
            continue
        try:
            descriptors = os.listdir(f"/proc/{pid}/fd")
        except OSError:  # ended, or not ours to look into
            continue
        for descriptor in descriptors:
            link = f"/proc/{pid}/fd/{descriptor}"
            try:
                if part in os.readlink(link) and matches(os.stat(link)) and _writable(pid, descriptor):
                    found.append(
                        f"{Path(f'/proc/{pid}/comm').read_text(encoding='utf-8', errors='replace').strip()} (pid {pid})"
                    )
                    break
            except OSError:  # closed meanwhile
                continue
    return found


def _writable(pid: str, descriptor: str) -> bool:
    for line in Path(f"/proc/{pid}/fdinfo/{descriptor}").read_text(encoding="ascii").splitlines():
        if line.startswith("flags:"):
            return int(line.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY
    return False
