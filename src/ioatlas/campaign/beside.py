# SPDX-License-Identifier: Apache-2.0
"""What is read beside a batch: the client's counters and the meters of power, cut to its visits once fio has ended."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ioatlas.engine.batch import Section
from ioatlas.model.usage import DiskUsage, NicUsage, Usage
from ioatlas.model.visit import Visit
from ioatlas.probe.power import Meter
from ioatlas.probe.power_log import PowerLog, PowerSample, mean_watts
from ioatlas.probe.telemetry import Sample, Sampler, Watched, usage_between

RAW = "telemetry.jsonl.gz"
SHORTEST_SECONDS, LONGEST_SECONDS = 0.1, 1.0
READINGS = 4
"""Readings within the shortest visit of a batch; one costs about 0.1 ms of processor time (bench/telemetry)."""
SCHEDULER, THREADS = "/proc/PID/task/*/schedstat", 16
"""Key of the threads' times among the raw lines, and how many threads are read at most."""
COVERED = 0.4
"""Share of a visit that must lie between its first and its last reading."""


class _Sampler(Sampler):
    """Reads the scheduler's times of a program's threads too: how long each ran, and how long it waited for a processor."""

    pid: int | None = None

    def _read(self) -> Sample:
        sample = super()._read()
        if self.pid is None:
            return sample
        lines = []
        with contextlib.suppress(OSError):
            for name in os.listdir(f"/proc/{self.pid}/task")[-THREADS:]:  # noqa: PTH208 - as cheap as can be
                with contextlib.suppress(OSError), open(f"/proc/{self.pid}/task/{name}/schedstat") as file:  # noqa: PTH123
                    lines.append(f"{name} {file.read().strip()}")
        return Sample(sample.at, sample.monotonic_seconds, {**sample.raw, SCHEDULER: "\n".join(lines)})


class Beside:
    """Counters and meters from start() to stop(), batch by batch."""

    def __init__(self, watched: Watched, meters: Sequence[Meter] = ()) -> None:
        self._watched = watched
        self._power = PowerLog(meters)
        self._sampler: _Sampler | None = None

    def start(self, sections: Iterable[Section]) -> None:
        """Begin to read, often enough for the shortest of the sections."""
        shortest = min((section.runtime_ms for section in sections), default=1000) / 1000
        self._sampler = _Sampler(self._watched, min(LONGEST_SECONDS, max(SHORTEST_SECONDS, shortest / READINGS)))
        self._power.start()
        self._sampler.start()

    def watch(self, pid: int) -> None:
        """Read this program's threads too, from now on."""
        if self._sampler is not None:
            self._sampler.pid = pid

    def stop(self, directory: Path | None = None) -> Seen:
        """End, and keep the raw lines in the batch's directory."""
        if self._sampler is None:
            return Seen((), self._power.stop(), 0.0, self._power)
        # Counters first: a meter may take its time to answer.
        recording, self._sampler = self._sampler.stop(), None
        watts = self._power.stop()
        if directory is not None:
            _keep(directory / RAW, recording.samples, watts)
        return Seen(recording.samples, watts, recording.cost_seconds, self._power)


@dataclass(frozen=True)
class Seen:
    """What was read beside one batch."""

    samples: tuple[Sample, ...]
    watts: tuple[PowerSample, ...]
    cost_seconds: float
    log: PowerLog

    @property
    def usage(self) -> Usage:
        """Of the whole batch: the first reading is taken before its process starts, the last one when it has ended."""
        return usage_between(self.samples[0], self.samples[-1])

    def record(self, visits: Iterable[Visit]) -> dict[str, Any]:
        """For the batch's entry in the journal: usage and watts of each visit, means of the meters, what it cost."""
        found: dict[str, Any] = {}
        for visit in visits:
            runtime = max((part.runtime_ms for part in visit.parts), default=0) / 1000
            begin = visit.started_at + visit.window_start_ms / 1000
            usage = inside(self.samples, begin, visit.started_at + runtime)
            entry: dict[str, Any] = plain(usage) if usage is not None else {}
            waited = waiting(self.samples, begin, visit.started_at + runtime)
            if waited is not None:
                entry["waiting"] = round(waited, 4)
            watts = mean_watts(self.watts, begin, visit.started_at + runtime)
            if watts:
                entry["watts"] = {name: round(value, 3) for name, value in watts.items()}
            if entry:
                found[str(visit.visit_id)] = entry
        record: dict[str, Any] = {"visits": found, "telemetry_seconds": round(self.cost_seconds, 4)}
        if self.watts:
            record["watts"] = {name: round(value, 3) for name, value in mean_watts(self.watts).items()}
        if self.log.failures:
            record["meters_failed"] = dict(self.log.failures)
        return record


def inside(samples: Sequence[Sample], begin: float, end: float) -> Usage | None:
    """Usage between the first and the last reading within [begin, end] (seconds since the epoch); None when they cover too little of it."""
    kept = [one for one in samples if begin <= one.at <= end]
    if len(kept) < 2 or kept[-1].at - kept[0].at < COVERED * (end - begin):
        return None
    return usage_between(kept[0], kept[-1])


def waiting(samples: Sequence[Sample], begin: float, end: float) -> float | None:
    """Share of the time that fio's threads stood ready and waited for a processor, mean over the threads that were there all the while.

    Documentation/scheduler/sched-stats: /proc/PID/schedstat is time on the processor, time waiting for one (ns), and turns.
    """
    kept = [one for one in samples if begin <= one.at <= end and one.raw.get(SCHEDULER)]
    if len(kept) < 2:
        return None
    first, last = ({line.split()[0]: int(line.split()[2]) for line in one.raw[SCHEDULER].splitlines()} for one in (kept[0], kept[-1]))
    seconds = kept[-1].monotonic_seconds - kept[0].monotonic_seconds
    shares = [(last[name] - first[name]) / 1e9 / seconds for name in first.keys() & last.keys()] if seconds > 0 else []
    # The thread that waits for the others to end is among them and never waits for a processor.
    return sum(shares) / max(1, len(shares) - 1) if shares else None


def plain(usage: Usage) -> dict[str, Any]:
    """A visit's usage as JSON, short: counters that did not move are left out."""
    return {
        "seconds": round(usage.seconds, 4),
        "core_busy": [round(share, 3) for share in usage.core_busy],
        **{name: round(getattr(usage, name), 4) for name in ("softirq", "steal", "iowait") if getattr(usage, name)},
        **({"disks": {name: asdict(disk) for name, disk in usage.disks.items()}} if usage.disks else {}),
        **({"nics": {name: asdict(nic) for name, nic in usage.nics.items()}} if usage.nics else {}),
        **({"tcp_segments_sent": usage.tcp_segments_sent, "tcp_retransmitted": usage.tcp_retransmitted} if usage.tcp_segments_sent else {}),
        "pressure": {name: round(share, 4) for name, share in usage.pressure.items() if share},
        "cache": {name: change for name, change in usage.cache.items() if change},
    }


def beside_visits(usages: Mapping[int, Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """{visit_id: its record} from the usages of all batches, as the journal keeps them."""
    return {int(visit_id): record for usage in usages.values() for visit_id, record in usage.get("visits", {}).items()}


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


def _keep(path: Path, samples: Sequence[Sample], watts: Sequence[PowerSample]) -> None:
    with gzip.open(path, "wt", compresslevel=1, encoding="utf-8") as file:
        for sample in samples:
            file.write(json.dumps({"at": sample.at, "monotonic_seconds": sample.monotonic_seconds, "raw": dict(sample.raw)}) + "\n")
        for one in watts:
            file.write(json.dumps({"meter": one.meter, "begin": one.begin, "end": one.end, "watts": one.watts}) + "\n")
