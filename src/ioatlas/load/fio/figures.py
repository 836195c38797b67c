# SPDX-License-Identifier: Apache-2.0
"""What one fio run printed, in one normal form for all versions: bytes, bytes per second, nanoseconds.

* `io_bytes` is KiB before 2.21, bytes since; `io_kbytes` appears with the change.
* `bw` is whole KiB/s always; `bw_bytes` (B/s) since 3.2. Before, bytes over runtime are more precise.
* `slat`, `clat`, `lat` are microseconds up to 2.2x; `slat_ns`, `clat_ns`, `lat_ns` since 2.99.
* json+ `bins` are bucket numbers up to 2.x (with `FIO_IO_U_PLAT_BITS` among them), bucket values in ns since 3.0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ioatlas.load.fio.loose_json import Problem
from ioatlas.model.visit import Histogram


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


_BITS = 6
_KIB = 1024
_US = 1000
_LONG_ENOUGH_MS = 1000
"""From here on whole KiB of a run tell its rate better than whole KiB a second."""


def number(value: Any) -> float | None:
    """A finite JSON number from zero up (or one written as a string), else None: nothing fio measures is negative."""
    kind = type(value)
    if kind is float:
        return cast("float", value) if value - value == 0 and value >= 0 else None
    if kind is int:
        return float(value) if 0 <= value < 1 << 1000 else None
    if isinstance(value, str) and len(value) < 40:
        try:
            found = float(value)
        except ValueError:
            return None
        return found if math.isfinite(found) and found >= 0 else None
    return None


def count_of(value: Any) -> int | None:
    """A count; negative or fractional ones are no counts."""
    if type(value) is int:
        return value if 0 <= value < 1 << 63 else None
    found = number(value)
    return int(found) if found is not None and 0 <= found < 2**63 else None


def bucket_value(index: int, bits: int = _BITS) -> int:
    """Middle of fio's log-linear latency bucket `index` (`plat_idx_to_val` in fio's stat.c), in the histogram's own
    unit.
    """
    per_group = 1 << bits
    if index < per_group << 1:
        return index
    error_bits = (index >> bits) - 1
    base = 1 << (error_bits + bits)
    return base + int((index % per_group + 0.5) * (1 << error_bits))


def buckets(latencies_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """The middles of fio's buckets of latencies (`plat_val_to_idx` and `plat_idx_to_val` in its stat.c)."""
    _, bits = np.frexp(latencies_ns.astype(np.float64))
    error_bits = np.maximum(0, bits.astype(np.int64) - 1 - _BITS)
    return (latencies_ns >> error_bits << error_bits) + (1 << error_bits >> 1)


@lru_cache(maxsize=256)
def _percents(keys: tuple[str, ...]) -> tuple[float | None, ...]:
    """The percentiles that keys name. fio prints the same list again and again."""
    return tuple(number(key) for key in keys)


def _histogram(bins: Any, factor: int) -> Histogram:
    if not isinstance(bins, dict):
        return Histogram()
    indexed = "FIO_IO_U_PLAT_BITS" in bins
    bits = count_of(bins.get("FIO_IO_U_PLAT_BITS")) or 6
    counts: dict[int, int] = {}
    for key, count in bins.items():
        if type(count) is int and count > 0 and key.isdecimal() and len(key) < 20:
            place = int(key)
            if indexed:
                if place > 1 << 14 or bits > 16:
                    continue
                place = bucket_value(place, bits)
            counts[place * factor] = count
    return Histogram.from_counts(counts)


def latency_of(record: Mapping[str, Any], name: str) -> LatencyStats | None:
    """`name` is slat, clat or lat. fio prints zeros where it took no sample: those are not measured."""
    stats, factor = record.get(f"{name}_ns"), 1
    if stats is None:
        stats, factor = record.get(f"{name}_us", record.get(name)), _US
    if stats is None and f"{name}_ms" in record:
        stats, factor = record[f"{name}_ms"], _US * _US
    if not isinstance(stats, dict):
        return None
    samples = count_of(stats.get("N"))
    mean, high = number(stats.get("mean")), number(stats.get("max"))
    if samples == 0 or (samples is None and not mean and not high):
        return None
    listed = stats.get("percentile")
    percentiles: list[tuple[float, float]] = []
    if isinstance(listed, dict):
        for percent, value in zip(_percents(tuple(listed)), listed.values(), strict=True):
            latency = number(value)
            if percent and latency is not None:  # "0.00" pads unused places in 2.x
                percentiles.append((percent, latency * factor))
    low, dev = number(stats.get("min")), number(stats.get("stddev"))
    return LatencyStats(
        None if low is None else low * factor,
        None if high is None else high * factor,
        None if mean is None else mean * factor,
        None if dev is None else dev * factor,
        samples,
        tuple(percentiles),
        _histogram(stats.get("bins"), factor),
    )


@lru_cache(maxsize=8)
def _idle(name: str) -> FioDirection:
    return FioDirection(name, 0, 0.0, 0.0, 0, 0, 0, 0, None, None, None)


def direction_of(name: str, record: Mapping[str, Any], *, kib_bytes: bool) -> FioDirection:
    if (
        record.get("total_ios") == 0
        and record.get("io_bytes") == 0
        and record.get("runtime") == 0
        and record.get("iops") == 0
    ):
        return _idle(name)
    io_bytes = count_of(record.get("io_bytes"))
    if io_bytes is None and count_of(record.get("io_kbytes")) is not None:
        io_bytes = (count_of(record.get("io_kbytes")) or 0) * _KIB
    elif io_bytes is not None and kib_bytes and "io_kbytes" not in record:
        io_bytes *= _KIB
    bw, runtime_ms = number(record.get("bw_bytes")), count_of(record.get("runtime"))
    if bw is None:
        kib = number(record.get("bw"))
        bw = None if kib is None else kib * _KIB
        if bw is not None and io_bytes and runtime_ms and runtime_ms >= _LONG_ENOUGH_MS:
            exact = io_bytes * 1000 / runtime_ms
            bw = exact if abs(exact - bw) <= 2 * _KIB else bw
    total_ios = count_of(record.get("total_ios"))
    idle = total_ios == 0 and not io_bytes
    bw_dev = number(record.get("bw_dev"))
    return FioDirection(
        name,
        io_bytes,
        bw,
        number(record.get("iops")),
        runtime_ms,
        total_ios,
        count_of(record.get("short_ios")),
        count_of(record.get("drop_ios")),
        None if idle else latency_of(record, "slat"),
        None if idle else latency_of(record, "clat"),
        None if idle else latency_of(record, "lat"),
        None if bw_dev is None else bw_dev * _KIB,
        number(record.get("iops_stddev")),
    )
