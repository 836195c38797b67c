# SPDX-License-Identifier: Apache-2.0
"""The parts of a visit as rows: totals in columns, histogram and series packed."""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from ioatlas.model.histogram import Histogram
from ioatlas.model.visit import Part, Series


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
        "series": _pack(asdict(part.series)),
    }


def read_part(row: sa.Row[Any], *, with_series: bool) -> Part:
    """The part of a row; without `with_series` its series is empty."""
    series = Series(0)
    if with_series:
        stored = _unpack(row.series)
        series = Series(
            stored["interval_ms"],
            tuple(stored["end_ms"]),
            tuple(stored["bw_bytes_per_s"]),
            tuple(stored["lat_mean_ns"]),
        )
    return Part(
        row.direction,
        row.io_bytes,
        row.total_ios,
        row.runtime_ms,
        row.lat_mean_ns,
        Histogram(tuple((ns, n) for ns, n in _unpack(row.histogram))),
        series,
        row.lat_kind,
        row.short_ios,
        row.drop_ios,
        row.stream,
    )


def _pack(value: Any) -> bytes:
    return zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 1)


def _unpack(blob: bytes) -> Any:
    return json.loads(zlib.decompress(blob))
