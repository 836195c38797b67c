# SPDX-License-Identifier: Apache-2.0
"""vdbench's response time histogram: counts by bucket in milliseconds, one reading for reads, writes and both of each
run.

The buckets are too coarse for a percentile, so only the bucket the 99th percentile lies in is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ioatlas.interop.read.kit import reading
from ioatlas.interop.read.numbers import figure
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(r"^\s*min\(ms\)\s*<\s*max\(ms\)\s+count", re.MULTILINE)
_START = re.compile(r"Starting RD=([^;\s<]+)")
_BUCKET = re.compile(r"^\s*([\d.,]+)\s*<\s*([\d.,]+|max)\s+([\d.,]+)\s+([\d.,]+)\s+([\d.,]+)")
_MOST_BUCKETS = 1000
_TITLES = {"reads and writes:": "mixed", "reads:": "read", "writes:": "write"}


def read(source: Source) -> Iterator[ImportedReading]:
    label: str | None = None
    direction = "mixed"
    start = 0
    buckets: list[tuple[float, float | None, int]] = []
    for number, raw in source.lines():
        line = re.sub(r"<(?:/?(?:a|i|b|pre|title)\b)[^<>]{0,300}>", "", raw)
        text = line.strip().lower()
        if text in _TITLES or _START.search(line) or SIGNATURE.match(line):
            yield from _finish(source, label, direction, start, buckets)
            buckets = []
            if text in _TITLES:
                direction = _TITLES[text]
            elif match := _START.search(line):
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
