# SPDX-License-Identifier: Apache-2.0
"""An NBD export asked about itself through libnbd: the library fio's own `nbd` engine uses,
so both read a URI alike.
"""

from __future__ import annotations

import ctypes
import time
from dataclasses import dataclass
from functools import cache

from ioatlas.model.errors import IoAtlasError
from ioatlas.model.target import NO_FLUSHES
from ioatlas.target import trouble

_TLS_DISABLE = 0  # LIBNBD_TLS_DISABLE
_TRANSPORTS = 0x01 | 0x02  # LIBNBD_ALLOW_TRANSPORT_TCP, _UNIX
_SIZE_MINIMUM = 0  # LIBNBD_SIZE_MINIMUM


@dataclass(frozen=True)
class Export:
    """What the server says of an export; None where it does not say."""

    size_bytes: int
    read_only: bool
    minimum_block_bytes: int | None = None
    facts: tuple[tuple[str, str], ...] = ()
    """A number of its own that another export of this name would not have; and that the server takes no flushes."""


@cache
def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL("libnbd.so.0")
    except OSError as error:
        raise IoAtlasError(
            "libnbd is missing, which fio's nbd engine needs too", remedy="install libnbd0 (Debian, Ubuntu) or libnbd"
        ) from error
    library.nbd_create.restype = ctypes.c_void_p
    library.nbd_close.argtypes = [ctypes.c_void_p]
    library.nbd_close.restype = None
    library.nbd_get_error.restype = ctypes.c_char_p
    library.nbd_get_size.restype = ctypes.c_int64
    library.nbd_get_block_size.restype = ctypes.c_int64
    library.nbd_get_block_size.argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.nbd_set_uri_allow_transports.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
    library.nbd_set_uri_allow_tls.argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.nbd_aio_connect_uri.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    library.nbd_poll.argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.nbd_shutdown.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
    for name in ("get_size", "is_read_only", "can_flush"):
        getattr(library, f"nbd_{name}").argtypes = [ctypes.c_void_p]
    for name in ("ready", "dead", "closed"):
        getattr(library, f"nbd_aio_is_{name}").argtypes = [ctypes.c_void_p]
    return library


def read_export(uri: str, seconds: float | None = None) -> Export:
    """Connects to `uri`, reads what the server says and disconnects.

    Raises IoAtlasError when it is dead, silent or refuses.
    """
    library = _library()
    limit = trouble.PATIENCE_SECONDS if seconds is None else seconds
    handle = library.nbd_create()
    if not handle:
        raise _failed(library, uri)
    try:
        _connect(library, handle, uri, limit)
        size = library.nbd_get_size(handle)
        if size < 0:
            raise _failed(library, uri)
        minimum = library.nbd_get_block_size(handle, _SIZE_MINIMUM)
        export = Export(
            size_bytes=size,
            read_only=library.nbd_is_read_only(handle) != 0,  # an error counts as read-only
            minimum_block_bytes=minimum if minimum > 0 else None,
            facts=(NO_FLUSHES,) if library.nbd_can_flush(handle) == 0 else (),
        )
        library.nbd_shutdown(handle, 0)
        return export
    finally:
        library.nbd_close(handle)


def _connect(library: ctypes.CDLL, handle: int, uri: str, limit: float) -> None:
    library.nbd_set_uri_allow_transports(handle, _TRANSPORTS)
    library.nbd_set_uri_allow_tls(handle, _TLS_DISABLE)
    if library.nbd_aio_connect_uri(handle, uri.encode()) != 0:
        raise _failed(library, uri)
    deadline = time.monotonic() + limit
    while library.nbd_aio_is_ready(handle) != 1:
        if library.nbd_aio_is_dead(handle) == 1 or library.nbd_aio_is_closed(handle) == 1:
            raise IoAtlasError(
                "the server closed the connection", where=uri, remedy="check the export's name and the server's log"
            )
        rest = deadline - time.monotonic()
        if rest <= 0:
            raise IoAtlasError(
                f"the NBD server does not answer within {limit:g} s", where=uri, remedy="check the server and network"
            )
        if library.nbd_poll(handle, max(1, int(rest * 1000))) < 0:
            raise _failed(library, uri)


def _failed(library: ctypes.CDLL, uri: str) -> IoAtlasError:
    text = library.nbd_get_error() or b"unknown error"
    reason = text.decode("utf-8", "replace").strip()
    return IoAtlasError(
        f"no NBD export could be opened ({reason})",
        where=uri,
        remedy="start the server, or check address, socket and export name (`nbdinfo URI`)",
    )
