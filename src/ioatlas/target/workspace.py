# SPDX-License-Identifier: Apache-2.0
"""The one marked subdirectory that ioatlas writes in a directory target, and its removal.

Every step goes through a directory descriptor and follows no symbolic link, so that swapping a directory for a link
between two steps cannot lead a deletion elsewhere. What is not ours is left and reported.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Self

from ioatlas.load.machine.devices import device_number
from ioatlas.model.errors import IoAtlasError, RefusedError, UsageError
from ioatlas.model.target import Target
from ioatlas.store.confined import DIRECTORY, names_in
from ioatlas.target.direct import DirectIo, probe_directory
from ioatlas.target.holes import make_sparse
from ioatlas.target.identity import check_identity
from ioatlas.target.marker import MARKER_NEW, Marker, adopt, check_marker, read_marker
from ioatlas.target.opening import MARKER, WORKSPACE_PREFIX
from ioatlas.target.tree import TREE, Tick, is_gone, make_tree, remove_tree, tree_fault
from ioatlas.target.trouble import opened, speaking, spoken

REMOVAL_WAITS_SECONDS = (0.0, *(0.02,) * 10, 0.25, 0.5)
"""Before each attempt to remove the emptied directory."""
_CAMPAIGN_ID = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")
_FILE_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")


@dataclass(frozen=True)
class Removal:
    """What a cleaning did: names removed, and what was left in place with the reason."""

    removed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    directory_gone: bool = True
    in_tree: int = 0
    """Files of a tree that were removed besides."""


@dataclass(frozen=True)
class Leftover:
    """A subdirectory of another campaign; `marker` is None when it carries none that can be read."""

    path: str
    marker: Marker | None
    size_bytes: int


def directory_name(campaign_id: str) -> str:
    """The subdirectory's name. Raises UsageError for an id that is no plain file name."""
    if not _CAMPAIGN_ID.match(campaign_id):
        raise UsageError(f"{campaign_id!r} cannot name a campaign", remedy="use up to 64 letters, digits, - and _")
    return WORKSPACE_PREFIX + campaign_id


class Workspace:
    """The subdirectory `.ioatlas-CAMPAIGN` of one directory target, made or found again.

    register: called with a file's name before the file is made; the journal keeps the names, and only they are ever
    deleted.
    """

    def __init__(self, target: Target, campaign_id: str, register: Callable[[str], None]) -> None:
        if target.kind != "directory":
            raise UsageError(f"a {target.kind} has no subdirectory to work in", where=target.location)
        self.target = target
        self.campaign_id = campaign_id
        self.path = os.path.join(target.location, directory_name(campaign_id))
        self._register = register
        self._names: set[str] = set()
        self._parent, self._fd = open_directory(target.location), -1
        try:
            with speaking(self.path), contextlib.suppress(FileExistsError):
                os.mkdir(os.path.basename(self.path), 0o700, dir_fd=self._parent)
            self._fd = _open_child(self._parent, self.path)
            adopt(self._fd, self.path, campaign_id)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives the descriptors back; the directory stays."""
        for descriptor in (self._fd, self._parent):
            if descriptor >= 0:
                os.close(descriptor)
        self._fd = self._parent = -1

    @property
    def held(self) -> dict[str, int]:
        """{path: descriptor} of the directory: by it a load stays in this very one, whoever renames it."""
        return {self.path: self._fd}

    def file_path(self, name: str) -> str:
        """The absolute path of a load file, after its name has been registered. The file itself is made by fio."""
        if not _FILE_NAME.match(name) or name in {MARKER, MARKER_NEW}:
            raise UsageError(f"{name!r} cannot name a load file", remedy="use letters, digits, '.', - and _")
        if name not in self._names:
            self._register(name)
            self._names.add(name)
        return os.path.join(self.path, name)

    def make_sparse(self, name: str, size_bytes: int) -> None:
        """A new load file without data, in the place of one of that name; registered like any other."""
        self.file_path(name)
        make_sparse(self._fd, name, size_bytes, self.path)

    def cut(self, name: str, size_bytes: int) -> None:
        """Take off what loads appended to a file. Raises IoAtlasError."""
        place = f"{self.path}/{name}"
        with opened(name, os.O_WRONLY | os.O_NOFOLLOW, directory=self._fd, where=place) as fd, speaking(place):
            os.ftruncate(fd, size_bytes)

    def make_tree(self, folders: Iterable[str]) -> None:
        """The tree with its folders, registered as a whole; each load makes its own files in it."""
        self.file_path(TREE)
        self.check()
        with speaking(self.path):
            make_tree(self._fd, folders)

    def remove_tree(self, tick: Tick) -> int:
        """Remove the tree; how many files it held. Raises RefusedError when something in it is not ours."""
        self.check()
        left: dict[str, str] = {}
        count = remove_tree(self._fd, os.fstat(self._fd).st_dev, left, tick)
        if left:
            name, reason = next(iter(left.items()))
            raise RefusedError(f"{name}: {reason}", where=self.path, remedy="remove it by hand, then `ioatlas resume`")
        return count

    def check(self, names: Iterable[str] = ()) -> None:
        """Before every start of fio: `check_place`, and each named file is absent or an ordinary file of its own.

        Raises RefusedError otherwise.
        """
        self.check_place()
        check_marker(self._fd, self.path, self.campaign_id)
        device = os.fstat(self._fd).st_dev
        for name in {*self._names, *names}:
            reason = _foreign(self._fd, name, device)
            if reason is not None:
                raise RefusedError(f"{name} is {reason}", where=self.path, remedy="remove it by hand and start again")

    def check_place(self) -> None:
        """Raises RefusedError where the path leads to another directory than the one that is held: loads go to that one
        all the same, but a campaign has to say that its target was unmounted or exchanged.
        """
        with _open_parent(self.target.location) as parent:
            if not os.path.samestat(os.fstat(parent), os.fstat(self._parent)):
                raise RefusedError(
                    "the target was unmounted, or exchanged for another directory",
                    where=self.target.location,
                    remedy="mount what was measured before, and start again",
                )
            self._check_child(parent)

    def _check_child(self, parent: int) -> None:
        try:
            child = _open_child(parent, self.path)
        except FileNotFoundError:
            child = -1
        try:
            if child < 0 or not os.path.samestat(os.fstat(child), os.fstat(self._fd)):
                raise RefusedError(
                    "the directory was moved away, or exchanged for another one",
                    where=self.path,
                    remedy="find out who did, and start again",
                )
        finally:
            if child >= 0:
                os.close(child)

    def unlink(self, name: str) -> bool:
        """Remove one registered load file, so that the next load makes a new one; whether it was there.

        Raises RefusedError when it is not ours.
        """
        if name not in self._names:
            raise RefusedError(f"{name} was not made by this campaign", where=self.path)
        self.check()
        left: dict[str, str] = {}
        gone = _unlink(self._fd, name, left)
        if left:
            raise IoAtlasError(
                f"{name} cannot be removed: {left[name]}",
                where=self.path,
                remedy="see who holds it, then `ioatlas resume`",
            )
        return gone

    def direct_io(self) -> DirectIo:
        """Whether O_DIRECT works here and with which alignment,
        tried on a small registered file that is removed at once.
        """
        self.file_path("direct-probe")
        self.check()
        with contextlib.suppress(FileNotFoundError):
            os.unlink("direct-probe", dir_fd=self._fd)  # from a start that was killed
        return probe_directory(self._fd, "direct-probe", self.path)

    def remove(self, listed: Iterable[str], tick: Tick = lambda _: None) -> Removal:
        """Removes the listed files and then the directory as `clean` does, and closes. It goes by what is held: nothing
        stays where the target was unmounted or the directory renamed meanwhile.
        """
        try:
            return _removed(self._parent, self._fd, self.path, self.campaign_id, listed, tick)
        finally:
            self.close()


def clean(target: Target, campaign_id: str, listed: Iterable[str], tick: Tick = lambda _: None) -> Removal:
    """Removes a campaign's subdirectory, at its end or, after a crash, at the next start.

    Deleted are ordinary files named in `listed` (the journal), and the tree if it is, in a directory whose marker
    carries `campaign_id`, on the same file system, reached without following a link. Anything else stays and is
    reported, and with it the directory. A directory that is not there is no error. Raises RefusedError when it carries
    another campaign's marker or is in use, or when the target is not the one it was: under an unmounted NAS there is
    nothing to clean, and on the NAS there still is.
    """
    check_identity(target)
    path = os.path.join(target.location, directory_name(campaign_id))
    with _open_parent(target.location) as parent:
        try:
            child = _open_child(parent, path)
        except FileNotFoundError:
            return Removal()
        try:
            return _removed(parent, child, path, campaign_id, listed, tick)
        finally:
            os.close(child)


def _removed(parent: int, child: int, path: str, campaign_id: str, listed: Iterable[str], tick: Tick) -> Removal:
    removed: list[str] = []
    left: dict[str, str] = {}
    in_tree = 0
    with speaking(path):
        status = os.fstat(child)
        if check_marker(child, path, campaign_id):
            for name in sorted(set(listed) - {MARKER, MARKER_NEW}):
                reason = _foreign(child, name, status.st_dev)
                if reason is not None:
                    left[name] = reason
                elif name == TREE:
                    in_tree = remove_tree(child, status.st_dev, left, tick)
                elif _unlink(child, name, left):
                    removed.append(name)
        for name in names_in(child):
            if name in {MARKER, MARKER_NEW} or (name == TREE and left) or is_gone(child, name):
                continue
            left.setdefault(name, "removed, but still there" if name in removed else "not made by ioatlas")
        if not left:
            _unlink(child, MARKER_NEW, left)
            _unlink(child, MARKER, left)
        if not left:
            _remove_directory(parent, child, path, left)
    kept = tuple(f"{name}: {reason}" for name, reason in left.items())
    return Removal(tuple(removed), kept, directory_gone=not left, in_tree=in_tree)


def _remove_directory(parent: int, child: int, path: str, left: dict[str, str]) -> None:
    name, reason = os.path.basename(path), ""
    # Somebody may rename it just now, and NFS keeps a file that was open for a while.
    for wait_seconds in REMOVAL_WAITS_SECONDS:
        time.sleep(wait_seconds)
        try:
            if not os.path.samestat(os.stat(name, dir_fd=parent, follow_symlinks=False), os.fstat(child)):
                raise FileNotFoundError
            os.rmdir(name, dir_fd=parent)
        except FileNotFoundError:
            reason = f"somebody renamed it; emptied, it is now {os.readlink(f'/proc/self/fd/{child}')}"
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            reason = "something was put into it while it was being removed"
        else:
            return
    left[name] = reason


def leftovers(directory: str, own_campaign_id: str | None = None) -> list[Leftover]:
    """Subdirectories of other campaigns in a target directory: for a report;
    other clients of a share may be measuring in them.
    """
    found = []
    own = directory_name(own_campaign_id) if own_campaign_id is not None else None
    with _open_parent(directory) as parent:
        for name in names_in(parent):
            if not name.startswith(WORKSPACE_PREFIX) or name == own:
                continue
            try:
                child = os.open(name, DIRECTORY, dir_fd=parent)
            except OSError:  # a file or a link of that name, or not ours to read
                continue
            try:
                size = 0
                for entry in names_in(child):
                    with contextlib.suppress(OSError):
                        size += os.stat(entry, dir_fd=child, follow_symlinks=False).st_size
                found.append(Leftover(os.path.join(directory, name), read_marker(child), size))
            finally:
                os.close(child)
    return found


@contextlib.contextmanager
def _open_parent(path: str) -> Iterator[int]:
    """The target directory, open."""
    descriptor = open_directory(path)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open_child(parent: int, path: str) -> int:
    """The subdirectory, open, on the same file system as its parent.

    FileNotFoundError passes; anything odd is a RefusedError.
    """
    name = os.path.basename(path)
    try:
        child = os.open(name, DIRECTORY, dir_fd=parent)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise RefusedError(
                "this is not the directory ioatlas made, but a link or a file",
                where=path,
                remedy="find out who put it there and remove it by hand",
            ) from error
        raise spoken(error, path) from error
    if os.fstat(child).st_dev != os.fstat(parent).st_dev:
        os.close(child)
        raise RefusedError("another file system is mounted on it", where=path, remedy="unmount it")
    return child


def _foreign(fd: int, name: str, device: int) -> str | None:
    """Why an entry is not one of our ordinary files; None when it is one, or is not there."""
    if not _FILE_NAME.match(name):
        return "not a name ioatlas gives"
    try:
        status = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if name == TREE:
        return tree_fault(status, device)
    if stat.S_ISLNK(status.st_mode):
        return "a symbolic link, which ioatlas never makes"
    if not stat.S_ISREG(status.st_mode):
        return "not an ordinary file"
    if status.st_dev != device:
        return "on another file system"
    return "a file that has a second name (hard link)" if status.st_nlink > 1 else None


def _unlink(fd: int, name: str, left: dict[str, str]) -> bool:
    """Whether the file was there and is gone now; a failure is added to `left`."""
    try:
        os.unlink(name, dir_fd=fd)
    except FileNotFoundError:
        return False
    except OSError as error:
        left[name] = spoken(error, name).what
        return False
    return True


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
    with speaking(path):
        descriptor = os.open(path, flags)
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
