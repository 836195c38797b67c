# SPDX-License-Identifier: Apache-2.0
"""Who uses a target besides us: swap, processes that hold it open for writing."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from ioatlas.target.mounts import unescape


def swap_areas() -> list[str]:
    """Paths of every active swap partition and swap file."""
    try:
        lines = Path("/proc/swaps").read_text(encoding="utf-8", errors="surrogateescape").splitlines()[1:]
    except OSError:
        return []
    return [unescape(line.split()[0]) for line in lines if line.split()]


def writers_of_devices(rdevs: set[int]) -> list[str]:
    """`name (pid N)` of every other process that holds a block device with one of these st_rdev open for writing."""
    return _writers("/dev/", lambda status: stat.S_ISBLK(status.st_mode) and status.st_rdev in rdevs)


def writers_of_file(path: str) -> list[str]:
    """`name (pid N)` of every other process that holds the file at `path` open for writing."""
    wanted = os.stat(path)
    return _writers(
        os.path.basename(path), lambda status: (status.st_dev, status.st_ino) == (wanted.st_dev, wanted.st_ino)
    )


def _writers(part: str, matches: Callable[[os.stat_result], bool]) -> list[str]:
    """Processes with a writable descriptor whose name holds `part` and whose file `matches`.

    The name is compared first: asking for the status of every open file could block on another, dead file system.
    Processes of other users are seen by root only.
    """
    found = []
    own = str(os.getpid())
    for pid in os.listdir("/proc"):
        if not pid.isdigit() or pid == own:
            continue
        try:
            descriptors = os.listdir(f"/proc/{pid}/fd")
        except OSError:  # ended, or not ours to look into
            continue
        for descriptor in descriptors:
            link = f"/proc/{pid}/fd/{descriptor}"
            try:
                if part in os.readlink(link) and matches(os.stat(link)) and _writable(pid, descriptor):
                    found.append(
                        f"{Path(f'/proc/{pid}/comm').read_text(encoding='utf-8', errors='replace').strip()} (pid {pid})"
                    )
                    break
            except OSError:  # closed meanwhile
                continue
    return found


def _writable(pid: str, descriptor: str) -> bool:
    for line in Path(f"/proc/{pid}/fdinfo/{descriptor}").read_text(encoding="ascii").splitlines():
        if line.startswith("flags:"):
            return int(line.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY
    return False
