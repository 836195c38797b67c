# SPDX-License-Identifier: Apache-2.0
"""fio's JSON output, versions 2.0.14 to 3.4x, in one normal form: bytes, bytes per second, nanoseconds.

What changed over the versions (read off fio's own history of `stat.c`):

* `io_bytes` is KiB before 2.21, bytes since; `io_kbytes` appears with the change.
* `bw` is KiB/s always; `bw_bytes` (B/s) since 3.2.
* `slat`, `clat`, `lat` are microseconds up to 2.2x; `slat_ns`, `clat_ns`, `lat_ns` since 2.99.
* json+ `bins` are bucket numbers up to 2.x (with `FIO_IO_U_PLAT_BITS` among them), bucket values in ns since 3.0.
* in client mode `client_stats` replaces `jobs` and an extra "All clients" record repeats the others; it is wrong when a
  host refused to start, so it is left out and sums are made from the entries.
"""

from __future__ import annotations

import bisect
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, cast

from ioatlas.dialect.read.loose_json import Document, Problem, documents, line_of, whole_document
from ioatlas.model.histogram import Histogram

__all__ = [
    "FioDirection",
    "FioJob",
    "FioOutput",
    "FioReading",
    "LatencyStats",
    "Problem",
    "parse_fio_json",
    "parse_whole_fio_json",
    "sum_directions",
]

DIRECTIONS = ("read", "write", "trim", "mixed")
_KIB = 1024
_US = 1000
_VERSION = re.compile(r"fio-(\d+)\.(\d+)")
_JOB_START = re.compile(r'\{\s*"jobname"\s*:')
_VERSION_TEXT = re.compile(r'"fio version"\s*:\s*"([^"]*)"')


@dataclass(frozen=True, slots=True)
class LatencyStats:
    """Latency of one kind in nanoseconds. `samples` is None where the version does not say; percentiles as (percent, ns)."""

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
    bw_mean_bytes_per_s: float | None = None
    bw_stddev_bytes_per_s: float | None = None
    iops_mean: float | None = None
    iops_stddev: float | None = None

    @property
    def measured(self) -> bool:
        """Whether any I/O was counted in this direction."""
        return bool(self.io_bytes or self.total_ios or self.iops or self.bw_bytes_per_s)


@dataclass(frozen=True, slots=True)
class FioJob:
    """One entry of `jobs` or `client_stats`. `options` are the entry's own; `FioOutput.options_of` adds the global ones."""

    name: str
    groupid: int | None
    hostname: str | None
    error: int | None
    options: Mapping[str, str]
    directions: Mapping[str, FioDirection]
    sync: FioDirection | None = None
    usr_cpu_percent: float | None = None
    sys_cpu_percent: float | None = None
    job_runtime_ms: int | None = None
    job_start_ms: int | None = None
    elapsed_seconds: float | None = None
    eta_seconds: float | None = None
    total_errors: int | None = None
    first_error: int | None = None
    port: int | None = None
    line: int = 0
    complete: bool = True


@dataclass(frozen=True, slots=True)
class FioOutput:
    """One JSON document of fio. `notes` says which units were converted and what was left out."""

    version: str | None
    timestamp_seconds: float | None
    global_options: Mapping[str, str]
    jobs: tuple[FioJob, ...]
    disk_util: tuple[Mapping[str, Any], ...]
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


def _count(value: Any) -> int | None:
    """A count; negative or fractional ones are no counts."""
    if type(value) is int:
        return value if 0 <= value < 1 << 63 else None
    found = number(value)
    return int(found) if found is not None and 0 <= found < 2**63 else None


def _first(record: Mapping[str, Any], *keys: str) -> Any:
    for key in keys:
        if key in record:
            return record[key]
    return None


def version_of(text: str | None) -> tuple[int, int] | None:
    match = _VERSION.search(text or "")
    return (int(match[1]), int(match[2])) if match else None


def bucket_value(index: int, bits: int = 6) -> int:
    """Middle of fio's log-linear latency bucket `index` (`plat_idx_to_val` in fio's stat.c), in the histogram's own unit."""
    per_group = 1 << bits
    if index < per_group << 1:
        return index
    error_bits = (index >> bits) - 1
    base = 1 << (error_bits + bits)
    return base + int((index % per_group + 0.5) * (1 << error_bits))


@lru_cache(maxsize=256)
def _percents(keys: tuple[str, ...]) -> tuple[float | None, ...]:
    """The percentiles that keys name. fio prints the same list again and again."""
    return tuple(number(key) for key in keys)


def _histogram(bins: Any, factor: int) -> Histogram:
    if not isinstance(bins, dict):
        return Histogram()
    indexed = "FIO_IO_U_PLAT_BITS" in bins
    bits = _count(bins.get("FIO_IO_U_PLAT_BITS")) or 6
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


def _latency(record: Mapping[str, Any], name: str) -> LatencyStats | None:
    """`name` is slat, clat or lat. fio prints zeros where it took no sample: those are not measured."""
    stats, factor = record.get(f"{name}_ns"), 1
    if stats is None:
        stats, factor = record.get(f"{name}_us", record.get(name)), _US
    if stats is None and f"{name}_ms" in record:
        stats, factor = record[f"{name}_ms"], _US * _US
    if not isinstance(stats, dict):
        return None
    samples = _count(stats.get("N"))
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


def _direction(name: str, record: Mapping[str, Any], *, kib_bytes: bool) -> FioDirection:
    if record.get("total_ios") == 0 and record.get("io_bytes") == 0 and record.get("runtime") == 0 and record.get("iops") == 0:
        return _idle(name)
    io_bytes = _count(record.get("io_bytes"))
    if io_bytes is None and _count(record.get("io_kbytes")) is not None:
        io_bytes = (_count(record.get("io_kbytes")) or 0) * _KIB
    elif io_bytes is not None and kib_bytes and "io_kbytes" not in record:
        io_bytes *= _KIB
    bw = number(record.get("bw_bytes"))
    if bw is None:
        kib = number(record.get("bw"))
        bw = None if kib is None else kib * _KIB
    total_ios = _count(record.get("total_ios"))
    idle = total_ios == 0 and not io_bytes
    bw_mean, bw_dev = number(record.get("bw_mean")), number(record.get("bw_dev"))
    return FioDirection(
        name,
        io_bytes,
        bw,
        number(record.get("iops")),
        _count(record.get("runtime")),
        total_ios,
        _count(record.get("short_ios")),
        _count(record.get("drop_ios")),
        None if idle else _latency(record, "slat"),
        None if idle else _latency(record, "clat"),
        None if idle else _latency(record, "lat"),
        None if bw_mean is None else bw_mean * _KIB,
        None if bw_dev is None else bw_dev * _KIB,
        number(record.get("iops_mean")),
        number(record.get("iops_stddev")),
    )


def _options(value: Any) -> dict[str, str]:
    """Some builds write the options as a list of one object."""
    if isinstance(value, list):
        return {key: text for item in value[:100] for key, text in _options(item).items() if isinstance(item, dict)}
    if not isinstance(value, dict):
        return {}
    return {str(k): v if isinstance(v, str) else str(v) for k, v in value.items() if not isinstance(v, (dict, list))}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _job(record: Mapping[str, Any], *, kib_bytes: bool, line: int) -> FioJob:
    directions = {name: _direction(name, record[name], kib_bytes=kib_bytes) for name in DIRECTIONS if isinstance(record.get(name), dict)}
    sync = record.get("sync")
    return FioJob(
        name=str(record.get("jobname", "")),
        groupid=_count(record.get("groupid")),
        hostname=_text(record.get("hostname")),
        error=_count(record.get("error")),
        options=_options(record.get("job options")),
        directions=directions,
        sync=_direction("sync", sync, kib_bytes=False) if isinstance(sync, dict) and _count(sync.get("total_ios")) else None,
        usr_cpu_percent=number(record.get("usr_cpu")),
        sys_cpu_percent=number(record.get("sys_cpu")),
        job_runtime_ms=_count(record.get("job_runtime")),
        job_start_ms=_count(record.get("job_start")),
        elapsed_seconds=number(record.get("elapsed")),
        eta_seconds=number(record.get("eta")),
        total_errors=_count(record.get("total_err")),
        first_error=_count(record.get("first_error")),
        port=_count(record.get("port")),
        line=line,
    )


def looks_like_job(record: Any) -> bool:
    return isinstance(record, dict) and "jobname" in record and any(isinstance(record.get(name), dict) for name in DIRECTIONS)


def _entries(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _output(document: Document, text: str, problems: list[Problem], first_line: int) -> FioOutput | None:
    value = document.value
    if not isinstance(value, dict) or not ("jobs" in value or "client_stats" in value):
        return None
    version = _text(value.get("fio version"))
    number_of = version_of(version)
    kib_bytes = number_of is None or number_of < (2, 21)
    line = line_of(text, document.start, first_line)
    jobs: list[FioJob] = []
    notes: list[str] = []
    left_out = 0
    cursor, cursor_line = document.start, line
    for key in ("jobs", "client_stats"):
        for entry in _entries(value.get(key)):
            if "jobname" not in entry and not any(name in entry for name in DIRECTIONS):
                continue
            place = _JOB_START.search(text, cursor, document.end)
            if place is not None:
                cursor_line += text.count("\n", cursor, place.start())
                cursor = place.start()
            if key == "client_stats" and entry.get("jobname") == "All clients":
                left_out += 1
            else:
                jobs.append(_job(entry, kib_bytes=kib_bytes, line=cursor_line))
            if place is not None:
                cursor = place.end()
    if not jobs and not document.complete:
        problems.append(Problem(line, "cut off before the first job"))
    elif not jobs and not left_out:
        problems.append(Problem(line, "fio output with no job in it"))
    if jobs and not document.complete:
        jobs[-1] = replace(jobs[-1], complete=False)
    if kib_bytes and jobs:
        notes.append("io_bytes of this fio version is KiB: times 1024")
    if jobs and number_of is not None and number_of < (3, 2):
        notes.append("bandwidth from fio's whole KiB/s")
    if jobs and (number_of is None or number_of < (2, 99)):
        notes.append("latencies of this fio version are microseconds")
    if left_out:
        notes.append('"All clients" record left out: entries are summed instead')
    return FioOutput(
        version=version,
        timestamp_seconds=(number(value.get("timestamp_ms")) or 0) / 1000 or number(value.get("timestamp")),
        global_options=_options(value.get("global options")),
        jobs=tuple(jobs),
        disk_util=tuple(_entries(value.get("disk_util"))),
        client_server="client_stats" in value,
        line=line,
        complete=document.complete,
        notes=tuple(notes),
    )


def _stray_jobs(text: str, covered: Sequence[tuple[int, int]], problems: list[Problem], first_line: int) -> Iterator[FioJob]:
    """Job objects outside every document that was read: what a break in the middle leaves behind it."""
    version = version_of(match[1] if (match := _VERSION_TEXT.search(text)) else None)
    starts = [match.start() for match in _JOB_START.finditer(text)]
    position, line = 0, first_line
    lows = [low for low, _ in covered]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=False):
        line += text.count("\n", position, start)
        position = start
        before = bisect.bisect_right(lows, start) - 1
        if before >= 0 and start < covered[before][1]:
            continue
        inner: list[Problem] = []
        found = next(documents(text[start:end], inner), None)
        if found is not None and found.start == 0 and looks_like_job(found.value) and found.value.get("jobname") != "All clients":
            problems.extend(replace(problem, line=problem.line + line - 1) for problem in inner[:3])
            yield replace(_job(found.value, kib_bytes=version is None or version < (2, 21), line=line), complete=found.complete)


def _wrapped(value: Any, depth: int = 6) -> Iterator[dict[str, Any]]:
    """Fio's documents inside another tool's JSON."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in inner:
        if isinstance(item, dict) and "fio version" in item and ("jobs" in item or "client_stats" in item):
            yield item
        elif depth and isinstance(item, (dict, list)):
            yield from _wrapped(item, depth - 1)


def parse_fio_json(text: str, *, first_line: int = 1) -> FioReading:
    """Every fio JSON document in `text`, whatever stands before, between, after and (line-wise) inside.

    Never raises on bad input: what could not be read is in `problems`.
    """
    problems: list[Problem] = []
    outputs: list[FioOutput] = []
    covered: list[tuple[int, int]] = []
    broken = False
    for document in documents(text, problems, first_line=first_line):
        broken = broken or not document.complete
        output = _output(document, text, problems, first_line)
        wrapped = [] if output is not None else list(_wrapped(document.value))
        if output is not None:
            outputs.append(output)
            covered.append((document.start, document.end))
        elif wrapped:
            found = (_output(replace(document, value=value), text, problems, first_line) for value in wrapped)
            outputs.extend(item for item in found if item is not None)
            covered.append((document.start, document.end))
        elif looks_like_job(document.value):
            version = _VERSION_TEXT.search(text)
            number_of = version_of(version[1] if version else None)
            job = _job(document.value, kib_bytes=number_of is None or number_of < (2, 21), line=line_of(text, document.start, first_line))
            outputs.append(FioOutput(version[1] if version else None, None, {}, (job,), (), line=job.line, complete=False))
            covered.append((document.start, document.end))
    if broken or (problems and not outputs):
        stray = tuple(_stray_jobs(text, covered, problems, first_line))
        if stray:
            version = _VERSION_TEXT.search(text)
            outputs.append(FioOutput(version[1] if version else None, None, {}, stray, (), line=stray[0].line, complete=False))
    return FioReading(tuple(outputs), tuple(problems))


def parse_whole_fio_json(raw: bytes) -> FioReading | None:
    """What `parse_fio_json` gives for a file that is one sound document in UTF-8 and nothing else; None for any other file."""
    value = whole_document(raw)
    if value is None:
        return None
    text = raw.decode()
    problems: list[Problem] = []
    output = _output(Document(value, 0, len(text)), text, problems, 1)
    return None if output is None or problems else FioReading((output,), ())


def _total(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) if known and len(known) == len(values) else None


def _merged_latency(parts: Sequence[LatencyStats | None], counts: Sequence[int | None]) -> LatencyStats | None:
    """Mean weighted by I/Os, minimum of minima, bins added; percentiles only from bins."""
    known = [(part, part.samples if part.samples is not None else count) for part, count in zip(parts, counts, strict=True) if part]
    if not known:
        return None
    weights = [weight for _, weight in known]
    mean = None
    if all(weight and part.mean_ns is not None for part, weight in known):
        mean = math.fsum((part.mean_ns or 0.0) * (weight or 0) for part, weight in known) / sum(weight or 0 for weight in weights)
    lows = [part.min_ns for part, _ in known if part.min_ns is not None]
    highs = [part.max_ns for part, _ in known if part.max_ns is not None]
    whole = all(part.histogram.bins for part, _ in known)
    samples = sum(weight or 0 for weight in weights) if all(weight is not None for weight in weights) else None
    return LatencyStats(
        min(lows, default=None),
        max(highs, default=None),
        mean,
        None,
        samples,
        known[0][0].percentiles if len(known) == 1 else (),
        Histogram.merge(part.histogram for part, _ in known) if whole else Histogram(),
    )


def sum_directions(parts: Sequence[FioDirection]) -> FioDirection | None:
    """One direction of jobs that ran together: bytes, I/Os, rates added; latencies merged; the longest runtime. None for no parts."""
    if not parts:
        return None
    counts = [part.total_ios for part in parts]

    def whole(values: Sequence[int | None]) -> int | None:
        total = _total(values)
        return None if total is None else int(total)

    return FioDirection(
        direction=parts[0].direction,
        io_bytes=whole([part.io_bytes for part in parts]),
        bw_bytes_per_s=_total([part.bw_bytes_per_s for part in parts]),
        iops=_total([part.iops for part in parts]),
        runtime_ms=max((part.runtime_ms for part in parts if part.runtime_ms is not None), default=None),
        total_ios=whole(counts),
        short_ios=whole([part.short_ios for part in parts]),
        drop_ios=whole([part.drop_ios for part in parts]),
        slat=_merged_latency([part.slat for part in parts], counts),
        clat=_merged_latency([part.clat for part in parts], counts),
        lat=_merged_latency([part.lat for part in parts], counts),
    )
