# SPDX-License-Identifier: Apache-2.0
"""vdbench: summary, totals and log file, and the flat file; one run definition gives read, write and total readings.

MB is 1048576 bytes (the header says 1024**2), response times are milliseconds. The average line of a run definition is
the result; vdbench leaves the first interval (and the warm-up) out of it. Java prints in the machine's locale, so
commas may be decimal points.

The buckets of a response time histogram are too coarse for a percentile: only the one the 99th percentile lies in is
given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ioatlas.model.imported_reading import ImportedReading
from ioatlas_translate.read.kit import GIB, MIB, Meaning, agreed, figure, num, reading, rw_of, size_bytes, times, whole
from ioatlas_translate.read.source import Source

_TAG = re.compile(r"<[^<>]{0,300}>")
_START = re.compile(r"Starting RD=([^;\s]+(?:\s*\([^)]*\))?);?(.*)$")
_ROW = re.compile(r"^\s*(?:\d\d:\d\d:\d\d[.,]\d{3}\s+(\d+)|(?:\S+\s+)?(avg_\S+|std_\S+|max_\S+))\s+(.*)$")
"""An interval has its time before it; an average may stand without."""
_HEADER = re.compile(r"\binterval\b(?=.*\bi/o\b)(?=.*\bMB/sec\b)", re.IGNORECASE)
_GROUPS = re.compile(r"\.{1,3}Interval\.{1,3}\s+(\.+ReqstdOps.*)$", re.IGNORECASE)
_SMALLEST_BLOCK = 512
_DATA_OPS = frozenset({"read", "write", "reqstdops", "cpu%", "mb/sec", "xfer"})


@dataclass
class _Run:
    """A run definition while its lines are read."""

    name: str | None = None
    line: int = 0
    loops: dict[str, str] = field(default_factory=dict)
    ended: bool = True
    intervals: int = 0
    last: tuple[int, dict[str, float]] | None = None


def read(source: Source) -> Iterator[ImportedReading]:
    text = _Text(source)
    for number, raw in source.lines():
        yield from text.take(number, _TAG.sub("", raw) if "<" in raw else raw)
    yield from _unfinished(source, text.run, text.version)


@dataclass
class _Text:
    """Where in a vdbench file the next line stands."""

    source: Source
    run: _Run = field(default_factory=_Run)
    version: str | None = None
    columns: list[str] = field(default_factory=list)
    groups: str = ""
    """The first line of a two-line header of a file-system run, whose second line comes."""
    first_line: list[str] = field(default_factory=list)
    """The same of a raw-I/O run."""
    flat: list[str] = field(default_factory=list)
    """Columns of a flat file."""

    def take(self, number: int, line: str) -> Iterator[ImportedReading]:
        if match := re.search(r"Vdbench distribution: vdbench(\d[\w.]*)", line, re.IGNORECASE):
            self.version = match[1]
        if match := _START.search(line):
            yield from _unfinished(self.source, self.run, self.version)
            self.run = _Run(match[1].strip(), number, _loops(match[2]), ended=False)
        elif re.match(r"\s*tod\s+(?:timestamp\s+)?Run\s+Interval\s", line):
            self.flat = [name.lower() for name in line.split()]
        elif self.flat and (record := _flat_row(self.source, self.flat, number, line)):
            yield from _flat(self.source, number, record)
        elif not self._header(line) and self.columns and (match := _ROW.match(line)):
            yield from self._row(number, match[1] or match[2], match[3])

    def _header(self, line: str) -> bool:
        if match := _GROUPS.search(line):
            self.groups, self.first_line = match[1], []
        elif match := _HEADER.search(line):
            self.groups, self.first_line = "", line[match.start() :].split()[1:]
        elif self.groups and re.match(r"\s*rate\s+resp\b", line):
            self.columns, self.groups = _grouped(self.groups, line.split()), ""
        elif self.first_line and "1024**2" in line and len(line.split()) >= len(self.first_line) - 3:
            pairs = zip(self.first_line, line.split(), strict=False)
            self.columns, self.first_line = [f"{top} {low}".lower() for top, low in pairs], []
        else:
            return False
        return True

    def _row(self, number: int, interval: str, figures: str) -> Iterator[ImportedReading]:
        values = _values(self.columns, _whole_cells(self.source, number, figures))
        if values is None:
            if not interval.startswith(("std", "max")):
                self.source.problem(number, "a row with another number of figures than its header")
        elif (span := re.match(r"avg_(\d+)-(\d+)$", interval)) and int(span[1][:9]) > int(span[2][:9]):
            pass  # a run of one interval, which is left out as warm-up: an average of nothing, printed as 0
        elif interval.startswith("avg_"):
            yield from _average(self.source, self.run, number, interval, values, self.version)
            self.run.ended = True
        elif interval.isdigit():
            self.run.intervals += 1
            self.run.last = (number, values)


def _loops(text: str) -> dict[str, str]:
    """`; I/O rate: 50; elapsed=60; For loops: threads=2 xfersize=4k` as a mapping."""
    found = dict(re.findall(r"(\w+)=([^\s;]+)", text[:2000]))
    if match := re.search(r"I/O rate:\s*([^;]+)", text):
        found["rate"] = match[1].strip()
    return found


def _values(columns: list[str], text: str) -> dict[str, float] | None:
    cells = text.split()
    if len(cells) < len(columns) - 3 or len(cells) > len(columns):  # the last CPU columns may be blank
        return None
    values: dict[str, float] = {}
    for name, cell in zip(columns, cells, strict=False):
        if (value := figure(cell)) is not None:
            values[name] = value
    return values


def _whole_cells(source: Source, number: int, text: str) -> str:
    """The cells of a row without the one the file ends in."""
    if not source.unended(number):
        return text
    source.problem(number, "the file ends inside this row; its last figure was not used")
    return text.rpartition(" ")[0]


def _grouped(groups: str, names: list[str]) -> list[str]:
    """Two-line header of file-system runs: a dotted group stands over two columns, `read` over pct, `mb/sec` over
    total, `.xfer..` over size.
    """
    columns: list[str] = []
    place = 0
    for group in groups.split():
        word = group.strip(".").lower()
        dots = group.startswith(".") or group.endswith(".")
        span = 2 if dots and word != "xfer" else 1
        columns += [f"{word} {name}".lower() for name in names[place : place + span]]
        place += span
    return columns


_RAW = {
    "rate": ("i/o rate", "rate"),
    "mb": ("mb/sec 1024**2", "mb/sec"),
    "bytes": ("bytes i/o", "bytes/io"),
    "pct": ("read pct", "read%"),
    "resp": ("resp time", "resp"),
    "read_resp": ("read resp", "read_resp"),
    "write_resp": ("write resp", "write_resp"),
}
"""Figures of a raw-I/O average: their column in the summary and in the flat file."""
_NOTE = "vdbench MB is 1048576 bytes"
_THREADS = "numjobs is vdbench threads: concurrent I/Os of each SD or FWD"


@dataclass
class _Average:
    """An average line: what is the same of all readings that it gives."""

    source: Source
    number: int
    common: dict[str, Any]
    notes: list[str]
    details: dict[str, Any]

    def reading(self, iops: float | None, resp: float | None, *extra: str, **fields: Any) -> ImportedReading:
        told = {**self.common, "details": self.details, "notes": (*self.notes, *extra), **fields}
        return reading(self.source, self.number, "vdbench", **told, iops=iops, mean=times(resp, 1e6))

    def raw(self, values: Mapping[str, float | None]) -> Iterator[ImportedReading]:
        """Readings of raw I/O: the total; for a mix also reads and writes by the observed read percentage."""
        rate, mb, percent, size = (values.get(name) for name in ("rate", "mb", "pct", "bytes"))
        if rate is None:
            self.source.problem(self.number, "an average line without an I/O rate")
            return
        if not rate:
            self.source.problem(self.number, "an average line of zeros: no I/O was measured", lost=False)
            return
        if self.common.get("bs_bytes") is None and _whole_block(size):
            self.common["bs_bytes"] = int(size or 0)
            self.notes.append("block size is the mean transfer size, a power of two")
        # MB are printed with two decimals: of a slow load the I/Os and their mean size tell more.
        told = [] if mb is None else [Meaning(mb * MIB, 0.005 * MIB)]
        best, alike = agreed(told, [Meaning(rate * size, 0.5 * rate + 0.005 * size)] if size else [])
        bw = times(mb, MIB) if best is None or not alike else round(best.value, 3)
        if percent is None or not 0 < percent < 100:
            way = "mixed" if percent is None else "read" if percent >= 100 else "write"
            yield self.reading(rate, values.get("resp"), direction=way, bw_bytes_per_s=bw)
            return
        self.details["observed_read_percent"] = percent
        fixed = size is not None and self.common.get("bs_bytes") == size
        share = ["I/Os are the observed read percentage of the total rate"]
        share += ["bandwidth is I/Os times the fixed transfer size"] if fixed else []
        for name, part in (("read", percent / 100), ("write", 1 - percent / 100)):
            iops = rate * part
            own = iops * (size or 0) if fixed else None
            yield self.reading(iops, values.get(f"{name}_resp"), *share, direction=name, bw_bytes_per_s=own)
        both = "reads and writes together"
        yield self.reading(rate, values.get("resp"), both, direction="mixed", bw_bytes_per_s=bw)

    def file_system(self, values: Mapping[str, float]) -> Iterator[ImportedReading]:
        """Readings of file operations: those that move data, and the other calls."""
        if (size := values.get("xfer size")) is not None:
            self.details["mean_io_bytes"] = size
        rates = {
            column.removesuffix(" rate"): rate
            for column, rate in values.items()
            if column.endswith(" rate") and rate > 0
        }
        data = [name for name in ("read", "write") if name in rates]
        calls = [name for name in rates if name not in _DATA_OPS]
        for name in data + calls:
            bw = times(values.get(f"mb/sec {name}"), MIB)
            fields: dict[str, Any] = {"direction": name, "bw_bytes_per_s": bw}
            if name in calls:
                told = ("operations per second of file-system calls",)
                fields = {"bs_bytes": None, "operation": name, "notes": told, "details": None}
            yield self.reading(rates[name], values.get(f"{name} resp"), **fields)
        if not data and not calls:
            self.source.problem(self.number, "an average line with no operation above zero", lost=False)


def _average(
    source: Source, run: _Run, number: int, interval: str, values: Mapping[str, float], version: str | None
) -> Iterator[ImportedReading]:
    loops = run.loops
    details: dict[str, Any] = {
        "interval": interval,
        "requested_rate": loops["rate"][:60] if "rate" in loops else None,
        "elapsed": loops["elapsed"][:20] if "elapsed" in loops else None,
    }
    common: dict[str, Any] = {
        "tool_version": version,
        "label": run.name,
        "runtime_seconds": num(loops.get("elapsed")),
        "bs_bytes": size_bytes(loops.get("xfersize")),
        "numjobs": whole(loops.get("threads")),
    }
    average = _Average(source, number, common, [_NOTE, _THREADS] if "threads" in loops else [_NOTE], details)
    if "reqstdops rate" in values:
        yield from average.file_system(values)
        return
    kept = {"resp_max_ms": "resp max", "resp_stddev_ms": "resp stddev", "queue_depth": "queue depth"}
    details |= {name: values.get(column) for name, column in kept.items()}
    yield from average.raw({name: values.get(column) for name, (column, _) in _RAW.items()})


def _whole_block(size: float | None) -> bool:
    """Whether a mean transfer size means transfers of one size: a mix hits a power of two by chance alone."""
    return size is not None and size >= _SMALLEST_BLOCK and size == int(size) and int(size) & (int(size) - 1) == 0


def _unfinished(source: Source, run: _Run, version: str | None) -> Iterator[ImportedReading]:
    if run.name is None or run.ended:
        return
    if run.last is None:
        if run.line:
            source.problem(run.line, f"run {run.name[:60]} has no figures", lost=False)
        return
    number, values = run.last
    source.problem(number, f"run {run.name[:60]} has no average line: only its last interval is given")
    note = "the last whole interval of a run that was cut off, not its average"
    for one in _average(source, run, number, str(run.intervals), values, version):
        yield replace(one, statistic="unknown", n=None, notes=(*one.notes, note))


def _flat_row(source: Source, flat: list[str], number: int, line: str) -> dict[str, str] | None:
    """The cells of an average row of the flat file by column name."""
    cells = line.split()
    if not cells or not re.match(r"\d\d:\d\d:\d\d", cells[0]):
        return None
    record = dict(zip(flat, cells, strict=False))
    if not record.get("interval", "").startswith("avg_"):
        return None
    if len(cells) != len(flat) or (source.unended(number) and not line.endswith(" ")):
        source.problem(number, "a row with another number of figures than its header, or cut off")
        return None if len(cells) < len(flat) // 2 else dict(zip(flat, cells[:-1], strict=False))
    return record


def _flat(source: Source, number: int, record: Mapping[str, str]) -> Iterator[ImportedReading]:

    def get(name: str) -> float | None:
        return figure(record.get(name))

    threads, size = get("threads"), get("xfersize")
    common: dict[str, Any] = {
        "tool_version": None if record.get("version", "n/a") == "n/a" else record["version"],
        "label": record.get("run"),
        "bs_bytes": None if size is None else int(size),
        "numjobs": None if threads is None else int(threads),
    }
    details: dict[str, Any] = {"interval": record.get("interval")}
    average = _Average(source, number, common, [_NOTE] if threads is None else [_NOTE, _THREADS], details)
    if "read_rate" in record and "mb_read" in record:
        common["bs_bytes"] = None  # the flat file of file-system runs prints the average, not the requested size
        values = {f"mb/sec {way}": get(f"mb_{way}") or 0.0 for way in ("read", "write")}
        if size is not None:
            values["xfer size"] = size
        for name in record:
            word, _, kind = name.rpartition("_")
            if word and kind in ("rate", "resp") and (value := get(name)) is not None:
                values[f"{word} {kind}"] = value
        yield from average.file_system(values)
        return
    seek, requested, lun = get("seekpct"), get("rdpct"), get("lunsize")
    if seek in (0, 100) and requested is not None:
        way = "read" if requested == 100 else "write" if requested == 0 else "mixed"
        common["rw"] = rw_of(way, random=seek == 100)
        common["rwmixread"] = requested if 0 < requested < 100 else None
    if lun:
        common["size_bytes"] = int(lun * GIB)
        average.notes.append("size is of all LUNs together")
    kept = ("reqrate", "resp_max", "resp_std", "queue_depth", "rhpct", "whpct", "compratio", "dedupratio")
    details |= {name: get(name) for name in kept}
    yield from average.raw({name: get(column) for name, (_, column) in _RAW.items()})


_BUCKETS_HEAD = re.compile(r"\s*min\(ms\)\s*<\s*max\(ms\)\s+count")
_RUN_OF = re.compile(r"Starting RD=([^;\s<]+)")
_BUCKET = re.compile(r"^\s*([\d.,]+)\s*<\s*([\d.,]+|max)\s+([\d.,]+)\s+([\d.,]+)\s+([\d.,]+)")
_MOST_BUCKETS = 1000
_TITLES = {"reads and writes:": "mixed", "reads:": "read", "writes:": "write"}


def read_histogram(source: Source) -> Iterator[ImportedReading]:
    label: str | None = None
    direction = "mixed"
    start = 0
    buckets: list[tuple[float, float | None, int]] = []
    for number, raw in source.lines():
        line = re.sub(r"<(?:/?(?:a|i|b|pre|title)\b)[^<>]{0,300}>", "", raw)
        text = line.strip().lower()
        if text in _TITLES or _RUN_OF.search(line) or _BUCKETS_HEAD.match(line):
            yield from _finish(source, label, direction, start, buckets)
            buckets = []
            if text in _TITLES:
                direction = _TITLES[text]
            elif match := _RUN_OF.search(line):
                label, direction = match[1], "mixed"
            continue
        if match := _BUCKET.match(line):
            low, high = figure(match[1]), figure(match[2])
            digits = re.sub(r"[.,]", "", match[3])  # counts carry thousands separators
            if low is None or not digits or len(digits) > 15:
                source.problem(number, "a histogram row that cannot be read")
                continue
            start = start if buckets else number
            if len(buckets) < _MOST_BUCKETS:
                buckets.append((low, high, int(digits)))
            else:
                source.problem(0, f"a histogram of more than {_MOST_BUCKETS} rows; the rest was not read")
    yield from _finish(source, label, direction, start, buckets)


def _finish(
    source: Source, label: str | None, direction: str, start: int, buckets: list[tuple[float, float | None, int]]
) -> Iterator[ImportedReading]:
    total = sum(count for _, _, count in buckets)
    if not total:
        return
    seen = 0
    edge: tuple[float, float | None] | None = None
    for low, high, count in buckets:
        seen += count
        if seen >= 0.99 * total:
            edge = (low, high)
            break
    details: dict[str, Any] = {
        "total_ios": total,
        "buckets_ms": [[low, high, count] for low, high, count in buckets if count],
        "lat_p99_between_ns": None if edge is None else [edge[0] * 1e6, None if edge[1] is None else edge[1] * 1e6],
    }
    yield reading(
        source,
        start,
        "vdbench",
        label=label,
        direction=direction,
        notes=("response time histogram, milliseconds; too coarse for percentiles",),
        details=details,
    )
