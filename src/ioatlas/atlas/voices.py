# SPDX-License-Identifier: Apache-2.0
"""What others say of a result: the API of replies and reproductions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, HTTPException
from pydantic import Field

from ioatlas.atlas import replies, reproductions
from ioatlas.atlas.api import PROBLEMS, Asking, Number, Served, found_result, needs, readable
from ioatlas.atlas.records import Scope

router = APIRouter(prefix="/api/v1", responses=PROBLEMS)


@dataclass(frozen=True)
class Text:
    """What is to stand beside a result."""

    text: Annotated[str, Field(max_length=replies.MOST_LETTERS)]


@dataclass(frozen=True)
class Written:
    """Which version of the account's reply it is."""

    version: int


@dataclass(frozen=True)
class Again:
    """by: your result, which is the same campaign made again."""

    by: Annotated[str, Field(pattern=r"^[0-9a-z]{1,20}$")]


@dataclass(frozen=True)
class Held:
    """outcome: reproduced, differs or not comparable."""

    outcome: str


@router.post("/results/{number}/replies", status_code=201, summary="Reply to it")
def reply(service: Served, viewer: Asking, number: Number, said: Text) -> Written:
    """For the product's vendor and for the evaluator. A second one is a new version; the older ones stay."""
    account = needs(viewer, Scope.REPLY)
    return Written(replies.write(service.database, found_result(service, number, viewer), account, said.text))


@router.post("/results/{number}/reproductions", status_code=201, summary="Name your reproduction of it")
def reproduce(service: Served, viewer: Asking, number: Number, said: Again) -> Held:
    """Your result is held against it here, from the raw output of both."""
    account = needs(viewer, Scope.PUBLISH)
    found, mine = readable(service, number, viewer), readable(service, said.by, viewer)
    if mine.state not in ("public", "embargoed"):
        raise HTTPException(403, "your result is not public")
    with service.desk.turn():
        outcome = reproductions.claim(service.database, service.blobs, service.desk.limits, found, mine, account)
    return Held(str(outcome))
