# SPDX-License-Identifier: Apache-2.0
"""Private directories of a session, in which sockets lie, and what a session that was killed left of them.

Each holds a file that its session keeps locked. The kernel unlocks it when the session ends, however it ends; so a
directory whose file nobody holds is nobody's, in whatever container its session ran.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from pathlib import Path

_PREFIX = "ioatlas-fleet-"
_HELD = "held"


class PrivateDirectory:
    """A new directory that only this user reads, until `close`."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        made = self.path / "new"
        self._lock = os.open(made, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        made.rename(self.path / _HELD)  # locked before it has its name, or `sweep` would take it

    def close(self) -> None:
        """Remove it; twice is once."""
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


def sweep() -> list[Path]:
    """Remove the directories of sessions that were killed; which they were."""
    gone = []
    for place in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # another one's, held, or gone by now
            found = place.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                continue
            lock = os.open(place / _HELD, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(place, ignore_errors=True)
                gone.append(place)
            finally:
                os.close(lock)
    return gone
