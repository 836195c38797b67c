# SPDX-License-Identifier: Apache-2.0
"""A recorded dense sweep: text of a CSV file in, cells and their readings pass by pass out."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass

QUANTITIES = ("bw_bytes_per_s", "iops", "lat_mean_ns", "lat_p99_ns")
Value = int | float | str | None


@dataclass(frozen=True)
class Recording:
    """points: option values by cell. readings: per cell the passes in order, each the quantities that were read."""

    points: tuple[Mapping[str, Value], ...]
    readings: tuple[tuple[Mapping[str, float], ...], ...]
    passes: int


def read_recording(text: str) -> Recording:
    """Parses a sweep with one row per pass and cell: `pass`, quantities, and an option in every other column.

    The order of the rows decides nothing. A row without a positive reading is no visit.
    """
    rows = list(csv.DictReader(io.StringIO(text)))
    options = [name for name in rows[0] if name != "pass" and name not in QUANTITIES]
    options.sort(key=lambda name: len({row[name] for row in rows}) > 1)  # those that never differ stand first
    cells: dict[tuple[Value, ...], dict[int, Mapping[str, float]]] = {}
    for row in rows:
        reading = {name: float(row[name]) for name in QUANTITIES if row.get(name) and float(row[name]) > 0}
        if reading:
            cells.setdefault(tuple(_value(row[name]) for name in options), {})[int(row["pass"])] = reading
    found = sorted(cells.items(), key=lambda item: [(value is None, value or 0) for value in item[0]])
    points = tuple(dict(zip(options, key, strict=True)) for key, _ in found)
    readings = tuple(tuple(passes[number] for number in sorted(passes)) for _, passes in found)
    return Recording(points, readings, max(len(passes) for passes in readings))


def _value(text: str) -> Value:
    try:
        value = float(text)
    except ValueError:
        return text or None
    return int(value) if value.is_integer() else value
