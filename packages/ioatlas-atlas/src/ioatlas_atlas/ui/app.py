# SPDX-License-Identifier: Apache-2.0
"""The pages of `ioatlas ui`: what each address answers, and who may ask: the browser that opened the printed address,
at this address, from pages of ours.

A token in the address becomes a cookie that other sites' requests do not carry (SameSite=Strict). The Host header has
to be ours, so that no other name can be made to lead here (DNS rebinding). What changes something has to come from a
page of ours (Origin).
"""

from __future__ import annotations

import email
import email.policy
import hmac
import json
import secrets
import shlex
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import jinja2
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ioatlas import __version__
from ioatlas.answer.results.library import results_folder, stamp
from ioatlas.measure.run.live import live, place_of
from ioatlas.model.errors import IoAtlasError
from ioatlas.model.result import SHEET
from ioatlas.model.units import format_duration, format_size, format_size_rounded
from ioatlas.plan.profiles import described
from ioatlas.report.small_map import colour_of, in_words
from ioatlas_atlas.ui import commands
from ioatlas_atlas.ui.shelf import Shelf, Volume

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


HERE = Path(__file__).parent
MOST_FORM_BYTES = 64 << 10
MOST_FILE_BYTES = 64 << 20
"""Of all files that are imported at once."""
MOST_SIDES = 40
PAGE_POLICY = "base-uri 'none'"
"""A report carries its own policy, with the hashes of its script and style."""
SETS = {
    "compare": ("compare", "Compare", 2),
    "cost": ("product cost", "Cost", 1),
    "table": ("product table", "Products side by side", 1),
}
"""What can be made of several entries: command, words, how many it takes at least."""

_NAVIGATION = """<body>
<nav class="site-nav" aria-label="Pages"><a href="/">Library</a> <a href="/new">New measurement</a></nav>
"""
_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader([HERE / "templates", HERE.parent / "templates"]),
    autoescape=True,
    trim_blocks=True,
    undefined=jinja2.StrictUndefined,
)
_TEMPLATES.globals |= {
    "in_words": in_words,
    "colour_of": colour_of,
    "duration": format_duration,
    "size": format_size_rounded,
    "here": "",
}


def make_app(shelf: Shelf, *, hosts: frozenset[str], token: str) -> Gate:
    """The application, behind its gate."""
    pages = _Pages(shelf)
    routes = [
        Route("/", pages.library),
        Route("/c/{name}/", pages.campaign),
        Route("/c/{name}/data", pages.data),
        Route("/c/{name}/live", pages.live),
        Route("/c/{name}/stop", pages.stop, methods=["POST"]),
        Route("/c/{name}/resume", pages.resume, methods=["POST"]),
        Route("/new", pages.new),
        Route("/new/plan", pages.plan, methods=["POST"]),
        Route("/new/start", pages.start, methods=["POST"]),
        Route("/set", pages.several),
        Route("/import", pages.bring, methods=["POST"]),
        Mount("/static", StaticFiles(directory=HERE / "static", packages=[("ioatlas.report", "static")])),
    ]
    faults: Mapping[Any, Callable[..., Any]] = {IoAtlasError: _fault, HTTPException: _http_fault}
    return Gate(Starlette(routes=routes, exception_handlers=faults), hosts=hosts, token=token)


class _Pages:
    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    def library(self, request: Request) -> Response:
        """All entries, or those that fit."""
        words, state = request.query_params.get("q", ""), request.query_params.get("state", "")
        volumes = self._shelf.volumes()
        states = sorted({volume.state for volume in volumes if not volume.state.startswith("cannot")})
        shown = [volume for volume in volumes if volume.fits(words, state)]
        priced = any((volume.entry.directory / SHEET).is_file() for volume in shown)
        return _page(
            "library",
            volumes=shown,
            answers=self._shelf.answers(shown),
            total=len(volumes),
            q=words,
            state=state,
            states=states,
            folders=[str(folder.absolute()) for folder in self._shelf.folders],
            sets=SETS if priced else {"compare": SETS["compare"]},
            most=format_size(MOST_FILE_BYTES),
            here="library",
        )

    def campaign(self, request: Request) -> Response:
        """Its report, which renews itself while the campaign runs."""
        volume = self._volume(request)
        unfinished = volume.entry.state == "unfinished"
        live_at = f"/c/{volume.id}/" if unfinished or volume.now else ""
        return _made(self._shelf.page(volume, live_at))

    def data(self, request: Request) -> Response:
        """The report's data, which a page of a running campaign asks for when something is new."""
        return Response(self._shelf.data(self._volume(request)), media_type="application/json")

    def live(self, request: Request) -> Response:
        """How far a session is, and the state of the journal: small, asked for every second."""
        volume = self._volume(request)
        now = live(volume.entry.directory)
        told = {
            "running": now is not None,
            "complete": volume.entry.state == "complete",
            "version": stamp(volume.entry.directory) or 0.0,
            "progress": now.progress if now else {},
            "said": now.said if now else commands.last_words(volume.entry.directory)[-2000:],
        }
        return Response(json.dumps(told, default=str), media_type="application/json")

    def stop(self, request: Request) -> Response:
        """Ask a session to stop after what it measures now."""
        stopped = commands.stop(self._volume(request).entry.directory)
        return PlainTextResponse("stopping\n" if stopped else "it does not run\n", status_code=202 if stopped else 409)

    def resume(self, request: Request) -> Response:
        """Go on with a campaign that was stopped."""
        volume = self._volume(request)
        if volume.now:
            return _conflict("it runs already\n")
        said = commands.start(["resume", "--", str(volume.entry.directory)], volume.entry.directory)
        return PlainTextResponse("running\n", status_code=202) if said is None else _conflict(f"{said.text}\n")

    def new(self, request: Request) -> Response:
        """The form of a new measurement."""
        wish = commands.Wish.of(dict(request.query_params))
        profiles, results = described(), str(results_folder().absolute())
        known = {"", *(one.name for one in profiles[:3])}
        return _page("new", wish=wish, profiles=profiles, known=known, results=results, here="new")

    async def plan(self, request: Request) -> Response:
        """What a measurement would do: nothing is written."""
        wish = commands.Wish.of(await _form(request))
        return _plan(wish, await run_in_threadpool(commands.call, wish.words("plan")))

    async def start(self, request: Request) -> Response:
        """Start a measurement."""
        wish = commands.Wish.of(await _form(request))
        directory = wish.directory()
        said = await run_in_threadpool(commands.start, wish.words("map"), directory)
        if said is not None:
            return _plan(wish, said, status_code=409)
        if self._shelf.find(place_of(directory)) is None:
            raise IoAtlasError("nothing was begun within 30 s", where=str(directory), remedy="look at `ioatlas list`")
        return RedirectResponse(f"/c/{place_of(directory)}/", status_code=303)

    async def bring(self, request: Request) -> Response:
        """Import the files that were dropped on the library's page into a new folder of it, and show what they say."""
        body = await _body(request, MOST_FILE_BYTES, "what was dropped")
        found = await run_in_threadpool(_files, request.headers.get("content-type", ""), body)
        directory, said = await run_in_threadpool(commands.bring, found, self._shelf.folders[0].absolute())
        if said is not None or self._shelf.find(place_of(directory)) is None:
            raise IoAtlasError(said or "nothing was kept", remedy="drop what a benchmark wrote, such as fio's JSON")
        return RedirectResponse(f"/c/{place_of(directory)}/", status_code=303)

    def several(self, request: Request) -> Response:
        """What is made of several entries: a comparison, costs, a table of products."""
        wanted = request.query_params.get("make", "compare")
        names = request.query_params.getlist("side")[:MOST_SIDES]
        found = [volume for name in names if (volume := self._shelf.find(name)) is not None]
        if wanted not in SETS or len(found) != len(names) or len(found) < SETS[wanted][2]:
            least = SETS[wanted][2] if wanted in SETS else 1
            what = f"choose {least} entries or more"
            raise IoAtlasError(what, where="the library", remedy="tick them, then ask again")
        with tempfile.TemporaryDirectory(prefix="ioatlas-ui-") as folder:
            page = Path(folder) / "page.html"
            sides = [str(volume.entry.directory) for volume in found]
            if wanted == "table":
                sides = [word for side in sides for word in (f"{side}/{SHEET}", "--result", side)]
            said = commands.call([*SETS[wanted][0].split(), "-o", str(page), *sides])
            if not page.is_file():
                return _page("fault", error=said.text, status_code=409)
            return _made(page.read_text(encoding="utf-8"))

    def _volume(self, request: Request) -> Volume:
        volume = self._shelf.find(request.path_params["name"])
        if volume is None:
            raise HTTPException(404, "there is no such campaign in the library any more")
        return volume


async def _body(request: Request, most: int, what: str) -> bytes:
    """What was sent, taken to its end: a browser shows no answer to what it could not send."""
    body, size = bytearray(), 0
    async for piece in request.stream():
        size += len(piece)
        body += piece if size <= most else b""
    if size > most:
        raise HTTPException(413, f"{what} is too large: at most {format_size(most)}")
    return bytes(body)


def _files(kind: str, body: bytes) -> dict[str, bytes]:
    """{name: content} of the files in a form, without the folders in their names."""
    head = f"MIME-Version: 1.0\r\nContent-Type: {kind}\r\n\r\n".encode("latin-1", "replace")
    form = email.message_from_bytes(head + body, policy=email.policy.HTTP)
    parts = [(part.get_filename("").replace("\\", "/"), part.get_payload(decode=True)) for part in form.iter_parts()]
    named = ((name.rpartition("/")[2][-100:], content) for name, content in parts if isinstance(content, bytes))
    return {name: content for name, content in named if name.strip(".") and "\0" not in name}


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form that was sent as a browser does."""
    body = await _body(request, MOST_FORM_BYTES, "the form")
    try:
        return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=50))
    except ValueError:
        raise HTTPException(400, "the form has more fields than any of these pages") from None


def _page(name: str, *, status_code: int = 200, **values: object) -> HTMLResponse:
    text = _TEMPLATES.get_template(f"{name}.html").render(version=__version__, **values)
    return HTMLResponse(text, status_code=status_code)


def _plan(wish: commands.Wish, said: commands.Said, **values: Any) -> HTMLResponse:
    """What would be done, or why it is not."""
    # Remarks may stand behind it.
    plan = json.JSONDecoder().raw_decode(said.text)[0] if said.status == 0 and said.text[:1] == "{" else None
    line = shlex.join(["ioatlas", *(word for word in wish.words("map") if word != "--yes")])
    return _page("plan", wish=wish, said=said, plan=plan, directory=str(wish.directory()), line=line, **values)


def _made(text: str) -> HTMLResponse:
    """A page that a command made, below the way back from it."""
    return HTMLResponse(text.replace("<body>\n", _NAVIGATION, 1), headers={"Content-Security-Policy": PAGE_POLICY})


def _conflict(why: str) -> Response:
    return PlainTextResponse(why, status_code=409)


def _fault(_request: Request, error: Exception) -> Response:
    return _page("fault", error=error, status_code=409)


def _http_fault(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return PlainTextResponse(f"{error.detail}\n", status_code=error.status_code)
