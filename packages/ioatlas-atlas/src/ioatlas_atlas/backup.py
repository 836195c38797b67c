# SPDX-License-Identifier: Apache-2.0
"""Everything of an atlas in a folder of plain files, and an atlas from such a folder, over either database.

DIR/backup.json           form, time, rows and SHA-256 of each table
DIR/tables/NAME.jsonl     one row a line
DIR/blobs/ab/abcd....zip  bundles, by their SHA-256
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ioatlas import __version__
from ioatlas.model.errors import IoAtlasError, RefusedError, UsageError
from ioatlas_atlas import tables
from ioatlas_atlas.blobs import Blobs
from ioatlas_atlas.database import Database, take_time
from ioatlas_atlas.migrations import form_of, migrate, newest

INDEX = "backup.json"
_KEPT = tuple(table for table in tables.metadata.sorted_tables if table is not tables.schema)
_ROWS = 1000


@dataclass(frozen=True)
class Copied:
    """missing: bundles that a result has and the folder did not."""

    results: int
    bundles: int
    missing: tuple[str, ...] = ()


def backup(database: Database, blobs: Blobs, folder: Path) -> Copied:
    """Everything, as it was at one moment. The service may run. Raises RefusedError for a folder that has something.

    The index is written last: a folder without one is no backup.
    """
    if folder.exists() and any(folder.iterdir()):
        raise RefusedError("the folder holds something already", where=str(folder), remedy="name a new one")
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    told: dict[str, Any] = {}
    with database.reading(whole=True) as link:
        if not database.embedded:
            link.execute(sa.text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
        take_time(link)
        for table in _KEPT:
            told[table.name] = _write(link, table, folder / "tables" / f"{table.name}.jsonl")
        asked = sa.select(tables.result.c.bundle_sha256).where(tables.result.c.bundle_sha256.is_not(None)).distinct()
        wanted = sorted(link.execute(asked).scalars())
    missing = [sha256 for sha256 in wanted if not _copy(blobs.path(sha256), folder / "blobs" / sha256[:2])]
    index = {"format": 1, "form": newest(), "made_with": f"ioatlas {__version__}", "at": time.time(), "tables": told}
    _synced(folder / INDEX, json.dumps(index, indent=1).encode())
    return Copied(told["result"]["rows"], len(wanted) - len(missing), tuple(missing))


def _write(link: sa.Connection, table: sa.Table, path: Path) -> dict[str, Any]:
    found, count = hashlib.sha256(), 0
    key = list(table.primary_key.columns)
    with path.open("wb") as file:
        rows = link.execution_options(yield_per=_ROWS).execute(sa.select(table).order_by(*key)).mappings()
        for row in rows:
            line = json.dumps(dict(row), allow_nan=False).encode() + b"\n"
            found.update(line)
            file.write(line)
            count += 1
        file.flush()
        os.fsync(file.fileno())
    return {"rows": count, "sha256": found.hexdigest()}


def _copy(source: Path, folder: Path) -> bool:
    folder.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copyfile(source, folder / source.name)
    except FileNotFoundError:  # it was deleted meanwhile
        return False
    return True


def _synced(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def restore(database: Database, blobs: Blobs, folder: Path) -> Copied:
    """An atlas from a backup. Raises UsageError for what is none or was changed, RefusedError for an atlas in use."""
    index = _index(folder)
    if form_of(database).found == 0:
        migrate(database)
    if index["form"] != newest():
        what = f"the backup has form {index['form']}, this ioatlas {newest()}"
        remedy = "restore it with the ioatlas that made it, then `ioatlas atlas serve migrate`"
        raise UsageError(what, where=str(folder), remedy=remedy)
    for table in _KEPT:
        _check(folder / "tables" / f"{table.name}.jsonl", index["tables"].get(table.name) or {})
    _bring_bundles(blobs, folder)
    with database.writing() as link:
        take_time(link)
        if any(link.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first() for table in _KEPT):
            raise RefusedError("the atlas is not empty", where=database.where, remedy="restore into a new database")
        for table in _KEPT:
            for rows in _rows(folder / "tables" / f"{table.name}.jsonl"):
                link.execute(sa.insert(table), rows)
            _go_on_counting(link, table)
        wanted = set(link.execute(sa.select(tables.result.c.bundle_sha256)).scalars()) - {None}
    missing = tuple(sorted(sha256 for sha256 in wanted if not blobs.path(sha256).exists()))
    return Copied(index["tables"]["result"]["rows"], len(wanted) - len(missing), missing)


def _index(folder: Path) -> dict[str, Any]:
    try:
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        if index["format"] == 1 and isinstance(index["tables"], dict):
            return dict(index)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise UsageError(
        "this is no backup of an atlas", where=str(folder), remedy="name a folder of `ioatlas atlas serve backup`"
    )


def _check(path: Path, told: dict[str, Any]) -> None:
    try:
        with path.open("rb") as file:
            same = hashlib.file_digest(file, "sha256").hexdigest() == told.get("sha256")
    except OSError:
        same = False
    if not same:
        raise UsageError("it is not as it was written", where=str(path), remedy="use another copy of the backup")


def _rows(path: Path) -> Iterator[list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    with path.open("rb") as file:
        for line in file:
            rows.append(json.loads(line))
            if len(rows) == _ROWS:
                yield rows
                rows = []
    if rows:
        yield rows


def _bring_bundles(blobs: Blobs, folder: Path) -> None:
    """Each under limits of an upload, and only where its bytes are those of its name."""
    for path in sorted((folder / "blobs").glob("??/*.zip")):
        with blobs.incoming(path.stat().st_size) as incoming, path.open("rb") as file:
            while piece := file.read(1 << 20):
                incoming.write(piece)
            if incoming.sha256 != path.stem:
                raise IoAtlasError("its bytes are not those of its name", where=str(path), remedy="use another copy")
            blobs.keep(incoming)


def _go_on_counting(link: sa.Connection, table: sa.Table) -> None:
    """PostgreSQL counts numbers apart from the rows."""
    column = table.autoincrement_column
    if column is None or link.dialect.name != "postgresql":
        return
    highest = sa.select(sa.func.coalesce(sa.func.max(column), 0) + 1).scalar_subquery()
    sequence = sa.func.pg_get_serial_sequence(table.name, column.name)
    link.execute(sa.select(sa.func.setval(sequence, highest, sa.false())))
