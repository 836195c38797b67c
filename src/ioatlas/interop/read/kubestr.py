# SPDX-License-Identifier: Apache-2.0
"""kubestr's own text of a fio run in a cluster, and its JSON, which holds fio's. BW is KiB a second, as in fio.

The text has no latency. It rounds rates to single precision.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ioatlas.fio.output import parse_fio_json
from ioatlas.interop.read.fio_json import job_readings
from ioatlas.interop.read.json_results import objects, part, word_of
from ioatlas.interop.read.numbers import KIB, num, size_bytes, times, whole
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(
    r"^FIO test results:|^JobName: .*\n +blocksize=|\"TestName\"\s*:\s*\"FIO test results\"", re.MULTILINE
)
_STORAGE = re.compile(r"^Running FIO test \((.*?)\) on StorageClass \((.*?)\) with a PVC of Size \((.*?)\)")
_VERSION = re.compile(r"^\s*FIO version - (?:fio-)?(\S+)")
_GLOBAL = re.compile(r"^Global options - (.*)$")
_JOB = re.compile(r"^JobName: (.*)$")
_OPTIONS = re.compile(r"^ +blocksize=(\S*) filesize=(\S*) iodepth=(\S*) rw=(\S*)\s*$")
_DIRECTION = re.compile(r"^(read|write):\s*$")
_RATE = re.compile(r"^ +IOPS=([\d.]+) BW\(KiB/s\)=(\d+)\s*$")
_FAILED = re.compile(r"^\s+(.*\S)\s+-\s+Error\s*$")


@dataclass
class _Run:
    storage: str | None = None
    version: str | None = None
    job: str | None = None
    options: re.Match[str] | None = None
    direction: str | None = None


def read(source: Source) -> Iterator[ImportedReading]:
    run = _Run()
    for number, raw in source.lines():
        line = raw.replace("**", "")  # bold in a page somebody wrote
        if '"TestName"' in line:
            yield from _json(source)
            return
        if source.unended(number) and not _FAILED.match(line):
            if line.startswith(" ") and "IOPS=" in line:
                source.problem(number, "the file ends inside this line, which was not used")
        elif match := _RATE.match(line):
            if run.direction is not None:
                yield _reading(source, run, number, match)
            run.direction = None
        elif match := _FAILED.match(line):
            source.problem(number, f"kubestr's run failed: {match[1][:200]}")
        else:
            _take(run, line)


def _take(run: _Run, line: str) -> None:
    if match := _STORAGE.match(line):
        run.storage = match[2]
    elif match := _VERSION.match(line):
        run.version = match[1]
    elif match := _JOB.match(line):
        run.job, run.options, run.direction = match[1].strip(), None, None
    elif match := _OPTIONS.match(line):
        run.options = match
    elif match := _DIRECTION.match(line):
        run.direction = match[1]


def _reading(source: Source, run: _Run, number: int, match: re.Match[str]) -> ImportedReading:
    options = run.options
    details = {"fio_version": run.version, "storage_class": run.storage}
    return ImportedReading(
        source.name,
        number,
        "kubestr",
        label=run.job,
        direction=run.direction,
        rw=(options[4] or None) if options else None,
        bs_bytes=size_bytes(options[1]) if options else None,
        size_bytes=size_bytes(options[2]) if options else None,
        iodepth=whole(options[3]) if options else None,
        iops=num(match[1]),
        bw_bytes_per_s=times(num(match[2]), KIB),
        n=1,
        notes=("fio in a cluster, run by kubestr",),
        details={name: value for name, value in details.items() if value is not None},
    )


def _json(source: Source) -> Iterator[ImportedReading]:
    for found in objects(source):
        if word_of(found.value, "TestName") is None:
            continue
        for status in found.value.get("Status") or []:
            if word_of(status, "StatusCode") == "Error":
                source.problem(found.line, f"kubestr's run failed: {(word_of(status, 'StatusMessage') or '')[:200]}")
        raw = part(found.value, "Raw")
        result = part(raw, "result")
        if not result.get("jobs"):
            continue
        storage = word_of(part(raw, "storageClass", "metadata"), "name")
        before = found.line_of(r'"result"\s*:')
        for output in parse_fio_json(json.dumps(result)).outputs:
            for job in output.jobs:
                before = found.line_of(rf'"jobname"\s*:\s*{re.escape(json.dumps(job.name))}', before)
                for reading in job_readings(source, output, replace(job, line=before)):
                    yield _of_cluster(reading, storage)


def _of_cluster(reading: ImportedReading, storage: str | None) -> ImportedReading:
    details = {**reading.details, "fio_version": reading.tool_version, "storage_class": storage}
    return replace(
        reading,
        tool="kubestr",
        tool_version=None,
        notes=(*reading.notes, "fio in a cluster, run by kubestr"),
        details={name: value for name, value in details.items() if value is not None},
    )
