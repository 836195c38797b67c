# SPDX-License-Identifier: Apache-2.0
"""One SQLite file: how it is opened, and what is refused."""

from __future__ import annotations

import contextlib
import copy
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.util import LRUCache

from ioatlas.errors import PartialResultError
from ioatlas.model.cell import Cell
from ioatlas.model.visit import REPLICATES_OF_A_SET_UP
from ioatlas.store import schema as t
from ioatlas.store.stored import Row

FILE_NAME = "journal.sqlite"
LARGEST_FIELD = 32 << 20
"""Bytes of one field; SQLite itself refuses longer ones."""


class _OneTransaction:
    """What stands for an engine while all that is asked of it belongs to one transaction."""

    def __init__(self, link: sa.Connection) -> None:
        self._link = link

    @contextlib.contextmanager
    def begin(self) -> Iterator[sa.Connection]:
        yield self._link

    connect = begin


class Database:
    """An open file of tables. Every public method of what is built on it is one transaction.

    now: seconds since the epoch, which everything written down is stamped with.
    only: the target of which it shows a part; '' for all. set_up: of visits those of one set-up, whose replicates it
    counts from 0; None for all.
    format: which tables it has, as `schema` tells.
    """

    def __init__(self, engine: sa.Engine, directory: Path, now: Callable[[], float] = time.time) -> None:
        self._file = engine
        self._engine: sa.Engine | _OneTransaction = engine
        self._now = now
        self.directory = directory
        self.only = ""
        self.set_up: int | None = None
        self.format = t.VERSION
        self._kept: dict[tuple[str, bool], tuple[int | None, dict[int, list[Any]]]] = {}
        """Rows that were read, of tables whose rows never change: (the last one's number, what was made of them)."""
        self._cells: dict[tuple[str, ...], Cell] = {}
        """Cells that were read, by what their rows say."""

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

    def _mine(self) -> tuple[sa.ColumnElement[bool], ...]:
        """Conditions on rows of visits: those of the target and of the set-up that are seen, where they are."""
        mine: list[sa.ColumnElement[bool]] = []
        if self.only:
            mine.append(t.visit.c.cell_key.in_(sa.select(t.cell.c.cell_key).where(t.cell.c.target == self.only)))
        if self.set_up is not None:
            first, count = self._first_replicate, REPLICATES_OF_A_SET_UP
            # Replicates below 0 are those of visits made before the first one.
            mine.append(t.visit.c.block.between(first - count // 2, first + count // 2 - 1))
        return tuple(mine)

    def close(self) -> None:
        self._file.dispose()

    def _rows(self, query: sa.Select[Any]) -> Sequence[Any]:
        """All rows of a query."""
        with self._engine.connect() as link:
            return link.execute(query).all()

    def _value(self, query: sa.Select[Any]) -> Any:
        """The first value of the first row of a query; None without a row."""
        with self._engine.connect() as link:
            return link.execute(query).scalar()

    def _do(self, *statements: sa.Executable) -> None:
        """One transaction of these statements."""
        with self._engine.begin() as link:
            for one in statements:
                link.execute(one)

    @contextlib.contextmanager
    def together(self) -> Iterator[sa.Connection]:
        """One transaction of all that is done inside: a process that dies in it leaves the file as it was."""
        with self._file.begin() as link:
            link.exec_driver_sql("BEGIN IMMEDIATE")  # tables are made in it, too, and nobody else writes meanwhile
            self._engine = _OneTransaction(link)
            try:
                yield link
            finally:
                self._engine = self._file

    def row(self, table: str, key: object = "") -> Row:
        """A row of the file, for messages."""
        return Row(self.directory / FILE_NAME, table, key)


_OF_THE_PLACE = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")
"""Faults of the file system a journal lies on: full, gone, read-only."""


@cache
def _shared() -> tuple[sa.Dialect, LRUCache[Any, Any]]:
    """What the engines of all journals have in common: the dialect, and statements that were compiled for it."""
    first = sa.create_engine("sqlite://")
    first.connect().close()  # the dialect learns which SQLite this is
    first.dispose()

    @sa.event.listens_for(first, "handle_error")  # faults are told to the dialect, so to that of all journals
    def _told(context: sa.engine.ExceptionContext) -> None:
        error, engine = context.original_exception, context.engine
        if engine is None or not isinstance(error, sqlite3.OperationalError):
            return
        if error.sqlite_errorname.startswith(_OF_THE_PLACE):
            place = Path(engine.url.database or "").parent
            raise PartialResultError(
                f"the journal cannot be written: {error}",
                where=str(place),
                remedy=f"free some space there, or bring the directory back; then `ioatlas resume {place}`",
            ) from error

    return first.dialect, LRUCache(1000)


def _engine(url: sa.URL) -> sa.Engine:
    """An engine as `create_engine` makes it, but what was compiled for one journal is not compiled again for the next:
    a command opens a campaign several times, and a comparison many of them.
    """
    dialect, compiled = _shared()
    positional, named = dialect.create_connect_args(url)
    pool = sa.QueuePool(lambda: dialect.connect(*positional, **named), dialect=dialect)
    on_connect = dialect.on_connect_url(url)
    if on_connect is not None:
        sa.event.listen(pool, "connect", lambda connection, _record: on_connect(connection))
    return sa.Engine(pool, dialect, url, execution_options={"compiled_cache": compiled})


def connect(path: Path) -> sa.Engine:
    """The file at `path`, made when it is not there; every commit is on the disk when it returns."""
    engine = _engine(sa.make_url(f"sqlite:///{path}"))

    @sa.event.listens_for(engine, "connect")
    def _durable(connection: Any, _record: object) -> None:
        # A finished batch must survive a crash of the machine, not only of the process.
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_FIELD)
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")

    return engine


def missing(metadata: sa.MetaData, link: sa.Connection) -> str:
    """The first table or column of the format that a journal does not have; '' when it has all."""
    for table in metadata.sorted_tables:
        have = {name for (name,) in link.exec_driver_sql("SELECT name FROM pragma_table_info(?)", (table.name,))}
        if not have:
            return f"table {table.name}"
        for column in table.columns:
            if column.name not in have:
                return f"column {table.name}.{column.name}"
    return ""
