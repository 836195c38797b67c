# SPDX-License-Identifier: Apache-2.0
"""Accounts and their tokens. Of a token only the hash of its secret half is kept; it is shown once, when it is made."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass

import sqlalchemy as sa

from ioatlas.model.errors import UsageError
from ioatlas_atlas import audit
from ioatlas_atlas.database import Database
from ioatlas_atlas.records import Account, AccountKind, Scope, Viewer
from ioatlas_atlas.tables import account, token

PREFIX = "ioa"
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{1,38}[a-z0-9]")
_TOKEN = re.compile(rf"{PREFIX}_([0-9a-f]{{16}})_([A-Za-z0-9_-]{{43}})")
DEFAULT_SCOPES = {
    AccountKind.MEMBER: (Scope.READ, Scope.PUBLISH, Scope.REPLY),
    AccountKind.VENDOR: (Scope.READ, Scope.REPLY),
    AccountKind.MODERATOR: tuple(Scope),
}


@dataclass(frozen=True)
class TokenRow:
    """A token without its secret."""

    id: str
    label: str
    scopes: tuple[Scope, ...]
    created_at: float
    expires_at: float | None
    revoked_at: float | None


def slug(text: str) -> str:
    """Lower case, digits and hyphens only."""
    return re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")[:100]


def new_account(
    database: Database, name: str, kind: AccountKind = AccountKind.MEMBER, vendor: str = "", *, by: str = ""
) -> Account:
    """A new account. Raises UsageError for a name that is taken or none, and for a vendor's account without vendor.

    by: id of who makes it; '' for the operator.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            "an account's name has 3 to 40 small letters, digits, dots and hyphens", where=name[:60], remedy="another"
        )
    if (kind is AccountKind.VENDOR) != bool(slug(vendor)):
        what = "a vendor's account names its vendor, others name none"
        raise UsageError(what, where="--vendor", remedy="--kind vendor --vendor NAME")
    made = Account(secrets.token_hex(8), name, kind, slug(vendor), time.time())
    with database.writing() as link:
        if link.execute(sa.select(account.c.id).where(account.c.name == name)).first():
            raise UsageError("there is such an account already", where=name, remedy="choose another name")
        link.execute(sa.insert(account).values(**vars(made)))
        audit.note(link, by, "account made", name, kind=kind, vendor=made.vendor)
    return made


def account_named(database: Database, name: str) -> Account:
    """Raises UsageError when there is none."""
    columns = [column for column in account.columns if column.name != "disabled_at"]
    row = database.first(sa.select(*columns).where(account.c.name == name))
    if row is None:
        raise UsageError("there is no such account", where=name[:60], remedy="`ioatlas atlas serve account NAME`")
    return Account(**{**row, "kind": AccountKind(row["kind"])})


def new_token(
    database: Database,
    of: Account,
    scopes: Iterable[Scope] = (),
    *,
    label: str = "",
    seconds: float | None = None,
    made_with: str = "",
    by: str = "",
) -> str:
    """The token, which nobody can read again. seconds: how long it is good; None without end.

    made_with: id of a token whose holder asks for this one: it ends with that one. Raises UsageError where that ended.
    """
    wanted = tuple(dict.fromkeys(scopes)) or DEFAULT_SCOPES[of.kind]
    if beyond := [one for one in wanted if one not in DEFAULT_SCOPES[of.kind]]:
        raise UsageError(f"an account of a {of.kind} has no scope {beyond[0]}", where=of.name, remedy="leave it out")
    number, secret, now = secrets.token_hex(8), secrets.token_urlsafe(32), time.time()
    expires_at = now + seconds if seconds is not None else None
    with database.writing() as link:
        if made_with:
            # Locked: it is revoked before, or after and then with this one.
            good = (token.c.id == made_with) & token.c.revoked_at.is_(None)
            first = link.execute(sa.select(token.c.expires_at).where(good).with_for_update()).first()
            if first is None:
                raise UsageError("the token that you signed in with is revoked", remedy="sign in with another token")
            expires_at = min((end for end in (first.expires_at, expires_at) if end is not None), default=None)
        link.execute(
            sa.insert(token).values(
                id=number,
                account_id=of.id,
                hash=digest(secret),
                scopes=" ".join(wanted),
                label=label,
                created_at=now,
                expires_at=expires_at,
                made_with=made_with or None,
            )
        )
        audit.note(link, by, "token made", number, account=of.name, scopes=list(wanted))
    return f"{PREFIX}_{number}_{secret}"


def tokens_of(database: Database, of: Account) -> tuple[TokenRow, ...]:
    """Its tokens, newest first."""
    names = [token.c[name] for name in TokenRow.__dataclass_fields__]
    asked = sa.select(*names).where(token.c.account_id == of.id).order_by(token.c.created_at.desc())
    rows = database.rows(asked)
    return tuple(TokenRow(**{**row, "scopes": tuple(map(Scope, row["scopes"].split()))}) for row in rows)


def revoke(database: Database, number: str) -> None:
    """A token is good for nothing any more, nor is one made with it. Raises UsageError for one that is not there."""
    with database.writing() as link:
        # A token that is being made with one of these holds its row: what is looked for next includes it.
        ended = [number]
        good = token.c.revoked_at.is_(None)
        if not link.execute(sa.update(token).where(token.c.id == number, good).values(revoked_at=time.time())).rowcount:
            remedy = "list them: `ioatlas atlas serve token NAME --list`"
            raise UsageError("there is no such token", where=number[:40], remedy=remedy)
        while ended:
            again = sa.update(token).where(token.c.made_with.in_(ended), good).values(revoked_at=time.time())
            ended = list(link.execute(again.returning(token.c.id)).scalars())
        audit.note(link, "", "token revoked", number)


def viewer_of(database: Database, text: str, now: float | None = None) -> Viewer | None:
    """Who holds a token; None for one that is unknown, revoked, over, or of a disabled account."""
    parts = _TOKEN.fullmatch(text)
    if parts is None:
        return None
    asked = sa.select(token.c.hash, token.c.scopes, token.c.expires_at, account).join(
        account, account.c.id == token.c.account_id
    )
    asked = asked.where(token.c.id == parts[1], token.c.revoked_at.is_(None), account.c.disabled_at.is_(None))
    row = database.first(asked)
    if row is None or not hmac.compare_digest(row["hash"], digest(parts[2])):
        return None
    if row["expires_at"] is not None and row["expires_at"] <= (time.time() if now is None else now):
        return None
    return viewer_in(row, parts[1])


def viewer_in(row: sa.RowMapping, token_id: str) -> Viewer:
    """Of a row with the columns of an account, and its scopes."""
    holder = Account(row["id"], row["name"], AccountKind(row["kind"]), row["vendor"], row["created_at"])
    return Viewer(holder, frozenset(map(Scope, row["scopes"].split())), token_id)


def digest(secret: str) -> str:
    """The secret is 256 random bits: a slow hash would protect nothing."""
    return hashlib.sha256(secret.encode()).hexdigest()
