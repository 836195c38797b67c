# SPDX-License-Identifier: Apache-2.0
"""fio JSON and json+ as imported readings: one for each job entry and direction; and what fio's options, as fio prints
them back, say about a reading.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ioatlas.load.fio.figures import FioDirection, FioJob, FioOutput, FioReading, LatencyStats
from ioatlas.load.fio.output import parse_fio_json, parse_whole_fio_json
from ioatlas.model.imported_reading import ImportedReading
from ioatlas.model.units import words
from ioatlas_translate.read.kit import num, whole
from ioatlas_translate.read.source import Source

_SIZE = re.compile(r"^\s*(\d+)\s*([kmgtp]?)(ib|i|b)?\s*$", re.IGNORECASE)
_RW = {"readwrite": "rw", "r": "read", "w": "write"}
RW_WORDS = frozenset(words("read write randread randwrite rw readwrite randrw trim randtrim trimwrite randtrimwrite"))

SHAPING = words(
    "bssplit bsrange blocksize_range percentage_random random_distribution norandommap "
    "fsync fdatasync sync_file_range sync buffered zonemode zonesize zonerange zoneskip rate_min rate_iops_min "
    "rate_process latency_target thinktime_blocks iodepth_batch iodepth_batch_complete_max io_size offset flow "
    "buffer_compress_percentage dedupe_percentage zero_buffers verify read_iolog"
)
"""Options that make a load another one than its rw, bs, depth and jobs say."""
_WITHOUT_EFFECT = {"percentage_random": "100", "random_distribution": "random", "rate_process": "linear"}
_VALUE_LENGTH = 80


def shape_note(options: Mapping[str, str]) -> tuple[str, ...]:
    """What else shaped the load, as one note."""
    told = []
    for name in SHAPING:
        value = options.get(name)
        if value is None or value.strip() in (_WITHOUT_EFFECT.get(name, "0"), "none"):
            continue
        told.append(f"{name}={value.strip()[:_VALUE_LENGTH]}" if value.strip() else name)
    return (f"the load had also {', '.join(told)}",) if told else ()


@lru_cache(maxsize=4096)
def fio_size(text: str | None, *, kb_base: int = 1024) -> int | None:
    """Bytes as fio 3.33 reads them: 4k, 4ki and 4kb are 4096 and 4KiB is 4000 with the default kb_base, the reverse
    with kb_base=1000.
    """
    match = _SIZE.match(text or "")
    if match is None or len(match[1]) > 18:
        return None
    letter, unit = match[2].lower(), (match[3] or "").lower()
    base = (1000 if kb_base == 1024 else 1024) if unit == "ib" else kb_base
    size = int(match[1]) * (base ** " kmgtp".index(letter) if letter else 1)
    return size if size < 1 << 63 else None


def block_size(options: Mapping[str, str], direction: str) -> int | None:
    """`bs` of one direction; None when it is a range, a split or not given."""
    if "bssplit" in options or "bsrange" in options or "blocksize_range" in options:
        return None
    text = options.get("bs", options.get("blocksize", ""))
    parts = text.split(",")
    place = {"read": 0, "write": 1, "trim": 2}.get(direction)
    if place is None:
        return fio_size(text, kb_base=_kb_base(options)) if len(set(parts)) == 1 else None
    part = (
        parts[place]
        if place < len(parts) and parts[place].strip()
        else next((p for p in reversed(parts[: place + 1]) if p.strip()), "")
    )
    return fio_size(part, kb_base=_kb_base(options))


def _kb_base(options: Mapping[str, str]) -> int:
    return 1000 if options.get("kb_base", "").strip() == "1000" else 1024


def workload_fields(options: Mapping[str, str], direction: str) -> dict[str, Any]:
    """rw, bs_bytes, size_bytes, numjobs, iodepth, rwmixread of a reading; None for what the options do not say."""
    rw = options.get("rw", options.get("readwrite"))
    word = rw.split(":")[0].strip() if rw else None
    mix = num(options.get("rwmixread"))
    if mix is None and (writes := num(options.get("rwmixwrite"))) is not None:
        mix = 100 - writes
    mixed = word in ("rw", "readwrite", "randrw")
    return {
        "rw": _RW.get(word, word) if word in RW_WORDS or word in _RW else None,
        "bs_bytes": block_size(options, direction),
        "size_bytes": fio_size(options.get("size"), kb_base=_kb_base(options)),
        "numjobs": whole(options.get("numjobs")),
        "iodepth": whole(options.get("iodepth")),
        "rwmixread": mix if mixed else None,
    }


MOST_BYTES = 128 << 20
"""Of histograms of many jobs; beyond the limit of other texts."""
_KEPT_OPTIONS = words(
    "ioengine direct filename directory runtime ramp_time time_based group_reporting rate rate_iops thinktime"
)
_ONE: Counter[tuple[str, int | None, str | None]] = Counter()


def read(source: Source) -> Iterator[ImportedReading]:
    text, complete = source.text(MOST_BYTES)
    if not complete:
        source.problem(0, f"only the first {MOST_BYTES >> 20} MiB of the JSON were read")
    yield from _of(source, parse_fio_json(text))


def read_whole(source: Source) -> list[ImportedReading] | None:
    """The readings of a file that is one sound fio JSON document and nothing else; None for any other. Spares the
    search for other formats.
    """
    raw = source.small()
    if raw is None or raw[:1] != b"{" or b'"fio version"' not in raw[:200]:
        return None
    found = parse_whole_fio_json(raw)
    return None if found is None else list(_of(source, found))


def _of(source: Source, found: FioReading) -> Iterator[ImportedReading]:
    for problem in found.problems:
        source.problem(problem.line, problem.what, lost=problem.lost)
    final = _without_interim(source, found.outputs)
    for output in final:
        clones = Counter((job.name, job.groupid, job.hostname) for job in output.jobs) if len(output.jobs) > 1 else _ONE
        for job in output.jobs:
            yield from job_readings(source, output, job, clones[job.name, job.groupid, job.hostname])


def _without_interim(source: Source, outputs: tuple[FioOutput, ...]) -> list[FioOutput]:
    """With a status interval fio writes a whole document again and again; figures count from the start, so only the
    last one is a result.
    """
    kept: list[FioOutput] = []
    for index, output in enumerate(outputs):
        after = outputs[index + 1] if index + 1 < len(outputs) else None
        if after is not None and _interim(output, after):
            continue
        kept.append(output)
    if len(kept) < len(outputs):
        source.problem(
            outputs[0].line,
            f"{len(outputs) - len(kept)} interim status reports of the same run left out; the last one holds all",
            lost=False,
        )
    return kept


def _total(output: FioOutput) -> tuple[int, int]:
    parts = [part for job in output.jobs for part in job.directions.values()]
    return sum(part.io_bytes or 0 for part in parts), max((part.runtime_ms or 0 for part in parts), default=0)


def _interim(before: FioOutput, after: FioOutput) -> bool:
    if (
        not before.jobs
        or not after.complete
        or before.version != after.version
        or before.global_options != after.global_options
    ):
        return False
    if [(job.name, job.options) for job in before.jobs] != [(job.name, job.options) for job in after.jobs]:
        return False
    if None in (before.timestamp_seconds, after.timestamp_seconds):
        return False
    bytes_before, ms_before = _total(before)
    bytes_after, ms_after = _total(after)
    passed = (after.timestamp_seconds or 0) - (before.timestamp_seconds or 0)
    starts = {job.job_start_ms for job in before.jobs} ^ {job.job_start_ms for job in after.jobs}
    if starts or bytes_after < bytes_before or ms_after < ms_before or passed < 0:
        return False
    has_start = all(job.job_start_ms is not None for job in before.jobs)
    return has_start or abs(passed - (ms_after - ms_before) / 1000) <= 2.0


def job_readings(source: Source, output: FioOutput, job: FioJob, clones: int = 1) -> Iterator[ImportedReading]:
    measured = [part for part in job.directions.values() if part.measured]
    names = {part.direction for part in measured}
    notes = list(output.notes)
    errors = job.total_errors if job.total_errors is not None else job.error
    if job.error and not job.total_errors:
        notes.append(f"errors is fio's error code {job.error}, not a count")
    if not job.complete:
        notes.append("the file is cut off or broken in this entry")
    if "mixed" in names and len(names) > 1:
        measured = [part for part in measured if part.direction != "mixed"]
    if not measured and errors:
        nothing = FioDirection("", None, None, None, None, None, None, None, None, None, None)
        yield replace(_reading(source, output, job, nothing, errors, (*notes, "no I/O was measured")), direction=None)
    for part in measured:
        found = _reading(source, output, job, part, errors, (*notes, *shape_note(output.options_of(job))))
        yield replace(found, details={**found.details, "entries": clones}) if clones > 1 else found


@lru_cache(maxsize=1024)
def _name(percent: float) -> str:
    return f"{percent:g}"


def _latency_fields(part: FioDirection) -> tuple[LatencyStats | None, str | None, float | None, str | None]:
    """Mean and 99th percentile: of total latency where fio printed it, else of completion latency."""
    mean = part.lat if part.lat is not None and part.lat.mean_ns is not None else part.clat
    mean_kind = None if mean is None else "total" if mean is part.lat else "completion"
    for stats, kind in ((part.lat, "total"), (part.clat, "completion")):
        if stats is not None and (p99 := stats.percentile_ns(99)) is not None:
            return mean, mean_kind, p99, kind
    return mean, mean_kind, None, None


def _reading(
    source: Source, output: FioOutput, job: FioJob, part: FioDirection, errors: int | None, notes: tuple[str, ...]
) -> ImportedReading:
    options = output.options_of(job)
    mean, mean_kind, p99, p99_kind = _latency_fields(part)
    details: dict[str, object] = {}
    for name, stats in (("slat", part.slat), ("clat", part.clat), ("lat", part.lat)):
        if stats is None:
            continue
        details[f"{name}_mean_ns"], details[f"{name}_stddev_ns"] = stats.mean_ns, stats.stddev_ns
        details[f"{name}_min_ns"], details[f"{name}_max_ns"] = stats.min_ns, stats.max_ns
        if stats.percentiles:
            details[f"{name}_percentiles_ns"] = {_name(percent): value for percent, value in stats.percentiles}
        if stats.histogram.bins:
            details[f"{name}_bins_ns"] = {str(place): count for place, count in stats.histogram.bins}
    for name in ("total_ios", "short_ios", "drop_ios", "bw_stddev_bytes_per_s", "iops_stddev"):
        if (value := getattr(part, name)) is not None:
            details[name] = value
    for name in ("groupid", "usr_cpu_percent", "sys_cpu_percent", "job_runtime_ms", "job_start_ms"):
        if (value := getattr(job, name)) is not None:
            details[name] = value
    for name in (*_KEPT_OPTIONS, *SHAPING):
        if name in options:
            details[name] = options[name]
    return ImportedReading(
        source.name,
        job.line,
        "fio",
        tool_version=output.version.removeprefix("fio-") if output.version else None,
        label=job.name,
        direction=part.direction or None,
        **workload_fields(options, part.direction),
        iops=part.iops,
        bw_bytes_per_s=part.bw_bytes_per_s,
        lat_mean_ns=mean.mean_ns if mean else None,
        lat_p99_ns=p99,
        lat_kind=mean_kind if mean and mean.mean_ns is not None else None,
        lat_p99_kind=p99_kind,
        errors=errors,
        n=1,
        host=job.hostname,
        runtime_seconds=None if part.runtime_ms is None else part.runtime_ms / 1000,
        io_bytes=part.io_bytes,
        notes=notes,
        details=details,
    )
