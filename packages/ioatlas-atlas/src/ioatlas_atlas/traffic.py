# SPDX-License-Identifier: Apache-2.0
"""What passes, and what does not: a limit on requests of one client, the counts that `/metrics` tells, both of this
process alone, and the problem details (RFC 9457) that a request is answered which was not done.
"""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import Counter, OrderedDict
from dataclasses import asdict, dataclass
from http import HTTPStatus
from itertools import accumulate
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ioatlas.report.metrics import Labels, exposed

BOUNDS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
MOST_CLIENTS = 50_000
UNCOUNTED = ("/healthz", "/metrics", "/static/")
PROBLEM_TYPE = "application/problem+json"
RETRY_SECONDS = {429: "3600", 503: "30"}


@dataclass(frozen=True)
class Problem:
    """Problem details. remedy: what to do. checks: of a bundle that was refused, what was looked at."""

    title: str
    status: int
    detail: str
    remedy: str = ""
    type: str = "about:blank"
    checks: tuple[dict[str, str], ...] = ()


def problem(status: int, detail: str, *, headers: Any = None, **more: Any) -> JSONResponse:
    """Without what is empty. more: remedy and checks."""
    wait = {"Retry-After": RETRY_SECONDS[status]} if status in RETRY_SECONDS else {}
    said = asdict(Problem(HTTPStatus(status).phrase, status, detail, **more))
    told = {name: value for name, value in said.items() if value}
    return JSONResponse(told, status, {**wait, **(headers or {})}, media_type=PROBLEM_TYPE)


@dataclass(frozen=True)
class Rate:
    """a_second: how many requests a client may go on sending; burst: how many at once."""

    a_second: float = 20.0
    burst: float = 100.0


METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"
"""Counted for what a client calls a method by itself: there is no end of those."""


class Limiter:
    """A bucket for each client, emptied by requests, filled by time."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait_seconds(self, client: str, now: float | None = None) -> float:
        """0 when the request may pass, else after how long the next one may."""
        now = time.monotonic() if now is None else now
        with self._lock:
            left, at = self._left.pop(client, (self._rate.burst, now))
            left = min(self._rate.burst, left + (now - at) * self._rate.a_second)
            passes = left >= 1.0
            self._left[client] = (left - 1.0 if passes else left, now)
            while len(self._left) > MOST_CLIENTS:
                self._left.popitem(last=False)
        return 0.0 if passes else (1.0 - left) / self._rate.a_second


class Metrics:
    """Counts since the start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str]] = Counter()
        self._seconds: Counter[float] = Counter()
        self._sum_seconds = 0.0
        self._uploads: Counter[str] = Counter()

    def request(self, method: str, status: int, seconds: float) -> None:
        with self._lock:
            self._requests[method if method in METHODS else OTHER, str(status)] += 1
            self._seconds[next((bound for bound in BOUNDS_SECONDS if seconds <= bound), float("inf"))] += 1
            self._sum_seconds += seconds

    def upload(self, outcome: str) -> None:
        """outcome: taken, known or refused."""
        with self._lock:
            self._uploads[outcome] += 1

    def text(self, gauges: dict[str, float]) -> str:
        """In the text format of Prometheus."""
        bounds = (*BOUNDS_SECONDS, float("inf"))
        with self._lock:
            requests = [("", (("method", one), ("status", status)), n) for (one, status), n in self._requests.items()]
            uploads = [("", (("outcome", name),), n) for name, n in self._uploads.items()]
            below = [*accumulate(self._seconds[bound] for bound in bounds)]
            total = self._sum_seconds
        told = ("+Inf" if bound == float("inf") else f"{bound:g}" for bound in bounds)
        seconds: list[tuple[str, Labels, float]] = [
            ("_bucket", (("le", bound),), n) for bound, n in zip(told, below, strict=True)
        ]
        seconds += [("_sum", (), total), ("_count", (), below[-1])]
        found = [
            exposed("ioatlas_requests_total", "counter", "Requests answered.", sorted(requests)),
            exposed("ioatlas_request_seconds", "histogram", "Time until a request is answered.", seconds),
            exposed("ioatlas_uploads_total", "counter", "Bundles that were sent.", sorted(uploads)),
        ]
        found += [exposed(f"ioatlas_{name}", "gauge", f"Public {name}.", [("", (), n)]) for name, n in gauges.items()]
        return "".join(found)


class Traffic:
    """ASGI middleware: counts requests, holds back clients that send too many, sets headers that every answer has."""

    def __init__(self, app: ASGIApp, limiter: Limiter, metrics: Metrics) -> None:
        self._app, self._limiter, self._metrics = app, limiter, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, status = time.monotonic(), 500

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = _with_headers(list(message["headers"]), scope)
            await send(message)

        try:
            client, names = client_of((scope.get("client") or ("",))[0]), {name for name, _ in scope["headers"]}
            if not scope["path"].startswith(UNCOUNTED) and (wait := self._limiter.wait_seconds(client)):
                told = {"Retry-After": str(max(1, round(wait)))}
                await problem(429, "wait, then go on", headers=told)(scope, receive, counted)
            elif {b"content-length", b"transfer-encoding"} <= names:  # a proxy may believe the other one
                await problem(400, "it has two lengths", headers={"Connection": "close"})(scope, receive, counted)
            else:
                await self._app(scope, receive, counted)
        finally:
            self._metrics.request(scope["method"], status, time.monotonic() - begin)


_ALWAYS = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
}
"""A page that needs more says so itself."""
_OF_ONE = {b"cache-control": b"no-store"}
"""Of answers to somebody in particular: no cache may show them to another."""
_WHO = (b"authorization", b"cookie")
_SECURE = {b"strict-transport-security": b"max-age=31536000"}


def client_of(address: str) -> str:
    """Whom a bucket is for: of IPv6 the network, of which one client has all addresses."""
    try:
        known = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if known.version == 4 or known.ipv4_mapped:
        return str(known)
    return str(ipaddress.ip_network((known, 64), strict=False))


def _with_headers(headers: list[tuple[bytes, bytes]], scope: Scope) -> list[tuple[bytes, bytes]]:
    present = {name.lower() for name, _ in headers}
    wanted = _ALWAYS | (_SECURE if scope.get("scheme") == "https" else {})
    if b"set-cookie" in present or any(name in _WHO for name, _ in scope["headers"]):
        wanted |= _OF_ONE
    return headers + [(name, value) for name, value in wanted.items() if name not in present]
