# SPDX-License-Identifier: Apache-2.0
"""One SQLite file: how it is opened, and what is refused."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ioatlas.store.stored import Row

FILE_NAME = "journal.sqlite"
LARGEST_FIELD = 32 << 20
"""Bytes of one field; SQLite itself refuses longer ones."""


class Database:
    """An open file of tables. Every public method of what is built on it is one transaction.

    now: seconds since the epoch, which everything written down is stamped with.
    """

    def __init__(self, engine: sa.Engine, directory: Path, now: Callable[[], float] = time.time) -> None:
        self._engine = engine
        self._now = now
        self.directory = directory

    def close(self) -> None:
        self._engine.dispose()

    def row(self, table: str, key: object = "") -> Row:
        """A row of the file, for messages."""
        return Row(self.directory / FILE_NAME, table, key)


def connect(path: Path) -> sa.Engine:
    """The file at `path`, made when it is not there; every commit is on the disk when it returns."""
    engine = sa.create_engine(f"sqlite:///{path}")

    @sa.event.listens_for(engine, "connect")
    def _durable(connection: Any, _record: object) -> None:
        # A finished batch must survive a crash of the machine, not only of the process.
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_FIELD)
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")

    return engine


def missing(metadata: sa.MetaData, inspector: sa.Inspector) -> str:
    """The first table or column of the format that a journal does not have; '' when it has all."""
    for table in metadata.sorted_tables:
        if not inspector.has_table(table.name):
            return f"table {table.name}"
        have = {column["name"] for column in inspector.get_columns(table.name)}
        for column in table.columns:
            if column.name not in have:
                return f"column {table.name}.{column.name}"
    return ""
