# SPDX-License-Identifier: Apache-2.0
"""Readings of the counters cut to one visit, and the record of them that the journal keeps: written and read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from ioatlas.model.usage import CpuShares, DiskUsage, NicUsage, Usage
from ioatlas.testbed.telemetry import SCHEDULER, Sample, usage_between

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
    known = {one.name for one in fields(Usage)} - {"disks", "nics", "nfs", "core_busy"}
    return Usage(
        **{name: value for name, value in record.items() if name in known},
        core_busy=tuple(record.get("core_busy", ())),
        disks={name: DiskUsage(**disk) for name, disk in record.get("disks", {}).items()},
        nics={name: NicUsage(**nic) for name, nic in record.get("nics", {}).items()},
    )
