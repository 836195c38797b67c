# SPDX-License-Identifier: Apache-2.0
"""Answers that are the same for all: packed, and not sent again to who has them."""

from __future__ import annotations

import hashlib

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ioatlas import __version__
from ioatlas.model.errors import IoAtlasError
from ioatlas_atlas import audit
from ioatlas_atlas.database import Database
from ioatlas_atlas.queries import today

NOT_HERE = ("/healthz", "/metrics", "/sign-", "/mine", "/moderate")
PACKED = (".parquet", "/bundle")
"""Ends of addresses whose answers no packing makes smaller."""


class Shared:
    """ASGI middleware. What all may see changes with a line of the audit log, or with the day: that makes the tag."""

    def __init__(self, app: ASGIApp, database: Database) -> None:
        self._app, self._database = app, database
        self._packing = GZipMiddleware(app, minimum_size=1000, compresslevel=5)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        own = "authorization" in headers or "cookie" in headers or scope.get("path", "").startswith(NOT_HERE)
        if own or scope.get("method") != "GET" or scope["path"].endswith(PACKED):
            await self._app(scope, receive, send)
            return
        if scope["path"].startswith("/static/"):
            lasting = b"public, max-age=31536000, immutable" if b"v=" in scope["query_string"] else b"max-age=3600"
            await self._packing(scope, receive, _with(send, {b"cache-control": lasting}))
            return
        tag = await run_in_threadpool(self._tag, scope["path"], scope["query_string"])
        told = {b"etag": tag.encode(), b"cache-control": b"no-cache", b"vary": b"Accept-Encoding"} if tag else {}
        if tag and tag in headers.get("if-none-match", ""):
            await send({"type": "http.response.start", "status": 304, "headers": list(told.items())})
            await send({"type": "http.response.body", "body": b""})
        else:
            await self._packing(scope, receive, _with(send, told))

    def _tag(self, path: str, query: bytes) -> str:
        """'' where the database does not answer: the answer says so then."""
        try:
            with self._database.reading() as link:
                last = audit.state(link)
        except IoAtlasError:
            return ""
        text = f"{__version__} {today()} {last} {path}?{query.decode('latin-1')}"
        return f'W/"{hashlib.sha256(text.encode()).hexdigest()[:24]}"'


def _with(send: Send, told: dict[bytes, bytes]) -> Send:
    """With more headers where it is answered with 200."""

    async def more(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 200:
            others = [pair for pair in message["headers"] if pair[0].lower() not in told]
            message = {**message, "headers": [*others, *told.items()]}
        await send(message)

    return more
