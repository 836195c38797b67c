# SPDX-License-Identifier: Apache-2.0
"""The table that `ioatlas export` writes as CSV, also after a spreadsheet has saved it: with other separators, decimal
commas, quotes, columns moved or added. What cannot be told for sure is refused.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ioatlas.model.export_columns import FIXED, REST
from ioatlas.model.options import ALLOWED

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
