# SPDX-License-Identifier: Apache-2.0
"""Descriptors of what is measured, opened once a session: later steps go to the very same, whatever its name leads to.

A target's location had no link in it when it was opened. A name that leads through one now was exchanged.
"""

from __future__ import annotations

import os
import stat

from ioatlas.beneath import DIRECTORY
from ioatlas.errors import RefusedError
from ioatlas.model.target import Target
from ioatlas.target.devices import device_number
from ioatlas.target.trouble import spoken


def open_directory(path: str) -> int:
    """A descriptor of the directory at `path`. Raises RefusedError for a link on the way, else what the system says."""
    return _opened(path, DIRECTORY)


def open_file(target: Target) -> int:
    """A descriptor of a target that is a file, by which it can be opened again: it reads and locks nothing (O_PATH).

    Raises RefusedError when it is not the file that the target's identity knows.
    """
    descriptor = _opened(target.location, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    status = os.fstat(descriptor)
    now = {"inode": str(status.st_ino), "device_number": device_number(status.st_dev)}
    if not stat.S_ISREG(status.st_mode) or any(now.get(name, value) != value for name, value in target.identity.facts):
        os.close(descriptor)
        raise _exchanged(target.location)
    return descriptor


def _opened(path: str, flags: int) -> int:
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        raise spoken(error, path) from error
    if os.readlink(f"/proc/self/fd/{descriptor}") != path:
        os.close(descriptor)
        raise _exchanged(path)
    return descriptor


def _exchanged(path: str) -> RefusedError:
    return RefusedError(
        "something else lies there now: it, or a directory above it, was exchanged",
        where=path,
        remedy="find out who did, and start again",
    )
