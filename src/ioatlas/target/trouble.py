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

from ioatlas.model.errors import IoAtlasError
from ioatlas.store.toml import shipped

Answer = TypeVar("Answer")

PATIENCE_SECONDS = 10.0
"""How long a target may take to say what it is. A dead NFS server would otherwise hold us for ever."""

_SPOKEN = {getattr(errno, name): told for name, told in shipped("ioatlas.target", "trouble.toml").items()}


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
