# SPDX-License-Identifier: Apache-2.0
"""The API: what each address below /api/v1 answers. Errors are problem details (RFC 9457)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

from fastapi import APIRouter, BackgroundTasks, Body, Depends, Header, HTTPException, Path, Query, Request, Response
from fastapi.responses import FileResponse
from pydantic import AfterValidator, TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from ioatlas.bundle.statement import ENDING
from ioatlas_atlas import accounts, catalogue, queries, removal
from ioatlas_atlas.asked import Asked
from ioatlas_atlas.blobs import Blobs, Incoming
from ioatlas_atlas.catalogue import Found
from ioatlas_atlas.database import Database
from ioatlas_atlas.extracted import printable
from ioatlas_atlas.fairness import Declaration
from ioatlas_atlas.ranking import Table
from ioatlas_atlas.records import (
    Account,
    Cell,
    Page,
    Product,
    Reply,
    Reproduction,
    Result,
    Scope,
    Trace,
    Viewer,
    Wanted,
)
from ioatlas_atlas.traffic import PROBLEM_TYPE, Metrics, Problem
from ioatlas_atlas.uploads import Desk, Wish
from ioatlas_atlas.views import day

MEDIA_TYPE = "application/zip"
LONGEST_LENGTH = 18
"""Digits of a length that a request may claim."""


@dataclass(frozen=True)
class Service:
    """What requests are answered with: `request.app.state.service`.

    warm: makes what pages show of a bundle; without it the first reader waits. origin: the service's address as the
    world knows it; '' where that is not known: a request is not believed.
    """

    database: Database
    blobs: Blobs
    desk: Desk
    metrics: Metrics
    warm: Callable[[str], object] = lambda _sha256: None
    origin: str = ""


@dataclass(frozen=True)
class Uploaded:
    """url: of its page; a path alone where the service has no public address. new: False where the bundle was there
    already. reason: why it has that state.
    """

    id: str
    url: str
    state: str
    reason: str
    badge: str
    grade: str
    new: bool


@dataclass(frozen=True)
class Detail:
    """A result with what was said of it. corrected_by: id of the result that replaces it."""

    result: Result
    replies: tuple[Reply, ...]
    reproductions: tuple[Reproduction, ...]
    trace: tuple[Trace, ...]
    corrected_by: str = ""


@dataclass(frozen=True)
class Me:
    """Whose token it is, and what the account may do. private: how many results only it sees."""

    account: Account
    scopes: tuple[Scope, ...]
    uploads_a_day: int
    upload_bytes: int
    private: int


async def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Served = Annotated[Service, Depends(service_of)]


async def asking(request: Request, service: Served) -> Viewer:
    """Nobody needs no thread, which would wait for its turn."""
    sent = "authorization" in request.headers
    return await run_in_threadpool(viewer_of, request, service) if sent else queries.NOBODY


def viewer_of(request: Request, service: Service) -> Viewer:
    """Who holds the token. One that is not good is told, rather than taken for nobody."""
    kind, _, text = request.headers["authorization"].partition(" ")
    viewer = accounts.viewer_of(service.database, text.strip()) if kind.lower() == "bearer" else None
    if viewer is None:
        raise HTTPException(401, "the token is not good", headers={"WWW-Authenticate": "Bearer"})
    return viewer


Asking = Annotated[Viewer, Depends(asking)]
Number = Annotated[str, Path(pattern=r"^[0-9a-z]{1,20}$", description="The permanent name of a result.")]
Cursor = Annotated[str, Query(max_length=500, description="`next` of the page before.")]
Limit = Annotated[int, Query(ge=1, le=queries.MOST_ENTRIES)]
Short = Annotated[str, Query(max_length=200)]
_Line = Body(embed=True, max_length=500, pattern=r"\S", description="Why it is done, in a line that all are shown.")
Reason = Annotated[str, _Line, AfterValidator(printable)]
_PROBLEM: dict[str, Any] = {"content": {PROBLEM_TYPE: {}}, "model": Problem}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {**_PROBLEM, "description": text}
    for code, text in {
        400: "What was sent does not fit.",
        401: "The token is not good, or one is needed.",
        403: "The token does not allow it.",
        404: "There is no such thing, or it is not for you.",
        410: "It was deleted or withdrawn.",
        422: "What was sent does not fit.",
        429: "Too many requests.",
        503: "Not now: too busy, or the database does not answer.",
    }.items()
}
router = APIRouter(prefix="/api/v1", responses=PROBLEMS)
_RESULTS, _CELLS, _FOUND = TypeAdapter(Page[Result]), TypeAdapter(Page[Cell]), TypeAdapter(Found)
"""They write what was made here as it is: checked again, value by value, a page takes ten times as long."""


def needs(viewer: Viewer, scope: Scope) -> Account:
    """The account. Raises for nobody, and for a token without the scope."""
    if viewer.account is None:
        raise HTTPException(401, "this takes a token", headers={"WWW-Authenticate": "Bearer"})
    if scope not in viewer.scopes:
        raise HTTPException(403, f"the token has no scope {scope}")
    return viewer.account


def found_result(database: Database, number: str, viewer: Viewer) -> Result:
    """Raises 410 with its trace for one that was deleted, 404 for one that is not there or not for the viewer."""
    if found := queries.result_of(database, number, viewer):
        return found
    gone = queries.traces_of(database, number)
    if any(one.what == "deleted" for one in gone):
        raise HTTPException(410, " ".join(f"{day(one.at)} {one.what}: {one.text}." for one in gone))
    raise HTTPException(404, "There is no such result, or it is not public.")


@router.get("/results", summary="Search", response_model=Page[Result])
def search(
    service: Served,
    viewer: Asking,
    q: Annotated[str, Query(max_length=200, description="Words in title, product, drive, protocol or link.")] = "",
    product: Short = "",
    vendor: Short = "",
    owner: Short = "",
    cursor: Cursor = "",
    limit: Limit = 20,
) -> Response:
    """Results, the newest first. What products do is searched at `/products`."""
    found = queries.search(service.database, Wanted(q, product, vendor, owner), viewer, cursor=cursor, limit=limit)
    return Response(_RESULTS.dump_json(found), media_type="application/json")


@router.post(
    "/results",
    status_code=201,
    summary="Upload a bundle",
    responses={
        200: {"model": Uploaded, "description": "It was there already."},
        408: {**_PROBLEM, "description": "Too slow."},
        409: {**_PROBLEM, "description": "The key was used for another request."},
        413: {**_PROBLEM, "description": "Too large."},
        507: {**_PROBLEM, "description": "The disk is full."},
    },
    openapi_extra={
        "requestBody": {"required": True, "content": {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}}}
    },
)
async def upload(
    request: Request,
    response: Response,
    tasks: BackgroundTasks,
    service: Served,
    viewer: Asking,
    private: bool = False,
    embargo: Annotated[date | None, Query(description="Until then only its owner sees it.")] = None,
    sponsor: Annotated[str | None, Query(max_length=200, description="Who paid; empty for nobody.")] = None,
    conflict: Annotated[str | None, Query(max_length=400, description="Conflict of interest; empty for none.")] = None,
    permission: Annotated[str, Query(max_length=400, description="Who allowed to publish, and when.")] = "",
    replaces: Annotated[
        str, Query(pattern=r"^[0-9a-z]{0,20}$", description="Your result that this one corrects.")
    ] = "",
    idempotency_key: Annotated[str, Header(max_length=100)] = "",
) -> Uploaded:
    """Take in one bundle. The same bundle again, or the same key, gives the result that is there already."""
    account = needs(viewer, Scope.PUBLISH)
    limits = service.desk.limits
    declared = Declaration(sponsor, conflict, permission, embargo.isoformat() if embargo else "")
    most = limits.upload_bytes
    sent = request.headers.get("content-length", "0")
    if not sent.isdecimal() or len(sent) > LONGEST_LENGTH or int(sent) > most:
        raise HTTPException(413, f"a bundle has at most {most >> 20} MiB")
    await run_in_threadpool(service.desk.check_quota, account)
    with service.blobs.incoming(most) as incoming:
        try:
            await asyncio.wait_for(_receive(request.stream(), incoming, limits.idle_seconds), limits.upload_seconds)
        except TimeoutError:
            raise HTTPException(408, "the bundle came too slowly", headers={"Connection": "close"}) from None
        except ClientDisconnect:
            service.metrics.upload("broken off")
            raise HTTPException(400, "the bundle broke off") from None
        try:
            taken = await run_in_threadpool(
                service.desk.take, incoming, account, Wish(declared, private, idempotency_key, replaces)
            )
        except Exception:
            service.metrics.upload("refused")
            raise
    service.metrics.upload("taken" if taken.new else "known")
    response.status_code = 201 if taken.new else 200
    owner = Viewer(account, frozenset({Scope.READ}))
    found = await run_in_threadpool(found_result, service.database, taken.result_id, owner)
    place = f"{service.origin}/r/{found.id}"
    if taken.new and found.bundle_sha256:
        tasks.add_task(service.warm, found.bundle_sha256)
    response.headers["Location"] = f"/api/v1/results/{found.id}"
    return Uploaded(found.id, place, found.state, found.reason, found.badge, found.grade, taken.new)


async def _receive(stream: AsyncIterator[bytes], incoming: Incoming, idle_seconds: float) -> None:
    while True:
        try:
            piece = await asyncio.wait_for(anext(stream), idle_seconds)
        except StopAsyncIteration:
            return
        incoming.write(piece)


@router.get("/results/{number}", summary="A result")
def one_result(service: Served, viewer: Asking, number: Number) -> Detail:
    """A result, what vendor and evaluator say, who reproduced it, and what happened to it."""
    found = found_result(service.database, number, viewer)
    return Detail(
        found,
        queries.replies_of(service.database, number),
        queries.reproductions_of(service.database, number, viewer),
        queries.traces_of(service.database, number, viewer),
        queries.corrected_by(service.database, number, viewer),
    )


@router.get("/results/{number}/cells", summary="Its measured values", response_model=Page[Cell])
def cells(
    service: Served,
    viewer: Asking,
    number: Number,
    cursor: Cursor = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Response:
    """Cells in the order of the campaign, each direction for itself."""
    found = readable(service.database, number, viewer)
    page = queries.cell_page(service.database, found.id, cursor=cursor, limit=limit)
    return Response(_CELLS.dump_json(page), media_type="application/json")


def readable(database: Database, number: str, viewer: Viewer) -> Result:
    """A result whose data the viewer may have."""
    found = found_result(database, number, viewer)
    if not queries.may_read_data(found, viewer):
        raise HTTPException(410, f"It was withdrawn: {found.reason}.")
    return found


@router.get("/results/{number}/bundle", summary="The bundle itself", response_class=FileResponse)
def bundle(service: Served, viewer: Asking, number: Number) -> FileResponse:
    """The file as it was uploaded: `ioatlas verify` checks it."""
    found = readable(service.database, number, viewer)
    path = service.blobs.path(found.bundle_sha256) if found.bundle_sha256 else None
    if path is None or not path.is_file():
        raise HTTPException(404, "its bundle is not here")
    return FileResponse(
        path, media_type=MEDIA_TYPE, filename=f"{found.id}{ENDING}", content_disposition_type="attachment"
    )


@router.post("/results/{number}/withdraw", summary="Withdraw it", status_code=204)
def withdraw(service: Served, viewer: Asking, number: Number, reason: Reason) -> None:
    """Its data is shown no more; title, reason and trace stay."""
    needs(viewer, Scope.PUBLISH)
    removal.withdraw(service.database, found_result(service.database, number, viewer), viewer, reason.strip())


@router.delete("/results/{number}", summary="Delete it for good", status_code=204)
def delete(service: Served, viewer: Asking, number: Number) -> None:
    """Rows and bundle are removed; that there was one stays known."""
    needs(viewer, Scope.PUBLISH)
    removal.delete(service.database, service.blobs, found_result(service.database, number, viewer), viewer)


@router.get("/products", summary="Search products", response_model=Found)
def products(service: Served, _viewer: Asking, asked: Annotated[Asked, Query()]) -> Response:
    """Products by kind, protocol, media, year, price, the use they fit, and what they do for a load, counted by facet.

    Texts as on the page: iops=20k, p99=5ms, bs=4k, price=150. sort: speed, value, p99, price or newest.
    """
    return Response(_FOUND.dump_json(catalogue.search(service.database, asked.sought())), media_type="application/json")


@router.get("/products/{name}", summary="A product")
def one_product(service: Served, _viewer: Asking, name: Annotated[str, Path(max_length=120)]) -> Product:
    """Its results are those of `/results?product=`."""
    found = catalogue.product_of(service.database, name)
    if found is None:
        raise HTTPException(404, "there is no such product")
    return found


@router.get(
    "/compare",
    summary="Compare results",
    response_model=Table,
    response_model_exclude={"sides": {"__all__": {"document"}}},
)
def compare(request: Request, viewer: Asking, ids: Annotated[str, Query(max_length=300)]) -> Table:
    """Results side by side, at the loads that two of them measured. ids: separated by commas."""
    found: Table | None = request.app.state.pages.table_of([one.strip() for one in ids.split(",")], viewer)
    if found is None:
        raise HTTPException(400, "choose two results or more that you may read")
    return found


@router.get("/me", summary="Whose token this is")
def me(service: Served, viewer: Asking) -> Me:
    """The account of the token, what the token allows, and the account's limits."""
    account, limits = needs(viewer, Scope.READ), service.desk.limits
    return Me(account, tuple(sorted(viewer.scopes)), limits.uploads_a_day, limits.upload_bytes, limits.private)
