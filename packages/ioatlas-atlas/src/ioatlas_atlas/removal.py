# SPDX-License-Identifier: Apache-2.0
"""A result withdrawn, which leaves its trace, or deleted, after which nothing of it is left but that it was."""

from __future__ import annotations

import time
from typing import Any

import sqlalchemy as sa

from ioatlas.model.errors import RefusedError
from ioatlas_atlas import audit
from ioatlas_atlas.best import refresh, refresh_of, touched
from ioatlas_atlas.blobs import Blobs
from ioatlas_atlas.changes import settle_publisher, tell
from ioatlas_atlas.database import Database
from ioatlas_atlas.fairness import State
from ioatlas_atlas.records import Result, Viewer
from ioatlas_atlas.tables import once, result, trace


def withdraw(database: Database, found: Result, viewer: Viewer, reason: str) -> None:
    """Told no more but for title, trace and reason, if it was public. Raises RefusedError for another's result."""
    _check_own(found, viewer)
    with database.writing() as link:
        values: dict[str, Any] = {"state": str(State.WITHDRAWN), "reason": reason}
        if found.state == State.PUBLIC and found.published_at is None:  # its embargo had ended
            values["published_at"] = time.time()
        link.execute(sa.update(result).where(result.c.id == found.id).values(**values))
        refresh_of(link, found.id)
        settle_publisher(link, found.campaign_id, found.owner_id)
        tell(link, found.id, "withdrawn", reason)
        audit.note(link, viewer.account_id, "withdraw", found.id, reason=reason)


def delete(database: Database, blobs: Blobs, found: Result, viewer: Viewer) -> None:
    """Rows and bundle are gone for good; of what was public a line stays. Raises RefusedError for another's result."""
    _check_own(found, viewer)
    with database.writing() as link:
        products = touched(link, found.id)
        # Rows that refer to it, its cells among them, go with it.
        link.execute(sa.delete(result).where(result.c.id == found.id))
        link.execute(sa.delete(once).where(once.c.result_id == found.id))
        link.execute(sa.delete(trace).where(trace.c.result_id == found.id))
        if found.state == State.PUBLIC or found.published_at is not None:  # others may have read it
            who = "its owner had it deleted" if viewer.owns(found) else "a moderator deleted it"
            tell(link, found.id, "deleted", who)
        refresh(link, "", *products)
        settle_publisher(link, found.campaign_id, found.owner_id)
        audit.note(link, viewer.account_id, "delete", found.id, sha256=found.bundle_sha256)
    if found.bundle_sha256 is None:
        return
    if not database.values(sa.select(result.c.id).where(result.c.bundle_sha256 == found.bundle_sha256)):
        blobs.remove(found.bundle_sha256)


def _check_own(found: Result, viewer: Viewer) -> None:
    if not viewer.owns(found) and not viewer.moderates:
        raise RefusedError("this is another's result", where=found.id, remedy="ask its owner, or a moderator")
