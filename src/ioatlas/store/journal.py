# SPDX-License-Identifier: Apache-2.0
"""The journal of a campaign: what was planned, what ran, what came of it; and the journal as text, and made from that
again: one JSON object for each row, in the order of their making.

The SQLite file itself depends on what was deleted meanwhile and on SQLite's version. The text depends on what was
measured alone. Packed columns stand there unpacked. The seal, and what ran under which process, stay at home.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ioatlas.model.errors import IoAtlasError, UsageError, faults
from ioatlas.store import confined, seal
from ioatlas.store import schema as t
from ioatlas.store.batches import Batches, BatchRow, Intake
from ioatlas.store.campaigns import Campaigns, Cells
from ioatlas.store.database import FILE_NAME, Database, Record
from ioatlas.store.rules import MOST_ROWS, OBJECTS, check_file, check_objects, check_rows
from ioatlas.store.stored import Row
from ioatlas.store.visits import LARGEST_UNPACKED, NewVisit, PlannedVisit

__all__ = ["FILE_NAME", "BatchRow", "Intake", "Journal", "NewVisit", "PlannedVisit"]


class Journal(Campaigns, Cells, Batches):
    """One open journal. Every public method is one transaction; those of one noun stand in the module of that noun."""

    @classmethod
    @contextlib.contextmanager
    def making(cls, directory: Path, now: Callable[[], float] = time.time) -> Iterator[Journal]:
        """A new journal in `directory`, which must not hold a campaign: all that is written inside is there at its end,
        or nothing is. What an earlier process left of one that it never finished is used again.

        Raises UsageError for a campaign.
        """
        path = directory / FILE_NAME
        if confined.is_ordinary(path):
            check_file(path)
        directory.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as opened:
            journal = cls(directory, now)
            opened.callback(journal.close)
            with journal.together():
                if not journal._has_nothing():
                    raise UsageError(
                        "a campaign is already here",
                        where=str(directory),
                        remedy=f"use `ioatlas resume {directory}` or another -o",
                    )
                journal.make_tables(t.VERSION)
                yield journal
            opened.pop_all()

    @classmethod
    def is_unmade(cls, directory: Path) -> bool:
        """Whether a campaign was to be made in `directory`, and the process died before it was."""
        path = directory / FILE_NAME
        if not confined.is_ordinary(path):
            return False
        check_file(path)
        try:
            journal = cls(directory)
            with contextlib.closing(journal):
                return journal._has_nothing()
        except sqlite3.DatabaseError:
            return False

    @classmethod
    def open(
        cls, directory: Path, now: Callable[[], float] = time.time, *, only: Collection[str] = MOST_ROWS
    ) -> Journal:
        """The journal of an existing campaign, checked as a whole, or only these tables, where no other is read. Raises
        IoAtlasError when there is none, it is of a newer format, or it holds what no campaign writes.
        """
        path = directory / FILE_NAME
        if not confined.is_ordinary(path):
            raise UsageError(
                "this is not the directory of a campaign: it has no journal"
                if directory.exists()
                else "there is no such directory",
                where=str(directory),
                remedy="name the DIR that `ioatlas map -o` wrote"
                + ("; `ioatlas import FILE -o DIR` makes one of another tool's results" if directory.is_file() else ""),
            )
        check_file(path)
        unread = faults(
            IoAtlasError,
            "the journal cannot be read",
            where=str(path),
            remedy="restore it from a copy; the raw output is in batches/",
            of=sqlite3.DatabaseError,
        )
        with unread, contextlib.ExitStack() as opened:
            journal = cls(directory, now)
            opened.callback(journal.close)
            journal._check(path, only)
            opened.pop_all()
        return journal

    def _check(self, path: Path, only: Collection[str]) -> None:
        """That it is a campaign's, of a format that is known, and holds what a campaign writes."""
        self.format = int(self._value("PRAGMA user_version"))
        tables = t.tables_of(self.format)
        check_objects(self._rows(OBJECTS), path, tables)
        if self._has_nothing():
            raise UsageError(
                "the campaign was never begun: the process ended while its journal was made",
                where=str(path),
                remedy=f"start it again, with the same `-o {self.directory}`",
            )
        t.check_version(self.format, str(path))
        if lacking := self._lacking(tables.values()):
            raise IoAtlasError(
                f"the journal lacks {lacking}: it was made by a version before the first release",
                where=str(path),
                remedy="measure again",
            )
        check_rows(self._rows, path, [table for name, table in tables.items() if name in only])

    def _lacking(self, tables: Iterable[t.Table]) -> str:
        """The first table or column that it should have and has not; '' when it has all."""
        for table in tables:
            have = {name for (name,) in self._rows("SELECT name FROM pragma_table_info(:table)", table=table.name)}
            if not have:
                return f"table {table.name}"
            for column in table.columns:
                if column.name not in have:
                    return f"column {table.name}.{column.name}"
        return ""

    def _has_nothing(self) -> bool:
        """Whether it has nothing but empty tables of ours. Earlier versions made them one after another."""
        made = {name: kind for kind, name, sql in self._rows(OBJECTS) if sql}
        if not made.keys() <= t.TABLES.keys() or {*made.values()} - {"table"}:
            return False
        return not any(self._rows(f"SELECT 1 FROM {name} LIMIT 1") for name in made)


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
    t.check_version(version, where)
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
