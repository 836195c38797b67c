# SPDX-License-Identifier: Apache-2.0
"""One campaign on a target at a time: two would each measure what the other leaves.

A claim is an abstract unix socket named after what the target is (unix(7)): by whatever path or mount point it is
reached, the name is the same. The kernel keeps it while the process lives, tells others whose it is, and drops it
however the process ends. Nothing is opened, locked or written on the target itself. Campaigns in other network
namespaces are not seen.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import stat
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

from ioatlas.errors import RefusedError
from ioatlas.model.target import Target
from ioatlas.target.trouble import answer_within

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
