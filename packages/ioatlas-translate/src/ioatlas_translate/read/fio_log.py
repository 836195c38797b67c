# SPDX-License-Identifier: Apache-2.0
"""fio's logs: bandwidth, IOPS and latency (write_*_log), one reading for each direction.

A log does not say what it logs; fio puts that in the file's name (`NAME_bw.1.log`), which is the only place to read it.
Windowed logs (log_avg_msec) hold one average for each window and block size 0: latency means are then means of windows.
Latencies are nanoseconds since fio 2.99 and microseconds before: what fio printed into the same folder, or the one
above, tells its version.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ioatlas.model.imported_reading import ImportedReading
from ioatlas.model.visit import Histogram
from ioatlas_translate.read.kit import KIB, reading
from ioatlas_translate.read.source import Source, told_in

_KIND = re.compile(r"_(bw|iops|slat|clat|lat)(?:\.\d+)?\.log(?:\.|$)", re.IGNORECASE)
_BENCH_FIO = re.compile(
    r"(?:^|[/\\])(read|write|randread|randwrite|rw|readwrite|randrw)-iodepth-(\d{1,6})-numjobs-(\d{1,6})_"
)
FIO_VERSION = re.compile(rb"(?m)(?:^|[\";])fio-(\d{1,2}\.\d{1,3})(?:\.\d{1,3})?(?:-\w{1,20}){0,4}[ \t]*(?:\r?$|[\";])")
"""As fio prints it into its results."""
_FIRST_NS = (2, 99)
_IDLE, _BUSY = 0.02, 0.3
"""I/Os in flight on average, below which a load would have left its target idle, and from which it kept it busy."""
_DIRECTIONS = ("read", "write", "trim")


@dataclass
class _Sum:
    line: int
    count: int = 0
    total: float = 0.0
    squares: float = 0.0
    high: float = 0.0
    first_ms: int = -1
    last_ms: int = 0
    sizes: set[int] = field(default_factory=set)
    bytes: int = 0
    priority: bool = False
    """Whether the rows end with the priority of the I/O."""
    bins: dict[int, int] = field(default_factory=dict)

    def add(self, time_ms: int, value: int, size: int) -> None:
        self.count += 1
        self.total += value
        self.squares += value * value
        self.high = max(self.high, value)
        if self.first_ms < 0:
            self.first_ms = time_ms
        self.last_ms = max(self.last_ms, time_ms)
        self.bytes += size
        if len(self.sizes) < 3:
            self.sizes.add(size)


def read(source: Source) -> Iterator[ImportedReading]:
    match = _KIND.search(source.name)
    yield from _log(source, match[1].lower() if match else None)


def _bucket(value: int) -> int:
    """A value rounded to fio's own log-linear buckets (64 to each power of two)."""
    if value < 128:
        return value
    shift = value.bit_length() - 7
    return ((value >> shift) << shift) + (1 << (shift - 1))


def _row_of(line: str) -> tuple[int, int, int, int]:
    """Time in ms, value, direction and block size. Raises ValueError or IndexError for what is no row of a log."""
    fields = line.split(",")
    time_ms, value, direction, size = (int(fields[place]) for place in range(4))
    if direction > 2 and len(fields) > 4 and size in (0, 1, 2):  # log_window_value=both: average, maximum
        direction, size = size, int(fields[4])
    if direction not in (0, 1, 2) or min(time_ms, value, size) < 0 or max(time_ms, value, size) >= 1 << 62:
        raise ValueError
    return time_ms, value, direction, size


def _log(source: Source, kind: str | None) -> Iterator[ImportedReading]:
    sums = _sums(source, kind)
    for direction, found in sorted(sums.items()):
        yield _log_reading(source, kind, direction, found)
    if kind is None and sums:
        source.problem(
            1, "a fio log whose name does not say what it logs (bw, iops, lat, clat, slat): its figures have no unit"
        )


def _sums(source: Source, kind: str | None) -> dict[int, _Sum]:
    """Of the rows of each direction."""
    sums: dict[int, _Sum] = {}
    bad = 0
    for number, line in source.lines():
        if not line.strip():
            continue
        try:
            time_ms, value, direction, size = _row_of(line)
        except (ValueError, IndexError):
            bad += 1
            source.problem(number, f"not a log row: {line[:60]!r}")
            if bad > 1000:
                source.problem(number, "too many rows that are no log rows; the rest was not read")
                break
            continue
        found = sums.get(direction)
        if found is None:
            found = sums[direction] = _Sum(number)
        found.add(time_ms, value, size)
        found.priority = found.priority or "0x" in line
        if kind in ("lat", "clat", "slat"):
            place = _bucket(value)
            found.bins[place] = found.bins.get(place, 0) + 1
    return sums


def _versions_in(folder: Path) -> frozenset[tuple[int, int]]:
    """The versions of fio that the results in a folder tell."""
    major_minor = (version.split(b".") for version in told_in(folder, FIO_VERSION))
    return frozenset((int(major), int(minor)) for major, minor in major_minor)


def _rate(source: Source, found: _Sum, direction: int, seconds: float) -> float | None:
    """I/Os a second of a latency log, by its rows; where they are means of windows, by the IOPS log beside it."""
    if found.sizes != {0}:
        return found.count / seconds if seconds > 0 else None
    beside = Path(re.sub(r"_[sc]?lat(?=(?:\.\d+)?\.log)", "_iops", str(source.path)))
    if str(beside) == str(source.path) or not beside.is_file():
        return None
    rates = _sums(Source.of(beside), None).get(direction)
    return rates.total / rates.count if rates is not None and rates.sizes == {0} else None


def _latency_unit(source: Source, kind: str, found: _Sum, direction: int, seconds: float) -> tuple[int | None, str]:
    """Nanoseconds of a latency log's unit, None where nothing tells it; and the note that says why."""
    folder = Path(source.path).absolute().parent
    for place in (folder, folder.parent) if source.is_file else ():
        versions = _versions_in(place)
        old = {version < _FIRST_NS for version in versions}
        if len(old) == 1:
            told = ", ".join(f"{major}.{minor}" for major, minor in sorted(versions)[:3])
            unit, word = (1000, "microseconds") if old == {True} else (1, "nanoseconds")
            return unit, f"values are {word}: the results beside the log are of fio {told}"
        if old:
            break
    if found.priority:
        return 1, "values are nanoseconds: only newer versions of fio write a priority"
    if kind != "slat" and (rate := _rate(source, found, direction, seconds)) is not None:
        in_flight = found.total / found.count / 1e9 * rate
        if in_flight < _IDLE and in_flight * 1000 >= _BUSY:
            return 1000, "values are microseconds: as nanoseconds they would leave the target idle"
        if in_flight >= _BUSY:
            return 1, "values are nanoseconds: as microseconds hundreds of I/Os would be in flight"
    source.problem(
        found.line,
        "latencies of a fio log without a unit: nanoseconds since fio 2.99, microseconds before. Put what fio printed "
        "into the same folder",
        lost=kind != "slat",
    )
    return None, "the log does not tell whether its values are nanoseconds or microseconds"


def _named(source: Source) -> dict[str, Any]:
    """rw, iodepth and numjobs that bench-fio puts into a log's name; empty for other names."""
    match = _BENCH_FIO.search(source.name)
    if match is None:
        return {}
    return {"rw": "rw" if match[1] == "readwrite" else match[1], "iodepth": int(match[2]), "numjobs": int(match[3])}


def _log_reading(source: Source, kind: str | None, direction: int, found: _Sum) -> ImportedReading:
    windowed = found.sizes == {0}
    mean = found.total / found.count
    spread = math.sqrt(max(found.squares / found.count - mean * mean, 0.0))
    size = next(iter(found.sizes)) if len(found.sizes) == 1 and not windowed else None
    seconds = (
        found.last_ms - (found.first_ms if found.first_ms > 3_600_000_000 else 0)
    ) / 1000  # unix-epoch logs start far from 0
    fields: dict[str, Any] = {"bs_bytes": size, **_named(source)}
    notes: list[str] = ["rw, iodepth and numjobs from the name bench-fio gives its logs"] if "rw" in fields else []
    details: dict[str, Any] = {"rows": found.count, "log": kind, "windowed": windowed}
    rows = "windows" if windowed else "I/Os"
    if kind == "bw":
        notes.append(f"mean over {rows} of fio's KiB/s")
        if windowed:
            fields["bw_bytes_per_s"] = mean * KIB
            details["bw_window_stddev_bytes_per_s"] = spread * KIB
        elif seconds > 0 and found.bytes:
            fields |= {"bw_bytes_per_s": found.bytes / seconds, "iops": found.count / seconds}
            notes[-1] = "bytes of all logged I/Os over the time the log covers"
    elif kind == "iops":
        notes.append(f"mean over {rows}")
        if windowed:
            fields["iops"] = mean
            details["iops_window_stddev"] = spread
        elif seconds > 0:
            fields |= {"iops": found.count / seconds, "bw_bytes_per_s": found.bytes / seconds if found.bytes else None}
            notes[-1] = "count of all logged I/Os over the time the log covers"
    elif kind is not None:
        unit, why = _latency_unit(source, kind, found, direction, seconds)
        notes.append(why)
        if unit is None:
            details["mean_of_unknown_unit"] = mean
        elif kind == "slat":
            details["slat_mean_ns"] = mean * unit
        else:
            fields |= {"mean": mean * unit, "latency": "total" if kind == "lat" else "completion"}
            if windowed:
                notes.append("mean of window means")
                details["lat_window_max_ns"] = found.high * unit
            else:
                p99 = Histogram.from_counts(found.bins).percentile_ns(99)
                fields["p99"] = None if p99 is None else p99 * unit
                notes.append("99th percentile in fio's buckets of 1/64 octave")
                details["lat_max_ns"] = found.high * unit
    else:
        details["mean_of_unknown_unit"] = mean
        notes.append("the log does not say what it logs")
    return reading(
        source,
        found.line,
        "fio",
        label=f"{kind or 'unknown'} log",
        direction=_DIRECTIONS[direction],
        **fields,
        runtime_seconds=seconds if seconds > 0 else None,
        io_bytes=found.bytes or None,
        notes=notes,
        details=details,
    )
