# SPDX-License-Identifier: Apache-2.0
"""Readings of other tools, kept in a file of their own: `imported.sqlite`, beside the journal where there is one.

A reading is kept as the JSON object that `ioatlas import --json` prints; its main figures show as columns too,
computed from it when asked for.

Format history (the file's `PRAGMA user_version`):
  1  first version.
"""

from __future__ import annotations

import pkgutil
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ioatlas.model.errors import IoAtlasError, UsageError, faults
from ioatlas.store import confined
from ioatlas.store.database import connect
from ioatlas.store.rules import OBJECTS, check_count, check_file, check_objects
from ioatlas.store.stored import Row

FILE_NAME = "imported.sqlite"
VERSION = 1
DIGEST_BYTES = 16
_PAGE_BYTES = 16384
SCHEMA = (pkgutil.get_data("ioatlas.store", "imported.sql") or b"").decode()
MOST_READINGS = 10_000_000
_WRONG = {
    "import_run": "typeof(started_at) NOT IN ('real', 'integer') OR started_at NOT BETWEEN 0 AND 4e9 OR "
    "typeof(tool_version) != 'text' OR length(tool_version) > 1024 OR typeof(label) != 'text' OR length(label) > 1024",
    "reading": "typeof(record) != 'text'",
    "problem": "typeof(text) != 'text' OR length(text) > 65536",
}
"""The condition of a row that is wrong."""
_KNOWN = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('import_run', 'reading', 'problem')"


def digest_of(record: bytes) -> bytes:
    """What tells a record from all others."""
    return blake2b(record, digest_size=DIGEST_BYTES).digest()


def is_imported(place: Path) -> bool:
    """Whether there are imported readings in a directory; `place` may be the file that holds them, too."""
    return confined.is_ordinary(place if place.name == FILE_NAME else place / FILE_NAME)


class Imported:
    """The imported readings of one directory. Every public method but `add` is one transaction."""

    def __init__(self, link: sqlite3.Connection, directory: Path) -> None:
        self._link = link
        self._row = Row(directory / FILE_NAME, "reading")
        self.directory = directory

    @classmethod
    def at(cls, directory: Path) -> Imported:
        """The readings in `directory`, made when there are none. Raises IoAtlasError when the file cannot be used."""
        path = directory / FILE_NAME
        if path.exists():
            return cls.open(directory)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            link = connect(path, trusted="ON")
            link.executescript(
                f"PRAGMA page_size={_PAGE_BYTES}; BEGIN; {SCHEMA} PRAGMA user_version={VERSION}; COMMIT;"
            )
        except (OSError, sqlite3.Error) as error:
            raise IoAtlasError(
                "readings cannot be kept here", where=str(path), remedy="name another directory with -o"
            ) from error
        return cls(link, directory)

    @classmethod
    def open(cls, directory: Path) -> Imported:
        """The readings of a directory that has some. Raises UsageError when it has none, IoAtlasError when the file
        cannot be used.
        """
        path = directory / FILE_NAME
        if not confined.is_ordinary(path):
            raise UsageError(
                "nothing was imported here", where=str(directory), remedy=f"`ioatlas import FILES -o {directory}` does"
            )
        try:
            check_file(path)
            link = connect(path, trusted="ON")
            check_objects(link.execute(OBJECTS).fetchall(), path, ("import_run", "problem"))
            check_count(lambda query: link.execute(query).fetchone()[0], path, "reading", MOST_READINGS)
            for table, wrong in _WRONG.items():
                if link.execute(f"SELECT 1 FROM {table} WHERE {wrong} LIMIT 1").fetchone() is not None:
                    Row(path, table).bad("it has values of another type, or without end")
            version = int(link.execute("PRAGMA user_version").fetchone()[0])
            known = int(link.execute(_KNOWN).fetchone()[0])
        except sqlite3.Error as error:
            raise IoAtlasError(
                "the imported readings cannot be read", where=str(path), remedy="remove the file and import again"
            ) from error
        if version > VERSION:
            raise IoAtlasError(
                f"the imported readings have format {version}, this ioatlas reads up to {VERSION}",
                where=str(path),
                remedy="use a newer ioatlas",
            )
        if version < 1 or known < 3:
            raise IoAtlasError(
                "this is no file of imported readings, or an unfinished one",
                where=str(path),
                remedy="remove the file and import again",
            )
        return cls(link, directory)

    def close(self) -> None:
        self._link.close()

    def begin_import(self, tool_version: str, label: str = "") -> int:
        """A new import; returns its number. Everything added to it is kept when `end_import` returns, or nothing."""
        self._link.execute("BEGIN IMMEDIATE")
        key = self._link.execute(
            "INSERT INTO import_run (started_at, tool_version, label) VALUES (?, ?, ?)",
            (time.time(), tool_version, label),
        ).lastrowid
        assert key is not None
        return key

    def add(self, import_id: int, records: Sequence[bytes], digests: Sequence[bytes]) -> None:
        """Keep JSON records, each with its `digest_of`, that are not there yet. Raises IoAtlasError when there is
        no room.
        """
        rows = zip([import_id] * len(records), digests, [record.decode() for record in records], strict=True)
        with self._keeping():
            self._link.executemany("INSERT OR IGNORE INTO reading (import_id, digest, record) VALUES (?, ?, ?)", rows)

    def end_import(self, import_id: int, problems: Iterable[str]) -> None:
        """Write down what could not be read, and keep the import."""
        with self._keeping():
            self._link.executemany(
                "INSERT INTO problem (import_id, text) VALUES (?, ?)", [(import_id, text) for text in problems]
            )
            self._link.execute("COMMIT")

    def _keeping(self) -> AbstractContextManager[None]:
        what, where = "the readings cannot be kept", str(self.directory)
        return faults(IoAtlasError, what, where=where, remedy="make room, import again", of=sqlite3.Error)

    def readings(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """(label given by the user or '', record) of every reading, in the order imported."""
        query = (
            "SELECT label, record FROM (SELECT import_id, reading_id, record FROM reading) JOIN import_run USING "
            "(import_id) ORDER BY reading_id"
        )
        for label, record in self._link.execute(query):
            yield label, self._row.json(record, "record")

    def imports(self) -> list[tuple[float, str, str]]:
        """(seconds since the epoch, version of ioatlas, label) of every import."""
        rows = self._link.execute("SELECT started_at, tool_version, label FROM import_run ORDER BY import_id")
        return list(map(tuple, rows))

    def problems(self) -> list[str]:
        """What could not be read, each line once."""
        return list(dict.fromkeys(text for (text,) in self._link.execute("SELECT text FROM problem ORDER BY entry")))
