# SPDX-License-Identifier: Apache-2.0
"""The file in a campaign's subdirectory that says whose it is; and one campaign on a target at a
time, as two would each measure what the other leaves.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import socket
import stat
import struct
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from ioatlas.load.fio.process import start_time_ticks
from ioatlas.model.errors import RefusedError
from ioatlas.model.target import Target
from ioatlas.store.confined import NEW_FILE, names_in
from ioatlas.target.opening import MARKER
from ioatlas.target.tree import is_gone
from ioatlas.target.trouble import answer_within, opened, speaking

MARKER_NEW = "ioatlas-marker.new"
_MOST_BYTES = 4096
_OTHERS_WRITE = 0o022


@dataclass(frozen=True)
class Marker:
    """Whose subdirectory it is: the campaign, and the process that last opened it.

    token: drawn anew each time; another user, who cannot read it, makes no directory that passes for this one.
    """

    campaign_id: str
    host: str
    boot_id: str
    pid: int
    pid_start_ticks: int
    started: str
    token: str = ""

    def running_elsewhere(self) -> bool | None:
        """Whether another live process has it open: True or False on this boot of this machine,
        None for another machine.
        """
        if self.boot_id != _boot_id():
            return None if self.host != socket.gethostname() else False
        if self.pid == os.getpid():
            return False
        return start_time_ticks(self.pid) == self.pid_start_ticks


def adopt(fd: int, path: str, campaign_id: str) -> None:
    """Writes our marker into a directory that is new, empty or already this campaign's."""
    if not check_marker(fd, path, campaign_id) and set(names_in(fd)) - {MARKER_NEW}:
        raise RefusedError("it has files, and no marker of ioatlas", where=path, remedy="move it away by hand")
    marker = Marker(
        campaign_id=campaign_id,
        host=socket.gethostname(),
        boot_id=_boot_id(),
        pid=os.getpid(),
        pid_start_ticks=start_time_ticks(os.getpid()) or 0,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        token=secrets.token_hex(16),
    )
    with speaking(path):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(MARKER_NEW, dir_fd=fd)  # a crash may have left it half written
        with opened(MARKER_NEW, NEW_FILE, directory=fd, where=path) as new:
            os.write(new, json.dumps({"format": 1, **asdict(marker)}).encode())
            os.fsync(new)
            try:
                _check_ours(os.fstat(fd), os.fstat(new), path)
            except RefusedError:
                os.unlink(MARKER_NEW, dir_fd=fd)
                raise
        os.rename(MARKER_NEW, MARKER, src_dir_fd=fd, dst_dir_fd=fd)


def _check_ours(directory: os.stat_result, mine: os.stat_result, path: str) -> None:
    """Raises RefusedError where others may change what lies in the directory: root would follow a link that they put
    there. mine: of a file just made in it; the file system may show another owner or mode than was asked for.
    """
    if directory.st_uid != mine.st_uid or directory.st_mode & _OTHERS_WRITE & ~mine.st_mode:
        raise RefusedError(
            "it belongs to another user, or others may write in it",
            where=path,
            remedy="find out who made it, move it away, and start again",
        )


def check_marker(fd: int, path: str, campaign_id: str) -> bool:
    """True when the marker is this campaign's, False when there is none.

    Raises RefusedError for another's or one in use.
    """
    if is_gone(fd, MARKER):
        return False
    marker = read_marker(fd)
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
            f"this campaign runs already, as process {marker.pid}", where=path, remedy="wait for it, or stop it first"
        )
    return True


def read_marker(fd: int) -> Marker | None:
    try:
        file = os.open(MARKER, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return None
        data = json.loads(os.read(file, _MOST_BYTES))
        return Marker(
            campaign_id=str(data["campaign_id"]),
            host=str(data["host"]),
            boot_id=str(data["boot_id"]),
            pid=int(data["pid"]),
            pid_start_ticks=int(data["pid_start_ticks"]),
            started=str(data["started"]),
            token=str(data.get("token", "")),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    finally:
        os.close(file)


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


_JOURNAL = "/journal.sqlite"
_CREDENTIALS = struct.Struct("3i")
"""pid, uid and gid, as SO_PEERCRED tells them."""


@contextlib.contextmanager
def claimed(targets: Iterable[Target]) -> Iterator[None]:
    """These targets are measured by this process alone until the end. Raises RefusedError naming who measures one."""
    with contextlib.ExitStack() as held:
        known = set()
        for target in targets:
            name = _name_of(target)
            if name not in known:
                known.add(name)
                held.enter_context(_claim(name, target))
        yield


@contextlib.contextmanager
def _claim(name: str, target: Target) -> Iterator[None]:
    with socket.socket(socket.AF_UNIX) as mine:
        try:
            mine.bind(name)
        except OSError as error:
            raise RefusedError(
                f"it is being measured already, {_holder(name)}",
                where=target.location,
                remedy="wait for that campaign, or stop it",
            ) from error
        mine.listen(1)  # or nobody could ask whose it is
        yield


def _name_of(target: Target) -> str:
    """Of the device, of the directory or file on its file system, or of the URI."""
    told = target.location
    if target.kind != "uri" and os.path.lexists(target.location):
        status = answer_within(lambda: Path(target.location).lstat(), target.location)
        told = f"{status.st_dev} {status.st_ino}" if not stat.S_ISBLK(status.st_mode) else f"block {status.st_rdev}"
    return f"\0ioatlas-{hashlib.sha256(told.encode()).hexdigest()}"


def _holder(name: str) -> str:
    with socket.socket(socket.AF_UNIX) as asking:
        asking.setblocking(False)
        try:
            asking.connect(name)
            pid, uid, _ = _CREDENTIALS.unpack(
                asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            )
        except OSError:
            return "by another process"
    place = _campaign_of(pid)
    return f"by process {pid} of user {uid}" + (f", in {place}" if place else "")


def _campaign_of(pid: int) -> str:
    """The campaign's directory of a process, by its open journal; '' where that is not ours to see."""
    with contextlib.suppress(OSError):
        for one in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                path = os.readlink(one)
                if path.endswith(_JOURNAL):
                    return path.removesuffix(_JOURNAL)
    return ""
