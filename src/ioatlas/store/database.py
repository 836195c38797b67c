# SPDX-License-Identifier: Apache-2.0
"""One SQLite file: how it is opened, read and written."""

from __future__ import annotations

import contextlib
import copy
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from ioatlas.model.cell import Cell
from ioatlas.model.errors import PartialResultError
from ioatlas.model.visit import REPLICATES_OF_A_SET_UP
from ioatlas.store import schema as t
from ioatlas.store.stored import Row

FILE_NAME = "journal.sqlite"
LARGEST_FIELD = 32 << 20
"""Bytes of one field; SQLite itself refuses longer ones."""
# A finished batch must survive a crash of the machine, not only of the process.
PRAGMAS = ("journal_mode=DELETE", "synchronous=FULL", "foreign_keys=ON")
OF_MY_CELLS = "(:only = '' OR cell_key IN (SELECT cell_key FROM cell WHERE target = :only))"
"""Condition of rows of cells: those of the target that is seen."""
MINE = f"{OF_MY_CELLS} AND (:first IS NULL OR block BETWEEN :first AND :last)"
"""Condition of rows of visits: those of the target and of the set-up that are seen."""
_OF_THE_PLACE = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")
"""Faults of the file system a journal lies on: full, gone, read-only."""


class Record(sqlite3.Row):
    """A row with its values by the names of their columns too."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


def connect(path: Path, *, trusted: str = "OFF") -> sqlite3.Connection:
    """The file at `path`, made when it is not there; every commit is on the disk when it returns. trusted: 'ON' where
    columns are computed, as SQLite calls what reads JSON unsafe.
    """
    link = sqlite3.connect(path, isolation_level=None)
    link.row_factory = Record
    link.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_FIELD)
    for pragma in (f"trusted_schema={trusted}", *PRAGMAS):
        link.execute(f"PRAGMA {pragma}")
    return link


class Database:
    """An open file of tables. Every public method of what is built on it is one transaction.

    now: seconds since the epoch, which everything written down is stamped with.
    only: the target of which it shows a part; '' for all. set_up: of visits those of one set-up, whose replicates it
    counts from 0; None for all.
    format: which tables it has, as `schema` tells.

    Values in statements stand as :name; `_seen` are known to all of them.
    """

    def __init__(self, directory: Path, now: Callable[[], float] = time.time) -> None:
        """Raises sqlite3.DatabaseError for a file that is no database."""
        self._now = now
        self.directory = directory
        self.only = ""
        self.set_up: int | None = None
        self.format = t.VERSION
        self._kept: dict[tuple[str, bool], tuple[int, dict[int, list[Any]]]] = {}
        """Rows that were read, of tables whose rows never change: (the last one's number, what was made of them)."""
        self._cells: dict[tuple[str, ...], Cell] = {}
        """Cells that were read, by what their rows say."""
        with self._faults():
            self._link = connect(directory / FILE_NAME)

    def now(self) -> float:
        """Seconds since the epoch, as what is written down now is stamped."""
        return self._now()

    def of_target(self, name: str) -> Self:
        """The same file, of which cells, visits and records of one target are seen and changed: what a session is
        given that measures one configuration. The campaign as a whole is completed by nobody who sees a part.
        """
        part = copy.copy(self)
        part.only = name
        return part

    def of_set_up(self, number: int) -> Self:
        """The same file, of which the visits of one set-up are seen and made, from 0."""
        part = copy.copy(self)
        part.set_up = number
        return part

    @property
    def _first_replicate(self) -> int:
        """What replicates are counted from."""
        return (self.set_up or 0) * REPLICATES_OF_A_SET_UP

    @property
    def _seen(self) -> dict[str, Any]:
        if self.set_up is None:
            return {"only": self.only, "first": None, "last": None}
        # Replicates below 0 are those of visits made before the first one.
        first = self._first_replicate - REPLICATES_OF_A_SET_UP // 2
        return {"only": self.only, "first": first, "last": first + REPLICATES_OF_A_SET_UP - 1}

    def close(self) -> None:
        self._link.close()

    def _rows(self, query: str, **values: object) -> list[Any]:
        """All rows of a query."""
        with self._faults():
            return self._link.execute(query, {**self._seen, **values}).fetchall()

    def rows_of(self, table: t.Table) -> list[Any]:
        """All rows of a table, in the order of their making."""
        return self._rows(f"SELECT {table.listed()} FROM {table.name} ORDER BY rowid")

    def _value(self, query: str, **values: object) -> Any:
        """The first value of the first row of a query; None without a row."""
        rows = self._rows(query, **values)
        return rows[0][0] if rows else None

    def _do(self, statement: str, **values: object) -> int:
        """A statement that changes rows; returns how many."""
        with self.together():
            return self._link.execute(statement, {**self._seen, **values}).rowcount

    def _do_each(self, statement: str, rows: Iterable[Mapping[str, object]]) -> None:
        """A statement that changes rows, with the values of each of these."""
        with self.together():
            self._link.executemany(statement, rows)

    def insert(self, table: str, *rows: Mapping[str, object]) -> int:
        """New rows; returns the number of the last one."""
        last = None
        with self.together():
            for row in rows:
                names, values = ", ".join(row), ", :".join(row)
                last = self._link.execute(f"INSERT INTO {table} ({names}) VALUES (:{values})", row).lastrowid
        return last or 0

    def _replace(self, table: str, key: str, row: Mapping[str, object]) -> None:
        """A new row in the place of the one with the same value in the column `key`."""
        with self.together():
            self._do(f"DELETE FROM {table} WHERE {key} = :{key}", **row)
            self.insert(table, row)

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """One transaction of all that is done inside: a process that dies in it leaves the file as it was."""
        if self._link.in_transaction:
            yield
            return
        with self._faults(), self._link:
            self._link.execute("BEGIN IMMEDIATE")  # nobody else writes meanwhile
            yield

    @contextlib.contextmanager
    def _faults(self) -> Iterator[None]:
        """Those of the place, told so that the campaign can be gone on with."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if not getattr(error, "sqlite_errorname", "").startswith(_OF_THE_PLACE):
                raise
            raise PartialResultError(
                f"the journal cannot be written: {error}",
                where=str(self.directory),
                remedy=f"free some space there, or bring the directory back; then `ioatlas resume {self.directory}`",
            ) from error

    def make_tables(self, version: int) -> None:
        """All tables of a format that are not there yet."""
        with self.together():
            for table in t.tables_of(version).values():
                self._do(table.made)
            self._do(f"PRAGMA user_version={version:d}")

    def row(self, table: str, key: object = "") -> Row:
        """A row of the file, for messages."""
        return Row(self.directory / FILE_NAME, table, key)
