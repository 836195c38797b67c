# SPDX-License-Identifier: Apache-2.0
"""Removing a directory with all that a command of the user's own put into it: through descriptors, following no link,
never on another file system.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from ioatlas.beneath import DIRECTORY

ENDING = ".work"
"""Of the name of a directory that is made for a command of the user's own, and removed with all in it."""
DEEPEST = 400
"""Levels of directories that are removed."""


def remove_folder(parent: int, name: str) -> None:
    """Remove the directory `name` in the open directory `parent`, whole. Links in it are removed, never followed.

    Raises FileNotFoundError when it is not there, OSError when something in it cannot be removed.
    """
    _remove(parent, name, os.fstat(parent).st_dev, 0)


def _remove(parent: int, name: str, device: int, level: int) -> None:
    if level > DEEPEST:
        raise OSError(errno.ENAMETOOLONG, f"it has more than {DEEPEST} levels of directories")
    at = os.open(name, DIRECTORY, dir_fd=parent)
    try:
        status = os.fstat(at)
        if status.st_dev != device:
            raise OSError(errno.EBUSY, "another file system is mounted in it")
        if stat.S_IMODE(status.st_mode) & 0o700 != 0o700:
            with contextlib.suppress(OSError):
                os.fchmod(at, 0o700)
        for entry in os.listdir(at):
            if stat.S_ISDIR(os.stat(entry, dir_fd=at, follow_symlinks=False).st_mode):
                _remove(at, entry, device, level + 1)
            else:
                os.unlink(entry, dir_fd=at)
    finally:
        os.close(at)
    os.rmdir(name, dir_fd=parent)
