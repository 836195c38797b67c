# SPDX-License-Identifier: Apache-2.0
"""Tables (CSV) and documents (JSON) that `ioatlas export` wrote. Each measured cell is a reading: the mean of its
visits. Predictions are left out. A table may have been saved by a spreadsheet: with other separators, decimal commas,
quotes, columns moved or added. What cannot be told for sure is refused.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ioatlas.interop.read.kit import objects
from ioatlas.interop.read.numbers import num, whole
from ioatlas.interop.read.source import Source
from ioatlas.model.export_columns import FIXED, REST
from ioatlas.model.imported_reading import ImportedReading
from ioatlas.model.options import ALLOWED
from ioatlas.model.units import format_rate

FORMAT = "ioatlas-export/1"
TABLE = re.compile(
    r'^(?=.*\bbs_bytes\b)(?=.*\bn_visits\b)(?=.*\bbw_bytes_per_s\b)"?[A-Za-z_][\w ]*"?[,;\t].*\bdirection\b',
    re.MULTILINE,
)
SIGNATURE = re.compile(rf'"format"\s*:\s*"{FORMAT}"')
_OWN = frozenset({"rw", "bs", "size", "numjobs", "iodepth", "rwmixread", "rate_iops"})
"""Options that a reading has a place for."""
_DIRECTIONS = frozenset({"read", "write", "trim", "mixed"})
_VERSION = "tool_version"


@dataclass(frozen=True)
class _Export:
    """line: of a row. constants: options of all rows."""

    rows: Sequence[tuple[int, Mapping[str, Any]]]
    options: Sequence[str]
    constants: Mapping[str, Any]
    version: str | None = None


def read(source: Source) -> Iterator[ImportedReading]:
    """Of documents."""
    for found in objects(source):
        record = found.value
        if record.get("format") != FORMAT or not isinstance(record.get("rows"), list):
            continue
        constants, swept, version = record.get("constants"), record.get("swept_options"), record.get(_VERSION)
        export = _Export(
            [(found.line, row) for row in record["rows"] if isinstance(row, dict)],
            [str(name) for name in swept] if isinstance(swept, list) else [],
            constants if isinstance(constants, dict) else {},
            version[:80] if isinstance(version, str) and version else None,
        )
        yield from _readings(source, export)


def read_csv(source: Source) -> Iterator[ImportedReading]:
    """Of tables."""
    text, complete = source.text()
    if not complete:
        source.problem(0, "the table is too large to be read")
        return
    try:
        table = read_table(text)
    except TableError as error:
        source.problem(error.line, error.what)
        return
    yield from _readings(source, _Export(table.rows, table.options, {}))


def _readings(source: Source, export: _Export) -> Iterator[ImportedReading]:
    measured = [(line, row) for line, row in export.rows if row.get("kind") in ("measured", "imported")]
    predicted = sum(row.get("kind") == "predicted" for _, row in export.rows)
    if predicted:
        source.problem(0, f"{predicted} predicted values were left out: they were not measured", lost=False)
    apart = _told_apart([row for _, row in measured], export.options)
    for line, row in measured:
        if row.get("direction") in _DIRECTIONS:
            yield _reading(source, line, row, export, apart)
        else:
            source.problem(line, f"{str(row.get('direction'))[:40]!r} is no direction")


def _told_apart(rows: Iterable[Mapping[str, Any]], options: Sequence[str]) -> list[str]:
    """Columns without a place in a reading, where loads could not be told apart without them."""
    own = ("target", "rw", "bs_bytes", "size_bytes", "numjobs", "iodepth", "direction", *_OWN)
    kept = list(rows)
    loads = Counter(tuple(str(row.get(name)) for name in own) for row in kept)
    if not any(count > 1 for count in loads.values()):
        return []
    further = (*(name for name in options if name not in _OWN), "sharing", "state")
    return [name for name in further if len({str(row.get(name)) for row in kept}) > 1]


def _reading(
    source: Source, line: int, row: Mapping[str, Any], export: _Export, apart: Sequence[str]
) -> ImportedReading:
    told = {**export.constants, **{name: row[name] for name in export.options if row.get(name) is not None}}
    visits = _whole(row.get("n_visits"))
    label = ", ".join([str(row.get("target") or ""), *(f"{name} {row.get(name)}" for name in apart)])
    rate = _figure(told.get("rate_iops"))
    details: dict[str, Any] = {name: told[name] for name in ("ioengine", "direct") if name in told}
    return ImportedReading(
        source.name,
        line,
        "ioatlas",
        tool_version=export.version,
        label=label or None,
        direction=str(row["direction"]),
        rw=_word(row.get("rw")),
        operation=_word(told.get("operation")),
        bs_bytes=_whole(row.get("bs_bytes")),
        size_bytes=_whole(row.get("size_bytes")),
        numjobs=_whole(row.get("numjobs")),
        iodepth=_whole(row.get("iodepth")),
        rwmixread=_figure(told.get("rwmixread")),
        iops=_figure(row.get("iops")),
        bw_bytes_per_s=_figure(row.get("bw_bytes_per_s")),
        lat_mean_ns=_figure(row.get("lat_mean_ns")),
        lat_p99_ns=_figure(row.get("lat_p99_ns")),
        lat_kind=_latency(row),
        lat_p99_kind=_latency(row),
        statistic="mean" if visits and visits > 1 else "single" if visits else "unknown",
        n=visits or None,
        notes=tuple(_notes(row)),
        details=details if rate is None else {**details, "requested_rate": rate},
    )


def _notes(row: Mapping[str, Any]) -> Iterator[str]:
    low, high = _figure(row.get("bw_low")), _figure(row.get("bw_high"))
    if low is not None and high is not None:
        yield f"its own 95% interval: {format_rate(low)} to {format_rate(high)}"
    if verdict := _word(row.get("verdict")):
        yield f"verdict: {verdict}"


def _latency(row: Mapping[str, Any]) -> str | None:
    kind = row.get("lat_kind")
    return kind if kind in ("total", "completion") else None


def _text(value: Any) -> str | None:
    return None if value is None or isinstance(value, bool | list | dict) else json.dumps(value).strip('"')


def _figure(value: Any) -> float | None:
    return num(_text(value), comma=False)


def _whole(value: Any) -> int | None:
    return whole(_text(value))


def _word(value: Any) -> str | None:
    return value[:200] if isinstance(value, str) and value else None


NEEDED = ("target", "rw", "bs_bytes", "size_bytes", "direction", "kind", "n_visits", "bw_bytes_per_s")
WHOLE = ("bs_bytes", "size_bytes", "numjobs", "iodepth", "n_visits")
_DECIMALS = (*(name for name in FIXED if name.startswith(("bw_", "iops", "lat_"))), *REST[:6])
_SEPARATORS = ",;\t"
_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+")
_EXPONENT = re.compile(r"[\d.,]+[eE]\+?\d+")


class TableError(Exception):
    """line: of the text, from 1."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line
        self.what = what


@dataclass(frozen=True)
class Table:
    """options: columns that are swept options of fio. rows: line, and the values that are not empty, by column."""

    columns: tuple[str, ...]
    options: tuple[str, ...]
    rows: tuple[tuple[int, Mapping[str, str]], ...]


def read_table(text: str) -> Table:
    """Raises TableError for another table, or one whose figures cannot be told for sure."""
    lines = text.splitlines(keepends=True)
    start = next((at for at, line in enumerate(lines) if line.strip() and not line.startswith("sep=")), 0)
    heading = lines[start] if lines else ""
    separator = max(_SEPARATORS, key=heading.count)
    reader = csv.reader(io.StringIO("".join(lines[start:]), newline=""), delimiter=separator)
    try:
        columns = tuple(name.strip() for name in next(reader, []))
        _check(columns, start + 1)
        rows = []
        for values in reader:
            if not any(value.strip() for value in values):
                continue
            line = start + reader.line_num
            if len(values) != len(columns):
                raise TableError(line, f"{len(values)} values below {len(columns)} columns")
            rows.append((line, {name: value.strip() for name, value in zip(columns, values, strict=True) if value}))
    except csv.Error as error:
        raise TableError(start + reader.line_num, f"this is no CSV: {error}") from error
    return Table(columns, _options(columns), tuple(_plain_figures(rows)))


def _check(columns: Sequence[str], line: int) -> None:
    if missing := [name for name in NEEDED if name not in columns]:
        raise TableError(line, f"this table is no export of ioatlas: it has no column {missing[0]}")
    if twice := [name for name in columns if name and columns.count(name) > 1]:
        raise TableError(line, f"it has two columns {twice[0]}")


def _options(columns: Sequence[str]) -> tuple[str, ...]:
    """Columns with names of fio's options; and those that stand where exports have swept options."""
    known = {*FIXED, *REST}
    between: Sequence[str] = ()
    if FIXED[-1] in columns and REST[0] in columns:
        between = columns[columns.index(FIXED[-1]) + 1 : columns.index(REST[0])]
    return tuple(name for name in columns if name not in known and (name in ALLOWED or name in between))


def _plain_figures(rows: Iterable[tuple[int, dict[str, str]]]) -> list[tuple[int, dict[str, str]]]:
    """Rows with decimal points, where a spreadsheet wrote commas."""
    kept = list(rows)
    figures = [(line, row[name]) for line, row in kept for name in _DECIMALS if name in row]
    commas = [(line, value) for line, value in figures if "," in value]
    for line, row in kept:
        if rounded := [name for name in WHOLE if _EXPONENT.fullmatch(row.get(name, ""))]:
            raise TableError(line, f"{rounded[0]} was rounded by a spreadsheet: {row[rounded[0]][:40]}")
    if not commas:
        return kept
    line, value = commas[0]
    if any("." in figure for _, figure in figures):
        raise TableError(line, f"its figures have decimal points and commas, such as {value[:40]}")
    if all(_THOUSANDS.fullmatch(figure) for _, figure in commas):
        raise TableError(line, f"a comma in {value[:40]} may be a decimal comma or not")
    return [
        (line, {name: value.replace(",", ".") if name in _DECIMALS else value for name, value in row.items()})
        for line, row in kept
    ]
