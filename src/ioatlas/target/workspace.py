# SPDX-License-Identifier: Apache-2.0
"""The one marked subdirectory that ioatlas writes in a directory target, and its removal.

Every step goes through a directory descriptor and follows no symbolic link, so that swapping a directory for a link
between two steps cannot lead a deletion elsewhere. What is not ours is left and reported.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import socket
import stat
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from ioatlas.beneath import DIRECTORY, NEW_FILE
from ioatlas.errors import IoAtlasError, RefusedError, UsageError
from ioatlas.model.target import Target
from ioatlas.target.direct import DirectIo, probe_directory
from ioatlas.target.folders import ENDING, remove_folder
from ioatlas.target.holes import make_sparse
from ioatlas.target.identity import check_identity
from ioatlas.target.opening import MARKER, WORKSPACE_PREFIX
from ioatlas.target.tree import TREE, Tick, is_gone, make_tree, remove_tree, tree_fault
from ioatlas.target.trouble import spoken

_MARKER_NEW = "ioatlas-marker.new"
_MARKER_MAX_BYTES = 4096
_CAMPAIGN_ID = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")
_FILE_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")


@dataclass(frozen=True)
class Marker:
    """Whose subdirectory it is: the campaign, and the process that last opened it."""

    campaign_id: str
    host: str
    boot_id: str
    pid: int
    pid_start_ticks: int
    started: str

    def running_elsewhere(self) -> bool | None:
        """Whether another live process has it open: True or False on this boot of this machine,
        None for another machine.
        """
        if self.boot_id != _boot_id():
            return None if self.host != socket.gethostname() else False
        if self.pid == os.getpid():
            return False
        return _start_ticks(self.pid) == self.pid_start_ticks


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
        with _open_parent(target.location) as parent:
            with contextlib.suppress(FileExistsError):
                _make_directory(parent, self.path)
            self._fd = _open_child(parent, self.path)
        try:
            _adopt(self._fd, self.path, campaign_id)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Gives the descriptor back; the directory stays."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def file_path(self, name: str) -> str:
        """The absolute path of a load file, after its name has been registered. The file itself is made by fio."""
        if not _FILE_NAME.match(name) or name in {MARKER, _MARKER_NEW}:
            raise UsageError(f"{name!r} cannot name a load file", remedy="use letters, digits, '.', - and _")
        if name not in self._names:
            self._register(name)
            self._names.add(name)
        return os.path.join(self.path, name)

    def make_sparse(self, name: str, size_bytes: int) -> None:
        """A new load file without data, in the place of one of that name; registered like any other."""
        self.file_path(name)
        make_sparse(self._fd, name, size_bytes, self.path)

    def make_tree(self, folders: Iterable[str]) -> None:
        """The tree with its folders, registered as a whole; each load makes its own files in it."""
        self.file_path(TREE)
        self.check()
        try:
            make_tree(self._fd, folders)
        except OSError as error:
            raise spoken(error, self.path) from error

    def remove_tree(self, tick: Tick) -> int:
        """Remove the tree; how many files it held. Raises RefusedError when something in it is not ours."""
        self.check()
        left: dict[str, str] = {}
        count = remove_tree(self._fd, os.fstat(self._fd).st_dev, left, tick)
        if left:
            name, reason = next(iter(left.items()))
            raise RefusedError(f"{name}: {reason}", where=self.path, remedy="remove it by hand, then `ioatlas resume`")
        return count

    def make_folder(self, name: str) -> str:
        """A new empty directory in the place of one of that name, its path; registered like a file, removed whole."""
        path = self.file_path(name)
        self.unlink(name)
        try:
            os.mkdir(name, 0o700, dir_fd=self._fd)
        except OSError as error:
            raise spoken(error, path) from error
        return path

    def check(self, names: Iterable[str] = ()) -> None:
        """Before every start of fio: the path still leads to this very directory, and each named file is absent or an
        ordinary file of its own. Raises RefusedError otherwise: fio opens by path and would follow a link that was put
        there.
        """
        with _open_parent(self.target.location) as parent:
            child = _open_child(parent, self.path)
            try:
                if not _same(os.fstat(child), os.fstat(self._fd)):
                    raise RefusedError(
                        "the directory was exchanged for another one",
                        where=self.path,
                        remedy="find out who did, and start again",
                    )
                _check_marker(child, self.path, self.campaign_id)
                for name in {*self._names, *names}:
                    reason = _foreign(child, name, os.fstat(child).st_dev)
                    if reason is not None:
                        raise RefusedError(
                            f"{name} is {reason}", where=self.path, remedy="remove it by hand and start again"
                        )
            finally:
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

    def direct_io(self, *, writes: bool = True) -> DirectIo:
        """Whether O_DIRECT works here and with which alignment,
        tried on a small registered file that is removed at once.
        """
        self.file_path("direct-probe")
        self.check()
        with contextlib.suppress(FileNotFoundError):
            os.unlink("direct-probe", dir_fd=self._fd)  # from a start that was killed
        return probe_directory(self._fd, "direct-probe", self.path, writes=writes)

    def remove(self, listed: Iterable[str]) -> Removal:
        """Removes the listed files and then the directory; see `clean`."""
        self.close()
        return clean(self.target, self.campaign_id, listed)


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
    removed: list[str] = []
    left: dict[str, str] = {}
    in_tree = 0
    with _open_parent(target.location) as parent:
        try:
            child = _open_child(parent, path)
        except FileNotFoundError:
            return Removal()
        try:
            status = os.fstat(child)
            if _check_marker(child, path, campaign_id):
                for name in sorted(set(listed) - {MARKER, _MARKER_NEW}):
                    reason = _foreign(child, name, status.st_dev)
                    if reason is not None:
                        left[name] = reason
                    elif name == TREE:
                        in_tree = remove_tree(child, status.st_dev, left, tick)
                    elif _unlink(child, name, left):
                        removed.append(name)
            for name in sorted(os.listdir(child)):
                if name in {MARKER, _MARKER_NEW} or (name == TREE and left) or is_gone(child, name):
                    continue
                left.setdefault(name, "removed, but still there" if name in removed else "not made by ioatlas")
            if not left:
                _unlink(child, _MARKER_NEW, left)
                _unlink(child, MARKER, left)
            if not left:
                _remove_directory(parent, path, status, left)
        except OSError as error:
            raise spoken(error, path) from error
        finally:
            os.close(child)
    kept = tuple(f"{name}: {reason}" for name, reason in left.items())
    return Removal(tuple(removed), kept, directory_gone=not left, in_tree=in_tree)


def _remove_directory(parent: int, path: str, status: os.stat_result, left: dict[str, str]) -> None:
    name = os.path.basename(path)
    if not _same(os.stat(name, dir_fd=parent, follow_symlinks=False), status):
        left[name] = "exchanged for another directory"
        return
    try:
        os.rmdir(name, dir_fd=parent)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        left[name] = "something was put into it while it was being removed"


def leftovers(directory: str, own_campaign_id: str | None = None) -> list[Leftover]:
    """Subdirectories of other campaigns in a target directory: for a report;
    other clients of a share may be measuring in them.
    """
    found = []
    own = directory_name(own_campaign_id) if own_campaign_id is not None else None
    with _open_parent(directory) as parent:
        for name in sorted(os.listdir(parent)):
            if not name.startswith(WORKSPACE_PREFIX) or name == own:
                continue
            try:
                child = os.open(name, DIRECTORY, dir_fd=parent)
            except OSError:  # a file or a link of that name, or not ours to read
                continue
            try:
                size = 0
                for entry in os.listdir(child):
                    with contextlib.suppress(OSError):
                        size += os.stat(entry, dir_fd=child, follow_symlinks=False).st_size
                found.append(Leftover(os.path.join(directory, name), _read_marker(child), size))
            finally:
                os.close(child)
    return found


class _open_parent:  # noqa: N801 - used as a function
    """The target directory, open; it was resolved when the target was opened, so its last part is no link."""

    def __init__(self, path: str) -> None:
        try:
            self.fd = os.open(path, DIRECTORY)
        except OSError as error:
            raise spoken(error, path) from error

    def __enter__(self) -> int:
        return self.fd

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)


def _make_directory(parent: int, path: str) -> None:
    try:
        os.mkdir(os.path.basename(path), 0o700, dir_fd=parent)
    except FileExistsError:
        raise
    except OSError as error:
        raise spoken(error, path) from error


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


def _adopt(fd: int, path: str, campaign_id: str) -> None:
    """Writes our marker into a directory that is new, empty or already this campaign's."""
    if not _check_marker(fd, path, campaign_id) and set(os.listdir(fd)) - {_MARKER_NEW}:
        raise RefusedError(
            "it carries no marker of ioatlas, yet files are in it", where=path, remedy="move it away by hand"
        )
    marker = Marker(
        campaign_id=campaign_id,
        host=socket.gethostname(),
        boot_id=_boot_id(),
        pid=os.getpid(),
        pid_start_ticks=_start_ticks(os.getpid()) or 0,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(_MARKER_NEW, dir_fd=fd)  # a crash may have left it half written
        new = os.open(_MARKER_NEW, NEW_FILE, 0o600, dir_fd=fd)
        try:
            os.write(new, json.dumps({"format": 1, **asdict(marker)}).encode())
            os.fsync(new)
        finally:
            os.close(new)
        os.rename(_MARKER_NEW, MARKER, src_dir_fd=fd, dst_dir_fd=fd)
    except OSError as error:
        raise spoken(error, path) from error


def _check_marker(fd: int, path: str, campaign_id: str) -> bool:
    """True when the marker is this campaign's, False when there is none.

    Raises RefusedError for another's or one in use.
    """
    try:
        os.stat(MARKER, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    marker = _read_marker(fd)
    if marker is None:
        raise RefusedError(
            "its marker cannot be read, so it may be another campaign's",
            where=path,
            remedy="look into it and move it away by hand",
        )
    if marker.campaign_id != campaign_id:
        raise RefusedError(
            f"it belongs to campaign {marker.campaign_id} on {marker.host}, started {marker.started}",
            where=path,
            remedy="leave it to that campaign",
        )
    if marker.running_elsewhere():
        raise RefusedError(
            f"this campaign is running already, as process {marker.pid}",
            where=path,
            remedy="wait for it, or stop it first",
        )
    return True


def _read_marker(fd: int) -> Marker | None:
    try:
        file = os.open(MARKER, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return None
        data = json.loads(os.read(file, _MARKER_MAX_BYTES))
        return Marker(
            campaign_id=str(data["campaign_id"]),
            host=str(data["host"]),
            boot_id=str(data["boot_id"]),
            pid=int(data["pid"]),
            pid_start_ticks=int(data["pid_start_ticks"]),
            started=str(data["started"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    finally:
        os.close(file)


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
    ordinary = stat.S_ISDIR if name.endswith(ENDING) else stat.S_ISREG
    if not ordinary(status.st_mode):
        return "not an ordinary file"
    if status.st_dev != device:
        return "on another file system"
    linked = stat.S_ISREG(status.st_mode) and status.st_nlink > 1
    return "a file that has a second name (hard link)" if linked else None


def _unlink(fd: int, name: str, left: dict[str, str]) -> bool:
    """Whether the file was there and is gone now; a failure is added to `left`."""
    try:
        if name.endswith(ENDING):
            remove_folder(fd, name)
        else:
            os.unlink(name, dir_fd=fd)
    except FileNotFoundError:
        return False
    except OSError as error:
        left[name] = spoken(error, name).what
        return False
    return True


def _same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _start_ticks(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot (proc_pid_stat(5), field 22);
    None when there is no such process.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return int(text.rpartition(")")[2].split()[19])
