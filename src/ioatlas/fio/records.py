# SPDX-License-Identifier: Apache-2.0
"""What one fio run printed, in one normal form for all versions: bytes, bytes per second, nanoseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ioatlas.fio.loose_json import Problem
from ioatlas.model.histogram import Histogram


@dataclass(frozen=True, slots=True)
class LatencyStats:
    """Latency of one kind in nanoseconds. `samples` is None where the version does not say; percentiles as (percent,
    ns).
    """

    min_ns: float | None
    max_ns: float | None
    mean_ns: float | None
    stddev_ns: float | None
    samples: int | None = None
    percentiles: tuple[tuple[float, float], ...] = ()
    histogram: Histogram = field(default_factory=Histogram)

    def percentile_ns(self, percent: float) -> float | None:
        """A percentile fio itself printed, else read off the json+ bins; None when neither is there."""
        for listed, value_ns in self.percentiles:
            if abs(listed - percent) < 1e-6:
                return value_ns
        return self.histogram.percentile_ns(percent)


@dataclass(frozen=True, slots=True)
class FioDirection:
    """One direction of one job. None: the file does not say.

    bw_bytes_per_s is fio's own figure; before 3.2 it is fio's whole KiB/s times 1024.
    bw_stddev_bytes_per_s, iops_stddev: fio's spread over samples inside the run, never an interval.
    """

    direction: str
    io_bytes: int | None
    bw_bytes_per_s: float | None
    iops: float | None
    runtime_ms: int | None
    total_ios: int | None
    short_ios: int | None
    drop_ios: int | None
    slat: LatencyStats | None
    clat: LatencyStats | None
    lat: LatencyStats | None
    bw_stddev_bytes_per_s: float | None = None
    iops_stddev: float | None = None

    @property
    def measured(self) -> bool:
        """Whether any I/O was counted in this direction."""
        return bool(self.io_bytes or self.total_ios or self.iops or self.bw_bytes_per_s)


@dataclass(frozen=True, slots=True)
class FioJob:
    """One entry of `jobs` or `client_stats`. `options` are the entry's own; `FioOutput.options_of` adds the global
    ones.
    """

    name: str
    groupid: int | None
    hostname: str | None
    error: int | None
    options: Mapping[str, str]
    directions: Mapping[str, FioDirection]
    usr_cpu_percent: float | None = None
    sys_cpu_percent: float | None = None
    job_runtime_ms: int | None = None
    job_start_ms: int | None = None
    total_errors: int | None = None
    flush: LatencyStats | None = None
    """fsync, fdatasync and sync_file_range, which fio counts apart from the writes before them."""

    line: int = 0
    complete: bool = True


@dataclass(frozen=True, slots=True)
class FioOutput:
    """One JSON document of fio. `notes` says which units were converted and what was left out."""

    version: str | None
    timestamp_seconds: float | None
    global_options: Mapping[str, str]
    jobs: tuple[FioJob, ...]
    client_server: bool = False
    line: int = 1
    complete: bool = True
    notes: tuple[str, ...] = ()

    def options_of(self, job: FioJob) -> dict[str, str]:
        """Global options overlaid by the job's own."""
        return {**self.global_options, **job.options}


@dataclass(frozen=True)
class FioReading:
    """All documents of one text and what could not be read."""

    outputs: tuple[FioOutput, ...]
    problems: tuple[Problem, ...]
