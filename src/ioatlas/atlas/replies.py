# SPDX-License-Identifier: Apache-2.0
"""A vendor's reply and the evaluator's answer: beside the result, in versions that all stay."""

from __future__ import annotations

import secrets
import time

import sqlalchemy as sa

from ioatlas.atlas import audit
from ioatlas.atlas.database import Database
from ioatlas.atlas.earning import Earned, earn
from ioatlas.atlas.records import Account, AccountKind, Result
from ioatlas.atlas.tables import reply, trace
from ioatlas.errors import RefusedError, UsageError

MOST_LETTERS = 4000
VENDOR, EVALUATOR = "vendor", "evaluator"


def kind_of(found: Result, of: Account) -> str:
    """As whom an account speaks. Raises RefusedError for an account that is neither."""
    if of.kind is AccountKind.VENDOR and of.vendor and of.vendor == found.vendor_slug:
        return VENDOR
    if of.id == found.owner_id:
        return EVALUATOR
    raise RefusedError(
        "only the product's vendor and the evaluator speak here",
        where=found.id,
        remedy="ask the operator for a vendor's account, or publish a reproduction",
    )


def write(database: Database, found: Result, of: Account, text: str) -> int:
    """A new version of an account's reply; its number. Raises RefusedError, UsageError for a text that is none."""
    kind, plain = kind_of(found, of), _checked(text)
    with database.writing() as link:
        mine = (reply.c.result_id == found.id) & (reply.c.account_id == of.id)
        last = link.execute(sa.select(sa.func.coalesce(sa.func.max(reply.c.version), 0)).where(mine)).scalar_one()
        values = {"id": secrets.token_hex(8), "result_id": found.id, "account_id": of.id, "kind": kind}
        link.execute(sa.insert(reply).values(**values, version=int(last) + 1, text=plain, written_at=time.time()))
        said = "replied" if not last else "changed its reply"
        text_of_trace = f"the {kind} {said}"
        link.execute(sa.insert(trace).values(result_id=found.id, at=time.time(), what="reply", text=text_of_trace))
        if kind == VENDOR:
            earn(link, of.id, Earned.REPLY, found.id)
        audit.note(link, of.id, "reply", found.id, kind=kind, version=int(last) + 1)
    return int(last) + 1


def _checked(text: str) -> str:
    plain = "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").split("\n")).strip()
    if not plain or len(plain) > MOST_LETTERS or not all(letter.isprintable() or letter == "\n" for letter in plain):
        raise UsageError(f"a reply is a text of up to {MOST_LETTERS:,} characters", where="text", remedy="shorten it")
    return plain
