# SPDX-License-Identifier: Apache-2.0
"""db_bench of RocksDB and LevelDB: one line for each benchmark, and its histogram where one was asked for.

MB are 1024^2 bytes of keys and values, by its source. micros/op is the mean time of one operation of one thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ioatlas.interop.read.numbers import MIB, num, times, whole
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(r"(?m)^.{0,4000}?[a-z]\w* +: +[\d.]+ micros/op\b")
_LINE = re.compile(
    r"(?:^|.*\s)([A-Za-z][\w.]*) +: +([\d.]+) micros/op(?: (\d+) ops/sec)?(?: ([\d.]+) seconds (\d+) operations)?;(.*)$"
)
_RATE = re.compile(r"^ +(\d+(?:[.,]\d+)?) MB/s")
_FOUND = re.compile(r"\((\d+) of (\d+) found")
_MANY = re.compile(
    r"^([A-Za-z][\w.]*) \[(AVG|MEDIAN) +(\d+) runs\] : (\d+) (?:\(± (\d+)\) )?ops/sec;?"
    r" *(?:([\d.]+) (?:\(± [\d.]+\) )?MB/sec)?"
)
_VERSION = re.compile(r"^(RocksDB|LevelDB): +version (\d[\w.]*)")
_SIZES = re.compile(r"^(Keys|Values): +(\d+) bytes")
_ENTRIES = re.compile(r"^Entries: +(\d+)")
_COUNT = re.compile(r"^Count: (\d+) +Average: ([\d.]+) +StdDev: ([\d.]+)")
_PERCENTILES = re.compile(r"^Percentiles: .*?\bP99: ([\d.]+)(?:\s|$)")
_WRITES = ("fill", "overwrite", "update")
_READS = ("read", "seek", "multiread")


@dataclass
class _Run:
    product: str | None = None
    version: str | None = None
    sizes: dict[str, int | None] = field(default_factory=dict)
    last: ImportedReading | None = None
    """Waits for its histogram."""


def read(source: Source) -> Iterator[ImportedReading]:
    run = _Run()
    for number, raw in source.lines():
        line = raw.lstrip("\b")
        if match := _MANY.match(line):
            yield from _flush(run)
            # without padding it is the mean so far; the median is of the same runs
            if match[2] == "AVG" and not re.match(r"^\[AVG \d", line[line.index("[") :]):
                yield from _summary(source, run, number, match)
        elif match := _LINE.match(line):
            yield from _flush(run)
            run.last = _reading(source, run, number, match)
        elif source.unended(number):
            if re.search(r": +[\d.]+ micros/", line):
                source.problem(number, "the file ends inside this line, which was not used")
        else:
            _other(run, line)
    yield from _flush(run)


def _flush(run: _Run) -> Iterator[ImportedReading]:
    if run.last is not None:
        yield run.last
    run.last = None


def _other(run: _Run, line: str) -> None:
    if match := _VERSION.match(line):
        run.product, run.version = match[1], match[2]
    elif match := _SIZES.match(line):
        run.sizes[match[1]] = whole(match[2])
    elif match := _ENTRIES.match(line):
        run.sizes["Entries"] = whole(match[1])
    elif run.last is not None and (match := _COUNT.match(line)):
        details = {**run.last.details, "histogram_mean_ns": times(num(match[2]), 1e3)}
        run.last = replace(run.last, details=details | {"lat_stddev_ns": times(num(match[3]), 1e3)})
    elif run.last is not None and run.last.lat_p99_ns is None and (match := _PERCENTILES.match(line)):
        run.last = replace(run.last, lat_p99_ns=times(num(match[1]), 1e3), lat_p99_kind="total")


def _direction(name: str) -> str | None:
    if "while" in name or name.endswith("randomwriterandom"):
        return "mixed" if name.startswith("readrandomwrite") else "read"
    return "write" if name.startswith(_WRITES) else "read" if name.startswith(_READS) else None


def _base(source: Source, run: _Run, number: int, name: str) -> ImportedReading:
    details = {"key_bytes": run.sizes.get("Keys"), "value_bytes": run.sizes.get("Values")}
    details["entries"] = run.sizes.get("Entries")
    return ImportedReading(
        source.name,
        number,
        "db_bench",
        tool_version=run.version,
        label=run.product,
        direction=_direction(name),
        operation=name,
        n=1,
        notes=("MB/s are 1024^2 bytes of keys and values; iops are operations on keys",),
        details={key: value for key, value in details.items() if value is not None},
    )


def _reading(source: Source, run: _Run, number: int, match: re.Match[str]) -> ImportedReading:
    base = _base(source, run, number, match[1])
    mean = times(num(match[2]), 1e3)
    rate = _RATE.match(match[6])
    details = dict(base.details)
    if match[5]:
        details["operations"] = whole(match[5])
    if found := _FOUND.search(match[6]):
        details |= {"found": whole(found[1]), "looked_for": whole(found[2])}
    notes = base.notes
    if match[3] and not match[5]:  # the layout of older versions, which divided the run's time by all operations
        notes = (*notes, "with several threads micros/op of this version is no operation's latency")
    return replace(
        base,
        notes=notes,
        iops=num(match[3]),
        bw_bytes_per_s=times(num(rate[1].replace(",", ".")), MIB) if rate else None,
        lat_mean_ns=mean,
        lat_kind="total" if mean is not None else None,
        runtime_seconds=num(match[4]),
        details=details,
    )


def _summary(source: Source, run: _Run, number: int, match: re.Match[str]) -> Iterator[ImportedReading]:
    n = whole(match[3])
    yield replace(
        _base(source, run, number, match[1]),
        iops=num(match[4]),
        bw_bytes_per_s=times(num(match[6]), MIB) if match[6] else None,
        statistic=f"mean of {n}",
        n=n or None,
        notes=("MB/s are 1024^2 bytes of keys and values; iops are operations on keys",)
        + (("± of db_bench is the half width of its 95% interval",) if match[5] else ()),
        details={"interval_half_width_iops": num(match[5])} if match[5] else {},
    )
