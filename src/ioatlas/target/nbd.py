# SPDX-License-Identifier: Apache-2.0
"""An NBD export asked about itself through libnbd: the library fio's own `nbd` engine uses,
so both read a URI alike.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache

from ioatlas.model.errors import IoAtlasError
from ioatlas.model.target import NO_FLUSHES
from ioatlas.target import trouble

_TLS_DISABLE = 0  # LIBNBD_TLS_DISABLE
_TRANSPORTS = 0x01 | 0x02  # LIBNBD_ALLOW_TRANSPORT_TCP, _UNIX
_SIZE_MINIMUM = 0  # LIBNBD_SIZE_MINIMUM
_HANDLE, _INT, _TEXT = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
_OF_A_HANDLE = ("close", "get_size", "is_read_only", "can_flush", "aio_is_ready", "aio_is_dead", "aio_is_closed")
_TAKES = {
    **{name: [_HANDLE] for name in _OF_A_HANDLE},
    **{name: [_HANDLE, _INT] for name in ("get_block_size", "set_uri_allow_tls", "poll")},
    **{name: [_HANDLE, ctypes.c_uint32] for name in ("set_uri_allow_transports", "shutdown")},
    "aio_connect_uri": [_HANDLE, _TEXT],
}
_SIZE = ctypes.c_int64
_GIVES = {"create": _HANDLE, "close": None, "get_error": _TEXT, "get_size": _SIZE, "get_block_size": _SIZE}
"""Types of what libnbd's functions take, and of what they give where that is no int."""
OTHERS_SECONDS = 2.0
"""Time in which a server that serves one connection greets another, if it serves several at a time."""


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
    for name, given in _TAKES.items():
        getattr(library, f"nbd_{name}").argtypes = given
    for name, returned in _GIVES.items():
        getattr(library, f"nbd_{name}").restype = returned
    return library


def read_export(uri: str, seconds: float = trouble.PATIENCE_SECONDS) -> Export:
    """Connects to `uri`, reads what the server says and disconnects.

    Raises IoAtlasError when it is dead, silent or refuses.
    """
    library = _library()
    with _connected(library, uri, seconds) as handle:
        size = library.nbd_get_size(handle)
        if size < 0:
            raise _failed(library, uri)
        minimum = library.nbd_get_block_size(handle, _SIZE_MINIMUM)
        return Export(
            size_bytes=size,
            read_only=library.nbd_is_read_only(handle) != 0,  # an error counts as read-only
            minimum_block_bytes=minimum if minimum > 0 else None,
            facts=(NO_FLUSHES,) if library.nbd_can_flush(handle) == 0 else (),
        )


def served_at_once(uri: str, most: int) -> int:
    """How many of `most` connections the server serves at a time: others it refuses, or lets wait for a greeting. One
    that serves none has another trouble, which the guards tell.
    """
    with ExitStack() as connected:
        for count in range(most):
            try:
                connected.enter_context(_connected(_library(), uri, OTHERS_SECONDS))
            except IoAtlasError:
                return count or most
    return most


@contextmanager
def _connected(library: ctypes.CDLL, uri: str, seconds: float) -> Iterator[int]:
    handle = library.nbd_create()
    try:
        _connect(library, handle, uri, seconds)
        yield handle
        library.nbd_shutdown(handle, 0)
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
