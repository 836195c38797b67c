# SPDX-License-Identifier: Apache-2.0
"""kubestr's own text of a fio run in a cluster, and its JSON, which holds fio's. BW is KiB a second, as in fio.

The text has no latency. It rounds rates to single precision.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from ioatlas.fio.output import parse_fio_json
from ioatlas.interop.read.fio_json import job_readings
from ioatlas.interop.read.kit import Said, compiled, objects, part, reading, said, word_of
from ioatlas.interop.read.numbers import KIB, size_bytes
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(
    r"^FIO test results:|^JobName: .*\n +blocksize=|\"TestName\"\s*:\s*\"FIO test results\"", re.MULTILINE
)
_LINES = compiled(
    r"^Running FIO test \(.*?\) on StorageClass \((?P<storage>.*?)\) with a PVC of Size \(",
    r"^\s*FIO version - (?:fio-)?(?P<version>\S+)",
    r"^JobName: (?P<job>.*)$",
    r"^ +blocksize=(?P<bs>\S*) filesize=(?P<size>\S*) iodepth=(?P<depth>\S*) rw=(?P<rw>\S*)\s*$",
    r"^(?P<direction>read|write):\s*$",
    r"^ +IOPS=(?P<iops>[\d.]+) BW\(KiB/s\)=(?P<bw>\d+)\s*$",
    r"^\s+(?P<failed>.*\S)\s+-\s+Error\s*$",
)
_NOTE = "fio in a cluster, run by kubestr"


def read(source: Source) -> Iterator[ImportedReading]:
    job, run = Said(), Said()
    for number, raw in source.lines():
        line = raw.replace("**", "")  # bold in a page somebody wrote
        if '"TestName"' in line:
            yield from _json(source)
            return
        found = said(source, number, line, _LINES)
        if "failed" in found:
            source.problem(number, f"kubestr's run failed: {found['failed'][:200]}")
        elif "storage" in found or "version" in found:
            run.take(number, found)
        else:
            job = Said() if "job" in found else job
            job.take(number, found)
        if "iops" in found and job.pop("direction", None) is not None:
            yield _reading(source, run, job, number, job.every["direction"][-1])


def _reading(source: Source, run: Said, job: Said, number: int, direction: str) -> ImportedReading:
    return reading(
        source,
        number,
        "kubestr",
        label=job.get("job"),
        direction=direction,
        rw=job.get("rw") or None,
        bs_bytes=size_bytes(job.get("bs")),
        size_bytes=size_bytes(job.get("size")),
        iodepth=job.whole("depth"),
        iops=job.num("iops"),
        bw_bytes_per_s=job.num("bw", KIB),
        notes=(_NOTE,),
        details={"fio_version": run.get("version"), "storage_class": run.get("storage")},
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
                for one in job_readings(source, output, replace(job, line=before)):
                    yield _of_cluster(one, storage)


def _of_cluster(one: ImportedReading, storage: str | None) -> ImportedReading:
    details = {**one.details, "fio_version": one.tool_version, "storage_class": storage}
    return replace(
        one,
        tool="kubestr",
        tool_version=None,
        notes=(*one.notes, _NOTE),
        details={name: value for name, value in details.items() if value is not None},
    )
