# SPDX-License-Identifier: Apache-2.0
"""A vendor's reply and the evaluator's answer: beside the result, in versions that all stay."""

from __future__ import annotations

import secrets
import time

import sqlalchemy as sa

from ioatlas.model.errors import RefusedError, UsageError
from ioatlas_atlas import audit, changes
from ioatlas_atlas.database import Database
from ioatlas_atlas.fairness import State
from ioatlas_atlas.records import Account, AccountKind, Result, Scope, Viewer
from ioatlas_atlas.tables import reply

MOST_LETTERS = 4000
VENDOR, EVALUATOR = "vendor", "evaluator"


def kind_of(found: Result, of: Account) -> str:
    """As whom an account speaks. Raises RefusedError for an account that is neither, and where nobody would read it."""
    if found.state == State.WITHDRAWN:
        raise RefusedError("it was withdrawn", where=found.id, remedy="reply to its newer version, where there is one")
    if of.kind is AccountKind.VENDOR and of.vendor and of.vendor == found.vendor_slug:
        return VENDOR
    if of.id == found.owner_id:
        return EVALUATOR
    raise RefusedError(
        "only the product's vendor and the evaluator speak here",
        where=found.id,
        remedy="ask the operator for a vendor's account, or publish a reproduction",
    )


def role_of(found: Result, viewer: Viewer) -> str:
    """As whom who asks may reply; '' where it may not."""
    try:
        return kind_of(found, viewer.account) if viewer.account and Scope.REPLY in viewer.scopes else ""
    except RefusedError:
        return ""


def write(database: Database, found: Result, of: Account, text: str) -> int:
    """A new version of an account's reply; its number. The same text again is none.

    Raises RefusedError, UsageError for a text that is none.
    """
    kind, plain = kind_of(found, of), checked(text)
    with database.writing() as link:
        mine = (reply.c.result_id == found.id) & (reply.c.account_id == of.id)
        newest = sa.select(reply.c.version, reply.c.text).where(mine).order_by(reply.c.version.desc())
        last = link.execute(newest.limit(1)).first()
        if last and last.text == plain:
            return int(last.version)
        version = int(last.version) + 1 if last else 1
        values = {"id": secrets.token_hex(8), "result_id": found.id, "account_id": of.id, "kind": kind}
        link.execute(sa.insert(reply).values(**values, version=version, text=plain, written_at=time.time()))
        said = "changed its reply" if last else "replied"
        changes.tell(link, found.id, "reply", f"the {kind} {said}")
        audit.note(link, of.id, "reply", found.id, kind=kind, version=version)
    return version


def checked(text: str) -> str:
    """As it is kept. Raises UsageError."""
    plain = "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").split("\n")).strip()
    if not plain or len(plain) > MOST_LETTERS or not all(letter.isprintable() or letter == "\n" for letter in plain):
        raise UsageError(f"a reply is a text of up to {MOST_LETTERS:,} characters", where="text", remedy="shorten it")
    return plain
