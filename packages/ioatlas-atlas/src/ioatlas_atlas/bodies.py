# SPDX-License-Identifier: Apache-2.0
"""What a request may bring with it: so many bytes, in so much time; forms of the pages, from this service's own pages
alone. Bundles have limits of their own (`api.upload`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

Form = dict[str, str]
MOST_FIELDS = 50
TOO_MUCH, TOO_SLOW, BROKE_OFF = "more was sent than this address takes", "it came too slowly", "it broke off"


@dataclass(frozen=True)
class BodyLimits:
    """Of every request but those to `free`, (method, path)."""

    most_bytes: int = 64 << 10
    idle_seconds: float = 30.0
    whole_seconds: float = 60.0
    free: tuple[str, str] = ("POST", "/api/v1/results")


class Bodies:
    """ASGI middleware: a body is cut off where it becomes too large or too slow. What is never read costs nothing."""

    def __init__(self, app: ASGIApp, limits: BodyLimits) -> None:
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (scope["method"], scope["path"]) != self._limits.free:
            receive = _Limited(receive, self._limits).receive
        await self._app(scope, receive, send)


class _Limited:
    """The messages of one request. HTTPException is what FastAPI lets through while it reads."""

    def __init__(self, receive: Receive, limits: BodyLimits) -> None:
        self._receive, self._limits = receive, limits
        self._bytes, self._whole = 0, False
        self._until = time.monotonic() + limits.whole_seconds

    async def receive(self) -> Message:
        if self._whole:
            return await self._receive()
        wait = min(self._limits.idle_seconds, self._until - time.monotonic())
        try:
            message = await asyncio.wait_for(self._receive(), max(0.0, wait))
        except TimeoutError:
            raise HTTPException(408, TOO_SLOW, headers={"Connection": "close"}) from None
        if message["type"] == "http.disconnect":
            raise HTTPException(400, BROKE_OFF)
        self._bytes += len(message.get("body", b""))
        if self._bytes > self._limits.most_bytes:
            raise HTTPException(413, TOO_MUCH, headers={"Connection": "close"})
        self._whole = not message.get("more_body", False)
        return message


def taken(origin: str, answer: Callable[[Request, Form], Response]) -> Callable[..., object]:
    """Answers a form of this service's own pages; a form of another site is refused.

    origin: of the service; where it is '', the browser has to have sent the form to where its page came from.
    """

    async def take(request: Request) -> Response:
        own = origin or f"{request.url.scheme}://{request.headers.get('host', '')}"
        if request.headers.get("origin", "") != own:
            raise HTTPException(403, "This form was sent from another site.")
        text = (await request.body()).decode("utf-8", "replace")
        try:
            fields = parse_qsl(text, max_num_fields=MOST_FIELDS)
        except ValueError:
            raise HTTPException(400, "This form has more fields than any of this service.") from None
        return await run_in_threadpool(answer, request, dict(fields))

    return take
