# SPDX-License-Identifier: Apache-2.0
"""A journal as text: one JSON object for each row, in the order of their making; and the journal made from that again.

The SQLite file itself depends on what was deleted meanwhile and on SQLite's version. The text depends on what was
measured alone. Packed columns stand there unpacked. The seal, and what ran under which process, stay at home.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ioatlas.errors import IoAtlasError
from ioatlas.store import schema as t
from ioatlas.store import seal
from ioatlas.store.database import FILE_NAME, connect
from ioatlas.store.journal import Journal
from ioatlas.store.parts import LARGEST_UNPACKED
from ioatlas.store.stored import Row

Tables = dict[str, list[dict[str, Any]]]
AT_HOME = frozenset({"batch.pid", "batch.pid_started"})
"""Columns that are left empty: they mean nothing elsewhere."""
ORDER = tuple(table.name for each in t.metadata_of(t.VERSION) for table in each.sorted_tables)


def line_of(row: Mapping[str, Any]) -> str:
    """A row as it is written. Raises ValueError for a number that is none."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def format_of(directory: Path) -> int:
    """The format of a journal that was opened before."""
    engine = connect(directory / FILE_NAME)
    try:
        with engine.connect() as link:
            return int(link.exec_driver_sql("PRAGMA user_version").scalar_one())
    finally:
        engine.dispose()


def export(directory: Path) -> Tables:
    """Every table of the journal in `directory`. Raises as `Journal.open`."""
    journal = Journal.open(directory)
    journal.close()
    engine = connect(directory / FILE_NAME)
    try:
        with engine.connect() as link:
            return {
                table.name: [
                    _told(Row(directory / FILE_NAME, table.name), table, row)
                    for row in link.execute(sa.select(table).order_by(sa.text("rowid")))
                    if (table.name, row[0]) != (t.outcome.name, seal.NAME)
                ]
                for each in t.metadata_of(journal.format)
                for table in each.sorted_tables
            }
    finally:
        engine.dispose()


def _told(place: Row, table: sa.Table, row: sa.Row[Any]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for column, value in zip(table.columns, row, strict=True):
        if f"{table.name}.{column.name}" in AT_HOME or value is None:
            told[column.name] = None
        elif column.name.endswith("_json"):
            told[column.name] = place.json(value, column.name)
        elif isinstance(column.type, sa.LargeBinary):
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
    engine = connect(directory / FILE_NAME)
    try:
        with engine.begin() as link:
            ours = t.metadata_of(version)
            for each in ours:
                each.create_all(link)
            link.exec_driver_sql("PRAGMA defer_foreign_keys=ON")
            link.exec_driver_sql(f"PRAGMA user_version={int(version)}")
            for table in (table for each in ours for table in each.sorted_tables):
                rows = [_kept(Row(Path(where), table.name), table, row) for row in tables.get(table.name, ())]
                if rows:
                    link.execute(table.insert(), rows)
    except (sa.exc.DatabaseError, sa.exc.StatementError, OverflowError) as error:
        raise IoAtlasError(
            "its journal holds rows that belong in none", where=where, remedy="ask for a bundle that was not changed"
        ) from error
    finally:
        engine.dispose()


def _kept(place: Row, table: sa.Table, row: Any) -> dict[str, Any]:
    if not isinstance(row, dict) or row.keys() != {column.name for column in table.columns}:
        place.bad("a row has other columns than its table")
    kept: dict[str, Any] = {}
    for column in table.columns:
        value = row[column.name]
        if column.name.endswith("_json"):
            kept[column.name] = None if value is None and column.nullable else json.dumps(value, allow_nan=False)
        elif isinstance(column.type, sa.LargeBinary):
            text = json.dumps(value, separators=(",", ":"), allow_nan=False)
            kept[column.name] = zlib.compress(text.encode(), 1)
        elif value is not None and not isinstance(value, (int, float, str)):
            place.bad("a value is neither number nor text", column.name)
        else:
            kept[column.name] = value
    return kept
