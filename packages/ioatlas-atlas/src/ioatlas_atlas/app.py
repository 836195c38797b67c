# SPDX-License-Identifier: Apache-2.0
"""The service put together: API, pages, health, metrics, and what each error is answered with."""

from __future__ import annotations

import logging
import threading
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse
from sqlalchemy.exc import IntegrityError
from starlette.exceptions import HTTPException

from ioatlas import __version__
from ioatlas.model.errors import IoAtlasError, RefusedError, UsageError
from ioatlas_atlas import api, browsers, handling, shelf
from ioatlas_atlas.admission import BusyError, Limits, NotAdmittedError
from ioatlas_atlas.api import Service
from ioatlas_atlas.blobs import Blobs, NoRoomError, TooLargeError
from ioatlas_atlas.bodies import Bodies, BodyLimits
from ioatlas_atlas.database import Database, DatabaseError, answers
from ioatlas_atlas.derived import Derived
from ioatlas_atlas.mine import Mine
from ioatlas_atlas.moderation import Moderation
from ioatlas_atlas.oidc import Provider, ProviderError
from ioatlas_atlas.pages import Pages
from ioatlas_atlas.records import Viewer
from ioatlas_atlas.reply_form import ReplyForm
from ioatlas_atlas.shared import Shared
from ioatlas_atlas.traffic import Limiter, Metrics, Rate, Traffic, problem
from ioatlas_atlas.uploads import Desk, OtherRequestError, QuotaError

log = logging.getLogger("uvicorn.error")

STATUS: dict[type[IoAtlasError], int] = {
    TooLargeError: 413,
    NotAdmittedError: 422,
    OtherRequestError: 409,
    QuotaError: 429,
    BusyError: 503,
    DatabaseError: 503,
    NoRoomError: 507,
    ProviderError: 502,
    RefusedError: 403,
    UsageError: 400,
}
NO_PAGES = ("/api/", "/healthz", "/metrics")
OWN_FAULTS = {
    500: "the service failed",
    502: "the provider does not answer as it should",
    503: "not now: try again in a minute",
    507: "there is no room for more",
}
"""What strangers are told of faults of the service itself: the rest names its machine, and goes to its log."""
ABOUT = "Performance maps of storage: collected, checked, compared. Reading what is public takes no token."


def make_app(
    database: Database,
    blobs: Blobs,
    *,
    limits: Limits | None = None,
    rate: Rate | None = None,
    bodies: BodyLimits | None = None,
    origin: str = "",
    warm: bool = False,
    provider: Provider | None = None,
) -> FastAPI:
    """The application. What earlier uploads left unfinished is swept; bundles that no result has are left to `tidy`.

    origin: its address, as the world knows it; '' where nobody told. warm: what pages show of an upload, and what a
    search looks at, is made before the first reader.
    """
    if warm:
        threading.Thread(target=shelf.fill, args=[database], daemon=True).start()
    blobs.sweep()
    app = FastAPI(
        title="I/O Atlas",
        version=__version__,
        description=ABOUT,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # it would repeat the request's Host
    )
    metrics = Metrics()
    derived = Derived(blobs, limits or Limits(), database)
    desk = Desk(database, blobs, limits or Limits())
    app.state.service = Service(database, blobs, desk, metrics, derived.made if warm else Service.warm, origin)
    # Not by `include_router`, which would make each of them anew: 0.3 s of the first request.
    app.router.routes.extend([*api.router.routes, *handling.router.routes])
    app.state.pages = pages = Pages(database, derived, _viewer, origin)
    for some in (pages, Mine(pages, blobs, desk.limits, provider), Moderation(pages), ReplyForm(pages)):
        app.router.routes.extend(some.routes())
    app.add_api_route("/healthz", _healthz, include_in_schema=False)
    app.add_api_route("/metrics", _metrics, include_in_schema=False)
    app.add_exception_handler(IoAtlasError, _fault)
    app.add_exception_handler(HTTPException, _http_fault)
    app.add_exception_handler(IntegrityError, _too_late)
    app.add_exception_handler(RequestValidationError, _unfit)
    app.add_middleware(Shared, database=database)
    app.add_middleware(Bodies, limits=bodies or BodyLimits())
    app.add_middleware(Traffic, limiter=Limiter(rate or Rate()), metrics=metrics)
    return app


def _healthz(request: Request) -> Response:
    """200 while the database answers."""
    good = answers(request.app.state.service.database)
    return PlainTextResponse("ok\n" if good else "the database does not answer\n", status_code=200 if good else 503)


def _metrics(request: Request) -> Response:
    """For who asks from beside the service: what a proxy passes on comes from the public. results: that all may see."""
    if "x-forwarded-for" in request.headers or "forwarded" in request.headers:
        raise HTTPException(404)
    service: Service = request.app.state.service
    products = shelf.stock_of(service.database).products  # in memory: counting reads every result
    gauges = {"products": float(len(products)), "results": float(sum(one.results for one in products))}
    return PlainTextResponse(service.metrics.text(gauges), media_type="text/plain; version=0.0.4")


def _viewer(request: Request) -> Viewer:
    """Of a page: by a token, else by the cookie of who signed in. The API takes tokens alone."""
    service: Service = request.app.state.service
    if "authorization" in request.headers:
        return api.viewer_of(request, service)
    return browsers.viewer_of(service.database, request.cookies.get(browsers.COOKIE, "")) or Viewer()


def _told(request: Request, status: int, detail: str, **more: Any) -> Response:
    """On a page, or as problem details."""
    if request.url.path.startswith(NO_PAGES):
        return problem(status, detail, **more)
    page: Response = request.app.state.pages.fault(status, detail)
    return page


async def _fault(request: Request, error: Exception) -> Response:
    assert isinstance(error, IoAtlasError)
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)
    more: dict[str, Any] = {"remedy": error.remedy}
    if isinstance(error, NotAdmittedError):
        more["checks"] = tuple(one.model_dump() for one in error.checks)
    detail = f"{error.where}: {error.what}" if error.where else error.what
    if status in OWN_FAULTS:
        log.error("%s", error)
        detail, more = OWN_FAULTS[status], {}
    return _told(request, status, detail, **more)


async def _http_fault(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _told(request, error.status_code, str(error.detail), headers=error.headers)


async def _too_late(request: Request, _error: Exception) -> Response:
    """Two wrote the same at once, and the other was first."""
    return await _http_fault(request, HTTPException(409, "somebody else changed it meanwhile: try again"))


async def _unfit(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    told = [f"{'.'.join(map(str, one['loc'][1:])) or one['loc'][0]}: {one['msg']}" for one in error.errors()[:5]]
    return problem(422, "; ".join(told)[:1000])
