# SPDX-License-Identifier: Apache-2.0
"""A journal as text: one JSON object for each row, in the order of their making; and the journal made from that again.

The SQLite file itself depends on what was deleted meanwhile and on SQLite's version. The text depends on what was
measured alone. Packed columns stand there unpacked. The seal, and what ran under which process, stay at home.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ioatlas.errors import IoAtlasError
from ioatlas.store import schema as t
from ioatlas.store import seal
from ioatlas.store.database import Database, Record
from ioatlas.store.journal import Journal
from ioatlas.store.parts import LARGEST_UNPACKED
from ioatlas.store.stored import Row

Tables = dict[str, list[dict[str, Any]]]
AT_HOME = frozenset({"batch.pid", "batch.pid_started"})
"""Columns that are left empty: they mean nothing elsewhere."""
ORDER = tuple(t.TABLES)


def line_of(row: Mapping[str, Any]) -> str:
    """A row as it is written. Raises ValueError for a number that is none."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def export(directory: Path) -> tuple[int, Tables]:
    """The format of the journal in `directory`, and every table of it. Raises as `Journal.open`."""
    with contextlib.closing(Journal.open(directory)) as journal:
        return journal.format, {
            name: [
                _told(journal.row(name), table, row)
                for row in journal.rows_of(table)
                if (name, row[0]) != ("outcome", seal.NAME)
            ]
            for name, table in t.tables_of(journal.format).items()
        }


def _told(place: Row, table: t.Table, row: Record) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for column, value in zip(table.columns, row, strict=True):
        if f"{table.name}.{column.name}" in AT_HOME or value is None:
            told[column.name] = None
        elif column.name.endswith("_json"):
            told[column.name] = place.json(value, column.name)
        elif column.kind == "BLOB":
            told[column.name] = json.loads(zlib.decompressobj().decompress(value, LARGEST_UNPACKED))
        else:
            told[column.name] = value
    return told


def rebuild(directory: Path, version: int, tables: Mapping[str, Iterator[Any]], where: str) -> None:
    """A journal in `directory` of these rows. `Journal.open` judges what they hold.

    Raises IoAtlasError for rows that are none, or of another format.
    """
    if not t.FIRST_VERSION <= version <= t.VERSION:
        raise IoAtlasError(
            f"its journal has format {version}, this ioatlas reads up to {t.VERSION}",
            where=where,
            remedy="use a newer ioatlas",
        )
    rows = ((table, row) for name, table in t.tables_of(version).items() for row in tables.get(name, ()))
    try:
        with contextlib.closing(Database(directory)) as made, made.together():
            made.make_tables(version)
            for table, row in rows:
                made.insert(table.name, _kept(Row(Path(where), table.name), table, row))
    except (sqlite3.Error, OverflowError) as error:
        raise IoAtlasError(
            "its journal holds rows that belong in none", where=where, remedy="ask for a bundle that was not changed"
        ) from error


def _kept(place: Row, table: t.Table, row: Any) -> dict[str, Any]:
    if not isinstance(row, dict) or row.keys() != {column.name for column in table.columns}:
        place.bad("a row has other columns than its table")
    kept: dict[str, Any] = {}
    for column in table.columns:
        value = row[column.name]
        if column.name.endswith("_json"):
            kept[column.name] = None if value is None and not column.needed else json.dumps(value, allow_nan=False)
        elif column.kind == "BLOB":
            text = json.dumps(value, separators=(",", ":"), allow_nan=False)
            kept[column.name] = zlib.compress(text.encode(), 1)
        elif value is not None and not isinstance(value, (int, float, str)):
            place.bad("a value is neither number nor text", column.name)
        else:
            kept[column.name] = value
    return kept
