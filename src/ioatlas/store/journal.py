# SPDX-License-Identifier: Apache-2.0
"""The journal of a campaign: what was planned, what ran, what came of it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import sqlalchemy as sa

from ioatlas import beneath
from ioatlas.errors import IoAtlasError, UsageError
from ioatlas.store import schema as t
from ioatlas.store.batches import Batches, BatchRow
from ioatlas.store.campaigns import Campaigns, Files
from ioatlas.store.cells import Cells, Prediction, Predictions
from ioatlas.store.database import FILE_NAME, connect, missing
from ioatlas.store.rules import MOST_ROWS, OBJECTS, check_file, check_objects, check_rows
from ioatlas.store.visits import NewVisit, PlannedVisit, Visits

__all__ = ["FILE_NAME", "BatchRow", "Journal", "NewVisit", "PlannedVisit", "Prediction"]


class Journal(Campaigns, Cells, Visits, Predictions, Batches, Files):
    """One open journal. Every public method is one transaction; those of one noun stand in the module of that noun."""

    @classmethod
    @contextlib.contextmanager
    def making(cls, directory: Path, now: Callable[[], float] = time.time) -> Iterator[Journal]:
        """A new journal in `directory`, which must not hold a campaign: all that is written inside is there at its end,
        or nothing is. What an earlier process left of one that it never finished is used again.

        Raises UsageError for a campaign.
        """
        path = directory / FILE_NAME
        if beneath.is_ordinary(path):
            check_file(path)
        directory.mkdir(parents=True, exist_ok=True)
        journal = cls(connect(path), directory, now)
        journal.format = t.VERSION
        try:
            with journal.together() as link:
                if not _is_unmade(link):
                    raise UsageError(
                        "a campaign is already here",
                        where=str(directory),
                        remedy=f"use `ioatlas resume {directory}` or another -o",
                    )
                for metadata in t.metadata_of(t.VERSION):
                    metadata.create_all(link)
                link.exec_driver_sql(f"PRAGMA user_version={t.VERSION}")
                yield journal
        except BaseException:
            journal.close()
            raise

    @classmethod
    def is_unmade(cls, directory: Path) -> bool:
        """Whether a campaign was to be made in `directory`, and the process died before it was."""
        path = directory / FILE_NAME
        if not beneath.is_ordinary(path):
            return False
        check_file(path)
        engine = connect(path)
        try:
            with engine.connect() as link:
                return _is_unmade(link)
        except sa.exc.DatabaseError:
            return False
        finally:
            engine.dispose()

    @classmethod
    def open(
        cls, directory: Path, now: Callable[[], float] = time.time, *, only: Collection[str] = MOST_ROWS
    ) -> Journal:
        """The journal of an existing campaign, checked as a whole, or only these tables, where no other is read. Raises
        IoAtlasError when there is none, it is of a newer format, or it holds what no campaign writes.
        """
        path = directory / FILE_NAME
        if not beneath.is_ordinary(path):
            raise UsageError(
                "this is not the directory of a campaign: it has no journal"
                if directory.exists()
                else "there is no such directory",
                where=str(directory),
                remedy="name the DIR that `ioatlas map -o` wrote"
                + ("; `ioatlas import FILE -o DIR` makes one of another tool's results" if directory.is_file() else ""),
            )
        check_file(path)
        engine = connect(path)
        try:
            with engine.connect() as link:
                version = int(link.exec_driver_sql("PRAGMA user_version").scalar_one())
                tables = {name: table for each in t.metadata_of(version) for name, table in each.tables.items()}
                check_objects(link.exec_driver_sql(OBJECTS).all(), path, tables)
                unmade = _is_unmade(link)
                ours = t.metadata_of(version) if not unmade and version <= t.VERSION else ()
                lacking = next((name for each in ours if (name := missing(each, link))), "")
                if ours and not lacking:
                    check_rows(link, path, [one for each in ours for one in each.sorted_tables if one.name in only])
        except sa.exc.DatabaseError as error:
            raise IoAtlasError(
                "the journal cannot be read",
                where=str(path),
                remedy="restore it from a copy; the raw output is in batches/",
            ) from error
        if unmade:
            raise UsageError(
                "the campaign was never begun: the process ended while its journal was made",
                where=str(path),
                remedy=f"start it again, with the same `-o {directory}`",
            )
        if version > t.VERSION:
            raise IoAtlasError(
                f"the journal has format {version}, this ioatlas reads up to {t.VERSION}",
                where=str(path),
                remedy="use a newer ioatlas",
            )
        if lacking:
            raise IoAtlasError(
                f"the journal lacks {lacking}: it was made by a version before the first release",
                where=str(path),
                remedy="measure again",
            )
        journal = cls(engine, directory, now)
        journal.format = version
        return journal


def _is_unmade(link: sa.Connection) -> bool:
    """Whether a file has nothing but empty tables of ours. Earlier versions made them one after another."""
    ours = {name: table for each in t.metadata_of(t.VERSION) for name, table in each.tables.items()}
    made = {name: kind for kind, name, sql in link.exec_driver_sql(OBJECTS).all() if sql}
    if not made.keys() <= ours.keys() or {*made.values()} - {"table"}:
        return False
    return not any(link.execute(sa.select(sa.literal(1)).select_from(ours[name]).limit(1)).first() for name in made)
