# SPDX-License-Identifier: Apache-2.0
"""Another user of this machine who owns the directory that root measures, and exchanges what root made in it.

Run as `python exchanger.py DIRECTORY BAIT UID alone|served PID...`. As soon as DIRECTORY holds a campaign's
subdirectory, BAIT is exchanged for it and back, as fast as can be, while a process PID has a fio at work below it, or
below its fio server; between loads what root made stands in its place. It goes on until its standard input ends, and
prints how often it exchanged.
"""

import contextlib
import ctypes
import os
import select
import sys
from pathlib import Path

AT_FDCWD, RENAME_EXCHANGE = -100, 2
TURNS = 200
LOOK_SECONDS = 0.0005
"""Between two looks whether a load has begun: much less than it takes fio to open its files."""
_renameat2 = ctypes.CDLL(None, use_errno=True).renameat2


def exchange(one, other):
    return _renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0


def children(pid):
    found = []
    with contextlib.suppress(OSError):  # it, or a thread of it, has ended
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return found


def is_fio(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip() == "fio"
    return False


def at_work(pid, below_fio=False):
    """Whether a load runs below a process: a fio, or, below a server, a fio that a fio started."""
    return any((is_fio(one) and below_fio) or at_work(one, below_fio or is_fio(one)) for one in children(pid))


def main(directory, bait, uid, how, *pids):
    os.setgroups([])
    os.setresgid(int(uid), int(uid), int(uid))
    os.setresuid(int(uid), int(uid), int(uid))
    count = 0
    while not select.select([0], [], [], LOOK_SECONDS)[0]:
        found = [one.path for one in os.scandir(directory) if one.name.startswith(".ioatlas-")]
        while found and any(at_work(int(pid), how == "alone") for pid in pids):
            for _ in range(TURNS):  # an even number: what root made is back in its place
                count += exchange(found[0], bait)
    print(count)


if __name__ == "__main__":
    main(*sys.argv[1:])
