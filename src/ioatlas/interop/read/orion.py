# SPDX-License-Identifier: Apache-2.0
"""ORION (Oracle's calibration tool): summary text, the mbps/iops/lat matrices, and per-point lines of the trace.

ORION's KB and MB are binary and MBPS counts its 1024 KB requests as 1, so MBPS is taken as MiB/s. Latency is
milliseconds up to 11.1 (no unit printed) and microseconds where `usecs` or `us` is printed. What a matrix holds is said
in its first lines in newer versions, and only in the file's name (`_mbps`, `_iops`, `_lat`) in older ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ioatlas.interop.read.kit import cells_of, reading, rw_of, settings, settle
from ioatlas.interop.read.numbers import KIB, MIB, figure, num, size_bytes, times, whole
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(
    r"^O?RION VERSION \d|^ORION: ORacle IO Numbers|^Maximum (?:Large MBPS|Small IOPS)=|^Minimum Small Latency="
    r"|^\s*\"?Large/Small\"?\s*[,;]"
    r"|^\s*ran \((?:small|large)\):",
    re.MULTILINE,
)
_AT = re.compile(r"@\s*Small\s*=\s*(\d+)\s*and\s*Large\s*=\s*(\d+)")
_MAXIMUM = re.compile(
    r"^(Maximum Large MBPS|Maximum Small IOPS|Minimum Small Latency)\s*=\s*([\d.,]+)\s*(usecs|us|ms|msecs)?"
)
_LATENCY = re.compile(
    r"^(Small|Large) (Read|Write) Latency:\s*avg=\s*([\d.]+)\s*(us|ms),\s*min=\s*([\d.]+)\s*\w+,\s*max=\s*([\d.]+)"
    r"\s*\w+,\s*std dev=\s*([\d.]+)"
)
_TRACE = re.compile(
    r"^\s*ran \((small|large)\):\s*my\s+(\d+)\s+oth\s+(\d+)\s+iops\s+([\d.]+)\s+size\s+(\d+)\s*K\s+lat\s+([\d.]+)\s*(ms"
    r"|us)\s+bw\s*=\s*([\d.]+)\s*MBps"
    r"\s+dur\s+([\d.]+)\s*s(?:\s+(READ|WRITE))?",
    re.IGNORECASE,
)
_RUN = re.compile(r"(?:^|\s)-run\s+(?:simple|normal|oltp|dss|advanced)\b")
_SETTINGS = settings(
    (r"^Test(?:$|:)(.*)", lambda match: {"test": match[1].strip()[:200]}),
    (r"^Small IO size(?:$|:)(.*)", lambda match: {"small": size_bytes(match[1])}),
    (r"^Large IO size(?:$|:)(.*)", lambda match: {"large": size_bytes(match[1])}),
    (r"^IO [Tt]ypes(?:$|:)(.*)", lambda match: {"types": match[1].strip()[:200]}),
    (r"^Write(?:$|:)(.*)", lambda match: {"write": num(match[1])}),
    (r"rates sustained by large", lambda _: {"matrix": "mbps"}),
    (r"rates sustained by small", lambda _: {"matrix": "iops"}),
    (r"latency sustained by small", lambda match: {"matrix": "lat us" if "microsec" in match.string else "lat"}),
)
_NS = {"usecs": 1e3, "us": 1e3}
"""Of units; any other is milliseconds."""


@dataclass
class _Run:
    version: str | None = None
    test: str | None = None
    small: int | None = None
    large: int | None = None
    types: str = ""
    write: float | None = None
    pending: ImportedReading | None = None
    parts: tuple[ImportedReading, ImportedReading] | None = None
    """Of `pending`, when a latency of reads went into it before it was known whether there are writes: itself without,
    and that latency.
    """
    commanded: bool = False
    matrix: str = ""
    columns: list[int] | None = None


def read(source: Source) -> Iterator[ImportedReading]:
    run = _Run()
    for number, line in source.lines():
        text = line.strip()
        if match := re.match(r"^O?RION VERSION ([\d.]+)|^ORION: ORacle IO Numbers -- Version (\S+)", text):
            yield from _flush(run)
            # On a terminal the command line stands above the version, in a summary below it.
            run = replace(run, version=match[1] or match[2]) if run.commanded else _Run(match[1] or match[2])
        elif re.match(r'^"?Large/Small"?\s*[,;]', text):
            cells = cells_of(text, ";,")
            run.columns = [int(value) for value in (num(cell) for cell in cells[1:]) if value is not None]
            run.matrix = _kind(source, run)
            if not run.matrix:
                source.problem(
                    number,
                    "an ORION matrix, but neither the file nor its name says whether it holds MBPS, IOPS or latency",
                )
        elif run.columns is not None and re.match(r'^"?\d+"?\s*[,;]', text):
            yield from _matrix_row(source, run, number, cells_of(text, ";,"))
        elif match := _TRACE.match(line):
            yield from _trace(source, run, number, match)
        elif match := _MAXIMUM.match(text):
            yield from _flush(run)
            run.commanded = False
            run.pending = _maximum(source, run, number, match, text)
        elif match := _LATENCY.match(text):
            yield from _latency(source, run, number, match, text)
        elif not settle(run, text, _SETTINGS) and _RUN.search(text):
            _command(run, text)
    yield from _flush(run)


def _command(run: _Run, text: str) -> None:
    """A command line says what the settings would: ORION's documented defaults are 8 KB, 1024 KB, random, no writes."""
    given = dict(re.findall(r"-(size_small|size_large|write|type|testname)\s+(\S+)", text))
    run.small = (whole(given.get("size_small")) or 8) * KIB
    run.large = (whole(given.get("size_large")) or 1024) * KIB
    run.write = num(given.get("write", "0"))
    run.test = run.test or given.get("testname")
    sequential = given.get("type", "rand").startswith("seq")
    run.commanded = True
    run.types = run.types or f"Small Random IOs, Large {'Sequential' if sequential else 'Random'} IOs"


def _kind(source: Source, run: _Run) -> str:
    if run.matrix:
        return run.matrix
    match = re.search(r"_(mbps|iops|lat)(?:\.csv|\b)", source.name, re.IGNORECASE)
    return match[1].lower() if match else ""


def _flush(run: _Run) -> Iterator[ImportedReading]:
    if run.pending is not None:
        yield run.pending
    run.pending = run.parts = None


def _workload(run: _Run, which: str) -> dict[str, Any]:
    """Direction and pattern from the write share and the IO types line; None where the file does not say."""
    sequential = re.search(rf"{which} (?:Sequential|Seq)", run.types, re.IGNORECASE) is not None
    random = re.search(rf"{which} Random", run.types, re.IGNORECASE) is not None
    direction = None if run.write is None else "read" if run.write == 0 else "write" if run.write == 100 else "mixed"
    return {
        "direction": direction,
        "rw": rw_of(direction, random=True if random else False if sequential else None),
        "rwmixread": 100 - run.write if run.write is not None and direction == "mixed" else None,
        "bs_bytes": run.small if which == "Small" else run.large,
    }


def _common(run: _Run) -> dict[str, Any]:
    return {"tool": "orion", "tool_version": run.version, "label": run.test, "n": 1}


def _point(text: str) -> tuple[int | None, int | None]:
    match = _AT.search(text)
    return (whole(match[1]), whole(match[2])) if match else (None, None)


def _figure(
    source: Source,
    run: _Run,
    number: int,
    kind: str,
    value: float,
    point: tuple[int | None, int | None],
    *notes: str,
    unit: str = "",
    **details: Any,
) -> ImportedReading:
    """A figure of one data point: of large I/Os their MBPS, of small ones IOPS or latency, in `unit`."""
    which, depth = ("Large", point[1]) if kind == "mbps" else ("Small", point[0])
    fields: dict[str, Any] = {"iops": value} if kind == "iops" else {"mean": times(value, _NS.get(unit, 1e6))}
    if kind == "mbps":
        fields = {"bw_bytes_per_s": times(value, MIB)}
        notes = (*notes, "ORION MBPS taken as MiB/s")
    return reading(
        source,
        number,
        **_common(run),
        **_workload(run, which),
        **fields,
        iodepth=depth,
        notes=notes,
        details={**details, "outstanding_small": point[0], "outstanding_large": point[1]},
    )


def _maximum(source: Source, run: _Run, number: int, match: re.Match[str], text: str) -> ImportedReading | None:
    value = figure(match[2])
    if value is None:
        source.problem(number, "a figure that cannot be read")
        return None
    kind = "mbps" if "MBPS" in match[1] else "iops" if "IOPS" in match[1] else "lat"
    notes = ["the extreme of all data points, each measured once"]
    if kind == "lat" and match[3] is None:
        notes.append("no unit printed: milliseconds in this version")
    return _figure(source, run, number, kind, value, _point(text), *notes, unit=match[3] or "", what=match[1])


def _latency(source: Source, run: _Run, number: int, match: re.Match[str], text: str) -> Iterator[ImportedReading]:
    """`Small Read Latency: avg=...` belongs to the maximum above it when it names the same data point."""
    factor = 1e3 if match[4] == "us" else 1e6
    small, large = _point(text)
    mean, low, high, dev = (times(num(match[place]), factor) for place in (3, 5, 6, 7))
    figures = {"lat_min_ns": low, "lat_max_ns": high, "lat_stddev_ns": dev}
    pending = run.pending
    direction = match[2].lower()
    same = pending is not None and (
        pending.details.get("outstanding_small"),
        pending.details.get("outstanding_large"),
    ) == (small, large)
    own = reading(
        source,
        number,
        **_common(run),
        **{**_workload(run, match[1]), "direction": direction},
        iodepth=large if match[1] == "Large" else small,
        mean=mean,
        notes=("latency of one direction of a data point",),
        details={"outstanding_small": small, "outstanding_large": large, **figures},
    )
    if pending is not None and same and run.parts is not None:
        run.pending, before = run.parts
        run.parts = None
        yield before
    elif pending is not None and same and pending.direction in (None, direction):
        run.parts = (pending, own) if pending.direction is None else None
        run.pending = replace(
            pending,
            lat_mean_ns=pending.lat_mean_ns if pending.lat_mean_ns is not None else mean,
            lat_kind="total",
            details={**pending.details, **figures},
        )
        return
    yield own


def _matrix_row(source: Source, run: _Run, number: int, cells: list[str]) -> Iterator[ImportedReading]:
    """One row: outstanding large I/Os, then a figure for each number of outstanding small I/Os. Blank: not measured."""
    if not run.matrix or run.columns is None:
        return
    large = whole(cells[0])
    if len(cells) - 1 > len(run.columns) + 1:
        source.problem(number, "a matrix row with more figures than its header")
        return
    if source.unended(number) and len(cells) - 1 < len(run.columns):
        source.problem(number, "the file ends inside this matrix")
        cells = cells[:-1]
    notes = ["one data point of a matrix of outstanding small and large I/Os"]
    if run.matrix == "lat":
        notes.append("no unit in the file: milliseconds, as ORION up to 11.1 writes")
    kind, _, unit = run.matrix.partition(" ")
    for small, cell in zip(run.columns, cells[1:], strict=False):
        if value := num(cell):
            yield _figure(source, run, number, kind, value, (small, large), *notes, unit=unit)


def _trace(source: Source, run: _Run, number: int, match: re.Match[str]) -> Iterator[ImportedReading]:
    direction = match[10].lower() if match[10] else None
    yield reading(
        source,
        number,
        **_common(run),
        direction=direction,
        rw=_workload(run, match[1].capitalize())["rw"],
        bs_bytes=int(match[5][:9]) * KIB,
        iodepth=whole(match[2]),
        iops=num(match[4]),
        bw_bytes_per_s=times(num(match[8]), MIB),
        mean=times(num(match[6]), 1e6 if match[7].lower() == "ms" else 1e3),
        runtime_seconds=num(match[9]),
        notes=("ORION MBps taken as MiB/s",),
        details={"outstanding_other": whole(match[3])},
    )
