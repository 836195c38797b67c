# SPDX-License-Identifier: Apache-2.0
"""ORION (Oracle's calibration tool): summary text, the mbps/iops/lat matrices, and per-point lines of the trace.

ORION's KB and MB are binary and MBPS counts its 1024 KB requests as 1, so MBPS is taken as MiB/s. Latency is
milliseconds up to 11.1 (no unit printed) and microseconds where `usecs` or `us` is printed. What a matrix holds is said
in its first lines in newer versions, and only in the file's name (`_mbps`, `_iops`, `_lat`) in older ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from typing import Any

from ioatlas.model.imported_reading import ImportedReading
from ioatlas_translate.read.kit import (
    KIB,
    MIB,
    Said,
    cells_of,
    compiled,
    figure,
    num,
    reading,
    runs,
    rw_of,
    size_bytes,
    times,
    whole,
)
from ioatlas_translate.read.source import Source

_AT = r"(?=.*?@\s*Small\s*=\s*(?P<small>\d+)\s*and\s*Large\s*=\s*(?P<large>\d+)|)"
"""Of which data point a line is, where it says so."""
_LINES = compiled(
    r"^\s*(?:(O?RION VERSION )|ORION: ORacle IO Numbers -- Version )(?P<version>(?(1)[\d.]+|\S+))",
    r"^\s*Test(?:$|:)(?P<test>.*)",
    r"^\s*Small IO size(?:$|:)(?P<small_size>.*)",
    r"^\s*Large IO size(?:$|:)(?P<large_size>.*)",
    r"^\s*IO [Tt]ypes(?:$|:)(?P<types>.*)",
    r"^\s*Write(?:$|:)(?P<write>.*)",
    r".*?(?P<matrix>rates sustained by (?:large|small))",
    r"(?P<matrix>.*latency sustained by small.*)",
    r"^\s*\"?Large/Small\"?\s*(?P<columns>[,;].*)",
    r"^\s*(?P<row>(?P<what>Maximum Large (?P<mbps>MBPS)|Maximum Small (?P<iops>IOPS)|Minimum Small Latency)\s*="
    rf"\s*(?P<value>[\d.,]+)\s*(?P<unit>usecs|us|ms|msecs)?{_AT})",
    r"^\s*(?P<row>(?P<size>Small|Large) (?P<way>Read|Write) Latency:\s*avg=\s*(?P<mean>[\d.]+)\s*(?P<unit>us|ms)"
    r",\s*min=\s*(?P<min>[\d.]+)\s*\w+,\s*max=\s*(?P<max>[\d.]+)\s*\w+,\s*std dev=\s*(?P<dev>[\d.]+)"
    rf"{_AT})",
    r"(?i)^\s*(?P<row>ran \((?P<size>small|large)\):\s*my\s+(?P<my>\d+)\s+oth\s+(?P<other>\d+)\s+iops"
    r"\s+(?P<rate>[\d.]+)\s+size\s+(?P<kib>\d+)\s*K\s+lat\s+(?P<mean>[\d.]+)\s*(?P<unit>ms|us)\s+bw\s*=\s*(?P<bw>[\d.]+)\s*MBps\s+dur"
    r"\s+(?P<seconds>[\d.]+)\s*s(?:\s+(?P<way>READ|WRITE))?)",
    r"^\s*(?P<row>\"?\d+\"?\s*[,;].*)",
    r"^(?P<command>(?:.*\s)?-run\s+(?:simple|normal|oltp|dss|advanced)\b.*)",
)


def read(source: Source) -> Iterator[ImportedReading]:
    above: dict[str, str] = {}
    # On a terminal the command line stands above the version, in a summary below it.
    for run in runs(source, _LINES, result="", begins="version", row="row"):
        for row in run.rows:
            row.update(above | row)
        above = {"command": run["command"]} if "command" in run and not run.rows else {}
        found = [(row, one) for row in run.rows for one in _readings(source, run, row)]
        of_others: list[ImportedReading] = []
        for place, (row, one) in enumerate(found):
            if "what" in row.at:
                after = takewhile(lambda pair: "what" not in pair[0].at, found[place + 1 :])
                alike = [other for _, other in after if "lat_min_ns" in other.details and _point(other) == _point(one)]
                same = [other for other in alike if one.direction in (None, other.direction)]
                of_others += same if len(same) == 1 else []
                yield _joined(one, same[0]) if len(same) == 1 else one
            elif not any(one is other for other in of_others):
                yield one


def _point(one: ImportedReading) -> tuple[int | None, int | None]:
    return one.details.get("outstanding_small"), one.details.get("outstanding_large")


def _joined(one: ImportedReading, latency: ImportedReading) -> ImportedReading:
    """The extreme of all data points with the latency that was measured at it."""
    own = {name: value for name, value in latency.details.items() if name.startswith("lat_")}
    mean = latency.lat_mean_ns if one.lat_mean_ns is None else one.lat_mean_ns
    return replace(one, lat_mean_ns=mean, lat_kind="total", details={**one.details, **own})


def _readings(source: Source, run: Said, row: Said) -> Iterator[ImportedReading]:
    small, large = row.whole("small"), row.whole("large")
    if "what" in row.at:
        kind = "mbps" if "mbps" in row.at else "iops" if "iops" in row.at else "lat"
        if (value := figure(row["value"])) is None:
            source.problem(row.at["row"], "a figure that cannot be read")
            return
        notes = ["the extreme of all data points, each measured once"]
        if kind == "lat" and "unit" not in row.at:
            notes.append("no unit printed: milliseconds in this version")
        unit = row["unit"] if "unit" in row.at else ""
        yield _figure(source, row, kind, value, (small, large), notes, unit, {"what": row["what"]})
    elif "min" in row.at:
        low, high, dev = (row.num(name, _factor(row["unit"])) for name in ("min", "max", "dev"))
        yield reading(
            source,
            row.at["row"],
            **{**_workload(row, row["size"]), "direction": row["way"].lower()},
            iodepth=large if row["size"] == "Large" else small,
            mean=row.num("mean", _factor(row["unit"])),
            notes=("latency of one direction of a data point",),
            details={
                "outstanding_small": small,
                "outstanding_large": large,
                "lat_min_ns": low,
                "lat_max_ns": high,
                "lat_stddev_ns": dev,
            },
        )
    elif "kib" in row.at:
        yield reading(
            source,
            row.at["row"],
            **{
                **_workload(row, row["size"].capitalize()),
                "direction": row["way"].lower() if "way" in row.at else None,
                "bs_bytes": (row.whole("kib") or 0) * KIB,
                "rwmixread": None,
            },
            iodepth=row.whole("my"),
            iops=row.num("rate"),
            bw_bytes_per_s=row.num("bw", MIB),
            mean=row.num("mean", _factor(row["unit"].lower())),
            runtime_seconds=row.num("seconds"),
            notes=("ORION MBps taken as MiB/s",),
            details={"outstanding_other": row.whole("other")},
        )
    elif "columns" in row:
        yield from _matrix_row(source, run, row)


def _factor(unit: str) -> float:
    """Nanoseconds of a unit of latency; none is milliseconds."""
    return 1e3 if unit in ("us", "usecs") else 1e6


def _workload(row: Said, which: str) -> dict[str, Any]:
    """Direction and pattern from the write share and the IO types line; None where the file does not say. A command
    line says what the settings would: ORION's documented defaults are 8 KB, 1024 KB, random, no writes.
    """
    given = dict(re.findall(r"-(size_small|size_large|write|type|testname)\s+(\S+)", row.get("command", "")))
    own = {"small": size_bytes(row.get("small_size")), "large": size_bytes(row.get("large_size"))}
    types, write = row.get("types", ""), row.num("write")
    if "command" in row:
        order = "Sequential" if given.get("type", "rand").startswith("seq") else "Random"
        types = types or f"Small Random IOs, Large {order} IOs"
        write = write if "write" in row else num(given.get("write", "0"))
        for name, kib in (("small", 8), ("large", 1024)):
            own[name] = own[name] or (whole(given.get(f"size_{name}")) or kib) * KIB
    sequential = re.search(rf"{which} (?:Sequential|Seq)", types, re.IGNORECASE) is not None
    random = re.search(rf"{which} Random", types, re.IGNORECASE) is not None
    direction = None if write is None else "read" if write == 0 else "write" if write == 100 else "mixed"
    return {
        "tool": "orion",
        "tool_version": row.get("version"),
        "label": row.get("test", "")[:200] or given.get("testname"),
        "direction": direction,
        "rw": rw_of(direction, random=True if random else False if sequential else None),
        "rwmixread": 100 - write if write is not None and direction == "mixed" else None,
        "bs_bytes": own[which.lower()],
    }


def _figure(
    source: Source,
    row: Said,
    kind: str,
    value: float,
    point: tuple[int | None, int | None],
    notes: list[str],
    unit: str,
    details: dict[str, Any],
) -> ImportedReading:
    """A figure of one data point: of large I/Os their MBPS, of small ones IOPS or latency, in `unit`."""
    which, depth = ("Large", point[1]) if kind == "mbps" else ("Small", point[0])
    fields: dict[str, Any] = {"iops": value} if kind == "iops" else {"mean": times(value, _factor(unit))}
    if kind == "mbps":
        fields = {"bw_bytes_per_s": times(value, MIB)}
        notes = [*notes, "ORION MBPS taken as MiB/s"]
    return reading(
        source,
        row.at["row"],
        **_workload(row, which),
        **fields,
        iodepth=depth,
        notes=notes,
        details={**details, "outstanding_small": point[0], "outstanding_large": point[1]},
    )


def _matrix_row(source: Source, run: Said, row: Said) -> Iterator[ImportedReading]:
    """One row: outstanding large I/Os, then a figure for each number of outstanding small I/Os. Blank: not measured."""
    said = row.get("matrix", "")
    named = re.search(r"_(mbps|iops|lat)(?:\.csv|\b)", source.name, re.IGNORECASE)
    told = "lat" if "latency" in said else "mbps" if "large" in said else "iops" if said else ""
    if not (kind := told or (named[1].lower() if named else "")):
        what = "an ORION matrix, but neither the file nor its name says whether it holds MBPS, IOPS or latency"
        source.problem(run.at["columns"], what)
        return
    columns, cells = (cells_of(row[name], ";,") for name in ("columns", "row"))
    levels = [int(value) for value in map(num, columns[1:]) if value is not None]
    large = whole(cells[0])
    if len(cells) - 1 > len(levels) + 1:
        source.problem(row.at["row"], "a matrix row with more figures than its header")
        return
    notes = ["one data point of a matrix of outstanding small and large I/Os"]
    unit = "us" if "microsec" in said else ""
    if kind == "lat" and not unit:
        notes.append("no unit in the file: milliseconds, as ORION up to 11.1 writes")
    for small, cell in zip(levels, cells[1:], strict=False):
        if value := num(cell):
            yield _figure(source, row, kind, value, (small, large), notes, unit, {})
