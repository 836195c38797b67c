# SPDX-License-Identifier: Apache-2.0
"""The API of what comes later: permission, embargo, privacy, a moderator's decisions, replies and reproductions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Annotated

from fastapi import APIRouter, Body, HTTPException
from pydantic import AfterValidator, Field

from ioatlas_atlas import changes, replies, reproductions
from ioatlas_atlas.api import PROBLEMS, Asking, Number, Served, found_result, needs, readable
from ioatlas_atlas.changes import Change, Decision
from ioatlas_atlas.extracted import printable
from ioatlas_atlas.fairness import Publication
from ioatlas_atlas.records import Scope

router = APIRouter(prefix="/api/v1", responses=PROBLEMS)


@dataclass(frozen=True)
class Changed:
    """permission: who allowed to publish, and when. embargo: null leaves it. no_embargo: it ends now."""

    permission: Annotated[str, Field(min_length=1, max_length=400), AfterValidator(printable)] | None = None
    embargo: date | None = None
    no_embargo: bool = False
    private: bool | None = None


@dataclass(frozen=True)
class Decided:
    """reason: shown to all who see the result."""

    decision: Decision
    reason: Annotated[str, Field(min_length=1, max_length=500)]


@router.patch("/results/{number}", summary="Change who may see it")
def change(service: Served, viewer: Asking, number: Number, said: Changed, dry_run: bool = False) -> Publication:
    """By its owner. A published result cannot be made private. dry_run: says what would be, and changes nothing."""
    needs(viewer, Scope.PUBLISH)
    embargo = "" if said.no_embargo else said.embargo.isoformat() if said.embargo else None
    wish = Change(said.permission.strip() if said.permission else None, embargo, said.private)
    return changes.change(
        service.database, found_result(service.database, number, viewer), viewer, wish, dry_run=dry_run
    )


@router.post("/results/{number}/decision", summary="Flag it, or release it")
def decide(service: Served, viewer: Asking, number: Number, said: Decided) -> Publication:
    """flag: only its owner and moderators see it. release: it is seen again."""
    needs(viewer, Scope.MODERATE)
    found = found_result(service.database, number, viewer)
    return changes.decide(service.database, found.id, said.decision, said.reason, viewer)


Text = Annotated[str, Body(embed=True, max_length=replies.MOST_LETTERS, description="To stand beside a result.")]
By = Annotated[str, Body(embed=True, pattern=r"^[0-9a-z]{1,20}$", description="Your result: the campaign made again.")]


@dataclass(frozen=True)
class Written:
    """Which version of the account's reply it is."""

    version: int


@dataclass(frozen=True)
class Held:
    """outcome: reproduced, differs or not comparable."""

    outcome: str


@router.post("/results/{number}/replies", status_code=201, summary="Reply to it")
def reply(service: Served, viewer: Asking, number: Number, text: Text) -> Written:
    """For the product's vendor and for the evaluator. A second one is a new version; the older ones stay."""
    account = needs(viewer, Scope.REPLY)
    return Written(replies.write(service.database, found_result(service.database, number, viewer), account, text))


@router.post("/results/{number}/reproductions", status_code=201, summary="Name your reproduction of it")
def reproduce(service: Served, viewer: Asking, number: Number, by: By) -> Held:
    """Your result is held against it here, from the raw output of both."""
    account = needs(viewer, Scope.PUBLISH)
    found, mine = (readable(service.database, one, viewer) for one in (number, by))
    if mine.state not in ("public", "embargoed"):
        raise HTTPException(403, "your result is not public")
    with service.desk.turn:
        outcome = reproductions.claim(service.database, service.blobs, service.desk.limits, found, mine, account)
    return Held(str(outcome))
