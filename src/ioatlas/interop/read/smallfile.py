# SPDX-License-Identifier: Apache-2.0
"""smallfile: the text of a run and its JSON. Rates are files a second; MiB are 1024^2 bytes, file sizes in KiB.

The IOPS it prints are reads or writes of records; they are in the details. Older versions print MB for MiB.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ioatlas.interop.read.json_results import figure_of, objects, part, word_of
from ioatlas.interop.read.numbers import KIB, MIB, num, times
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(
    r"^host = \S+, ?thr(?:ead)? = \S+, ?elapsed|^files/sec = [\d.]+\s*$|\"files-?[pP]er-?[sS]ec\"\s*:"
    r"|^[\d.]+ files/sec\s*$",
    re.MULTILINE,
)
_OPTION = re.compile(r"^ {1,60}(\S[^:\n]{0,60}?) : (.*)$")
_THREAD = re.compile(r"^host = (\S+?), ?thr(?:ead)? = \S+?, ?elapsed.*status = (.*)$")
_TOTAL = re.compile(r"^total (threads|files|IOPS|data) = +([\d.]+)")
_DONE = re.compile(r"^ *([\d.]+)% of requested files processed")
_TIME = re.compile(r"^(?:elapsed time = +([\d.]+)|([\d.]+) sec elapsed time)(?:, ([\d.]+) MB/sec)?\s*$")
_RATE = re.compile(r"^(?:files/sec = ([\d.]+)|([\d.]+) files/sec)\s*$")
_FIGURE = re.compile(r"^(?:(IOPS|Mi?B/sec) = ([\d.]+)|([\d.]+) (IOPS|Mi?B/sec))\s*$")
_WRITES = frozenset({"create", "append", "overwrite", "swift-put"})
_READS = frozenset({"read", "swift-get"})
_LOW_PERCENT = 70.0
_FIXED = "-1"
"""Its JSON's number for files of one size."""


@dataclass
class _Run:
    options: dict[str, str] = field(default_factory=dict)
    figures: dict[str, float | None] = field(default_factory=dict)
    hosts: set[str] = field(default_factory=set)
    failed: int = 0
    line: int = 0


def read(source: Source) -> Iterator[ImportedReading]:
    run = _Run()
    for number, line in source.lines():
        if re.search(r'"files-?[pP]er-?[sS]ec"\s*:', line):
            yield from _json(source)
            return
        if match := _OPTION.match(line):
            if match[1] in ("version", "hosts in test") and run.hosts:
                yield from _readings(source, run)
                run = _Run()
            if len(run.options) < 100:
                run.options.setdefault(match[1], match[2].strip()[:500])
        elif match := _THREAD.match(line):
            if "rate" in run.figures:
                yield from _readings(source, run)
                run = _Run()
            run.hosts.add(match[1])
            run.failed += match[2].strip() != "ok"
            run.line = number
        elif not source.unended(number):
            _take(run, number, line)
        elif run.hosts and line.strip():
            source.problem(number, "the file ends inside this line, which was not used")
    yield from _readings(source, run)


def _take(run: _Run, number: int, line: str) -> None:
    if match := _RATE.match(line):
        run.figures["rate"], run.line = num(match[1] or match[2]), number
    elif match := _TOTAL.match(line):
        run.figures[match[1]] = num(match[2])
    elif match := _DONE.match(line):
        run.figures["done"] = num(match[1])
    elif match := _TIME.match(line):
        run.figures["seconds"] = num(match[1] or match[2])
        if match[3]:
            run.figures["MiB/sec"] = num(match[3])
    elif match := _FIGURE.match(line):
        name = (match[1] or match[4]).replace("MB", "MiB")
        run.figures["records/sec" if name == "IOPS" else name] = num(match[2] or match[3])


def _readings(source: Source, run: _Run) -> Iterator[ImportedReading]:
    rate = run.figures.get("rate")
    if rate is None:
        if run.hosts:
            source.problem(run.line, "a smallfile run without its final `files/sec`: not finished or cut off")
        return
    options = run.options
    size = num(options.get("file size (KB)"))
    yield _reading(
        source,
        run.line,
        version=options.get("version"),
        operation=options.get("operation"),
        size=size,
        random_size="random" in options.get("file size distribution", ""),
        threads=int(threads) if (threads := run.figures.get("threads")) is not None else None,
        rate=rate,
        mib=run.figures.get("MiB/sec"),
        seconds=run.figures.get("seconds"),
        done=run.figures.get("done"),
        failed=run.failed,
        details={
            "files": run.figures.get("files"),
            "records_per_s": run.figures.get("records/sec"),
            "hosts": len(run.hosts),
            "fsync": options.get("fsync after modify?"),
        },
    )


def _json(source: Source) -> Iterator[ImportedReading]:
    for found in objects(source):
        results, options = part(found.value, "results"), part(found.value, "params")
        names = ("filesPerSec", "files-per-sec")
        rate = next((value for name in names if (value := figure_of(results, name)) is not None), None)
        if rate is None:
            continue
        hosts = part(results, "host")
        parts = [part(hosts, name) for name in hosts] or [results]
        threads = [part(item, "thread", name) for item in parts for name in part(item, "thread")]
        count = figure_of(results, "totalhreads")  # spelt so by the tool
        mib = next(
            (value for name in ("MiBps", "total-MiBps") if (value := figure_of(results, name)) is not None), None
        )
        seconds = figure_of(results, "elapsed")
        yield _reading(
            source,
            found.line_of(r'"results"\s*:'),
            version=word_of(options, "version"),
            operation=word_of(options, "operation"),
            size=figure_of(options, "file_size"),
            random_size=str(options.get("file_size_distr", _FIXED)) not in (_FIXED, "fixed"),
            threads=int(count) if count is not None else len(threads) or None,
            rate=rate,
            mib=mib,
            seconds=seconds if seconds is not None else figure_of(results, "elapsed-time"),
            done=figure_of(results, "pctFilesDone"),
            failed=sum(word_of(thread, "status") not in (None, "Success", "ok") for thread in threads),
            details={
                "files": figure_of(results, "files"),
                "records_per_s": figure_of(results, "IOPS"),
                "hosts": len(hosts) or 1,
                "fsync": word_of(options, "fsync_after_modify"),
                "status": word_of(results, "status"),
            },
        )


def _reading(
    source: Source,
    line: int,
    *,
    version: str | None,
    operation: str | None,
    size: float | None,
    random_size: bool,
    threads: int | None,
    rate: float,
    mib: float | None,
    seconds: float | None,
    done: float | None,
    failed: int,
    details: dict[str, Any],
) -> ImportedReading:
    notes = ["iops are files per second"]
    if random_size:
        notes.append("file sizes vary")
    if failed:
        notes.append("errors are threads that ended with an error")
    if done is not None and done < _LOW_PERCENT:
        notes.append(
            f"only {done:g}% of the files were done before the first thread ended: not a result by smallfile's rule"
        )
    direction = "write" if operation in _WRITES else "read" if operation in _READS else None
    return ImportedReading(
        source.name,
        line,
        "smallfile",
        tool_version=version,
        direction=direction if mib is not None else None,
        operation=operation,
        size_bytes=int(size * KIB) if size is not None and not random_size and size < 1 << 40 else None,
        numjobs=threads,
        iops=rate,
        bw_bytes_per_s=times(mib, MIB),
        errors=failed or None,
        n=1,
        runtime_seconds=seconds,
        notes=tuple(notes),
        details={name: value for name, value in {**details, "files_done_percent": done}.items() if value is not None},
    )
