# SPDX-License-Identifier: Apache-2.0
"""The database of an atlas: one SQLite file, or PostgreSQL 15 and later."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DataError, OperationalError, SQLAlchemyError

from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas_atlas.blobs import NoRoomError

FIRST_POSTGRESQL = 15
_WRITES = "atlas_writes"
_WAIT_MS = 15_000
_DISK_FULL = "53100"
"""As PostgreSQL tells it."""


class Database:
    """An engine. Reading and writing are told apart: a writer of SQLite takes its turn when it begins."""

    def __init__(self, engine: sa.Engine, where: str) -> None:
        self.engine = engine
        self.where = where
        self.released = ""  # the day whose embargoes were ended, see `best.release`
        self.stock: Any = None  # what is kept in memory of what all may see, see `shelf`
        self.turn = threading.RLock()  # of who reads that
        self._writing = engine.execution_options(**{_WRITES: True})
        self._reading = engine if self.embedded else engine.execution_options(isolation_level="AUTOCOMMIT")

    @property
    def embedded(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def reading(self, *, whole: bool = False) -> Iterator[sa.Connection]:
        """A connection that writes nothing. Raises IoAtlasError when there is no database.

        whole: in one transaction. PostgreSQL reads each statement by itself else, and is called half as often.
        """
        with self._told(), (self.engine if whole else self._reading).connect() as link:
            yield link

    def rows(self, asked: sa.Executable) -> Sequence[sa.RowMapping]:
        """All that is found, in a transaction of its own."""
        with self.reading() as link:
            return link.execute(asked).mappings().all()

    def first(self, asked: sa.Executable) -> sa.RowMapping | None:
        return next(iter(self.rows(asked)), None)

    def values(self, asked: sa.Executable) -> list[Any]:
        """The first column of all that is found."""
        with self.reading() as link:
            return list(link.execute(asked).scalars())

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction: on disk when this ends, or nothing of it."""
        with self._told(), self._writing.begin() as link:
            yield link

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OperationalError as error:
            if _is_full(error):
                raise NoRoomError(first_line(error), where=self.where, remedy="free space, then again") from error
            raise DatabaseError(first_line(error), where=self.where, remedy="see that it runs, then again") from error
        except DataError as error:
            raise UsageError("no value is written so", remedy="leave out what is no text or number") from error

    def close(self) -> None:
        self.engine.dispose()


class DatabaseError(IoAtlasError):
    """It does not answer, or cannot be written."""


def open_database(url: str) -> Database:
    """The database at `url`: sqlite:///FILE, or postgresql://USER@HOST/NAME. Raises UsageError for any other."""
    try:
        parsed = sa.make_url(url)
    except ArgumentError:
        parsed = None
    backend = parsed.get_backend_name() if parsed is not None else ""
    if parsed is None or backend not in ("sqlite", "postgresql"):
        raise UsageError(
            "this is no address of a database",
            where="--database",
            remedy="write sqlite:///FILE or postgresql://USER@HOST/NAME",
        )
    where = parsed.render_as_string(hide_password=True)
    if backend == "sqlite":
        if not parsed.database or parsed.database == ":memory:":
            raise UsageError("a database needs a file", where="--database", remedy="write sqlite:///FILE")
        Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
        return Database(_sqlite(parsed), where)
    try:
        return Database(_postgresql(parsed), where)
    except ImportError as error:
        what, remedy = "the driver of PostgreSQL is not installed", "`pip install 'ioatlas[postgresql]'`"
        raise UsageError(what, where="--database", remedy=remedy) from error


def _sqlite(url: sa.URL) -> sa.Engine:
    engine = sa.create_engine(url, connect_args={"timeout": _WAIT_MS / 1000}, json_deserializer=orjson.loads)

    @sa.event.listens_for(engine, "connect")
    def _set_up(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "trusted_schema=OFF"):
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def _begin(link: sa.Connection) -> None:
        link.exec_driver_sql("BEGIN IMMEDIATE" if link.get_execution_options().get(_WRITES) else "BEGIN")

    return engine


def _postgresql(url: sa.URL) -> sa.Engine:
    options = f"-c statement_timeout={_WAIT_MS} -c idle_in_transaction_session_timeout={4 * _WAIT_MS}"
    return sa.create_engine(
        url.set(drivername="postgresql+psycopg"),
        json_deserializer=orjson.loads,
        pool_pre_ping=True,
        pool_size=8,
        max_overflow=8,
        connect_args={"connect_timeout": 10, "options": options, "application_name": "ioatlas"},
    )


def take_time(link: sa.Connection) -> None:
    """Let this transaction last: what an operator asked for is not cut off as a request is."""
    if link.dialect.name == "postgresql":
        link.execute(sa.text("SET LOCAL statement_timeout = 0"))
        link.execute(sa.text("SET LOCAL idle_in_transaction_session_timeout = 0"))


def insert_new(link: sa.Connection, table: sa.Table, values: Mapping[str, Any]) -> bool:
    """One row, unless there is one of its key already: whether it is new."""
    insert: Any = sqlite.insert if link.dialect.name == "sqlite" else postgresql.insert
    return bool(link.execute(insert(table).values(**values).on_conflict_do_nothing()).rowcount)


def answers(database: Database) -> bool:
    """Whether it does."""
    with suppress(IoAtlasError, SQLAlchemyError), database.reading() as link:
        return bool(link.execute(sa.select(1)).scalar_one())
    return False


def check_version(database: Database) -> None:
    """Raises UsageError for a PostgreSQL that is older than what this was tried with."""
    if database.embedded:
        return
    with database.reading() as link:
        number = int(link.execute(sa.text("SHOW server_version_num")).scalar_one()) // 10_000
    if number < FIRST_POSTGRESQL:
        raise UsageError(
            f"this is PostgreSQL {number}", where=database.where, remedy=f"use PostgreSQL {FIRST_POSTGRESQL} or later"
        )


def _is_full(error: OperationalError) -> bool:
    cause = error.orig
    return getattr(cause, "sqlstate", "") == _DISK_FULL or getattr(cause, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL


def first_line(error: SQLAlchemyError) -> str:
    """What the database says of it."""
    cause = str(getattr(error, "orig", error) or error).strip().splitlines()
    return f"the database does not take it: {cause[0] if cause else type(error).__name__}"
