# SPDX-License-Identifier: Apache-2.0
"""Telemetry of a batch: the client's counters and the meters of power, cut to its visits once the load has ended."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ioatlas.load.fio.batch import Section
from ioatlas.load.fio.collect import SectionResult
from ioatlas.load.fio.executor import BatchClock, Clock
from ioatlas.load.machine.power import Meter, PowerLog, PowerSample, mean_watts
from ioatlas.load.machine.telemetry import Sample, Sampler, Watched, usage_between
from ioatlas.load.machine.visit_usage import Programs, cpu_shares, inside, usage_record, waiting
from ioatlas.model.outcomes import ClocksParted
from ioatlas.model.testbed import Beside, Usage
from ioatlas.model.visit import Visit
from ioatlas.store.journal import Journal

RAW = "telemetry.jsonl.gz"
SHORTEST_SECONDS, LONGEST_SECONDS = 0.1, 1.0
READINGS = 4
"""Readings within the shortest visit of a batch; one costs about 0.1 ms of processor time (bench/telemetry)."""


class BatchTelemetry:
    """Counters and meters from start() to stop(), batch by batch."""

    def __init__(self, watched: Watched, meters: Sequence[Meter] = ()) -> None:
        self._watched = watched
        self._power = PowerLog(meters)
        self._sampler: Sampler | None = None
        self._programs: Programs | None = None

    def start(self, sections: Iterable[Section]) -> None:
        """Begin to read, often enough for the shortest of the sections."""
        shortest = min((section.runtime_ms for section in sections), default=1000) / 1000
        self._sampler = Sampler(self._watched, min(LONGEST_SECONDS, max(SHORTEST_SECONDS, shortest / READINGS)))
        self._power.start()
        self._programs = Programs()
        self._sampler.start()

    def watch(self, pid: int) -> None:
        """Read this program's threads too, from now on."""
        if self._sampler is not None:
            self._sampler.watch(pid)

    def stop(self, directory: Path | None = None) -> Seen:
        """End, and keep the raw lines in the batch's directory."""
        if self._sampler is None:
            return Seen((), self._power.stop(), 0.0, self._power)
        # Counters first: a meter may take its time to answer.
        recording, self._sampler = self._sampler.stop(), None
        beside = self._programs.beside() if self._programs is not None else None
        watts = self._power.stop()
        if directory is not None:
            keep_raw(directory / RAW, recording.samples, watts)
        return Seen(recording.samples, watts, recording.cost_seconds, self._power, beside)


@dataclass(frozen=True)
class Seen:
    """What was read during one batch."""

    samples: tuple[Sample, ...]
    watts: tuple[PowerSample, ...]
    cost_seconds: float
    log: PowerLog
    beside: Beside | None = None

    @property
    def usage(self) -> Usage:
        """Of the whole batch: the first reading is taken before its process starts, the last one when it has ended."""
        return usage_between(self.samples[0], self.samples[-1])

    def counted(self, results: Iterable[SectionResult]) -> dict[str, Any]:
        """What judges a batch: the counters over all of it, and what its visits waited."""
        visits = [result.visit for result in results if result.visit is not None]
        return {**asdict(self.usage), "visits": {str(visit.visit_id): self.waited(visit) for visit in visits}}

    def waited(self, visit: Visit) -> dict[str, float]:
        """How long a visit's load waited for a processor, over all of its time: Little's law is judged over that."""
        share = waiting(self.samples, visit.started_at, visit.started_at + visit.ran_ms / 1000)
        return {} if share is None else {"waiting": round(share, 4)}

    def record(self, visits: Iterable[Visit]) -> dict[str, Any]:
        """For the batch's entry in the journal: usage and watts of each visit, means of the meters, what it cost."""
        found: dict[str, Any] = {}
        for visit in visits:
            runtime = max((part.runtime_ms for part in visit.parts), default=0) / 1000
            begin = visit.started_at + visit.window_start_ms / 1000
            usage = inside(self.samples, begin, visit.started_at + runtime)
            entry: dict[str, Any] = usage_record(usage) if usage is not None else {}
            entry |= self.waited(visit)
            # The load's own time is that of all of the visit, and so is the machine's here.
            whole = inside(self.samples, visit.started_at, visit.started_at + visit.ran_ms / 1000)
            shares = cpu_shares(whole, visit.load_cores, self.beside)
            if shares is not None:
                entry["cpu"] = {name: round(share, 3) for name, share in asdict(shares).items()}
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


def wall_ahead(journal: Journal, clock: Clock) -> tuple[float, float]:
    """(the session's time, how far the wall clock is ahead of it)"""
    at = journal.now()
    return at, clock.time() - at


def by_session(seen: Seen, journal: Journal, clock: Clock, before: tuple[float, float], directory: Path) -> Seen:
    """What was read beside a batch, by the session's time; how far the wall clock parted from it is kept.

    before: the batch, `wall_ahead`.
    """
    at = journal.now() - clock.monotonic()
    samples = tuple(replace(one, at=at + one.monotonic_seconds) for one in seen.samples)
    looked = [(new.at, old.at - new.at) for old, new in zip(seen.samples, samples, strict=True)]
    parted = BatchClock.of([before, *looked, wall_ahead(journal, clock)])
    if not parted.steps:
        return seen
    parted.write(directory)
    journal.keep(ClocksParted(max(journal.kept(ClocksParted).seconds, parted.furthest, key=abs)))
    watts = tuple(replace(one, begin=parted.session(one.begin), end=parted.session(one.end)) for one in seen.watts)
    return replace(seen, samples=samples, watts=watts)


def keep_raw(path: Path, samples: Sequence[Sample], watts: Sequence[PowerSample] = ()) -> None:
    """Write the lines as they were read."""
    with gzip.open(path, "wt", compresslevel=1, encoding="utf-8") as file:
        for sample in samples:
            file.write(
                json.dumps({"at": sample.at, "monotonic_seconds": sample.monotonic_seconds, "raw": dict(sample.raw)})
                + "\n"
            )
        for one in watts:
            file.write(json.dumps({"meter": one.meter, "begin": one.begin, "end": one.end, "watts": one.watts}) + "\n")


def together(each: Iterable[Watched]) -> Watched:
    """Devices and interfaces on the way to every target."""
    each = list(each)
    devices = tuple(dict.fromkeys(name for one in each for name in (*one.devices, *one.tops)))
    interfaces = tuple(dict.fromkeys(name for one in each for name in one.interfaces))
    return Watched(devices, interfaces, next((one.mount_point for one in each if one.mount_point), ""))
