# SPDX-License-Identifier: Apache-2.0
"""Direct I/O: whether O_DIRECT works on a file or device, and which alignment of offsets it wants."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import sys
from dataclasses import dataclass

from ioatlas.target.trouble import opened, speaking

_PROBE_BYTES = 128 << 10
_OFFSETS = (512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
_AT_EMPTY_PATH = 0x1000
_STATX_DIOALIGN = 0x2000
_MASK_AT, _OFFSET_AT, _STATX_BYTES = 0, 156, 256
"""Of struct statx: places of stx_mask and stx_dio_offset_align, and its size."""


@dataclass(frozen=True)
class DirectIo:
    """supported: O_DIRECT opens and moves data. offset_alignment_bytes: as the kernel says (Linux 6.1 and newer), else
    the smallest that worked; 0 when unsupported. why_not: what failed, empty when supported.
    """

    supported: bool
    offset_alignment_bytes: int = 0
    why_not: str = ""


def direct_io_alignment(path: str) -> DirectIo:
    """The answer for an existing file or block device, by reading only. For a directory use `Workspace.direct_io`.

    A file without data is judged by opening it and by what the kernel says. Raises IoAtlasError when it cannot be
    opened at all.
    """
    with opened(path, os.O_RDONLY) as plain:
        size = os.lseek(plain, 0, os.SEEK_END)
        claimed = _statx_alignment(plain)
    return _tried(path, os.O_RDONLY, size, claimed)


def probe_directory(directory: int, name: str, where: str) -> DirectIo:
    """The answer for a directory given by descriptor, on a new file `name` that is removed at once.

    A direct write is tried too, which some FUSE file systems refuse although they read. Raises IoAtlasError when the
    file cannot be made.
    """
    place = f"{where}/{name}"
    new = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        with opened(name, new, directory=directory, where=place) as fd, speaking(place):
            _write_all(fd, os.urandom(_PROBE_BYTES))
            os.fsync(fd)
            return _tried(name, os.O_RDWR | os.O_NOFOLLOW, _PROBE_BYTES, _statx_alignment(fd), directory)
    finally:
        with speaking(place), contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=directory)  # closed: SMB through FUSE removes no file that is open


def _tried(path: str, flags: int, size: int, claimed: int | None, directory: int | None = None) -> DirectIo:
    """Opened with O_DIRECT, and read; written too where the flags say so. claimed: as of `_judge`."""
    try:
        fd = os.open(path, flags | os.O_DIRECT | os.O_CLOEXEC, dir_fd=directory)
    except OSError as error:
        return DirectIo(supported=False, why_not=f"no O_DIRECT: opening with it fails ({error.strerror})")
    try:
        if flags & os.O_RDWR:
            with mmap.mmap(-1, _PROBE_BYTES) as buffer:
                os.pwritev(fd, [buffer], 0)
    except OSError as error:
        return DirectIo(supported=False, why_not=f"no O_DIRECT: an aligned write with it fails ({error.strerror})")
    else:
        return _judge(fd, size, claimed)
    finally:
        os.close(fd)


def _judge(fd: int, size: int, claimed: int | None) -> DirectIo:
    """claimed: alignment of offsets as the kernel gives it; 0 means no direct I/O on this file (statx(2))."""
    if claimed == 0:
        return DirectIo(supported=False, why_not="no O_DIRECT: the kernel would fall back to buffered I/O on this file")
    with mmap.mmap(-1, max(_OFFSETS[-1], claimed or 0)) as buffer, memoryview(buffer) as view:
        if claimed is not None:
            if size >= 2 * claimed and not _reads(fd, view[:claimed], claimed):
                return DirectIo(supported=False, why_not="no O_DIRECT: an aligned read with it fails")
            return DirectIo(supported=True, offset_alignment_bytes=claimed)
        found = next((step for step in _OFFSETS if size >= 2 * step and _reads(fd, view[:step], step)), 0)
    short = size < 2 * _OFFSETS[0]
    why = "the file is too short to try O_DIRECT on" if short else "no O_DIRECT: aligned reads with it fail"
    return DirectIo(supported=bool(found), offset_alignment_bytes=found, why_not="" if found else why)


def _reads(fd: int, into: memoryview, at: int) -> bool:
    try:
        return os.preadv(fd, [into], at) == len(into)
    except OSError:
        return False
    finally:
        into.release()


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _statx_alignment(fd: int) -> int | None:
    """Alignment of offsets from statx(2), None when kernel or file system does not say."""
    statx = getattr(ctypes.CDLL(None, use_errno=True), "statx", None)
    if statx is None:
        return None
    buffer = ctypes.create_string_buffer(_STATX_BYTES)
    if statx(fd, b"", _AT_EMPTY_PATH, _STATX_DIOALIGN, buffer) != 0:
        return None
    if not int.from_bytes(buffer.raw[_MASK_AT : _MASK_AT + 4], sys.byteorder) & _STATX_DIOALIGN:
        return None
    return int.from_bytes(buffer.raw[_OFFSET_AT : _OFFSET_AT + 4], sys.byteorder)
