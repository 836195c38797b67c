# SPDX-License-Identifier: Apache-2.0
"""What a block device holds, by libblkid: every file system, RAID, LVM, swap, ZFS, btrfs, LUKS or bcache member and
partition table.

libblkid is part of util-linux and is what `wipefs` and `blkid` are made of; it is called directly because starting a
process before every start of the load would take longer than the probe itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from dataclasses import dataclass
from functools import cache

from ioatlas.model.errors import IoAtlasError
from ioatlas.target.trouble import opened, speaking

# From <blkid/blkid.h>; `wipefs` sets the same.
_SUPERBLOCKS = (
    (1 << 1) | (1 << 3) | (1 << 5) | (1 << 7) | (1 << 9) | (1 << 10)
)  # LABEL, UUID, TYPE, USAGE, MAGIC, BADCSUM
_PARTITIONS = (1 << 1) | (1 << 3)  # FORCE_GPT, MAGIC
_FOUND, _NOTHING_MORE = 0, 1

FRONT_BYTES = 8192
"""Of a device, where the magics of `_OWN` stand."""
_BCACHE = bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81")
_BCACHEFS = bytes.fromhex("c68573f666ce90a9d96a60cf803df7ef")
_STRATIS = b"!Stra0tis\x86\xff\x02^\x41rh"
_OWN = (
    # What libblkid has learnt since 2.32, with the version (its `superblocks/*.c`), and bcachefs' layout in sector 7
    # (`bcachefs_format.h`; its first versions had the magic of bcache). A magic alone counts, whatever its checksum.
    ("bcachefs", "filesystem", 4096 + 24, _BCACHEFS),  # 2.39
    ("bcachefs", "filesystem", 4096 + 24, _BCACHE),
    ("bcachefs", "filesystem", 3584, _BCACHEFS),
    ("bcachefs", "filesystem", 3584, _BCACHE),
    ("stratis", "raid", 512 + 4, _STRATIS),  # 2.33
    ("stratis", "raid", 512 * 9 + 4, _STRATIS),
    ("apfs", "filesystem", 32, b"NXSB"),  # 2.35
    ("erofs", "filesystem", 1024, b"\xe2\xe1\xf5\xe0"),  # 2.36
    ("zonefs", "filesystem", 0, b"SFOZ"),  # 2.38
)
"""(kind, usage, byte, magic) of what an older libblkid does not know."""


@dataclass(frozen=True)
class Signature:
    """One signature: what it says (`ext4`, `gpt`, `LVM2_member`) and where it stands."""

    kind: str
    usage: str
    offset_bytes: int | None

    def __str__(self) -> str:
        noun = {
            "filesystem": "file system, ",
            "raid": "member of an array or volume group, ",
            "crypto": "encrypted volume, ",
            "partition-table": "partition table, ",
        }.get(self.usage, "")
        place = f" at byte {self.offset_bytes}" if self.offset_bytes is not None else ""
        return f"{self.kind} ({noun}signature{place})"


@cache
def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL("libblkid.so.1")
    except OSError as error:
        raise IoAtlasError(
            "libblkid is missing, and without it nothing can tell whether a block device holds data",
            remedy="install util-linux's libblkid1",
        ) from error
    library.blkid_new_probe.restype = ctypes.c_void_p
    library.blkid_free_probe.argtypes = [ctypes.c_void_p]
    library.blkid_free_probe.restype = None
    library.blkid_probe_set_device.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    for name in ("enable_superblocks", "set_superblocks_flags", "enable_partitions", "set_partitions_flags"):
        getattr(library, f"blkid_probe_{name}").argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.blkid_do_probe.argtypes = [ctypes.c_void_p]
    library.blkid_probe_lookup_value.argtypes = [
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.POINTER(ctypes.c_char_p),
        ctypes.POINTER(ctypes.c_size_t),
    ]
    return library


def read_signatures(path: str) -> list[Signature]:
    """Every signature on the device or file at `path`, also those whose checksum is wrong and a GPT without its
    protective MBR.

    Raises IoAtlasError when it cannot be opened or read: what cannot be read cannot be called empty.
    """
    found = [Signature(kind, usage, offset) for kind, usage, offset, _ in _probe(path, fresh=True)]
    with speaking(path), open(path, "rb", buffering=0) as device:
        front = device.read(FRONT_BYTES)
    known = {one.offset_bytes for one in found}
    return found + [one for one in own_signatures(front) if one.offset_bytes not in known]


def own_signatures(front: bytes) -> list[Signature]:
    """What the first `FRONT_BYTES` of a device say it holds that an older libblkid does not know."""
    return [Signature(kind, usage, at) for kind, usage, at, magic in _OWN if front[at : at + len(magic)] == magic]


def filesystem_uuid(path: str) -> str | None:
    """The UUID of the file system on a device, None when there is none or it may not be read."""
    try:
        return next((uuid for _, usage, _, uuid in _probe(path, fresh=False) if usage == "filesystem" and uuid), None)
    except IoAtlasError:
        return None


def _probe(path: str, *, fresh: bool) -> list[tuple[str, str, int | None, str]]:
    library = _library()
    with contextlib.ExitStack() as held:
        fd = held.enter_context(opened(path, os.O_RDONLY | os.O_NONBLOCK))
        if probe := library.blkid_new_probe():
            held.callback(library.blkid_free_probe, probe)
        if fresh:  # what another host has written to a shared LUN must not be hidden by pages read earlier
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        if not probe or library.blkid_probe_set_device(probe, fd, 0, 0) != 0:
            raise IoAtlasError("it cannot be searched for signatures", where=path, remedy="look at `dmesg`")
        library.blkid_probe_enable_superblocks(probe, 1)
        library.blkid_probe_set_superblocks_flags(probe, _SUPERBLOCKS)
        library.blkid_probe_enable_partitions(probe, 1)
        library.blkid_probe_set_partitions_flags(probe, _PARTITIONS)
        found = []
        while (answer := library.blkid_do_probe(probe)) == _FOUND:
            table = _value(library, probe, b"PTTYPE")
            kind = table or _value(library, probe, b"TYPE") or "unknown"
            usage = "partition-table" if table else _value(library, probe, b"USAGE")
            offset = _value(library, probe, b"PTMAGIC_OFFSET" if table else b"SBMAGIC_OFFSET")
            found.append((kind, usage, int(offset) if offset.isdigit() else None, _value(library, probe, b"UUID")))
        if answer != _NOTHING_MORE:
            raise IoAtlasError(
                "it cannot be read through, so nothing can tell whether it holds data",
                where=path,
                remedy="look at `dmesg`: the device may be failing",
            )
    return found


def _value(library: ctypes.CDLL, probe: int, name: bytes) -> str:
    data, length = ctypes.c_char_p(), ctypes.c_size_t()
    if (
        library.blkid_probe_lookup_value(probe, name, ctypes.byref(data), ctypes.byref(length)) != 0
        or data.value is None
    ):
        return ""
    return data.value.decode("utf-8", "replace").strip()
