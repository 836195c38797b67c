# SPDX-License-Identifier: Apache-2.0
"""Circles: accounts that show each other results before, or instead of, everybody."""

from __future__ import annotations

import secrets
import time

import sqlalchemy as sa

from ioatlas.atlas import accounts, audit
from ioatlas.atlas.database import Database, insert_new
from ioatlas.atlas.records import Account, Circle, Member, Result, Role, Viewer
from ioatlas.atlas.tables import account, circle, membership, result, shared
from ioatlas.errors import IoAtlasError, RefusedError, UsageError

MOST_CIRCLES, MOST_MEMBERS = 50, 500
MOST_LETTERS = 80


class NoSuchError(IoAtlasError):
    """There is none, or it is not for who asks: both are told alike."""


def make(database: Database, of: Account, name: str) -> Circle:
    """A new circle with one member, its owner. Raises UsageError for a name that is none, RefusedError for too many."""
    plain = name.strip()
    if not plain or len(plain) > MOST_LETTERS or not plain.isprintable():
        raise UsageError(f"a circle's name is one line of up to {MOST_LETTERS} letters", where="name", remedy="another")
    number, now = secrets.token_hex(8), time.time()
    with database.writing() as link:
        owned = (membership.c.account_id == of.id) & (membership.c.role == Role.OWNER)
        if link.execute(sa.select(sa.func.count()).where(owned)).scalar_one() >= MOST_CIRCLES:
            raise RefusedError(f"an account owns up to {MOST_CIRCLES} circles", where=of.name, remedy="dissolve one")
        link.execute(sa.insert(circle).values(id=number, name=plain, made_at=now))
        values = {"circle_id": number, "account_id": of.id, "role": str(Role.OWNER)}
        link.execute(sa.insert(membership).values(**values, invited_at=now, joined_at=now))
        audit.note(link, of.id, "circle made", number, name=plain)
    return Circle(number, plain, Role.OWNER, joined=True, members=(Member(of.name, Role.OWNER, joined=True),))


def circles_of(database: Database, of: Account) -> tuple[Circle, ...]:
    """Those that an account is in or invited to, by name; without their members."""
    asked = (
        sa.select(circle.c.id, circle.c.name, membership.c.role, membership.c.joined_at, _count().label("results"))
        .join(membership, membership.c.circle_id == circle.c.id)
        .where(membership.c.account_id == of.id)
        .order_by(circle.c.name, circle.c.id)
    )
    with database.reading() as link:
        rows = link.execute(asked).all()
    return tuple(
        Circle(row.id, row.name, Role(row.role), row.joined_at is not None, (), row.results if row.joined_at else 0)
        for row in rows
    )


def _count() -> sa.ScalarSelect[int]:
    return sa.select(sa.func.count()).where(shared.c.circle_id == circle.c.id).scalar_subquery()


def circle_of(database: Database, number: str, viewer: Viewer) -> Circle:
    """One with its members, for those in it and for moderators; who is invited sees its name. Raises NoSuchError."""
    with database.reading() as link:
        row = link.execute(sa.select(circle.c.name, _count().label("results")).where(circle.c.id == number)).first()
        asked = (
            sa.select(account.c.id, account.c.name, membership.c.role, membership.c.joined_at)
            .join(account, account.c.id == membership.c.account_id)
            .where(membership.c.circle_id == number)
            .order_by(account.c.name)
        )
        inside = link.execute(asked).all()
    mine = next((one for one in inside if one.id == viewer.account_id), None)
    if row is None or (mine is None and not viewer.moderates):
        raise _none(number)
    role, joined = (Role(mine.role), mine.joined_at is not None) if mine else (None, False)
    if not joined and not viewer.moderates:
        return Circle(number, row.name, role, joined=False)
    members = tuple(Member(one.name, Role(one.role), one.joined_at is not None) for one in inside)
    return Circle(number, row.name, role, joined, members, row.results)


def invite(database: Database, number: str, by: Account, name: str) -> None:
    """Another account may join from now on. Raises RefusedError for who is no owner, UsageError for no such account."""
    asked = accounts.account_named(database, name)
    with database.writing() as link:
        _check_owner(link, number, by)
        inside = sa.select(sa.func.count()).where(membership.c.circle_id == number)
        if link.execute(inside).scalar_one() >= MOST_MEMBERS:
            raise RefusedError(f"a circle has up to {MOST_MEMBERS} members", where=number, remedy="make another")
        values = {"circle_id": number, "account_id": asked.id, "role": str(Role.MEMBER), "invited_at": time.time()}
        if insert_new(link, membership, values):
            audit.note(link, by.id, "circle invited", number, account=name)


def join(database: Database, number: str, of: Account) -> None:
    """Raises NoSuchError for who was not invited."""
    with database.writing() as link:
        if _role(link, number, of.id, joined=False) is None:
            raise _none(number)
        mine = (membership.c.circle_id == number) & (membership.c.account_id == of.id)
        values = {"joined_at": time.time()}
        if link.execute(sa.update(membership).where(mine, membership.c.joined_at.is_(None)).values(**values)).rowcount:
            audit.note(link, of.id, "circle joined", number)


def leave(database: Database, number: str, by: Account, name: str) -> None:
    """A member goes, by itself or sent by an owner, and what it shared with the circle is shared no more.

    Raises NoSuchError, RefusedError; the last owner stays.
    """
    with database.writing() as link:
        role = _role(link, number, by.id, joined=False)
        if role is None:
            raise _none(number)
        if name != by.name and role is not Role.OWNER:
            raise RefusedError("only its owner sends others away", where=number, remedy="ask its owner")
        gone = link.execute(sa.select(account.c.id).where(account.c.name == name)).scalar()
        if gone is None or _role(link, number, gone, joined=False) is None:
            raise UsageError("it is not in the circle", where=name[:60], remedy="look at its members")
        if _role(link, number, gone) is Role.OWNER:
            raise RefusedError("its owner stays in it", where=number, remedy="dissolve the circle")
        own = sa.select(result.c.id).where(result.c.owner_id == gone)
        link.execute(sa.delete(shared).where(shared.c.circle_id == number, shared.c.result_id.in_(own)))
        mine = (membership.c.circle_id == number) & (membership.c.account_id == gone)
        link.execute(sa.delete(membership).where(mine))
        audit.note(link, by.id, "circle left", number, account=name)


def dissolve(database: Database, number: str, by: Viewer) -> None:
    """It is gone; results stay with their owners. Raises NoSuchError, RefusedError."""
    of = by.account
    assert of is not None
    with database.writing() as link:
        if by.moderates:
            if not link.execute(sa.select(circle.c.id).where(circle.c.id == number)).first():
                raise _none(number)
        else:
            _check_owner(link, number, of)
        link.execute(sa.delete(circle).where(circle.c.id == number))
        audit.note(link, of.id, "circle dissolved", number)


def share(database: Database, found: Result, number: str, of: Account) -> None:
    """Members see a result of one's own. Raises NoSuchError, RefusedError."""
    if found.owner_id != of.id:
        raise RefusedError("this is another's result", where=found.id, remedy="share one of yours")
    with database.writing() as link:
        if _role(link, number, of.id) is None:
            raise _none(number)
        if insert_new(link, shared, {"result_id": found.id, "circle_id": number, "at": time.time()}):
            audit.note(link, of.id, "shared", found.id, circle=number)


def unshare(database: Database, found: Result, number: str, of: Account) -> None:
    """They see it no more; by its owner, or the circle's. Raises NoSuchError, RefusedError."""
    with database.writing() as link:
        role = _role(link, number, of.id)
        if role is None:
            raise _none(number)
        if found.owner_id != of.id and role is not Role.OWNER:
            raise RefusedError("this is another's result", where=found.id, remedy="ask its owner, or the circle's")
        one = (shared.c.result_id == found.id) & (shared.c.circle_id == number)
        if link.execute(sa.delete(shared).where(one)).rowcount:
            audit.note(link, of.id, "unshared", found.id, circle=number)


def shared_with(database: Database, result_id: str, of: Account) -> tuple[Circle, ...]:
    """Circles of an account that a result is shared with."""
    with database.reading() as link:
        found = link.execute(sa.select(shared.c.circle_id).where(shared.c.result_id == result_id)).scalars().all()
    return tuple(one for one in circles_of(database, of) if one.joined and one.id in found)


def _role(link: sa.Connection, number: str, account_id: str, *, joined: bool = True) -> Role | None:
    """None for who is not in it. joined: False takes those too that are only invited."""
    asked = sa.select(membership.c.role).where(membership.c.circle_id == number, membership.c.account_id == account_id)
    found = link.execute(asked.where(membership.c.joined_at.is_not(None)) if joined else asked).scalar()
    return Role(found) if found else None


def _check_owner(link: sa.Connection, number: str, of: Account) -> None:
    role = _role(link, number, of.id)
    if role is None:
        raise _none(number)
    if role is not Role.OWNER:
        raise RefusedError("only its owner may do this", where=number, remedy="ask its owner")


def _none(number: str) -> NoSuchError:
    return NoSuchError("there is no such circle, or you are not in it", where=number[:40], remedy="list your circles")
