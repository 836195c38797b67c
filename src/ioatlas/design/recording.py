# SPDX-License-Identifier: Apache-2.0
"""A recorded dense sweep: text of a CSV file in, cells and their readings pass by pass out."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ioatlas.errors import IoAtlasError, UsageError
from ioatlas.model.cell import directions_of
from ioatlas.model.options import ALLOWED
from ioatlas.model.units import parse_size_bytes

QUANTITIES = ("bw_bytes_per_s", "iops", "lat_mean_ns", "lat_p99_ns")
PASS_NAMES = ("pass", "repeat", "rep", "replicate", "iteration", "visit")
RARE_SHARE = 0.05
SIZE_AXES = ("bs", "bs_bytes", "size", "size_bytes")
AXIS_NAMES = frozenset(
    {
        "rw",
        "bs",
        "bs_bytes",
        "size",
        "size_bytes",
        "numjobs",
        "iodepth",
        "direction",
        "engine",
        "ioengine",
        "target",
        "sharing",
        "state",
    }
)
ALIASES = {
    "bs_bytes": "bs block blocksize block_size blksize io_size iosize record record_size recordsize reclen request_size"
    " transfer_size xfersize",
    "size_bytes": "size file_size filesize working_set",
    "numjobs": "jobs threads thread workers procs processes",
    "iodepth": "qd depth queue_depth queuedepth",
    "rw": "op operation mode pattern access workload test",
}
"""Other names that people give to what has a part of its own in the law, by the name used here."""
UNITS = {
    "": 1,
    "_bytes": 1,
    "_b": 1,
    "_kib": 1 << 10,
    "_kb": 1 << 10,
    "_k": 1 << 10,
    "_mib": 1 << 20,
    "_mb": 1 << 20,
    "_gib": 1 << 30,
    "_gb": 1 << 30,
}
_MEASURE = re.compile(
    r"(_ns|_us|_ms|_s|_sec|_seconds|_per_s|_low|_high|_stddev|_percent)$|^(bw|iops|lat|clat|slat|cpu|usr|sys|runtime|time|started|n_visits|verdict|method|kind|seed|batch|block|section|order)"
)


@dataclass(frozen=True)
class Recording:
    """points: option values by cell. readings: per cell the passes in order, each the quantities that were read
    (positive, finite).

    left_out: what was not used, in words.
    """

    points: tuple[Mapping[str, int | float | str | None], ...]
    readings: tuple[tuple[Mapping[str, float], ...], ...]
    axes: tuple[str, ...]
    passes: int
    left_out: tuple[str, ...]


def read_recording(text: str, where: str) -> Recording:
    """Parses a dense sweep with one row per pass and cell.

    Any of the columns pass, rw, bs_bytes, size_bytes, numjobs, bw_bytes_per_s, iops, lat_mean_ns, lat_p99_ns may be
    missing as long as one quantity and one axis are there; other columns are axes when they are fio options or tell
    cells apart. Rows of a cell that repeat within a pass, or without a pass column, are passes in the order of the
    file. Raises IoAtlasError.
    """
    left_out: list[str] = []
    rows = _with_usual_names(_rows(text, where), left_out)
    header = list(rows[0])
    quantities = [
        name for name in QUANTITIES if name in header and any(_positive(row[name]) is not None for row in rows)
    ]
    if not quantities:
        raise IoAtlasError(
            f"no column with a throughput or a latency: the columns are {', '.join(header)}",
            where=where,
            remedy=f"name at least one of {', '.join(QUANTITIES)}",
        )
    pass_name = next((name for name in PASS_NAMES if name in header), None)
    kept = [row for row in rows if any(_positive(row[name]) is not None for name in quantities)]
    if len(kept) < len(rows):
        left_out.append(f"{len(rows) - len(kept)} of {len(rows)} rows hold no positive reading")
    axes = _axes(kept, header, pass_name, left_out)
    kept = _without_gaps(kept, axes, left_out)
    if not axes:
        raise IoAtlasError(
            "no column varies from cell to cell",
            where=where,
            remedy="a dense sweep holds at least one axis, such as bs_bytes",
        )
    values = {name: _values([row[name] for row in kept], name) for name in axes}
    cells: dict[tuple[int | float | str | None, ...], list[tuple[float, int, Mapping[str, float]]]] = {}
    for number, row in enumerate(kept):
        reading = {name: value for name in quantities if (value := _positive(row[name])) is not None}
        order = _order(row[pass_name], where, pass_name) if pass_name else 0.0
        cells.setdefault(tuple(values[name][number] for name in axes), []).append((order, number, reading))
    points, readings = [], []
    # In the order of their values, so that the order of the rows in the file decides nothing.
    for key, found in sorted(
        cells.items(),
        key=lambda item: [
            (value is None, isinstance(value, str), value if value is not None else 0) for value in item[0]
        ],
    ):
        points.append(dict(zip(axes, key, strict=True)))
        readings.append(tuple(reading for _, _, reading in sorted(found, key=lambda item: (item[0], item[1]))))
    constant = {
        name: _values([row[name] for row in kept], name)[0]
        for name in header
        if name in AXIS_NAMES and name not in axes
    }
    full = tuple({**constant, **point} for point in points)
    return Recording(full, tuple(readings), tuple(axes), max(len(found) for found in readings), tuple(left_out))


def _rows(text: str, where: str) -> list[dict[str, str]]:
    lines = [line for line in io.StringIO(text.lstrip("﻿"), newline=None) if line.strip() and not line.startswith("#")]
    if not lines:
        raise IoAtlasError(
            "the file is empty", where=where, remedy="give a CSV file with a header line and a row per pass and cell"
        )
    delimiter = max(",;\t", key=lines[0].count)
    table = list(csv.reader(lines, delimiter=delimiter))
    header = [name.strip() for name in table[0]]
    if len(set(header)) != len(header):
        raise IoAtlasError("two columns have the same name", where=where, remedy="give each column a name of its own")
    if len(table) < 2:
        raise IoAtlasError("there is a header but no row", where=where, remedy="give a row per pass and cell")
    rows = []
    for number, row in enumerate(table[1:], 2):
        if len(row) != len(header):
            raise IoAtlasError(
                f"row {number} has {len(row)} fields, the header has {len(header)}",
                where=where,
                remedy="check that the file is complete and is a CSV file",
            )
        rows.append(dict(zip(header, (field.strip() for field in row), strict=True)))
    return rows


def _with_usual_names(rows: list[dict[str, str]], told: list[str]) -> list[dict[str, str]]:
    """Columns under other names than those used here, renamed where their values leave no doubt; sizes in other units
    become bytes.
    """
    header = list(rows[0])
    renamed: dict[str, tuple[str, int]] = {}
    for usual, others in ALIASES.items():
        if usual in header or usual.removesuffix("_bytes") in header:
            continue
        for column in header:
            name = column.lower().replace(" ", "_").replace("-", "_")
            unit = next(
                (unit for unit in UNITS if name.removesuffix(unit) in others.split() and name.endswith(unit)), None
            )
            if unit is None or (unit and not usual.endswith("_bytes")) or column in renamed:
                continue
            texts = {row[column] for row in rows if row[column]}
            if _fits(usual, texts):
                renamed[column] = (usual, UNITS[unit])
                told.append(f"the column {column} is read as {usual}")
                break
    if not renamed:
        return rows
    for old, (usual, factor) in renamed.items():
        for row in rows:
            text = row.pop(old)
            row[usual] = str(_number(text) * factor) if factor > 1 and text else text
    return rows


def _fits(usual: str, texts: set[str]) -> bool:
    """Whether these values can be what `usual` says: fio's modes, positive whole numbers, or sizes. 1, 2, 3 number
    something: no sizes.
    """
    if usual == "rw":
        return bool(texts) and all(_is_mode(text) for text in texts)
    try:
        values = sorted(
            {
                float(_size(text) if usual.endswith("_bytes") and not text.isdecimal() else _number(text))
                for text in texts
            }
        )
    except (ValueError, UsageError):
        return False
    if not values or values[0] < 1 or not all(value.is_integer() for value in values):
        return False
    return (
        not usual.endswith("_bytes")
        or (values[0] > 1 and values != [values[0] + step for step in range(len(values))])
        or len(values) == 1
    )


def _is_mode(text: str) -> bool:
    try:
        return bool(directions_of(text))
    except ValueError:
        return False


def _positive(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value > 0 and math.isfinite(value) else None


def _order(text: str, where: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise IoAtlasError(
            f"{text!r} in the column {name} is not a number", where=where, remedy="number the passes 1, 2, 3 ..."
        ) from None


def _axes(rows: list[dict[str, str]], header: list[str], pass_name: str | None, left_out: list[str]) -> list[str]:
    """Columns that say which cell a row is of."""
    varied = [
        name for name in header if name != pass_name and name not in QUANTITIES and len({row[name] for row in rows}) > 1
    ]
    axes = [name for name in varied if name in AXIS_NAMES or name in ALLOWED]
    unused: list[str] = []
    strangers = [name for name in varied if name not in axes and not _MEASURE.search(name)]
    for name in [name for name in varied if name not in axes]:
        levels = len({row[name] for row in rows})
        tells = name in strangers and levels <= max(2, len(rows) // 4) and _tells_apart(rows, axes, name, pass_name)
        if tells:
            axes.append(name)
        else:
            unused.append(name)
    if unused:
        left_out.append(f"columns not used, since they are neither axis nor quantity: {', '.join(unused)}")
    return axes


def _without_gaps(rows: list[dict[str, str]], axes: list[str], left_out: list[str]) -> list[dict[str, str]]:
    """Rows that lack the value of an axis are left out where that is rare; where it is common, "not given" is a level
    of the axis.
    """
    rare = [name for name in axes if 0 < sum(1 for row in rows if not row[name]) < RARE_SHARE * len(rows)]
    kept = [row for row in rows if all(row[name] for name in rare)]
    if len(kept) < len(rows):
        left_out.append(f"{len(rows) - len(kept)} rows do not say their {', '.join(rare)}")
    return kept


def _tells_apart(rows: list[dict[str, str]], axes: list[str], name: str, pass_name: str | None) -> bool:
    """Whether rows of one pass that agree on the axes so far differ in `name`."""
    seen: dict[tuple[str, ...], str] = {}
    for row in rows:
        key = (row[pass_name] if pass_name else "", *(row[axis] for axis in axes))
        if seen.setdefault(key, row[name]) != row[name]:
            return True
    return False


def _values(texts: list[str], name: str) -> list[int | float | str | None]:
    """Numbers if all that is given is numbers (sizes such as 4k where the axis is a size), else text; None where
    empty.
    """
    given = [text for text in texts if text]
    for parse in (_number, _size) if name in SIZE_AXES else (_number,):
        try:
            made = {text: parse(text) for text in set(given)}
        except (ValueError, UsageError):
            continue
        return [made[text] if text else None for text in texts]
    return [text or None for text in texts]


def _number(text: str) -> int | float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return int(value) if value.is_integer() else value


def _size(text: str) -> int:
    return parse_size_bytes(text)
