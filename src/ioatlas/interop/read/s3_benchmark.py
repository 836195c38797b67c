# SPDX-License-Identifier: Apache-2.0
"""The two programs named s3-benchmark: one prints a line for each PUT, GET and DELETE, the other tables of downloads.

K, M and G of both are powers of 1024, by their sources. Of the tables the time to the last byte is the latency.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ioatlas.interop.read.numbers import MIB, num, size_bytes, times, whole
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(
    r"(?m)^.{0,60}?Loop \d+: (?:PUT|GET|DELETE) time[ =][\d.]+ secs,|^Download performance with +\d+ [KMG]B +objects"
    r"|^.{0,60}?(?:Wasabi|S3|H3) benchmark program v"
)
_PROGRAM = re.compile(r"(?:Wasabi|S3|H3) benchmark program v(\d[\d.]*)")
# Forks set parameters of their own between these, and 2.1 has braces and other signs.
_PARAMETERS = re.compile(r"Parameters:? \{? ?((?:\w+=[^,\s]*, )+\w+=[^,\s]*)")
_SLOWDOWNS = r"(?:,? Slowdowns ?= ?(\d+))?"
_LOOP = re.compile(
    r"Loop (\d+): (PUT|GET) time[ =]([\d.]+) secs, objects (?:= )?(\d+), speed (?:= )?([\d.]+)([KMGT]?) ?B{1,2}/sec,"
    r" ([\d.]+) operations/sec\." + _SLOWDOWNS
)
_DELETE = re.compile(r"Loop (\d+): DELETE time[ =]([\d.]+) secs, ([\d.]+) deletes/sec\." + _SLOWDOWNS)
_TITLE = re.compile(r"^Download performance with +(\d+ [KMG]B) +objects(?: \((.*?)\))?")
_ROW = re.compile(r"^\| +(\d+) \| +([\d.]+) MB/s \|((?: +\d+){8}) \|((?: +\d+){8}) \|\s*$")
_FIRST = re.compile(r"^\| (Threads|      #) \| +Throughput \|")
_NAMES = ("mean", "min", "p25", "p50", "p75", "p90", "p99", "max")


def read(source: Source) -> Iterator[ImportedReading]:
    version: str | None = None
    told: dict[str, str] = {}
    title: re.Match[str] | None = None
    threads = True
    for number, line in source.lines():
        if match := _PROGRAM.search(line):
            version = match[1]
        if match := _PARAMETERS.search(line):  # a page may have put both on one line
            told = dict(part.split("=", 1) for part in match[1].split(", "))
        elif match := _LOOP.search(line):
            yield _loop(source, number, match, told, version)
        elif match := _DELETE.search(line):
            yield _delete(source, number, match, told, version)
        elif match := _TITLE.match(line):
            title = match
        elif match := _FIRST.match(line):
            threads = match[1] == "Threads"
        elif match := _ROW.match(line):
            yield _row(source, number, match, title, threads)
        elif source.unended(number) and re.search(r"Loop \d+: |^\| +\d+ \| ", line):
            source.problem(number, "the file ends inside this line, which was not used")


def _work(
    source: Source, number: int, told: Mapping[str, str], version: str | None, slowdowns: str | None, note: str
) -> ImportedReading:
    """What the lines of all three operations tell alike."""
    errors = whole(slowdowns)
    return ImportedReading(
        source.name,
        number,
        "s3-benchmark",
        tool_version=version,
        label=told.get("url") or told.get("storage_uri"),
        size_bytes=size_bytes(told.get("size")),
        numjobs=whole(told.get("threads")),
        errors=errors,
        n=1,
        notes=(note, "errors are the server's answers to slow down") if errors else (note,),
    )


def _loop(
    source: Source, number: int, match: re.Match[str], told: Mapping[str, str], version: str | None
) -> ImportedReading:
    note = "iops are objects per second; K, M, G are powers of 1024"
    return replace(
        _work(source, number, told, version, match[8], note),
        direction="write" if match[2] == "PUT" else "read",
        operation=match[2].lower(),
        iops=num(match[7]),
        bw_bytes_per_s=times(num(match[5]), 1024 ** " KMGT".index(match[6] or " ")),
        runtime_seconds=num(match[3]),
        details={"loop": whole(match[1]), "objects": whole(match[4])},
    )


def _delete(
    source: Source, number: int, match: re.Match[str], told: Mapping[str, str], version: str | None
) -> ImportedReading:
    return replace(
        _work(source, number, told, version, match[4], "iops are objects per second"),
        operation="delete",
        iops=num(match[3]),
        runtime_seconds=num(match[2]),
        details={"loop": whole(match[1])},
    )


def _row(
    source: Source, number: int, match: re.Match[str], title: re.Match[str] | None, threads: bool
) -> ImportedReading:
    first = dict(zip(_NAMES, (times(num(cell), 1e6) for cell in match[3].split()), strict=True))
    last = dict(zip(_NAMES, (times(num(cell), 1e6) for cell in match[4].split()), strict=True))
    details: dict[str, object] = {f"ttfb_{name}_ns": value for name, value in first.items()}
    details |= {f"lat_{name}_ns": value for name, value in last.items() if name not in ("mean", "p99")}
    if not threads:
        details["run_number"] = whole(match[1])
    return ImportedReading(
        source.name,
        number,
        "s3-benchmark",
        label=title[2] if title else None,
        direction="read",
        operation="get",
        size_bytes=size_bytes(title[1]) if title else None,
        numjobs=whole(match[1]) if threads else None,
        bw_bytes_per_s=times(num(match[2]), MIB),
        lat_mean_ns=last["mean"],
        lat_p99_ns=last["p99"],
        lat_kind="total",
        lat_p99_kind="total",
        n=1,
        notes=("MB/s are 1024^2 bytes; latency is to the last byte, in whole milliseconds",),
        details=details,
    )
