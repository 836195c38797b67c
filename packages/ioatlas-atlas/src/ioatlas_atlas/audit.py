# SPDX-License-Identifier: Apache-2.0
"""The audit log: who did what to what, in the transaction that did it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from ioatlas_atlas.database import Database
from ioatlas_atlas.tables import account, audit

VISITOR = "?"
PERSONAL = ("signed in", "token made", "token revoked", "identity linked")
"""Actions that change nothing which anybody else sees."""

_OTHERS = sa.select(audit.c.id).where(audit.c.action.not_in(PERSONAL))
_STATE = sa.select(sa.func.sum(_OTHERS.order_by(audit.c.id.desc()).limit(100).subquery().c.id))


@dataclass(frozen=True)
class Entry:
    """account: name; '' for the command line of the service, `VISITOR` for who is not signed in."""

    at: float
    account: str
    action: str
    subject: str
    detail: dict[str, Any]


def note(link: sa.Connection, account_id: str, action: str, subject: str, **detail: Any) -> None:
    """One entry: there if and only if what it tells of is."""
    values = {"at": time.time(), "account_id": account_id, "action": action, "subject": subject, "detail": detail}
    link.execute(sa.insert(audit).values(**values))


def count(link: sa.Connection, account_id: str, since: float, *actions: str) -> int:
    """How often an account did any of these."""
    those = (audit.c.account_id == account_id) & (audit.c.at > since) & audit.c.action.in_(actions)
    return int(link.execute(sa.select(sa.func.count()).where(those)).scalar_one())


def state(link: sa.Connection) -> int:
    """Grows with every entry of what others see, also with one of a lower number that another transaction wrote before
    and ended after.
    """
    return int(link.execute(_STATE).scalar() or 0)


def entries(database: Database, most: int = 100, *, begins: str = "") -> list[Entry]:
    """The newest ones, newest first. begins: how their action begins."""
    who = sa.func.coalesce(account.c.name, audit.c.account_id)
    asked = (
        sa.select(audit.c.at, who, audit.c.action, audit.c.subject, audit.c.detail)
        .outerjoin(account, account.c.id == audit.c.account_id)
        .where(audit.c.action.startswith(begins, autoescape=True))
        .order_by(audit.c.id.desc())
        .limit(most)
    )
    with database.reading() as link:
        return [Entry(*row) for row in link.execute(asked)]
