# SPDX-License-Identifier: Apache-2.0
"""Readings of the counters cut to one visit, and the record of them that the journal keeps: written and read back; and
processor time of the programs on this machine that are not ours.

Their user time follows from the kernel's totals, which hold what other containers do too; system time from each
program, as the kernel's own threads work for the load.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from ioatlas.load.machine.telemetry import SCHEDULER, Sample, usage_between
from ioatlas.model.testbed import Beside, CpuShares, DiskUsage, NicUsage, Usage

COVERED = 0.4
"""Share of a visit that must lie between its first and its last reading."""


def inside(samples: Sequence[Sample], begin: float, end: float) -> Usage | None:
    """Usage between the first and the last reading within [begin, end] (seconds since the epoch).

    None when they cover too little of it.
    """
    kept = [one for one in samples if begin <= one.at <= end]
    if len(kept) < 2 or kept[-1].at - kept[0].at < COVERED * (end - begin):
        return None

    return usage_between(kept[0], kept[-1])


def waiting(samples: Sequence[Sample], begin: float, end: float) -> float | None:
    """Share of the time that fio's threads stood ready and waited for a processor; the mean over those there all the
    while.

    Documentation/scheduler/sched-stats: /proc/PID/schedstat is time on the processor, time waiting for one (ns), and
    timeslices.
    """
    kept = [one for one in samples if begin <= one.at <= end and one.raw.get(SCHEDULER)]
    if len(kept) < 2:
        return None
    first, last = (
        {line.split()[0]: int(line.split()[2]) for line in one.raw[SCHEDULER].splitlines()}
        for one in (kept[0], kept[-1])
    )
    seconds = kept[-1].monotonic_seconds - kept[0].monotonic_seconds
    shares = [(last[name] - first[name]) / 1e9 / seconds for name in first.keys() & last.keys()] if seconds > 0 else []
    # The thread that waits for the others to end is among them and never waits for a processor.
    return sum(shares) / max(1, len(shares) - 1) if shares else None


def usage_record(usage: Usage) -> dict[str, Any]:
    """A visit's usage as JSON, short: counters that did not move are left out."""
    return {
        "seconds": round(usage.seconds, 4),
        "core_busy": [round(share, 3) for share in usage.core_busy],
        **{name: round(getattr(usage, name), 4) for name in ("softirq", "steal", "iowait") if getattr(usage, name)},
        **({"disks": {name: asdict(disk) for name, disk in usage.disks.items()}} if usage.disks else {}),
        **({"nics": {name: asdict(nic) for name, nic in usage.nics.items()}} if usage.nics else {}),
    }


def records_by_visit(usages: Mapping[int, Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """{visit_id: its record} from the usages of all batches, as the journal keeps them."""
    return {int(visit_id): record for usage in usages.values() for visit_id, record in usage.get("visits", {}).items()}


def cpu_shares_of(record: Mapping[str, Any]) -> CpuShares | None:
    """What the load of a visit, and other programs, took of the machine's processors; None where nobody counted."""
    told = record.get("cpu")
    return CpuShares(told["load"], told["others"]) if told else None


def usage_of(record: Mapping[str, Any]) -> Usage | None:
    """The usage of a visit's record; None when it has watts only."""
    if "seconds" not in record:
        return None
    disks = {name: _known(DiskUsage, disk) for name, disk in record.get("disks", {}).items()}
    nics = {name: _known(NicUsage, nic) for name, nic in record.get("nics", {}).items()}
    cores = tuple(record.get("core_busy", ()))
    found: Usage = _known(Usage, {**record, "core_busy": cores, "disks": disks, "nics": nics, "nfs": None})
    return found


def _known(kind: type[Any], record: Mapping[str, Any]) -> Any:
    """A record without what only other versions keep."""
    return kind(**{one.name: record[one.name] for one in fields(kind) if one.name in record})


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
