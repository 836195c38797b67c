# SPDX-License-Identifier: Apache-2.0
"""fio's terse output (--minimal), versions 2 to 5: a line with semicolons for each job. KiB, KiB/s, microseconds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ioatlas.model.imported_reading import ImportedReading
from ioatlas_translate.read.kit import KIB, agreed, latencies, num, per_second, printed, reading, whole
from ioatlas_translate.read.source import Source

_LINE = re.compile(
    r"^(?:<([^>]{1,200})> ?)?((?:[345];fio-[^;]{1,80};[^;]*;\d+;\d+;\d|2;[^;]*;\d+;\d+;\d+;\d+;\d+;\d).*)$"
)
_US = 1000


def read(source: Source) -> Iterator[ImportedReading]:
    for number, line in source.lines():
        match = _LINE.match(line)
        if match is None:
            continue
        fields = match[2].split(";")
        if source.unended(number) and len(fields) < 100:  # the line is cut, and its last figure with it
            fields = fields[:-1]
        yield from _line(source, number, fields, match[1])


def _line(source: Source, number: int, fields: list[str], host: str | None) -> Iterator[ImportedReading]:
    version = int(fields[0])
    head = 4 if version == 2 else 5
    label, error = fields[head - 3], whole(fields[head - 1])
    if label == "All clients":
        return
    common: dict[str, Any] = {
        "tool": "fio",
        "tool_version": None if version == 2 else fields[1].removeprefix("fio-"),
        "label": label,
        "errors": error,
        "n": 1,
        "host": host,
    }
    notes = [f"terse version {version}: KiB, KiB/s and microseconds"]
    if error:
        notes.append(f"errors is fio's error code {error}, not a count")
    percentiles = any("%=" in field for field in fields)
    if not percentiles and version == 2:
        yield from _oldest(source, number, fields, common, tuple(notes))
        return
    width = 47 if version == 5 else 41
    names = ["read", "write"] + (["trim"] if version != 3 else [])
    after = fields[head + width] if len(fields) > head + width else ""
    if after.endswith("%") and not after.startswith("0%="):  # CPU usage follows at once: unified_rw_reporting
        names = ["mixed"]
    found = False
    for place, name in enumerate(names):
        part = fields[head + place * width : head + (place + 1) * width]
        if len(part) < width:
            if len(part) < 4 or name != "trim":
                source.problem(number, f"terse line cut off in the {name} part")
            if len(part) < 4 or name == "trim":
                break
        found_one = _part(source, number, name, part, common, tuple(notes))
        if found_one is not None:
            found = True
            yield found_one
    if not found:
        if error:
            yield reading(source, number, **common, notes=(*notes, "no I/O was measured"))
        else:
            source.problem(number, f"job {label[:60]!r} did no I/O", lost=False)


def _four(part: list[str], at: int) -> tuple[float, float, float, float] | None:
    """min, max, mean, deviation in ns; None where fio took no sample (all zero)."""
    values = [num(text) for text in part[at : at + 4]]
    if len(values) < 4 or None in values or not any(values):
        return None
    low, high, mean, dev = ((value or 0.0) * _US for value in values)
    return low, high, mean, dev


def _moved(kib_per_second: str, kib: str, milliseconds: float | None) -> dict[str, Any]:
    """Rate, bytes and time of a part. All are cut to whole KiB: of a run of more than a second its bytes tell more."""
    rate, amount = (printed(text, KIB, cut=True) for text in (kib_per_second, kib))
    best, alike = agreed(rate, per_second(amount, (milliseconds or 0) / 1000, 5e-4))
    best = best if alike else next(iter(rate), None)
    return {
        "bw_bytes_per_s": best.value if best else None,
        "runtime_seconds": None if milliseconds is None else milliseconds / 1000,
        "io_bytes": int(amount[0].value) if amount else None,
    }


def _part(
    source: Source, number: int, name: str, part: list[str], common: dict[str, Any], notes: tuple[str, ...]
) -> ImportedReading | None:
    kib, bw, iops, runtime = (num(text) for text in part[:4])
    if not kib and not bw and not iops:
        return None
    clat, lat = _four(part, 8), _four(part, 32)
    listed = {}
    for text in part[12:32]:
        percent, _, value = text.partition("%=")
        at, latency = num(percent), num(value)
        if at and latency is not None:
            listed[f"{at:g}"] = latency * _US
    details: dict[str, Any] = {"percentiles_ns": listed or None}
    for kind, stats in (("slat", _four(part, 4)), ("clat", clat), ("lat", lat)):
        details |= latencies(kind, stats)
    # 0 is less than the microsecond that is printed, not a figure
    p99 = (listed.get("99") if clat or lat else None) or None
    return reading(
        source,
        number,
        **common,
        direction=name,
        iops=iops,
        **_moved(part[1], part[0], runtime),
        **_mean(lat, clat),
        p99=p99,
        p99_latency="completion",
        notes=notes,
        details=details,
    )


def _mean(lat: Sequence[float] | None, clat: Sequence[float] | None) -> dict[str, Any]:
    """The mean of the whole latency, else of its completion."""
    return {"mean": (lat or clat or (None,) * 4)[2], "latency": "total" if lat else "completion"}


def _oldest(
    source: Source, number: int, fields: list[str], common: dict[str, Any], notes: tuple[str, ...]
) -> Iterator[ImportedReading]:
    """The layout of fio 1.x: KiB, KiB/s, runtime, slat, clat (and lat since 1.4x), bw; no IOPS, no percentiles."""
    # a line with total latency has 2 x 20 figures before the CPU share, one without has 2 x 16
    cpu = next(
        (
            place
            for place in range(30, len(fields) - 1)
            if fields[place].endswith("%") and fields[place + 1].endswith("%")
        ),
        len(fields),
    )
    width = 16 if cpu < 4 + 2 * 20 else 20
    for place, name in enumerate(("read", "write")):
        part = fields[4 + place * width : 4 + (place + 1) * width]
        if len(part) < 3:
            source.problem(number, f"terse line cut off in the {name} part")
            return
        kib, bw, runtime = (num(text) for text in part[:3])
        if not kib and not bw:
            continue
        if kib and bw and runtime and abs(kib / bw * 1000 - runtime) > max(0.2 * runtime, 50):
            source.problem(number, "terse version 2 line of an unknown layout")
            return
        clat, lat = _four(part, 7), _four(part, 11) if width == 20 else None
        yield reading(
            source,
            number,
            **common,
            direction=name,
            **_moved(part[1], part[0], runtime),
            **_mean(lat, clat),
            notes=notes,
        )
