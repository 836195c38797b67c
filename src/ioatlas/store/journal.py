# SPDX-License-Identifier: Apache-2.0
"""The journal of a campaign: what was planned, what ran, what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa

from ioatlas import beneath
from ioatlas.errors import IoAtlasError, UsageError
from ioatlas.store import schema as t
from ioatlas.store.batches import Batches, BatchRow
from ioatlas.store.campaigns import Campaigns
from ioatlas.store.cells import Cells
from ioatlas.store.database import FILE_NAME, connect, missing
from ioatlas.store.files import Files
from ioatlas.store.predictions import Prediction, Predictions
from ioatlas.store.rules import OBJECTS, check_file, check_objects, check_rows
from ioatlas.store.visits import NewVisit, PlannedVisit, Visits

__all__ = ["FILE_NAME", "BatchRow", "Journal", "NewVisit", "PlannedVisit", "Prediction"]


class Journal(Campaigns, Cells, Visits, Predictions, Batches, Files):
    """One open journal. Every public method is one transaction; those of one noun stand in the module of that noun."""

    @classmethod
    def create(cls, directory: Path, now: Callable[[], float] = time.time) -> Journal:
        """A new journal in `directory`, which must not hold one. Raises UsageError when it does."""
        path = directory / FILE_NAME
        if path.exists():
            raise UsageError(
                "a campaign is already here",
                where=str(directory),
                remedy=f"use `ioatlas resume {directory}` or another -o",
            )
        directory.mkdir(parents=True, exist_ok=True)
        journal = cls(connect(path), directory, now)
        with journal._engine.begin() as link:
            t.metadata.create_all(link)
            link.exec_driver_sql(f"PRAGMA user_version={t.FIRST_VERSION}")
        return journal

    def need_format(self, version: int) -> None:
        """From now on an ioatlas that does not know this format refuses the journal."""
        with self._engine.begin() as link:
            for metadata in t.metadata_of(version):
                metadata.create_all(link)
            self.format = version
            link.exec_driver_sql(f"PRAGMA user_version={int(version)}")

    @classmethod
    def open(cls, directory: Path, now: Callable[[], float] = time.time) -> Journal:
        """The journal of an existing campaign, checked as a whole. Raises IoAtlasError when there is none, it is of a
        newer format, or it holds what no campaign writes.
        """
        path = directory / FILE_NAME
        if not beneath.is_ordinary(path):
            raise UsageError(
                "this is not the directory of a campaign: it has no journal"
                if directory.exists()
                else "there is no such directory",
                where=str(directory),
                remedy="name the DIR that `ioatlas map -o` wrote"
                + ("; of other tools' results make one: `ioatlas import FILE -o DIR`" if directory.is_file() else ""),
            )
        check_file(path)
        engine = connect(path)
        try:
            with engine.connect() as link:
                version = int(link.exec_driver_sql("PRAGMA user_version").scalar_one())
                tables = {name: table for each in t.metadata_of(version) for name, table in each.tables.items()}
                check_objects(link.exec_driver_sql(OBJECTS).all(), path, tables)
                inspector = sa.inspect(link)
                known = inspector.has_table("campaign")
                ours = t.metadata_of(version) if known and version <= t.VERSION else ()
                lacking = next((name for each in ours if (name := missing(each, inspector))), "")
                if ours and not lacking:
                    check_rows(link, path, [table for each in ours for table in each.sorted_tables])
        except sa.exc.DatabaseError as error:
            raise IoAtlasError(
                "the journal cannot be read",
                where=str(path),
                remedy="restore it from a copy; the raw output is in batches/",
            ) from error
        if not known:
            raise IoAtlasError(
                "the journal is empty", where=str(path), remedy="start the campaign again with another -o"
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
