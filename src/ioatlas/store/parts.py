# SPDX-License-Identifier: Apache-2.0
"""The parts of a visit as rows: totals in columns, histogram and series packed."""

from __future__ import annotations

import json
import zlib
from dataclasses import fields
from typing import Any

import orjson

from ioatlas.model.histogram import Histogram
from ioatlas.model.visit import Flush, Part, Series, VisitShare
from ioatlas.model.words import words
from ioatlas.store.database import Record
from ioatlas.store.stored import LARGEST, Row

MOST_BINS, MOST_POINTS = 100_000, 100_000
LARGEST_UNPACKED = 8 << 20
_COLUMNS = ("end_ms", "bw_bytes_per_s", "lat_mean_ns")
_OF_SHARES = words("direction started_at runtime_ms io_bytes total_ios bw_bytes_per_s lat_mean_ns lat_p99_ns stream")


def part_row(part: Part) -> dict[str, Any]:
    """The columns of a part, without its visit."""
    return {
        "stream": part.stream,
        "direction": part.direction,
        "io_bytes": part.io_bytes,
        "total_ios": part.total_ios,
        "runtime_ms": part.runtime_ms,
        "lat_mean_ns": part.lat_mean_ns,
        "lat_kind": part.lat_kind,
        "short_ios": part.short_ios,
        "drop_ios": part.drop_ios,
        "histogram": _pack(part.histogram.bins),
        "series": _packed(part.series),
    }


def read_part(place: Row, row: Record, *, with_series: bool) -> Part:
    """The part of a row; without `with_series` its series is empty. place: the row, for messages."""
    series = Series(0)
    if with_series:
        series = _series(place, _unpack(place, row.series, "series"))
    return Part(
        row.direction,
        row.io_bytes,
        row.total_ios,
        row.runtime_ms,
        row.lat_mean_ns,
        _histogram(place, _unpack(place, row.histogram, "histogram")),
        series,
        row.lat_kind,
        row.short_ios,
        row.drop_ios,
        row.stream,
    )


def flush_row(part: Part, flush: Flush) -> dict[str, Any]:
    """The columns of the flushes of a part, without its visit."""
    return {
        "stream": part.stream,
        "direction": part.direction,
        "flushes": flush.count,
        "mean_ns": flush.mean_ns,
        "histogram": _pack(flush.histogram.bins),
        "write_mean_ns": flush.write_mean_ns,
        "write_histogram": _pack(flush.write_histogram.bins),
    }


def read_flush(place: Row, row: Record, *, with_series: bool) -> tuple[str, str, Flush]:  # noqa: ARG001
    """(stream, direction, flushes) of a row."""
    first, second = (
        _histogram(place, _unpack(place, getattr(row, name), name)) for name in ("histogram", "write_histogram")
    )
    return row.stream, row.direction, Flush(row.flushes, row.mean_ns, first, row.write_mean_ns, second)


def share_row(part: VisitShare, whose: str) -> dict[str, Any]:
    """The columns of a share of a part, without its visit. whose: the column of its name, 'client' or 'target'."""
    told = {one.name: getattr(part, one.name) for one in fields(part) if one.name != "name"}
    return {**told, whose: part.name, "series": _packed(part.series)}


def read_share(whose: str, place: Row, row: Record, *, with_series: bool) -> VisitShare:
    """The share of a client or target, as `read_part`."""
    series = _series(place, _unpack(place, row.series, "series")) if with_series else Series(0)
    return VisitShare(**{name: getattr(row, name) for name in _OF_SHARES}, series=series, name=getattr(row, whose))


def _histogram(place: Row, stored: Any) -> Histogram:
    if not isinstance(stored, list) or len(stored) > MOST_BINS:
        place.bad(f"it has more than {MOST_BINS} bins, or none", "histogram")
    try:
        bins = tuple([(ns, n) for ns, n in stored])
    except (TypeError, ValueError):
        place.bad("this is no histogram", "histogram")
    numbers = [number for pair in bins for number in pair]
    if numbers and (set(map(type, numbers)) != {int} or min(numbers) < 0 or max(numbers) > LARGEST):
        place.bad("these are no latencies with their counts", "histogram")
    return Histogram(bins)


def _series(place: Row, stored: Any) -> Series:
    values: list[Any] = [stored.get(name) for name in _COLUMNS] if isinstance(stored, dict) else []
    lists = bool(values) and all(isinstance(one, list) for one in values)
    if not lists or {len(one) for one in values} != {min(len(values[0]), MOST_POINTS)}:
        place.bad(f"this is no series of at most {MOST_POINTS} points", "series")
    interval_ms = stored.get("interval_ms")
    if type(interval_ms) is not int or not 0 <= interval_ms <= LARGEST:
        place.bad("it has no interval", "series")
    if not all(type(value) in (int, float) and 0 <= value <= LARGEST for one in values for value in one):
        place.bad("these are no times and rates", "series")
    end_ms, rates, latencies = values
    return Series(interval_ms, tuple(end_ms), tuple(rates), tuple(latencies))


def _packed(series: Series) -> bytes:
    return _pack({"interval_ms": series.interval_ms, **{name: getattr(series, name) for name in _COLUMNS}})


def _pack(value: Any) -> bytes:
    return zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 1)


def _unpack(place: Row, blob: bytes, column: str) -> Any:
    """The JSON in a packed column; a small blob that unpacks to a large one is refused."""
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(blob, LARGEST_UNPACKED)
        if unpacking.unconsumed_tail or not unpacking.eof:
            place.bad(f"it unpacks to more than {LARGEST_UNPACKED} bytes, or is cut off", column)
        return orjson.loads(text)
    except (zlib.error, ValueError):
        place.bad("it cannot be unpacked", column)
