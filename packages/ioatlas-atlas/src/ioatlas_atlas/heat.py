# SPDX-License-Identifier: Apache-2.0
"""A result's map as tables that need no script: one for each target, kind of load and direction. Pure.

It reads the rows of an export (`report.export.to_json`), as admission kept them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ioatlas.answer.analysis.best import SIGNS, Mark
from ioatlas.model.units import format_size
from ioatlas_atlas.views import LOADS, told_of

LEVELS = 10
MOST_LINES = 40
_SIZES = ("bs_bytes", "size_bytes", "footprint_bytes", "offset", "io_size")


@dataclass(frozen=True)
class Spot:
    """One cell as it is shown. level: 0 to 9 by its place between the lowest and the highest value; -1 where it is not
    ranked. mark: a sign of `analysis.marks`.
    """

    value: str
    interval: str
    latency: str
    level: int
    mark: str
    verdict: str
    doubt: str


@dataclass(frozen=True)
class HeatLine:
    """One row: what is the same in it, and its cells; None where nothing was measured."""

    head: str
    spots: tuple[Spot | None, ...]


@dataclass(frozen=True)
class HeatMap:
    """One table. left_out: rows that are only in the download and the explorer."""

    title: str
    heads: tuple[str, ...]
    lines: tuple[HeatLine, ...]
    left_out: int


def maps(rows: Sequence[Mapping[str, Any]], axes: Mapping[str, Sequence[Any]]) -> tuple[HeatMap, ...]:
    """axes: of the campaign, {option: values}."""
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[str(row.get("target") or ""), str(row.get("rw") or "load"), str(row.get("direction") or "")].append(row)
    several = len({target for target, _, _ in groups}) > 1
    made = []
    for (target, rw, direction), found in groups.items():
        name = LOADS.get(rw, rw) if direction in rw else f"{LOADS.get(rw, rw)}, {direction}"
        made.append(_map(f"{target}: {name}" if several else name, found, axes))
    return tuple(made)


def _map(title: str, rows: Sequence[Mapping[str, Any]], axes: Mapping[str, Sequence[Any]]) -> HeatMap:
    down = [name for name in axes if name not in ("rw", "numjobs", "iodepth") and len(axes[name]) > 1] or ["bs"]
    columns = sorted({_load(row) for row in rows})
    lines: dict[tuple[Any, ...], dict[tuple[int, int], Mapping[str, Any]]] = defaultdict(dict)
    for row in rows:
        lines[tuple(_option(row, name) for name in down)][_load(row)] = row
    speeds = [_speed(row) for row in rows if _ranked(row) and _speed(row) > 0]
    ordered = sorted(lines.items(), key=lambda pair: tuple((isinstance(v, str), v) for v in pair[0]))
    return HeatMap(
        title,
        tuple(_load_text(*each) for each in columns),
        tuple(
            HeatLine(_head(down, values), tuple(_spot(cells.get(each), speeds) for each in columns))
            for values, cells in ordered[:MOST_LINES]
        ),
        max(0, len(ordered) - MOST_LINES),
    )


def _load(row: Mapping[str, Any]) -> tuple[int, int]:
    return int(row.get("numjobs") or 1), int(row.get("iodepth") or 1)


def _load_text(jobs: int, depth: int) -> str:
    return f"{jobs} job{'' if jobs == 1 else 's'}" + (f", depth {depth}" if depth > 1 else "")


def _option(row: Mapping[str, Any], name: str) -> Any:
    value = row.get(f"{name}_bytes", row.get(name))
    return value if isinstance(value, int | float) else str(value)


def _head(names: Sequence[str], values: Sequence[Any]) -> str:
    parts = []
    for name, value in zip(names, values, strict=True):
        text = format_size(int(value)) if f"{name}_bytes" in _SIZES and isinstance(value, int) else str(value)
        parts.append(text if name == "bs" else f"{name} {text}")
    return ", ".join(parts)


def _speed(row: Mapping[str, Any]) -> float:
    """In bytes a second, for the colour."""
    value = row.get("bw_bytes_per_s")
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0


def _ranked(row: Mapping[str, Any]) -> bool:
    return row.get("mark") != Mark.SUSPECT


def _spot(row: Mapping[str, Any] | None, speeds: Sequence[float]) -> Spot | None:
    if row is None or not _speed(row):
        return None
    return Spot(
        *told_of(row),
        _level(_speed(row), speeds) if _ranked(row) else -1,
        SIGNS[Mark(row["mark"])][0] if row.get("mark") else "",
        str(row.get("verdict") or row.get("kind") or ""),
        str(row.get("doubt") or ""),
    )


def _level(value: float, speeds: Sequence[float]) -> int:
    """On a logarithmic scale, as differences of speed are felt."""
    if not speeds:
        return -1
    low, high = math.log(min(speeds)), math.log(max(speeds))
    if high - low < 1e-9:
        return LEVELS // 2
    return min(LEVELS - 1, max(0, int((math.log(value) - low) / (high - low) * LEVELS)))
