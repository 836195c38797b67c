# SPDX-License-Identifier: Apache-2.0
"""Holes: looked for in files, made in files, and, on block devices, discarded ranges.

Making them destroys data: the guards come first.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import struct

from ioatlas.model.errors import IoAtlasError
from ioatlas.store.confined import NEW_FILE
from ioatlas.target.trouble import opened, speaking, spoken

_BLKDISCARD = 0x1277
_KEEP_SIZE, _PUNCH_HOLE = 1, 2
_CANNOT = (errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL, errno.ENOSYS)


def hole_bytes(path: str, size_bytes: int) -> int:
    """Bytes of the first `size_bytes` of a file that hold no data, by lseek(2) SEEK_HOLE; unwritten extents count as
    holes.

    A file system that cannot tell says that all is data. Raises IoAtlasError when the file cannot be read.
    """
    with opened(path, os.O_RDONLY) as fd, speaking(path):
        end = min(size_bytes, os.fstat(fd).st_size)
        found, at = size_bytes - end, 0
        while at < end:
            try:
                hole = min(os.lseek(fd, at, os.SEEK_HOLE), end)
                data = min(os.lseek(fd, hole, os.SEEK_DATA), end) if hole < end else end
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                data = end  # no data behind the hole
            found += data - hole
            at = data
        return found


def make_sparse(directory: int, name: str, size_bytes: int, where: str) -> None:
    """A new file without data in the directory with this descriptor, in the place of one of the same name."""
    place = f"{where}/{name}"
    with speaking(place):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=directory)
        with opened(name, NEW_FILE, directory=directory, where=place) as fd:
            os.ftruncate(fd, size_bytes)


def punch_file(path: str, size_bytes: int) -> bool:
    """Take the data out of the first `size_bytes` of a file, keeping its length. False where the file system cannot.

    path: by a descriptor where another user may exchange what lies under the name.
    """
    with opened(path, os.O_RDWR) as fd:
        fallocate = ctypes.CDLL(None, use_errno=True).fallocate
        fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_longlong, ctypes.c_longlong)
        if fallocate(fd, _KEEP_SIZE | _PUNCH_HOLE, 0, size_bytes) == 0:
            os.fsync(fd)
            return True
        code = ctypes.get_errno()
        if code in _CANNOT:
            return False
        raise spoken(OSError(code, os.strerror(code)), path)


def discard(path: str, size_bytes: int) -> bool:
    """Discard the first `size_bytes` of a block device (ioctl BLKDISCARD). False where it takes no discards.

    Opened for exclusive use: the kernel refuses when anything else has claimed it. Raises IoAtlasError.
    """
    with opened(path, os.O_RDWR | os.O_EXCL) as fd:
        try:
            fcntl.ioctl(fd, _BLKDISCARD, struct.pack("QQ", 0, size_bytes))
            os.fsync(fd)
        except OSError as error:
            if error.errno in _CANNOT:
                return False
            raise IoAtlasError(
                f"discarding failed: {error.strerror}",
                where=path,
                remedy="see the kernel's log; purge = 'none' goes on without",
            ) from error
    return True
