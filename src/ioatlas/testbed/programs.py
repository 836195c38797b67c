# SPDX-License-Identifier: Apache-2.0
"""Processor time of the programs on this machine that are not ours.

User time follows from the kernel's totals, which hold what other containers do too; system time from each program, as
the kernel's own threads work for the load.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from ioatlas.model.usage import Beside, CpuShares, Usage

_TICKS = os.sysconf("SC_CLK_TCK")
_KERNEL = 0x00200000
"""PF_KTHREAD of include/linux/sched.h: a thread of the kernel."""


class Programs:
    """What other programs, and our own process, do from now until `beside` is asked for."""

    def __init__(self) -> None:
        self._begin, self._own, self._system = time.monotonic(), os.times().user, _system_ticks()

    def beside(self) -> Beside:
        """Shares of the machine since then."""
        seconds = (time.monotonic() - self._begin) * (os.cpu_count() or 1)
        ticks = sum(max(0, now - self._system.get(one, 0)) for one, now in _system_ticks().items())
        return Beside(min(1.0, (os.times().user - self._own) / seconds), min(1.0, ticks / _TICKS / seconds))


def _system_ticks() -> dict[tuple[int, str], int]:
    """{(pid, start time): ticks in the kernel} of programs that neither are of the kernel nor started by this one
    (proc_pid_stat(5)).
    """
    parents: dict[int, int] = {}
    found: dict[tuple[int, str], int] = {}
    for place in Path("/proc").iterdir():
        if not place.name.isdecimal():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The name in parentheses may hold anything.
            fields = (place / "stat").read_text(errors="replace").rpartition(")")[2].split()
            pid = int(place.name)
            parents[pid] = int(fields[1])
            if not int(fields[6]) & _KERNEL:
                found[pid, fields[19]] = int(fields[12])
    return {one: ticks for one, ticks in found.items() if not _is_ours(one[0], parents)}


def _is_ours(pid: int, parents: dict[int, int]) -> bool:
    own = os.getpid()
    while pid > 1 and pid != own:
        pid = parents.get(pid, 0)
    return pid == own


def cpu_shares(usage: Usage | None, load_cores: tuple[float, float] | None, beside: Beside | None) -> CpuShares | None:
    """Shares of all cores' time during a visit: what its load took, and what other programs took.

    load_cores: cores' worth of user and system time of the load, as fio counts them. None where one of them is not
    known.
    """
    if usage is None or usage.user is None or load_cores is None or beside is None or not usage.core_busy:
        return None
    user, system = (one / len(usage.core_busy) for one in load_cores)
    others = max(0.0, usage.user - user - beside.own_user) + beside.others_system
    return CpuShares(min(1.0, user + system), min(1.0, others))
