# SPDX-License-Identifier: Apache-2.0
"""Who may ask: the browser that opened the printed address, at this address, from pages of ours.

A token in the address becomes a cookie that other sites' requests do not carry (SameSite=Strict). The Host header has
to be ours, so that no other name can be made to lead here (DNS rebinding). What changes something has to come from a
page of ours (Origin).
"""

from __future__ import annotations

import hmac
import secrets
from urllib.parse import urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE_METHODS = frozenset({"GET", "HEAD"})
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with none at all a form would not say where it came from
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
POLICY = "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'"
FRAMES = "frame-ancestors 'none'"


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(32)


class Gate:
    """Lets through what the user of this machine asked for, and nothing else.

    hosts: the values of Host that are ours. token: what the printed address carries.
    """

    def __init__(self, app: ASGIApp, *, hosts: frozenset[str], token: str) -> None:
        self._app = app
        self._hosts = hosts
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(Request(scope))

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers["Content-Security-Policy"] = f"{headers.get('Content-Security-Policy', POLICY)}; {FRAMES}"
            await send(message)

        await (refusal or self._app)(scope, receive, with_headers)

    def _refusal(self, request: Request) -> Response | None:
        """What is answered instead; None for what may go on."""
        host = request.headers.get("host", "")
        if host not in self._hosts:
            return _no("this server answers at its own address only")
        if request.method not in SAFE_METHODS and not self._is_ours(request.headers):
            return _no("this did not come from a page of ioatlas")
        given = request.query_params.get("token")
        if given is not None and self._knows(given) and request.method in SAFE_METHODS:
            rest = [(name, value) for name, value in request.query_params.multi_items() if name != "token"]
            answer = RedirectResponse(f"{request.url.path}{'?' if rest else ''}{urlencode(rest)}", status_code=303)
            answer.set_cookie(self._cookie(host), self._token, httponly=True, samesite="strict", path="/")
            return answer
        if not self._knows(request.cookies.get(self._cookie(host), "")):
            return _no("open the address that `ioatlas ui` printed, with its token")
        return None

    def _is_ours(self, headers: Headers) -> bool:
        origin = headers.get("origin")
        return origin is not None and origin in {f"http://{host}" for host in self._hosts}

    def _knows(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self._token.encode())

    @staticmethod
    def _cookie(host: str) -> str:
        """Cookies do not tell ports apart: each server has a name of its own."""
        return f"ioatlas-{host.rpartition(':')[2]}"


def _no(why: str) -> Response:
    return PlainTextResponse(f"{why}\n", status_code=403)
