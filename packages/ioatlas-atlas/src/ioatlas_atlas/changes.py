# SPDX-License-Identifier: Apache-2.0
"""What its owner or a moderator changes of a result later: permission, embargo, privacy, a doubt decided.

A published result cannot be made private: it is withdrawn, which leaves a trace, or deleted.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from ioatlas.answer.product.sheet import Permission, Publishing
from ioatlas.model.errors import RefusedError, UsageError
from ioatlas_atlas import audit, fairness
from ioatlas_atlas.best import refresh_of
from ioatlas_atlas.database import Database, insert_new
from ioatlas_atlas.fairness import Declaration, Publication, State
from ioatlas_atlas.records import Result, Viewer
from ioatlas_atlas.tables import publisher, result, trace


@dataclass(frozen=True)
class Change:
    """None leaves it as it is. embargo: ISO date, '' ends it."""

    permission: str | None = None
    embargo: str | None = None
    private: bool | None = None

    def values(self) -> dict[str, Any]:
        """By column."""
        named = {"permission": self.permission, "embargo": self.embargo, "wants_private": self.private}
        return {name: value for name, value in named.items() if value is not None}


NOT_YOURS = "measure it again: `ioatlas reproduce`; where it is yours, ask a moderator"
DECIDED = "decision: "
"""How actions of the audit log begin that are decisions."""


class Decision(StrEnum):
    """Of a moderator on a doubt."""

    RELEASE = "release"
    FLAG = "flag"


def publication_of(
    licence_says: str, permission: str, embargo: str, *, private: bool, flagged: str = ""
) -> Publication:
    """Who may see a result today. licence_says: of the product's sheet; '' where it has none."""
    said = Publishing(licence=Permission(licence_says)) if licence_says else None
    declared = Declaration(permission=permission, embargo=embargo)
    return fairness.publication(said, declared, datetime.now(UTC).date(), wants_private=private, flagged=flagged)


def _after(row: Mapping[str, Any]) -> Publication:
    told = (row[name] for name in ("licence_says", "permission", "embargo"))
    return publication_of(*told, private=row["wants_private"], flagged=row["flag"])


def change(database: Database, found: Result, viewer: Viewer, wish: Change, *, dry_run: bool = False) -> Publication:
    """By its owner: who may see it afterwards. Raises RefusedError. dry_run: nothing is changed."""
    if not viewer.owns(found):
        raise RefusedError("this is another's result", where=found.id, remedy="ask its owner")
    if found.state == State.WITHDRAWN:
        raise RefusedError("it was withdrawn", where=found.id, remedy="publish a new version")
    with database.writing() as link:
        row = link.execute(sa.select(*_ASKED).where(result.c.id == found.id)).mappings().one()
        after = _after({**row, **wish.values()})
        if found.state == State.PUBLIC and after.state is not State.PUBLIC:
            raise RefusedError(
                "a published result cannot be made private",
                where=found.id,
                remedy="withdraw it, which leaves a trace, or delete it",
            )
        if dry_run or not wish.values():
            return after
        link.execute(sa.update(result).where(result.c.id == found.id).values(**wish.values()))
        _settle(link, found.id, after)
        said = [name for name, value in wish.values().items() if value != row[name]]
        if said:
            what = {"wants_private": "private or not", "permission": "permission", "embargo": "embargo"}
            tell(link, found.id, "changed", ", ".join(what[name] for name in said))
        audit.note(link, viewer.account_id, "change", found.id, state=after.state, **wish.values())
    return after


_REMEDY = "only what a moderator flagged is released"
_ASKED = [
    result.c[name] for name in ("owner_id", "wants_private", "licence_says", "permission", "embargo", "flag", "state")
]


def decide(database: Database, number: str, decision: Decision, reason: str, by: Viewer | None) -> Publication:
    """A moderator's word on a doubt, or a doubt of one. by: None for the operator. Raises UsageError, RefusedError."""
    if by is not None and not by.moderates:
        raise RefusedError("only moderators decide", where=number, remedy="ask one")
    if not reason.strip() or len(reason) > 500 or not reason.isprintable():
        raise UsageError("a reason is one line of up to 500 characters", where="reason", remedy="say why")
    with database.writing() as link:
        row = link.execute(sa.select(*_ASKED).where(result.c.id == number)).mappings().first()
        if row is None:
            raise UsageError("there is no such result", where=number[:40], remedy=_REMEDY)
        if by is not None and row["owner_id"] == by.account_id:
            raise RefusedError("nobody decides on his own result", where=number, remedy="ask another moderator")
        if row["state"] == State.WITHDRAWN or (decision is not Decision.FLAG and not row["flag"]):
            raise UsageError("nobody flagged it", where=number, remedy=_REMEDY)
        doubt, word, what = ("", "released", "cleared") if decision is Decision.RELEASE else (reason, "", "flagged")
        after = _after({**row, "flag": doubt})
        link.execute(sa.update(result).where(result.c.id == number).values(flag=doubt, decision=word))
        _settle(link, number, after)
        tell(link, number, what, reason)
        audit.note(link, by.account_id if by else "", f"{DECIDED}{decision}", number, reason=reason)
    return after


def _settle(link: sa.Connection, number: str, after: Publication) -> None:
    """The state is written, and when all could see it first. Raises RefusedError where another has the campaign."""
    one = result.c.id == number
    link.execute(sa.update(result).where(one).values(state=str(after.state), reason=after.reason))
    if after.state is State.PUBLIC:
        link.execute(sa.update(result).where(one, result.c.published_at.is_(None)).values(published_at=time.time()))
    refresh_of(link, number)
    settle_publisher(link, *link.execute(sa.select(result.c.campaign_id, result.c.owner_id).where(one)).one())


def settle_publisher(link: sa.Connection, campaign_id: str, owner_id: str) -> None:
    """After a change of an account's result: it alone publishes the campaign, or leaves that to others again.

    Between two at once the key of `publisher` decides. Under embargo it is taken too: that ends by itself.
    Raises RefusedError where another account has it.
    """
    here = publisher.c.campaign_id == campaign_id
    insert_new(link, publisher, {"campaign_id": campaign_id, "owner_id": owner_id})
    holder = link.execute(sa.select(publisher.c.owner_id).where(here).with_for_update()).scalar()
    shown = result.c.state.in_((State.PUBLIC, State.EMBARGOED)) | result.c.published_at.is_not(None)
    own = (result.c.campaign_id == campaign_id) & (result.c.owner_id == owner_id)
    if not link.execute(sa.select(result.c.id).where(own, shown).limit(1)).first():
        link.execute(sa.delete(publisher).where(here, publisher.c.owner_id == owner_id))
    elif holder != owner_id:
        raise RefusedError("another account published this campaign", where="campaign", remedy=NOT_YOURS)


def tell(link: sa.Connection, number: str, what: str, text: str, about: str | None = None) -> None:
    """A line of its trace. about: another result that it tells of."""
    values = {"result_id": number, "what": what, "text": text, "about_id": about}
    link.execute(sa.insert(trace).values(**values, at=time.time()))
