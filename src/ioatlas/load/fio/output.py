# SPDX-License-Identifier: Apache-2.0
"""fio's JSON output, versions 2.0.14 to 3.4x: documents found in a text, and the jobs in them.

In client mode `client_stats` replaces `jobs` and an extra "All clients" record repeats the others; it is wrong when a
host refused to start, so it is left out. What the figures mean in which version stands in `fio_figures` (read off fio's
own history of `stat.c`).
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ioatlas.load.fio.figures import FioJob, FioOutput, FioReading, count_of, direction_of, latency_of, number
from ioatlas.load.fio.loose_json import Document, Problem, documents, line_of, whole_document
from ioatlas.model.units import words

_LATENCIES = words("slat clat lat slat_ns clat_ns lat_ns slat_us clat_us lat_us slat_ms clat_ms lat_ms")
DIRECTIONS = ("read", "write", "trim", "mixed")
_VERSION = re.compile(r"fio-(\d+)\.(\d+)")
_JOB_START = re.compile(r'\{\s*"jobname"\s*:')
_VERSION_TEXT = re.compile(r'"fio version"\s*:\s*"([^"]*)"')


def version_of(text: str | None) -> tuple[int, int] | None:
    match = _VERSION.search(text or "")
    return (int(match[1]), int(match[2])) if match else None


def _counts_kib(version: str | None) -> bool:
    """Whether `io_bytes` of this version is KiB."""
    number_of = version_of(version)
    return number_of is None or number_of < (2, 21)


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
    directions = {
        name: direction_of(name, record[name], kib_bytes=kib_bytes)
        for name in DIRECTIONS
        if isinstance(record.get(name), dict)
    }
    return FioJob(
        name=str(record.get("jobname", "")),
        groupid=count_of(record.get("groupid")),
        hostname=_text(record.get("hostname")),
        error=count_of(record.get("error")),
        options=_options(record.get("job options")),
        directions=directions,
        usr_cpu_percent=number(record.get("usr_cpu")),
        sys_cpu_percent=number(record.get("sys_cpu")),
        job_runtime_ms=count_of(record.get("job_runtime")),
        job_start_ms=count_of(record.get("job_start")),
        total_errors=count_of(record.get("total_err")),
        flush=latency_of(record["sync"], "lat") if isinstance(record.get("sync"), dict) else None,
        line=line,
    )


_FIGURES = (*words("io_bytes bw bw_bytes iops runtime total_ios"), "mean")


def _not_figures(record: Mapping[str, Any]) -> Iterator[str]:
    """Names of figures of a job that stand there but are none: NaN, infinite, negative, or words."""
    for direction in DIRECTIONS:
        part = record.get(direction)
        if not isinstance(part, dict):
            continue
        groups = [("", part), *((f"{name}.", part[name]) for name in _LATENCIES if isinstance(part.get(name), dict))]
        for prefix, group in groups:
            for name in _FIGURES:
                if (value := group.get(name)) is not None and number(value) is None:
                    yield f"{direction}.{prefix}{name} is {str(value)[:20]}"
            listed = group.get("percentile")
            for name, value in listed.items() if isinstance(listed, dict) else ():
                if value is not None and number(value) is None:
                    yield f"{direction}.{prefix}percentile {name[:12]} is {str(value)[:20]}"


def _left_out(record: Mapping[str, Any], line: int) -> list[Problem]:
    """What is said of figures that are none."""
    found = list(_not_figures(record))
    if not found:
        return []
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    name = str(record.get("jobname", ""))[:40]
    return [Problem(line, f"job {name!r}: no figures, left out: {', '.join(found[:5])}{more}")]


def looks_like_job(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and "jobname" in record
        and any(isinstance(record.get(name), dict) for name in DIRECTIONS)
    )


def _entries(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _jobs(
    document: Document, text: str, line: int, problems: list[Problem], *, kib_bytes: bool
) -> tuple[list[FioJob], int]:
    """The jobs of a document that starts in `line`, and how many "All clients" records were left out."""
    jobs: list[FioJob] = []
    left_out = 0
    cursor, cursor_line = document.start, line
    for key in ("jobs", "client_stats"):
        for entry in _entries(document.value.get(key)):
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
                problems += _left_out(entry, cursor_line)
            if place is not None:
                cursor = place.end()
    if jobs and not document.complete:
        jobs[-1] = replace(jobs[-1], complete=False)
    return jobs, left_out


def _output(document: Document, text: str, problems: list[Problem], first_line: int) -> FioOutput | None:
    value = document.value
    if not isinstance(value, dict) or not ("jobs" in value or "client_stats" in value):
        return None
    version = _text(value.get("fio version"))
    line = line_of(text, document.start, first_line)
    jobs, left_out = _jobs(document, text, line, problems, kib_bytes=_counts_kib(version))
    if not jobs and not document.complete:
        problems.append(Problem(line, "cut off before the first job"))
    elif not jobs and not left_out:
        problems.append(Problem(line, "fio output with no job in it"))
    notes = _unit_notes(version) if jobs else []
    if left_out:
        notes.append('"All clients" record left out: entries are summed instead')
    return FioOutput(
        version=version,
        timestamp_seconds=(number(value.get("timestamp_ms")) or 0) / 1000 or number(value.get("timestamp")),
        global_options=_options(value.get("global options")),
        jobs=tuple(jobs),
        line=line,
        complete=document.complete,
        notes=tuple(notes),
    )


def _unit_notes(version: str | None) -> list[str]:
    number_of = version_of(version)
    notes = []
    if _counts_kib(version):
        notes.append("io_bytes of this fio version is KiB: times 1024")
    if number_of is not None and number_of < (3, 2):
        notes.append("bandwidth from bytes and runtime: fio has whole KiB/s")
    if number_of is None or number_of < (2, 99):
        notes.append("latencies of this fio version are microseconds")
    return notes


def _stray_jobs(
    text: str, covered: Sequence[tuple[int, int]], problems: list[Problem], first_line: int
) -> Iterator[FioJob]:
    """Job objects outside every document that was read: what a break in the middle leaves behind it."""
    kib_bytes = _counts_kib(_version_in(text))
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
        if (
            found is not None
            and found.start == 0
            and looks_like_job(found.value)
            and found.value.get("jobname") != "All clients"
        ):
            problems.extend(replace(problem, line=problem.line + line - 1) for problem in inner[:3])
            yield replace(_job(found.value, kib_bytes=kib_bytes, line=line), complete=found.complete)


def _wrapped(value: Any, depth: int = 6) -> Iterator[dict[str, Any]]:
    """Fio's documents inside another tool's JSON."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in inner:
        if isinstance(item, dict) and "fio version" in item and ("jobs" in item or "client_stats" in item):
            yield item
        elif depth and isinstance(item, (dict, list)):
            yield from _wrapped(item, depth - 1)


def _version_in(text: str) -> str | None:
    """The version that is said first, for jobs outside every document."""
    return match[1] if (match := _VERSION_TEXT.search(text)) else None


def _bare(text: str, jobs: tuple[FioJob, ...]) -> FioOutput:
    """Jobs outside every document."""
    return FioOutput(_version_in(text), None, {}, jobs, line=jobs[0].line, complete=False)


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
            line = line_of(text, document.start, first_line)
            job = _job(document.value, kib_bytes=_counts_kib(_version_in(text)), line=line)
            problems += _left_out(document.value, line)
            outputs.append(_bare(text, (job,)))
            covered.append((document.start, document.end))
    if broken or (problems and not outputs):
        stray = tuple(_stray_jobs(text, covered, problems, first_line))
        if stray:
            outputs.append(_bare(text, stray))
    return FioReading(tuple(outputs), tuple(problems))


def parse_whole_fio_json(raw: bytes) -> FioReading | None:
    """What `parse_fio_json` gives for a file that is one sound document in UTF-8 and nothing else; None for any other
    file.
    """
    value = whole_document(raw)
    if value is None:
        return None
    text = raw.decode()
    problems: list[Problem] = []
    output = _output(Document(value, 0, len(text)), text, problems, 1)
    return None if output is None or problems else FioReading((output,), ())
