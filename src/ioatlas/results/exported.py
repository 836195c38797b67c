# SPDX-License-Identifier: Apache-2.0
"""A table (CSV) or document (JSON) that `ioatlas export` wrote, read back: values of cells, no visits.

They come from elsewhere: everything in them is checked before it is used, and the first thing that is wrong is told
with its place.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ioatlas import beneath
from ioatlas.errors import IoAtlasError
from ioatlas.interop.read.ioatlas_export import FORMAT, TableError, read_table
from ioatlas.interop.read.source import decode, encoding_of
from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.words import words

TOOL = "ioatlas with fio"
MOST_BYTES = 512 << 20
LONGEST = 4096
_SUFFIXES = (".csv", ".json")
FIGURES = words("""
    bw_bytes_per_s bw_low bw_high iops iops_low iops_high lat_mean_ns lat_mean_low_ns lat_mean_high_ns lat_p99_ns
    lat_p99_low_ns lat_p99_high_ns
""")
_OPTIONS = {"rw": "rw", "bs": "bs_bytes", "size": "size_bytes", "numjobs": "numjobs", "iodepth": "iodepth"}
_FILES = {"shared": "one for all jobs", "private": "one for each job"}
_DIRECTIONS = frozenset({"read", "write", "trim", "mixed", "no data"})


@dataclass(frozen=True)
class ExportedEntry:
    """One row: its cell as far as the table tells it. figures: those it has, by column."""

    cell: Cell
    direction: str
    kind: str
    n: int
    figures: Mapping[str, float]


@dataclass(frozen=True)
class Exported:
    """targets: in the order of the rows. facts: how it was measured, as far as the file tells."""

    name: str
    targets: tuple[str, ...]
    entries: tuple[ExportedEntry, ...]
    facts: Mapping[str, str]


def is_exported(place: Path) -> bool:
    """Whether an argument is such a file, by its name."""
    return place.suffix.lower() in _SUFFIXES and beneath.is_ordinary(place)


def read_exported(place: Path) -> Exported:
    """Raises IoAtlasError for another file, or one that was damaged."""
    try:
        if place.stat().st_size > MOST_BYTES:
            raise _wrong(place, "it is larger than 512 MiB")
        raw = place.read_bytes()
        name, mark = encoding_of(raw)
        if name == "utf-8":
            # A spreadsheet may save in a code page of Windows; JSON has none.
            text = raw[mark:].decode(name) if place.suffix.lower() == ".json" else decode(raw[mark:])
        else:
            text = raw.decode(name).lstrip("\ufeff")
    except (OSError, UnicodeDecodeError) as error:
        raise _wrong(place, "it cannot be read") from error
    if place.suffix.lower() == ".json":
        return _document(place, text)
    return _table(place, text)


def _wrong(place: Path, what: str, where: str = "") -> IoAtlasError:
    return IoAtlasError(
        what,
        where=f"{place}{', ' if where else ''}{where}",
        remedy="name a file that `ioatlas export --format csv` or `--format json` wrote; "
        "of other tools' results make a DIR first: `ioatlas import FILE -o DIR`",
    )


def _document(place: Path, text: str) -> Exported:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _wrong(place, "this is no JSON") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT or not isinstance(record.get("rows"), list):
        raise _wrong(place, "this JSON document is no export of ioatlas")
    swept = record.get("swept_options")
    options = [str(name) for name in swept] if isinstance(swept, list) else []
    told = record.get("constants")
    constants: dict[str, Any] = told if isinstance(told, dict) else {}
    facts = {"tool": TOOL, "ioatlas": str(record.get("tool_version") or "")[:LONGEST]}
    settings = record.get("settings")
    if isinstance(settings, dict) and isinstance(settings.get("window"), str):
        facts["method"] = f"visits of {settings['window'][:LONGEST]}"
    sessions = record.get("sessions")
    if isinstance(sessions, list) and sessions and isinstance(sessions[-1], dict):
        facts |= {str(name): str(value)[:LONGEST] for name, value in sessions[-1].items()}
    return _exported(place, str(record.get("name") or place.stem)[:LONGEST], record["rows"], options, constants, facts)


def _table(place: Path, text: str) -> Exported:
    try:
        table = read_table(text)
    except TableError as error:
        raise _wrong(place, error.what, f"line {error.line}") from error
    return _exported(place, place.stem, (row for _, row in table.rows), list(table.options), {}, {"tool": TOOL})


def _exported(
    place: Path,
    name: str,
    rows: Iterable[Any],
    options: list[str],
    constants: Mapping[str, Any],
    facts: Mapping[str, str],
) -> Exported:
    entries = []
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise _wrong(place, "a row is no table of names and values", f"row {number}")
        if row.get("kind") in (None, ""):
            continue
        entries.append(_entry(place, row, options, constants, f"row {number}"))
    if not entries:
        raise _wrong(place, "no row has a value")
    targets = tuple(dict.fromkeys(e.cell.target for e in entries))
    return Exported(name, targets, tuple(entries), {**facts, **_conditions(entries)})


def _conditions(entries: Iterable[ExportedEntry]) -> dict[str, str]:
    """How the cells were measured, in the words of a campaign's own conditions; what no row tells is left out."""
    measured = [entry.cell for entry in entries if entry.kind == "measured"]
    direct = {cell.option["direct"] for cell in measured if "direct" in cell.option}
    told = {
        "statistic": {"visits, each an independent start"} if measured else set(),
        "page cache": {"direct" if value else "buffered" for value in direct},
        "preparation": {cell.state for cell in measured} - {"unknown"},
        "files": {_FILES[cell.sharing] for cell in measured if cell.sharing in _FILES},
        "engine": {str(cell.option["ioengine"]) for cell in measured if "ioengine" in cell.option},
    }
    return {name: ", ".join(sorted(values)) for name, values in told.items() if values}


def _entry(
    place: Path, row: Mapping[str, Any], options: list[str], constants: Mapping[str, Any], where: str
) -> ExportedEntry:
    direction = str(row.get("direction"))
    if direction not in _DIRECTIONS:
        raise _wrong(place, f"{direction[:40]!r} is no direction", where)
    told: dict[str, OptionValue] = {
        option: value for option, value in constants.items() if isinstance(value, int | float | str)
    }
    told |= {option: _value(row[name]) for option, name in _OPTIONS.items() if row.get(name) is not None}
    told |= {name: _value(row[name]) for name in options if row.get(name) is not None}
    figures = {}
    for name in FIGURES:
        value = _figure(row.get(name))
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise _wrong(place, f"{name} is no figure: {str(row.get(name))[:40]!r}", where)
        if value is not None:
            figures[name] = value
    count = _figure(row.get("n_visits")) or 0.0
    cell = Cell.of(
        str(row.get("target"))[:LONGEST],
        told,
        sharing=str(row.get("sharing") or "unknown"),
        state=str(row.get("state") or "unknown"),
    )
    return ExportedEntry(cell, direction, str(row["kind"]), int(count) if math.isfinite(count) else 0, figures)


def _figure(value: Any) -> float | None:
    """A number; NaN for what is none."""
    if value is None or value == "":
        return None
    try:
        return float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError):
        return math.nan


def _value(value: Any) -> OptionValue:
    """A number where it is one, as the option would be in a cell."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return int(value) if isinstance(value, float) and value.is_integer() else value
    text = str(value)[:LONGEST]
    try:
        return int(text)
    except ValueError:
        return text
