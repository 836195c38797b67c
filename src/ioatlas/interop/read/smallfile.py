# SPDX-License-Identifier: Apache-2.0
"""smallfile: the text of a run and its JSON. Rates are files a second; MiB are 1024^2 bytes, file sizes in KiB.

The IOPS it prints are reads or writes of records; they are in the details. Older versions print MB for MiB.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ioatlas.interop.read.kit import Said, compiled, figure_of, objects, part, reading, runs, word_of
from ioatlas.interop.read.numbers import KIB, MIB, times
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(
    r"^host = \S+, ?thr(?:ead)? = \S+, ?elapsed|^files/sec = [\d.]+\s*$|\"files-?[pP]er-?[sS]ec\"\s*:"
    r"|^[\d.]+ files/sec\s*$",
    re.MULTILINE,
)
_JSON = re.compile(r'"files-?[pP]er-?[sS]ec"\s*:')
_LINES = compiled(
    r"^host = (?P<host>\S+?), ?thr(?:ead)? = \S+?, ?elapsed.*status = (?P<status>.*)$",
    r"^total threads = +(?P<total_threads>\d+)",
    r"^total files = +(?P<total_files>\d+)",
    r"^ *(?P<done>[\d.]+)% of requested files processed",
    r"^elapsed time = +(?P<seconds>[\d.]+)(?:, (?P<mib>[\d.]+) MB/sec)?\s*$",
    r"^(?P<seconds>[\d.]+) sec elapsed time(?:, (?P<mib>[\d.]+) MB/sec)?\s*$",
    r"^files/sec = (?P<rate>[\d.]+)\s*$",
    r"^(?P<rate>[\d.]+) files/sec\s*$",
    r"^IOPS = (?P<records>[\d.]+)\s*$",
    r"^(?P<records>[\d.]+) IOPS\s*$",
    r"^Mi?B/sec = (?P<mib>[\d.]+)\s*$",
    r"^(?P<mib>[\d.]+) Mi?B/sec\s*$",
    r"^ {1,60}(?P<name>\S[^:\n]{0,60}?) : (?P<value>.*)$",
)
_WRITES = frozenset({"create", "append", "overwrite", "swift-put"})
_READS = frozenset({"read", "swift-get"})
_LOW_PERCENT = 70.0
_FIXED = "-1"
"""Its JSON's number for files of one size."""


def read(source: Source) -> Iterator[ImportedReading]:
    if _JSON.search(source.text()[0]):
        yield from _json(source)
        return
    for run in runs(source, _LINES, result="rate", begins="version"):
        if "rate" in run:
            yield _text(source, run)
        elif "host" in run:
            source.problem(run.at["host"], "a smallfile run without its final `files/sec`: not finished or cut off")


def _text(source: Source, run: Said) -> ImportedReading:
    return _reading(
        source,
        run.at["rate"],
        version=run.get("version"),
        operation=run.get("operation"),
        size=run.num("file size (KB)"),
        random_size="random" in run.get("file size distribution", ""),
        threads=run.whole("total_threads"),
        rate=run.num("rate") or 0.0,
        mib=run.num("mib"),
        seconds=run.num("seconds"),
        done=run.num("done"),
        failed=sum(status != "ok" for status in run.every.get("status", ())),
        details={
            "files": run.num("total_files"),
            "records_per_s": run.num("records"),
            "hosts": len(set(run.every.get("host", ()))),
            "fsync": run.get("fsync after modify?"),
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
    return reading(
        source,
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
        runtime_seconds=seconds,
        notes=notes,
        details={**details, "files_done_percent": done},
    )
