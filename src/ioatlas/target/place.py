# SPDX-License-Identifier: Apache-2.0
"""Room for the load on the target, and a place for the journal that the load does not disturb."""

from __future__ import annotations

import os
import stat

from ioatlas.load.machine.devices import BlockDevice, above, below, device_of, devices_under_filesystem
from ioatlas.load.machine.mounts import mount_of
from ioatlas.model.errors import IoAtlasError, RefusedError
from ioatlas.model.target import Target
from ioatlas.model.units import format_size, format_size_rounded
from ioatlas.target.trouble import answer_within

KEPT_FREE = 0.1
"""The share of the free space that stays free."""
UNTOLD_BYTES = 64 << 20
"""What may be put on a file system that does not say how much is free, such as smbnetfs: small files, no large map."""


def check_space(target: Target, needed_bytes: int, *, needed_files: int = 1) -> None:
    """Raises IoAtlasError when `needed_bytes` more on a directory would leave less than a tenth of what is free now.
    Block devices, exports and existing files have their size already: see `check_extent`.
    """
    if target.kind != "directory":
        return
    room = answer_within(lambda: os.statvfs(target.location), target.location)
    if room.f_blocks == 0 and needed_bytes > UNTOLD_BYTES:
        raise IoAtlasError(
            "its file system does not say how much is free, so nothing keeps it from filling up",
            where=target.location,
            remedy=f"use at most {format_size(UNTOLD_BYTES)} (--size), or measure an existing file there",
        )
    if room.f_blocks == 0:
        return
    free = room.f_bavail * room.f_frsize
    usable = int(free * (1 - KEPT_FREE))
    if needed_bytes > usable:
        example = f" (--size {min(100, usable >> 20)}m)" if usable >= 1 << 20 else ""
        raise IoAtlasError(
            f"not enough space: {format_size_rounded(needed_bytes)} are needed, {format_size_rounded(free)} are free, "
            f"of which a tenth stays free, leaving {format_size_rounded(usable)}",
            where=target.location,
            remedy=f"choose smaller sizes{example}, let the jobs share one file, or free some space",
        )
    if room.f_files > 0 and room.f_favail < needed_files:
        raise IoAtlasError(
            f"not enough inodes: {needed_files} are needed, {room.f_favail} are free",
            where=target.location,
            remedy="remove some files there",
        )


def usable_bytes(target: Target) -> int:
    """Bytes that may be put on a directory target: what is free now without the tenth that stays free, or a little
    where nobody says what is free.
    """
    room = answer_within(lambda: os.statvfs(target.location), target.location)
    if room.f_blocks == 0:
        return UNTOLD_BYTES
    return int(room.f_bavail * room.f_frsize * (1 - KEPT_FREE))


def check_journal_place(campaign_dir: str, target: Target) -> tuple[str, ...]:
    """Warnings to record about keeping the journal in `campaign_dir`, which need not exist yet.

    Raises RefusedError when it lies inside the target directory, is the target, lies on the device under test (also
    through partitions, volumes, arrays or loop files) or on a network file system, where SQLite's locks cannot be
    relied on.
    """
    return answer_within(lambda: _check_journal_place(campaign_dir, target), campaign_dir)


def _check_journal_place(campaign_dir: str, target: Target) -> tuple[str, ...]:
    real = os.path.realpath(campaign_dir)
    existing = real
    while not os.path.lexists(existing):
        existing = os.path.dirname(existing)
    if not os.path.isdir(existing):
        raise IoAtlasError("it is not a directory", where=campaign_dir, remedy="name another one for the campaign")
    mount = mount_of(existing)
    if mount.is_network:
        raise RefusedError(
            f"the journal cannot be kept on a network file system ({mount.fs_type}): its locks cannot be relied on",
            where=campaign_dir,
            remedy="name a directory on a local disk with -o",
        )
    if target.kind == "uri":
        return ()
    if target.kind == "block":
        _check_not_on_device(campaign_dir, existing, device_of(target.location))
        return ()
    if target.kind == "directory" and _is_inside(existing, target.location):
        raise RefusedError(
            "the journal cannot be kept inside the target directory: its writes would be measured too",
            where=campaign_dir,
            remedy="name a directory elsewhere with -o",
        )
    if target.kind == "file" and os.path.dirname(target.location) == real:
        raise RefusedError(
            "the target lies in the campaign's own directory",
            where=campaign_dir,
            remedy="name another directory with -o",
        )
    place = target.location if os.path.lexists(target.location) else os.path.dirname(target.location)
    if os.stat(place).st_dev == os.stat(existing).st_dev:
        warning = "the journal lies on the target's own file system: "
        return (warning + "its writes, between the windows, share the disk with the load",)
    return ()


def _is_inside(path: str, directory: str) -> bool:
    """Whether `path` is `directory` or below it, judged by identity and so also through bind mounts."""
    wanted = os.stat(directory)
    while True:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode) and (status.st_dev, status.st_ino) == (wanted.st_dev, wanted.st_ino):
            return True
        parent = os.path.dirname(path)
        if parent == path:
            return False
        path = parent


def _check_not_on_device(campaign_dir: str, existing: str, device: BlockDevice) -> None:
    family = {device, *above(device), *below(device)}
    shared = [each.node for each in devices_under_filesystem(existing) if each in family]
    if shared:
        raise RefusedError(
            f"the journal cannot be kept on the device under test ({shared[0]} carries its file system)",
            where=campaign_dir,
            remedy="name a directory on another disk with -o",
        )
