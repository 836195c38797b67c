# SPDX-License-Identifier: Apache-2.0
"""dbench and tbench: the throughput of a run and the latency of each operation. MB are 10^6 bytes, by its source.

The table's counts say nothing of a rate: they hold the warm-up of some versions. They stay figures of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ioatlas.interop.read.numbers import num, times, whole
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(
    r"^[dt]bench version \d|^Throughput [\d.e+]+ MB/sec .*\bprocs\b|^ {0,4}Operation +Count +AvgLat +MaxLat",
    re.MULTILINE,
)
_VERSION = re.compile(r"^([dt]bench) version (\d[\w.]*)")
_RUNNING = re.compile(r"^Running for (\d+) seconds with load '([^']*)' and minimum warmup (\d+) secs")
_PROGRESS = re.compile(r"^ {0,4}\d+ +\d+ +[\d.]+ MB/sec +(?:warmup|execute|cleanup) ")
_HEADER = re.compile(r"^ {0,4}Operation +Count +AvgLat +MaxLat")
_ROW = re.compile(r"^ {1,4}([A-Za-z]\w*) +(\d+) +([\d.]+) +([\d.]+)\s*$")
_RESULT = re.compile(
    r"^Throughput ([\d.]+(?:e[+-]?\d+)?) MB/sec\s*(\(NB=[^)]*\))?(.*?)\s(\d+) procs(?:\s+max_latency=([\d.]+) ms)?\s*$"
)
_ERROR = re.compile(r"^\[?\(?\d+\)? *\w+.* (?:failed|ERROR)\b|^ERROR\b|^.{0,80}\bstatus .{0,40}for line \d+")


@dataclass
class _Run:
    tool: str = "dbench"
    version: str | None = None
    seconds: float | None = None
    warmup: float | None = None
    load: str | None = None
    table: bool = False
    rows: list[tuple[int, re.Match[str]]] = field(default_factory=list)
    progress: int = 0
    errors: int = 0


def read(source: Source) -> Iterator[ImportedReading]:
    run = _Run()
    for number, line in source.lines():
        if match := _VERSION.match(line):
            _unfinished(source, run)
            run = _Run(match[1], match[2])
        elif match := _RUNNING.match(line):
            run.seconds, run.load, run.warmup = num(match[1]), match[2][-200:], num(match[3])
        elif match := _RESULT.match(line):
            if source.unended(number) and "max_latency" not in line and "procs" not in line[-7:]:
                source.problem(number, "the file ends inside this line, which was not used")
                continue
            yield from _readings(source, run, number, match)
            run = _Run(run.tool, run.version)
        elif _HEADER.match(line):
            run.table = True
        elif run.table and (match := _ROW.match(line)) and not source.unended(number) and len(run.rows) < 1000:
            run.rows.append((number, match))
        elif _PROGRESS.match(line):
            run.progress = number
        elif _ERROR.match(line):
            run.errors += 1
    _unfinished(source, run)


def _unfinished(source: Source, run: _Run) -> None:
    if run.progress or run.rows or run.load is not None:
        what = f"a {run.tool} run without its final `Throughput` line: not finished or cut off; nothing of it was used"
        source.problem(run.progress or (run.rows[-1][0] if run.rows else 0), what)


def _readings(source: Source, run: _Run, number: int, match: re.Match[str]) -> Iterator[ImportedReading]:
    clients = re.search(r"(\d+) clients", match[3])
    processes = whole(match[4])
    numjobs = whole(clients[1]) if clients else processes
    notes = ["MB are 10^6 bytes; reads and writes together"]
    notes += [word.strip("()") for word in re.findall(r"\(sync \w+\)", match[3])]
    if run.errors:
        notes.append("errors are the lines that report a failed operation")
    yield ImportedReading(
        source.name,
        number,
        run.tool,
        tool_version=run.version,
        label=run.load,
        direction="mixed",
        numjobs=numjobs,
        bw_bytes_per_s=times(num(match[1]), 1e6),
        errors=run.errors or None,
        n=1,
        runtime_seconds=run.seconds,
        notes=tuple(notes),
        details={
            name: value
            for name, value in {
                "processes": processes,
                "lat_max_ns": times(num(match[5]), 1e6) if match[5] else None,
                "warmup_seconds": run.warmup,
            }.items()
            if value is not None
        },
    )
    for line, row in run.rows:
        mean = times(num(row[3]), 1e6)
        yield ImportedReading(
            source.name,
            line,
            run.tool,
            tool_version=run.version,
            label=run.load,
            operation=row[1].lower(),
            numjobs=numjobs,
            lat_mean_ns=mean,
            lat_kind="total" if mean is not None else None,
            n=1,
            notes=("the operation's latency; the table has no rate",),
            details={"count": whole(row[2]), "lat_max_ns": times(num(row[4]), 1e6)},
        )
