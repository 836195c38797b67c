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
            link.exec_driver_sql(f"PRAGMA user_version={t.VERSION}")
        return journal

    @classmethod
    def open(cls, directory: Path, now: Callable[[], float] = time.time) -> Journal:
        """The journal of an existing campaign, checked as a whole. Raises IoAtlasError when there is none, it is of a
        newer format, or it holds what no campaign writes.
        """
        path = directory / FILE_NAME
        if not beneath.is_ordinary(path):
            raise UsageError(
                "this is not the directory of a campaign: it has no journal",
                where=str(directory),
                remedy="name the DIR that `ioatlas map -o` wrote",
            )
        check_file(path)
        engine = connect(path)
        try:
            with engine.connect() as link:
                version = int(link.exec_driver_sql("PRAGMA user_version").scalar_one())
                check_objects(link.exec_driver_sql(OBJECTS).all(), path, t.metadata.tables)
                inspector = sa.inspect(link)
                known = inspector.has_table("campaign")
                lacking = missing(t.metadata, inspector) if known and version <= t.VERSION else ""
                if known and not lacking and version <= t.VERSION:
                    check_rows(link, path)
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
        return cls(engine, directory, now)
