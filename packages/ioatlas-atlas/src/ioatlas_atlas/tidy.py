# SPDX-License-Identifier: Apache-2.0
"""Retention: what an atlas forgets after a time. Nothing that a result rests on."""

from __future__ import annotations

import time
from dataclasses import dataclass

import sqlalchemy as sa

from ioatlas_atlas import queries, removal
from ioatlas_atlas.blobs import Blobs
from ioatlas_atlas.database import Database
from ioatlas_atlas.fairness import State
from ioatlas_atlas.records import OPERATOR
from ioatlas_atlas.tables import audit, browser, once, result, token

DAY_SECONDS = 86_400.0
LEAST_AUDIT_DAYS = 2
"""The day's uploads are counted from the audit log."""


@dataclass(frozen=True)
class Kept:
    """For how many days. drafts: private results; None keeps them."""

    audit: int = 400
    keys: int = 30
    drafts: int | None = None


def tidy(database: Database, blobs: Blobs, kept: Kept, *, dry_run: bool = False) -> dict[str, int]:
    """Remove what is over; {kind: how many were removed, or would be}. Tokens: those that are good for nothing, as long
    as the audit log is kept. leftovers: of uploads that died.
    """
    now = time.time()
    old = now - max(kept.audit, LEAST_AUDIT_DAYS) * DAY_SECONDS
    over = {
        audit: audit.c.at < old,
        once: once.c.at < now - kept.keys * DAY_SECONDS,
        browser: browser.c.expires_at < now,
        token: sa.or_(token.c.revoked_at < old, token.c.expires_at < old),
    }
    with database.writing() as link:
        if dry_run:
            counts = [link.execute(sa.select(sa.func.count()).where(those)).scalar_one() for those in over.values()]
        else:
            counts = [link.execute(sa.delete(table).where(those)).rowcount for table, those in over.items()]
    drafts = _drafts(database, now - kept.drafts * DAY_SECONDS) if kept.drafts is not None else []
    told = dict(zip(("audit", "keys", "browsers", "tokens", "drafts"), (*counts, len(drafts)), strict=True))
    if dry_run:
        return {**told, "leftovers": 0}
    for number in drafts:
        if found := queries.result_of(database, number, OPERATOR):
            removal.delete(database, blobs, found, OPERATOR)
    wanted = frozenset(database.values(sa.select(result.c.bundle_sha256)))
    return {**told, "leftovers": blobs.sweep(wanted)}


def _drafts(database: Database, before: float) -> list[str]:
    drafts = (result.c.state == State.PRIVATE, result.c.uploaded_at < before)
    return database.values(sa.select(result.c.id).where(*drafts))
