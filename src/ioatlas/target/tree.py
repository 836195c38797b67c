# SPDX-License-Identifier: Apache-2.0
"""The tree of small files in a campaign's own directory: made, and removed again whatever their number.

The journal lists the tree, not its files: there may be millions. What is deleted follows from where it lies and what it
is called. Every step goes through a directory descriptor and follows no link.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Callable, Iterable

from ioatlas.store.confined import DIRECTORY

TREE = "tree"
"""The one name in a campaign's directory that is a directory."""
_FOLDER = re.compile(r"^(all|job\.\d{1,6}|level\.\d{1,4})$")
_FILE = re.compile(r"^[fr]\.\d{1,6}\.\d{1,9}$")
Tick = Callable[[int], None]


def make_tree(fd: int, folders: Iterable[str]) -> None:
    """Make the tree and its folders, each with those above it, in the directory `fd`."""
    for folder in folders:
        parts = [TREE, *folder.split("/")]
        for level in range(1, len(parts) + 1):
            with contextlib.suppress(FileExistsError):
                os.mkdir("/".join(parts[:level]), 0o700, dir_fd=fd)


def tree_fault(status: os.stat_result, device: int) -> str | None:
    """Why what is called the tree is not ours; None when it may be."""
    if stat.S_ISLNK(status.st_mode):
        return "a symbolic link, which ioatlas never makes"
    if not stat.S_ISDIR(status.st_mode):
        return "not a directory"
    return "on another file system" if status.st_dev != device else None


def remove_tree(fd: int, device: int, left: dict[str, str], tick: Tick = lambda _: None) -> int:
    """Remove the tree in the directory `fd`; how many files it held. What is not ours stays, with the reason in `left`.

    tick: called with the number of files removed so far, every few thousand.
    """
    return _Removal(device, left, tick).folder(fd, TREE, TREE)


def is_gone(directory: int, name: str) -> bool:
    """Whether a name that is listed is there no more: a client of a share may list from a cache of some seconds."""
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return True
    return False


class _Removal:
    def __init__(self, device: int, left: dict[str, str], tick: Tick) -> None:
        self._device, self._left, self._tick = device, left, tick
        self._removed = 0

    def folder(self, parent: int, name: str, path: str) -> int:
        """Empty a folder and remove it; files removed so far."""
        try:
            fd = os.open(name, DIRECTORY, dir_fd=parent)
        except FileNotFoundError:
            return self._removed
        except OSError as error:
            self._left[path] = error.strerror or str(error)
            return self._removed
        try:
            if os.fstat(fd).st_dev != self._device:
                self._left[path] = "on another file system"
                return self._removed
            # Some file systems forget where they were in a list while names vanish from it: until nothing goes.
            while self._emptied(fd, path):
                pass
        finally:
            os.close(fd)
        try:
            os.rmdir(name, dir_fd=parent)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or not self._left:
                self._left.setdefault(path, error.strerror or str(error))
        return self._removed

    def _emptied(self, fd: int, path: str) -> bool:
        """Go through a folder once; whether a file went."""
        before, folders = self._removed, []
        with os.scandir(fd) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False) and _FOLDER.match(entry.name):
                    folders.append(entry.name)
                elif entry.is_file(follow_symlinks=False) and _FILE.match(entry.name):
                    self._unlink(fd, entry.name, f"{path}/{entry.name}")
                elif not is_gone(fd, entry.name):
                    self._left[f"{path}/{entry.name}"] = "not made by ioatlas"
        for name in folders:
            self.folder(fd, name, f"{path}/{name}")
        return self._removed > before

    def _unlink(self, fd: int, name: str, path: str) -> None:
        try:
            os.unlink(name, dir_fd=fd)
        except FileNotFoundError:
            return
        except OSError as error:
            self._left[path] = error.strerror or str(error)
            return
        self._removed += 1
        if not self._removed % 5000:
            self._tick(self._removed)
