# SPDX-License-Identifier: Apache-2.0
"""A file of a GlusterFS volume asked about itself through libgfapi, the library that fio's own engine uses."""

from __future__ import annotations

import ctypes
import errno
import os
import uuid
from functools import cache

from ioatlas.errors import IoAtlasError
from ioatlas.fio.uri import parts_of
from ioatlas.target.nbd import Export

PATIENCE_SECONDS = 40.0
"""How long it may take: the library itself gives a server that does not answer half a minute."""
_PORT = 24007
_QUIET = 4
"""Errors alone are logged, and into nothing."""


@cache
def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL("libgfapi.so.0", use_errno=True)
    except OSError as error:
        raise IoAtlasError(
            "libgfapi is missing, which fio's gfapi engine needs too",
            remedy="install libgfapi0, or mount the volume and name the mount point",
        ) from error
    library.glfs_new.restype = ctypes.c_void_p
    library.glfs_open.restype = ctypes.c_void_p
    library.glfs_open.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
    library.glfs_lseek.restype = ctypes.c_int64
    library.glfs_lseek.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int]
    library.glfs_get_volumeid.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    library.glfs_set_volfile_server.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int]
    library.glfs_set_logging.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
    for name in ("init", "fini", "close"):
        getattr(library, f"glfs_{name}").argtypes = [ctypes.c_void_p]
    return library


def read_file(uri: str) -> Export:
    """Opens the file and closes it again. Raises IoAtlasError when the volume or the file cannot be opened."""
    parts = parts_of(uri)
    return _file(_library(), _volume(parts["brick"], parts["volume"], uri), uri, parts["filename"])


@cache
def _volume(host: str, name: str, uri: str) -> int:
    """A connection that is kept: letting go of one takes the library ten seconds, and each start of a load asks."""
    library = _library()
    volume: int | None = library.glfs_new(name.encode())
    if not volume:
        raise _failed(uri, "a client of the volume")
    library.glfs_set_volfile_server(volume, b"tcp", host.encode(), _PORT)
    library.glfs_set_logging(volume, os.devnull.encode(), _QUIET)
    if library.glfs_init(volume) != 0:
        error = _failed(uri, "the volume")
        library.glfs_fini(volume)
        raise error
    return volume


def _file(library: ctypes.CDLL, volume: int, uri: str, name: str) -> Export:
    read_only = False
    handle = library.glfs_open(volume, name.encode(), os.O_RDWR)
    if not handle and ctypes.get_errno() in (errno.EROFS, errno.EACCES, errno.EPERM):
        read_only = True
        handle = library.glfs_open(volume, name.encode(), os.O_RDONLY)
    if not handle:
        raise _failed(uri, "the file")
    try:
        size = library.glfs_lseek(handle, 0, os.SEEK_END)
        if size < 0:
            raise _failed(uri, "the size of the file")
        return Export(size, read_only, facts=_facts(library, volume))
    finally:
        library.glfs_close(handle)


def _facts(library: ctypes.CDLL, volume: int) -> tuple[tuple[str, str], ...]:
    """The number that GlusterFS gave the volume: another of the same name has another."""
    number = ctypes.create_string_buffer(16)
    if library.glfs_get_volumeid(volume, number, len(number)) != len(number):
        return ()
    return (("volume_id", str(uuid.UUID(bytes=number.raw))),)


def _failed(uri: str, what: str) -> IoAtlasError:
    number = ctypes.get_errno()
    reason = os.strerror(number) if number else "no reason given"
    return IoAtlasError(
        f"{what} could not be opened ({reason})",
        where=uri,
        remedy="start the volume, make the file first, and check names with `gluster volume info` on the server",
    )
