# SPDX-License-Identifier: Apache-2.0
"""The two programs named s3-benchmark: one prints a line for each PUT, GET and DELETE, the other tables of downloads.

K, M and G of both are powers of 1024, by their sources. Of the tables the time to the last byte is the latency.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioatlas.interop.read.kit import CUT, Said, compiled, reading, said
from ioatlas.interop.read.numbers import MIB, num, size_bytes, times, whole
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(
    r"(?m)^.{0,60}?Loop \d+: (?:PUT|GET|DELETE) time[ =][\d.]+ secs,|^Download performance with +\d+ [KMG]B +objects"
    r"|^.{0,60}?(?:Wasabi|S3|H3) benchmark program v"
)
_PROGRAM = re.compile(r".*?(?:Wasabi|S3|H3) benchmark program v(?P<version>\d[\d.]*)")
_LINES = compiled(
    # Forks set parameters of their own between these, and 2.1 has braces and other signs.
    r".*?Parameters:? \{? ?(?P<parameters>(?:\w+=[^,\s]*, )+\w+=[^,\s]*)",
    r".*?Loop (?P<loop>\d+): (?P<operation>PUT|GET) time[ =](?P<seconds>[\d.]+) secs, objects (?:= )?(?P<objects>\d+), "
    r"speed (?:= )?(?P<speed>[\d.]+)(?P<unit>[KMGT]?) ?B{1,2}/sec, (?P<rate>[\d.]+) operations/sec\."
    r"(?:,? Slowdowns ?= ?(?P<slow>\d+))?",
    r".*?Loop (?P<loop>\d+): (?P<operation>DELETE) time[ =](?P<seconds>[\d.]+) secs, (?P<rate>[\d.]+) deletes/sec\."
    r"(?:,? Slowdowns ?= ?(?P<slow>\d+))?",
    r"^Download performance with +(?P<size>\d+ [KMG]B) +objects(?: \((?P<title>.*?)\))?",
    r"^\| (?P<first>Threads|      #) \| +Throughput \|",
    r"^\| +(?P<row>\d+) \| +(?P<speed>[\d.]+) MB/s \|(?P<first_byte>(?: +\d+){8}) \|(?P<last_byte>(?: +\d+){8}) \|\s*$",
)
_NAMES = ("mean", "min", "p25", "p50", "p75", "p90", "p99", "max")


def read(source: Source) -> Iterator[ImportedReading]:
    told = Said()
    for number, line in source.lines():
        if match := _PROGRAM.match(line):  # a page may have put both on one line
            told["version"] = match["version"]
        found = Said()
        found.take(number, said(source, number, line, _LINES))
        if "operation" in found:
            yield _operation(source, number, found, told)
        elif "row" in found:
            yield _row(source, number, found, told)
        elif not found and source.unended(number) and re.search(r"Loop \d+: |^\| +\d+ \| ", line):
            source.problem(number, CUT)
        if "size" in found:
            told.pop("title", None)
        told.update(found)


def _operation(source: Source, number: int, found: Said, told: Said) -> ImportedReading:
    """One of the lines of the first program."""
    given = dict(part.split("=", 1) for part in told.get("parameters", "").split(", ") if part)
    errors = found.whole("slow")
    moves = found["operation"] != "DELETE"
    units = "; K, M, G are powers of 1024" if moves else ""
    return reading(
        source,
        number,
        "s3-benchmark",
        tool_version=told.get("version"),
        label=given.get("url") or given.get("storage_uri"),
        direction={"PUT": "write", "GET": "read"}.get(found["operation"]),
        operation=found["operation"].lower(),
        size_bytes=size_bytes(given.get("size")),
        numjobs=whole(given.get("threads")),
        iops=found.num("rate"),
        bw_bytes_per_s=found.num("speed", 1024 ** " KMGT".index(found.get("unit") or " ")),
        errors=errors,
        runtime_seconds=found.num("seconds"),
        notes=(
            f"iops are objects per second{units}",
            *(["errors are the server's answers to slow down"] if errors else []),
        ),
        details={"loop": found.whole("loop"), "objects": found.whole("objects")},
    )


def _row(source: Source, number: int, found: Said, told: Said) -> ImportedReading:
    """A row of the second program's table."""
    first, last = (
        dict(zip(_NAMES, (times(num(cell), 1e6) for cell in found[name].split()), strict=True))
        for name in ("first_byte", "last_byte")
    )
    threads = told.get("first", "Threads") == "Threads"
    return reading(
        source,
        number,
        "s3-benchmark",
        label=told.get("title"),
        direction="read",
        operation="get",
        size_bytes=size_bytes(told.get("size")),
        numjobs=found.whole("row") if threads else None,
        bw_bytes_per_s=found.num("speed", MIB),
        mean=last["mean"],
        p99=last["p99"],
        notes=("MB/s are 1024^2 bytes; latency is to the last byte, in whole milliseconds",),
        details={f"ttfb_{name}_ns": value for name, value in first.items()}
        | {f"lat_{name}_ns": value for name, value in last.items() if name not in ("mean", "p99")}
        | {"run_number": None if threads else found.whole("row")},
    )
