# SPDX-License-Identifier: Apache-2.0
"""The API of circles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import Field

from ioatlas.atlas import circles
from ioatlas.atlas.api import PROBLEMS, Asking, Number, Served, found_result, needs
from ioatlas.atlas.records import Circle, Scope

router = APIRouter(prefix="/api/v1", responses=PROBLEMS)
CircleId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", description="Id of a circle.")]
AccountName = Annotated[str, Path(max_length=40, description="Name of an account.")]


@dataclass(frozen=True)
class Named:
    """How a circle is called."""

    name: Annotated[str, Field(min_length=1, max_length=circles.MOST_LETTERS)]


@dataclass(frozen=True)
class Circles:
    """By name."""

    entries: tuple[Circle, ...]


@router.get("/circles", summary="Your circles")
def mine(service: Served, viewer: Asking) -> Circles:
    """Those that you are in, and those that you are invited to."""
    return Circles(circles.circles_of(service.database, needs(viewer, Scope.READ)))


@router.post("/circles", status_code=201, summary="Make a circle")
def make(service: Served, viewer: Asking, named: Named) -> Circle:
    """Accounts that show each other results. You are its owner."""
    return circles.make(service.database, needs(viewer, Scope.PUBLISH), named.name)


@router.get("/circles/{circle}", summary="A circle")
def one(service: Served, viewer: Asking, circle: CircleId) -> Circle:
    """Its members. What it shares is `/results?circle=`."""
    needs(viewer, Scope.READ)
    return circles.circle_of(service.database, circle, viewer)


@router.delete("/circles/{circle}", status_code=204, summary="Dissolve it")
def dissolve(service: Served, viewer: Asking, circle: CircleId) -> None:
    """By its owner. Results stay with their owners."""
    needs(viewer, Scope.PUBLISH)
    circles.dissolve(service.database, circle, viewer)


@router.put("/circles/{circle}/members/{name}", status_code=204, summary="Invite an account, or join")
def invite_or_join(service: Served, viewer: Asking, circle: CircleId, name: AccountName) -> None:
    """An owner invites another account by its name. Who is invited joins by its own name."""
    account = needs(viewer, Scope.PUBLISH if viewer.account is None or name != viewer.account.name else Scope.READ)
    if name == account.name:
        circles.join(service.database, circle, account)
    else:
        circles.invite(service.database, circle, account, name)


@router.delete("/circles/{circle}/members/{name}", status_code=204, summary="Leave it, or send a member away")
def leave(service: Served, viewer: Asking, circle: CircleId, name: AccountName) -> None:
    """What the member shared with the circle is shared no more."""
    circles.leave(service.database, circle, needs(viewer, Scope.READ), name)


@router.put("/results/{number}/circles/{circle}", status_code=204, summary="Share a result with a circle")
def share(service: Served, viewer: Asking, number: Number, circle: CircleId) -> None:
    """Its members see it while it is private or under embargo."""
    account = needs(viewer, Scope.PUBLISH)
    circles.share(service.database, found_result(service, number, viewer), circle, account)


@router.delete("/results/{number}/circles/{circle}", status_code=204, summary="Share it no more")
def unshare(service: Served, viewer: Asking, number: Number, circle: CircleId) -> None:
    """By the result's owner, or the circle's."""
    account = needs(viewer, Scope.PUBLISH)
    circles.unshare(service.database, found_result(service, number, viewer), circle, account)
