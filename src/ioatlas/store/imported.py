# SPDX-License-Identifier: Apache-2.0
"""Readings of other tools, kept in a file of their own: `imported.sqlite`, beside the journal where there is one.

A reading is kept as the JSON object that `ioatlas import --json` prints; its main figures show as columns too, computed from it when asked for.

Format history (the file's `PRAGMA user_version`):
  1  first version.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Column, Computed, Float, ForeignKey, Integer, LargeBinary, MetaData, Table, Text

from ioatlas.errors import IoAtlasError, UsageError
from ioatlas.store.database import Database, connect, missing

FILE_NAME = "imported.sqlite"
VERSION = 1
_AT_ONCE = 2000

metadata = MetaData()


def _figure(name: str, kind: type[Text | Integer | Float[float]]) -> Column[Any]:
    return Column(name, kind, Computed(f"json_extract(record, '$.{name}')", persisted=False))


import_run = Table(
    "import_run",
    metadata,
    Column("import_id", Integer, primary_key=True),
    Column("started_at", Float, nullable=False, comment="seconds since the epoch"),
    Column("tool_version", Text, nullable=False),
    Column("label", Text, nullable=False, comment="what the user called these results; empty when nothing"),
)

reading = Table(
    "reading",
    metadata,
    Column("reading_id", Integer, primary_key=True),
    Column("import_id", Integer, ForeignKey("import_run.import_id"), nullable=False),
    Column("digest", LargeBinary, nullable=False, unique=True, comment="BLAKE2b of the record, 16 bytes: the same reading is kept once"),
    Column("record", Text, nullable=False, comment="the JSON object of `ioatlas import --json`"),
    *(_figure(name, Text) for name in ("source", "tool", "tool_version", "label", "direction", "rw", "operation", "statistic")),
    *(_figure(name, Integer) for name in ("bs_bytes", "size_bytes", "numjobs", "iodepth")),
    *(_figure(name, Float) for name in ("rwmixread", "iops", "bw_bytes_per_s", "lat_mean_ns", "lat_p99_ns")),
)

problem = Table(
    "problem",
    metadata,
    Column("entry", Integer, primary_key=True),
    Column("import_id", Integer, ForeignKey("import_run.import_id"), nullable=False),
    Column("text", Text, nullable=False, comment="what could not be read, one line"),
)


class Imported(Database):
    """The imported readings of one directory."""

    @classmethod
    def at(cls, directory: Path) -> Imported:
        """The readings in `directory`, made when there are none. Raises IoAtlasError when the file cannot be used."""
        path = directory / FILE_NAME
        if path.exists():
            return cls.open(directory)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            made = cls(connect(path), directory)
            with made._engine.begin() as link:
                metadata.create_all(link)
                link.exec_driver_sql(f"PRAGMA user_version={VERSION}")
        except (OSError, sa.exc.DatabaseError) as error:
            raise IoAtlasError("readings cannot be kept here", where=str(path), remedy="name another directory with -o") from error
        return made

    @classmethod
    def open(cls, directory: Path) -> Imported:
        """The readings of a directory that has some. Raises UsageError when it has none, IoAtlasError when the file cannot be used."""
        path = directory / FILE_NAME
        if not path.is_file():
            raise UsageError("nothing was imported here", where=str(directory), remedy=f"`ioatlas import FILES -o {directory}` does")
        engine = connect(path)
        try:
            with engine.connect() as link:
                version = int(link.exec_driver_sql("PRAGMA user_version").scalar_one())
                lacking = missing(metadata, sa.inspect(link)) if version <= VERSION else ""
        except sa.exc.DatabaseError as error:
            raise IoAtlasError(
                "the imported readings cannot be read", where=str(path), remedy="remove the file and import again"
            ) from error
        if version > VERSION:
            raise IoAtlasError(
                f"the imported readings have format {version}, this ioatlas reads up to {VERSION}",
                where=str(path),
                remedy="use a newer ioatlas",
            )
        if lacking:
            raise IoAtlasError(
                f"the imported readings lack {lacking}",
                where=str(path),
                remedy="remove the file and import again: the first import was stopped",
            )
        return cls(engine, directory)

    def begin_import(self, tool_version: str, label: str = "") -> int:
        """A new import; returns its number."""
        with self._engine.begin() as link:
            key = link.execute(
                import_run.insert().values(started_at=time.time(), tool_version=tool_version, label=label)
            ).inserted_primary_key
        assert key is not None
        return int(key[0])

    def add(self, import_id: int, records: Iterable[bytes]) -> Iterator[bytes]:
        """Keep JSON records that are not there yet and pass every one on. One transaction, which ends when the last was taken."""
        source = iter(records)
        with self._engine.begin() as link:
            while some := list(islice(source, _AT_ONCE)):
                rows = [(import_id, hashlib.blake2b(record, digest_size=16).digest(), record.decode()) for record in some]
                link.exec_driver_sql("INSERT OR IGNORE INTO reading (import_id, digest, record) VALUES (?, ?, ?)", rows)
                yield from some

    def add_problems(self, import_id: int, texts: Iterable[str]) -> None:
        rows = [{"import_id": import_id, "text": text} for text in texts]
        if rows:
            with self._engine.begin() as link:
                link.execute(problem.insert(), rows)

    def readings(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """(label given by the user or '', record) of every reading, in the order imported."""
        query = sa.select(import_run.c.label, reading.c.record).join_from(reading, import_run).order_by(reading.c.reading_id)
        with self._engine.connect() as link:
            for label, record in link.execute(query):
                yield label, json.loads(record)

    def imports(self) -> list[tuple[float, str, str]]:
        """(seconds since the epoch, version of ioatlas, label) of every import."""
        with self._engine.connect() as link:
            rows = link.execute(sa.select(import_run).order_by(import_run.c.import_id)).all()
        return [(row.started_at, row.tool_version, row.label) for row in rows]

    def problems(self) -> list[str]:
        """What could not be read, each line once."""
        with self._engine.connect() as link:
            return list(dict.fromkeys(row.text for row in link.execute(sa.select(problem).order_by(problem.c.entry))))
