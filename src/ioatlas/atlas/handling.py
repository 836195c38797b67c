# SPDX-License-Identifier: Apache-2.0
"""The API of what is changed later: permission, embargo, privacy, and a moderator's decisions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Annotated

from fastapi import APIRouter, HTTPException
from pydantic import Field

from ioatlas.atlas import changes, queries
from ioatlas.atlas.api import PROBLEMS, Asking, Cursor, Limit, Number, Served, found_result, needs
from ioatlas.atlas.changes import Change, Decision
from ioatlas.atlas.records import Page, Result, Scope

router = APIRouter(prefix="/api/v1", responses=PROBLEMS)


@dataclass(frozen=True)
class Changed:
    """permission: who allowed to publish, and when. embargo: null leaves it. no_embargo: it ends now."""

    permission: Annotated[str | None, Field(min_length=1, max_length=400)] = None
    embargo: date | None = None
    no_embargo: bool = False
    private: bool | None = None


@dataclass(frozen=True)
class Now:
    """Who may see it, and why."""

    state: str
    reason: str


@dataclass(frozen=True)
class Decided:
    """reason: shown to all who see the result."""

    decision: Decision
    reason: Annotated[str, Field(min_length=1, max_length=500)]


@router.patch("/results/{number}", summary="Change who may see it")
def change(service: Served, viewer: Asking, number: Number, said: Changed, dry_run: bool = False) -> Now:
    """By its owner. A published result cannot be made private. dry_run: says what would be, and changes nothing."""
    needs(viewer, Scope.PUBLISH)
    if said.permission is not None and not said.permission.isprintable():
        raise HTTPException(422, "a permission is one line of text")
    embargo = "" if said.no_embargo else said.embargo.isoformat() if said.embargo else None
    wish = Change(said.permission.strip() if said.permission else None, embargo, said.private)
    after = changes.change(service.database, found_result(service, number, viewer), viewer, wish, dry_run=dry_run)
    return Now(str(after.state), after.reason)


@router.get("/queue", summary="What moderators have to decide")
def queue(service: Served, viewer: Asking, cursor: Cursor = "", limit: Limit = 20) -> Page[Result]:
    """Results that a check doubts, newest first."""
    needs(viewer, Scope.MODERATE)
    if not viewer.moderates:
        raise HTTPException(403, "only moderators decide")
    return queries.doubted(service.database, cursor=cursor, limit=limit)


@router.post("/results/{number}/decision", summary="Decide on a doubt")
def decide(service: Served, viewer: Asking, number: Number, said: Decided) -> Now:
    """release: it is seen as if nothing was doubted. keep: it stays back. flag: a moderator's own doubt."""
    needs(viewer, Scope.MODERATE)
    after = changes.decide(
        service.database, found_result(service, number, viewer).id, said.decision, said.reason, viewer
    )
    return Now(str(after.state), after.reason)
