# SPDX-License-Identifier: Apache-2.0
"""Browsers that are signed in. Of the cookie only a hash is kept, as of a token."""

from __future__ import annotations

import secrets
import time

import sqlalchemy as sa

from ioatlas.model.errors import RefusedError, UsageError
from ioatlas_atlas import accounts, audit
from ioatlas_atlas.database import Database, insert_new
from ioatlas_atlas.records import Account, Viewer
from ioatlas_atlas.tables import account, browser, identity, token

COOKIE = "ioatlas"
SECONDS = 7 * 86_400


def sign_in(database: Database, viewer: Viewer) -> str:
    """The cookie. It is good no longer than the token that signs in."""
    assert viewer.account is not None
    secret, now = secrets.token_urlsafe(32), time.time()
    with database.writing() as link:
        link.execute(sa.delete(browser).where(browser.c.expires_at < now))
        values = {"id": accounts.digest(secret), "account_id": viewer.account.id, "token_id": viewer.token_id or None}
        scopes = " ".join(sorted(viewer.scopes))
        link.execute(sa.insert(browser).values(**values, made_at=now, scopes=scopes, expires_at=now + SECONDS))
        audit.note(link, viewer.account.id, "signed in", viewer.account.name, token=viewer.token_id)
    return secret


def sign_out(database: Database, secret: str) -> None:
    """The cookie is good for nothing any more."""
    with database.writing() as link:
        link.execute(sa.delete(browser).where(browser.c.id == accounts.digest(secret)))


def viewer_of(database: Database, secret: str) -> Viewer | None:
    """Who is signed in; None for a cookie that is unknown, over, of a revoked token or of a disabled account."""
    if not secret or len(secret) > 100:
        return None
    now = time.time()
    asked = (
        sa.select(browser.c.scopes, browser.c.token_id, account)
        .join(account, account.c.id == browser.c.account_id)
        .outerjoin(token, token.c.id == browser.c.token_id)
        .where(browser.c.id == accounts.digest(secret), browser.c.expires_at > now, account.c.disabled_at.is_(None))
        .where(token.c.revoked_at.is_(None), sa.or_(token.c.expires_at.is_(None), token.c.expires_at > now))
    )
    row = database.first(asked)
    return accounts.viewer_in(row, row["token_id"] or "") if row else None


def account_of(database: Database, issuer: str, subject: str, wanted: str) -> Account:
    """Of a person that a provider vouches for; made at the first time. wanted: name that it would like.

    Raises RefusedError for one that is disabled.
    """
    known = sa.select(account.c.name, account.c.disabled_at).join(identity, identity.c.account_id == account.c.id)
    row = database.first(known.where(identity.c.issuer == issuer, identity.c.subject == subject))
    if row is None:
        return _new(database, issuer, subject, wanted)
    if row["disabled_at"] is not None:
        raise RefusedError("this account is disabled", where=row["name"], remedy="ask the operator")
    return accounts.account_named(database, row["name"])


def _new(database: Database, issuer: str, subject: str, wanted: str) -> Account:
    plain = accounts.slug(wanted)[:30].strip("-")
    plain = plain if len(plain) >= 3 else f"user-{secrets.token_hex(3)}"
    taken = {*database.values(sa.select(account.c.name).where(account.c.name.startswith(plain)))}
    numbered = (f"{plain}-{number}" for number in range(2, len(taken) + 3))
    made = accounts.new_account(database, next(name for name in (plain, *numbered) if name not in taken))
    link_to(database, made, issuer, subject)
    return made


def link_to(database: Database, of: Account, issuer: str, subject: str) -> None:
    """A person of a provider signs in as an account from now on. Raises UsageError for one that has another already."""
    values = {"issuer": issuer, "subject": subject, "account_id": of.id, "at": time.time()}
    with database.writing() as link:
        if not insert_new(link, identity, values):
            raise UsageError("this person has an account already", where=subject[:60], remedy="name another")
        audit.note(link, "", "identity linked", of.name, issuer=issuer)
