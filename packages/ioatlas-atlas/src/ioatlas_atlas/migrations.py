# SPDX-License-Identifier: Apache-2.0
"""The form of the database: made anew, or brought to today's form step by step, by an explicit command.

A new database gets today's tables and today's number. One in use gets every step above its own number, each in a
transaction with its number: a step is there whole, or not at all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from ioatlas.model.errors import UsageError
from ioatlas_atlas import steps as steps_of
from ioatlas_atlas import tables
from ioatlas_atlas.database import Database, check_version, take_time

FIRST = 1
Step = Callable[[sa.Connection], None]
STEPS: Mapping[int, Step] = {7: steps_of.since_0_3, 10: steps_of.without_words, 12: steps_of.complete}
"""By the number of the form that they lead to, in order: one for each release that changed the form."""
_LOCK = 0x10A7_1A5
"""Of PostgreSQL: two that migrate at once wait for each other."""


@dataclass(frozen=True)
class Form:
    """found: number of a database's form, 0 for an empty one. newest: of this ioatlas."""

    found: int
    newest: int

    @property
    def current(self) -> bool:
        return self.found == self.newest


def newest(steps: Mapping[int, Step] = STEPS) -> int:
    return max(steps, default=FIRST)


def form_of(database: Database, steps: Mapping[int, Step] = STEPS) -> Form:
    """Which form a database has."""
    with database.reading() as link:
        return Form(_found(link), newest(steps))


def _found(link: sa.Connection) -> int:
    if not sa.inspect(link).has_table(tables.schema.name):
        return 0
    return int(link.execute(sa.select(sa.func.max(tables.schema.c.version))).scalar() or 0)


def migrate(database: Database, steps: Mapping[int, Step] = STEPS) -> Form:
    """To the newest form; what it was before. Raises UsageError for a database of a newer ioatlas."""
    check_version(database)
    with database.writing() as link:
        _take_turn(link)
        before = _found(link)
        if before == 0:
            tables.metadata.create_all(link)
            steps_of.index_words(link)
            _note(link, newest(steps))
    _check_not_newer(database, before, newest(steps))
    for number, step in steps.items() if before else ():
        with database.writing() as link:
            _take_turn(link)
            if _found(link) < number:
                step(link)
                _note(link, number)
    return Form(before, newest(steps))


def check_current(database: Database) -> None:
    """Raises UsageError unless the database has today's form."""
    form = form_of(database)
    _check_not_newer(database, form.found, form.newest)
    if not form.current:
        raise UsageError(
            "the database is empty" if form.found == 0 else f"the database has form {form.found}, not {form.newest}",
            where=database.where,
            remedy="make a backup, then `ioatlas atlas serve migrate` with the same --database",
        )


def _check_not_newer(database: Database, found: int, newest_form: int) -> None:
    if found > newest_form:
        raise UsageError(
            f"the database has form {found}, this ioatlas knows {newest_form}",
            where=database.where,
            remedy="use the newer ioatlas that made it",
        )


def _take_turn(link: sa.Connection) -> None:
    take_time(link)
    if link.dialect.name == "postgresql":
        link.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})


def _note(link: sa.Connection, number: int) -> None:
    link.execute(sa.insert(tables.schema).values(version=number, applied_at=time.time()))
