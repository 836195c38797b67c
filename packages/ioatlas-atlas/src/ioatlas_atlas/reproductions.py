# SPDX-License-Identifier: Apache-2.0
"""Results that are another's campaign made again: held against it here, counted where they came to the same."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import sqlalchemy as sa

from ioatlas.bundle.reproduce import Outcome
from ioatlas.model.errors import RefusedError, UsageError
from ioatlas_atlas import audit, changes
from ioatlas_atlas.admission import Limits, confined
from ioatlas_atlas.best import refresh_of
from ioatlas_atlas.blobs import Blobs
from ioatlas_atlas.database import Database
from ioatlas_atlas.derive import OUTCOME
from ioatlas_atlas.records import Account, Result
from ioatlas_atlas.tables import reproduction, result


def claim(database: Database, blobs: Blobs, limits: Limits, found: Result, mine: Result, of: Account) -> Outcome:
    """Hold `mine` against `found`, and note what came of it. Raises RefusedError, UsageError.

    Only what another account measured counts, signed with another key, from another client: nobody reproduces himself.
    """
    _check(found, mine, of)
    outcome, text = _held(blobs, limits, found, mine)
    with database.writing() as link:
        same = (reproduction.c.result_id == found.id) & (reproduction.c.by_result_id == mine.id)
        link.execute(sa.delete(reproduction).where(same))
        counts = _counts(link, found, mine)
        values = {"result_id": found.id, "by_result_id": mine.id, "account_id": of.id, "outcome": str(outcome)}
        link.execute(sa.insert(reproduction).values(**values, text=text, at=time.time(), counted=counts))
        counted = (reproduction.c.result_id == found.id) & (reproduction.c.outcome == str(Outcome.REPRODUCED))
        counted &= reproduction.c.counted
        who = sa.func.count(sa.distinct(reproduction.c.account_id))
        count = link.execute(sa.select(who).where(counted)).scalar_one()
        link.execute(sa.update(result).where(result.c.id == found.id).values(reproduced=int(count)))
        refresh_of(link, found.id)
        said = f"{of.name} measured it again: {outcome}"
        changes.tell(link, found.id, "reproduction", said, mine.id)
        audit.note(link, of.id, "reproduction", found.id, by=mine.id, outcome=str(outcome))
    return outcome


def _counts(link: sa.Connection, found: Result, mine: Result) -> bool:
    """Both signed, with two keys, and measured from two clients: one person with two accounts is not two."""
    asked = sa.select(result.c.id, result.c.testbed).where(result.c.id.in_((found.id, mine.id)))
    beds = {row.id: row.testbed for row in link.execute(asked)}
    other = bool(beds.get(found.id)) and bool(beds.get(mine.id)) and beds[found.id] != beds[mine.id]
    return other and bool(found.signer and mine.signer) and found.signer != mine.signer


def _check(found: Result, mine: Result, of: Account) -> None:
    if mine.owner_id != of.id:
        raise RefusedError("this is another's result", where=mine.id, remedy="name one of yours")
    if found.owner_id == of.id or found.id == mine.id:
        raise RefusedError("nobody reproduces himself", where=found.id, remedy="name another's result")
    if found.signer and found.signer == mine.signer:
        raise RefusedError("both were signed with the same key", where=mine.id, remedy="sign yours with your own key")
    if not (found.verified and mine.verified and found.bundle_sha256 and mine.bundle_sha256):
        raise RefusedError("one of them is not verified", where=mine.id, remedy="`ioatlas verify` says why")


def _held(blobs: Blobs, limits: Limits, found: Result, mine: Result) -> tuple[Outcome, str]:
    first, second = blobs.path(found.bundle_sha256 or ""), blobs.path(mine.bundle_sha256 or "")
    with tempfile.TemporaryDirectory(prefix="ioatlas-again-") as place:
        code = confined("ioatlas_atlas.derive", first, limits, Path(place), str(second))
        try:
            told = json.loads((Path(place) / OUTCOME).read_text(encoding="utf-8")) if code == 0 else {}
            return Outcome(told["outcome"]), str(told["text"])
        except (OSError, ValueError, KeyError):
            raise UsageError(
                "they cannot be held against each other", where=mine.id, remedy="try again later"
            ) from None
