# SPDX-License-Identifier: Apache-2.0
"""What the system said, in words: one clear error for each way a target can fail to answer,
and a limit on waiting for it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

from ioatlas.errors import IoAtlasError

Answer = TypeVar("Answer")

PATIENCE_SECONDS = 10.0
"""How long a target may take to say what it is. A dead NFS server would otherwise hold us for ever."""

_SPOKEN: dict[int, tuple[str, str]] = {
    errno.ENOENT: ("there is nothing at this path", "check the path; a NAS must be mounted first"),
    errno.ENOTDIR: ("a part of this path is not a directory", "check the path"),
    errno.EACCES: ("permission denied", "run as a user who may use it, or change its permissions"),
    errno.EPERM: (
        "the system does not permit it",
        "run as a user who may use it; `lsattr` shows files marked immutable; a container must be given a device",
    ),
    errno.ELOOP: ("its symbolic links lead in a circle", "name the real path"),
    errno.ENAMETOOLONG: ("the path is too long", "use a shorter path"),
    errno.EROFS: ("it is read-only", "mount it for writing, or plan a read-only sweep"),
    errno.ENOSPC: ("there is no space left on it", "free some space or choose smaller sizes"),
    errno.EDQUOT: ("the quota is used up", "free some space, or have the quota raised"),
    errno.ESTALE: ("the server no longer knows it (stale file handle)", "mount it again"),
    errno.ENOTCONN: ("the file system behind it has gone (not connected)", "mount it again"),
    errno.ECONNREFUSED: ("nothing answers there (connection refused)", "start the server, or check address and port"),
    errno.EHOSTDOWN: ("its server is down", "start the server, or check the network"),
    errno.EHOSTUNREACH: ("its server cannot be reached", "check the network"),
    errno.ETIMEDOUT: ("its server does not answer", "start the server, or check the network"),
    errno.EIO: (
        "it answers with an input/output error",
        "look at the kernel log (`dmesg`): the device or its server has failed",
    ),
    errno.ENXIO: ("the device has gone", "connect it again and look up its present name (`lsblk`)"),
    errno.ENODEV: ("the device has gone", "connect it again and look up its present name (`lsblk`)"),
    errno.ENOMEDIUM: ("the drive holds no medium", "insert one"),
    errno.EBUSY: ("it is in use", "stop whatever uses it"),
    errno.ETXTBSY: ("it is in use as a running program or as swap", "choose another file"),
    errno.EEXIST: ("it exists already", "choose another name"),
}


def spoken(error: OSError, where: str) -> IoAtlasError:
    """The one clear error for an OSError met at `where`."""
    what, remedy = _SPOKEN.get(error.errno or 0, (error.strerror or str(error), "check the target by hand"))
    return IoAtlasError(what, where=where, remedy=remedy)


@contextlib.contextmanager
def speaking(where: str) -> Iterator[None]:
    """An OSError met meanwhile becomes the one clear error."""
    try:
        yield
    except OSError as error:
        raise spoken(error, where) from error


@contextlib.contextmanager
def opened(path: str, flags: int, *, directory: int | None = None, where: str = "") -> Iterator[int]:
    """A descriptor of what lies at `path`, or of that name in an open directory; closed at the end. where: what it is
    called. Raises IoAtlasError when it cannot be opened.
    """
    with speaking(where or path):
        descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600, dir_fd=directory)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def answer_within(call: Callable[[], Answer], where: str, seconds: float | None = None) -> Answer:
    """The result of `call`, or an IoAtlasError when it takes longer than `seconds` (PATIENCE_SECONDS when None).

    The call runs in a daemon thread: a system call stuck on a dead server cannot be interrupted, only left behind.
    OSError becomes a clear IoAtlasError; other exceptions pass unchanged.
    """
    limit = PATIENCE_SECONDS if seconds is None else seconds
    answers: list[Answer] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            answers.append(call())
        except BaseException as error:  # noqa: BLE001 - handed to the caller below
            errors.append(error)

    thread = threading.Thread(target=work, name="target", daemon=True)
    thread.start()
    thread.join(limit)
    if thread.is_alive():
        raise IoAtlasError(
            f"it does not answer within {limit:g} s",
            where=where,
            remedy="check that its server is up and the network works, or unmount it",
        )
    if errors:
        if isinstance(errors[0], OSError):
            raise spoken(errors[0], where) from errors[0]
        raise errors[0]
    return answers[0]
