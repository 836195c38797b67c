# SPDX-License-Identifier: Apache-2.0
"""The public pages: made here, without a script, and with nothing from elsewhere."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlencode

import jinja2
import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

import ioatlas.report
from ioatlas import __version__
from ioatlas.answer.analysis.best import SIGNS
from ioatlas.answer.product.quantity import amount_text, money
from ioatlas.measure.procedures.fit.read import read_uses, ready
from ioatlas.model.errors import IoAtlasError
from ioatlas.model.units import format_latency, format_times
from ioatlas_atlas import catalogue, heat, pareto, queries, ranking, replies, views
from ioatlas_atlas.api import found_result, readable
from ioatlas_atlas.asked import LOADS, MOST_LETTERS, Asked
from ioatlas_atlas.catalogue import Sort, Sought
from ioatlas_atlas.database import Database
from ioatlas_atlas.fairness import GRADE_WORDS, State
from ioatlas_atlas.records import Account, Result, Viewer, Wanted
from ioatlas_atlas.shelf import shelf_of

HERE = Path(__file__).parent
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
EXPLORER_POLICY = "base-uri 'none'; frame-ancestors 'none'"
"""The explorer carries its own policy, with the hashes of its script and style."""
HEADERS = {  # beside those that `traffic` sets
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": POLICY,
}
FEED_ENTRIES, MOST_PLACES = 50, 10_000
NEWEST = 5
"""Replies, and reproductions, of the first page."""
GREEN, GREY = "#1a7f37", "#6b7280"

_STYLES = (HERE / "static" / "atlas.css", Path(ioatlas.report.__file__).parent / "static" / "pages.css")
STYLE = hashlib.sha256(b"".join(one.read_bytes() for one in _STYLES)).hexdigest()[:8]
"""In the addresses of the style sheets: these may be kept for good."""

_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(HERE / "templates"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
)
_TEMPLATES.globals.update(
    badge_of=views.badge_of,
    known_of=views.known_of,
    role_words=views.role_words,
    load_name=views.load_name,
    rate_text=views.rate_text,
    share=views.share,
    style=STYLE,
    url=urlencode,
    day=views.day,
    moment=views.moment,
    latency=format_latency,
    money=money,
    amount=amount_text,
    times=format_times,
    frame=pareto,
    kinds_of_load={one: views.LOADS.get(one, one) for one in LOADS},
    uses={use.name: use.title for use in read_uses(",".join(ready()))},
    grades=GRADE_WORDS,
)


class Kept(Protocol):
    """What admission made of a bundle in its own process."""

    def document(self, sha256: str) -> Mapping[str, Any] | None:
        """The export as JSON values; None where it was deleted."""

    def explorer(self, sha256: str) -> str | None:
        """The report's page."""


@dataclass(frozen=True)
class Pages:
    """viewer_of: who asks. origin: where this service is, for feeds and citations, which have a path alone where it
    is ''.
    """

    database: Database
    kept: Kept
    viewer_of: Callable[[Request], Viewer]
    origin: str = ""

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/", self.home),
            Route("/products", self.products),
            Route("/results", self.results),
            Route("/products/{id}", self.product),
            Route("/r/{id}", self.result),
            Route("/r/{id}/explorer", self.explorer),
            Route("/r/{id}/data.{form:str}", self.data),
            Route("/r/{id}/citation.bib", self.bibtex),
            Route("/r/{id}/badge.svg", self.badge),
            Route("/compare", self.compare),
            Route("/feed.atom", self.feed),
            Route("/rules", self.rules),
            Route("/sitemap.xml", self.sitemap),
            Mount("/static", StaticFiles(directory=HERE / "static", packages=[("ioatlas.report", "static")])),
        ]

    # -- search and products -------------------------------------------------------------------------------------

    def home(self, request: Request) -> Response:
        """Products: all of them, or what was asked for, and what a price buys for one load."""
        asked = Asked.of(request.query_params)
        try:
            sought = asked.sought()
        except IoAtlasError as error:
            fault = f"{error.where}: {error.what}; {error.remedy}".strip(":; ")
            return self.page("home", asked=asked, fault=fault)
        found = catalogue.search(self.database, sought)
        pages = -(-found.total // catalogue.A_PAGE)
        said, again = ([], []) if asked.any else queries.said_of(self.database, ())
        return self.page(
            "home",
            asked=asked,
            fault="",
            found=found,
            sought=sought,
            **self._chart(sought),
            said=said[:NEWEST],
            again=again[:NEWEST],
            dearer_price=f"{found.dearer_from or 0:g}",
            following=asked.texts(page=str(sought.page + 1)) if sought.page < pages else {},
        )

    def _chart(self, sought: Sought, own: str = "") -> dict[str, Any]:
        """Of one load and one depth: that which was asked for, else the one that most products have."""
        shelf = shelf_of(self.database, sought.rw, sought.bs_bytes)
        known = shelf.depths()
        depth = sought.in_flight or max(known, key=lambda one: (known[one], one), default=1)
        if depth in known and depth not in shelf.charts:
            title = f"{views.load_name(sought.rw, sought.bs_bytes)}, {depth} in flight"
            currency, offers = catalogue.offers(shelf, depth)
            shelf.charts[depth] = pareto.chart(title, offers, currency, sought.bs_bytes)
        drawn = shelf.charts.get(depth)
        return {"chart": drawn and drawn.of(own), "depths": known}

    def results(self, request: Request) -> Response:
        """Results, the newest first."""
        words, of = (request.query_params.get(name, "")[:MOST_LETTERS] for name in ("q", "product"))
        viewer, cursor = self.viewer_of(request), request.query_params.get("cursor", "")
        found = queries.search(self.database, Wanted(words, of), viewer, cursor=cursor)
        return self.page("results", words=words, of=of, results=found.entries, next=found.next)

    def products(self, _request: Request) -> Response:
        """Where they were listed before."""
        return RedirectResponse("/", 308, headers=HEADERS)

    def product(self, request: Request) -> Response:
        """One product: what it does, what it costs, and everything that was said of it."""
        found = catalogue.product_of(self.database, request.path_params["id"])
        if found is None:
            raise HTTPException(404, "There is no such product, or none of its results is public.")
        # Conditions are not shown, and lie by themselves: a page of the disk for each result.
        of = Wanted(product_id=found.id)
        results = queries.search(self.database, of, limit=queries.MOST_ENTRIES, without="conditions").entries
        said, again = queries.said_of(self.database, [one.id for one in results])
        loads = views.loads(catalogue.loads_of(self.database, found.id))
        sought = Sought()
        of_it = [one for one in loads if (one["rw"], one["bs_bytes"]) == (sought.rw, sought.bs_bytes)] or loads[:1]
        for one in of_it[-1:]:  # what it has been measured with, of that the depth that gives most
            sought = replace(sought, **{name: one[name] for name in ("rw", "bs_bytes", "in_flight")})
        return self.page(
            "product",
            product=found,
            loads=loads,
            results=results,
            hardware=views.hardware(results),
            prices=pareto.history(results, found.currency),
            fits=views.fits(results),
            said=views.replies(said),
            again=again,
            **self._chart(sought, f"/products/{found.id}"),
        )

    # -- one result ----------------------------------------------------------------------------------------------

    def result(self, request: Request) -> Response:
        """A result with its map and everything that speaks for and against it."""
        one, readable = self._result(request)
        viewer, document = self.viewer_of(request), (self._document(one) or {}) if readable else {}
        marks = {row.get("mark") for row in document.get("rows", ())}
        return self.page(
            "result",
            result=one,
            notice=views.notice(one),
            withdrawn=not readable,
            document=document,
            moderates=viewer.moderates,
            replies_as=replies.role_of(one, viewer),
            corrected_by=queries.corrected_by(self.database, one.id, viewer),
            headlines=views.headlines(document.get("summary", one.summary)),
            maps=heat.maps(document.get("rows", ()), document.get("axes", {})),
            signs=[sign for one, sign in SIGNS.items() if sign[0] and one in marks],
            testbed=views.testbed(document),
            fits=views.fits([one]) if readable else [],
            replies=views.replies(queries.replies_of(self.database, one.id)),
            reproductions=queries.reproductions_of(self.database, one.id, viewer),
            citation=views.as_text(one, self.origin),
            trail=queries.traces_of(self.database, one.id, viewer),
            status_code=410 if one.state == State.WITHDRAWN and not readable else 200,
        )

    def explorer(self, request: Request) -> Response:
        """The whole map to explore; its script and data are in the one page."""
        one = self._readable(request)
        page = self.kept.explorer(one.bundle_sha256 or "")
        if page is None:
            raise HTTPException(404, "There is no map to explore: its bundle was deleted.")
        return HTMLResponse(page, headers={**HEADERS, "Content-Security-Policy": EXPLORER_POLICY})

    def data(self, request: Request) -> Response:
        """Its values as JSON, CSV or Parquet."""
        one = self._readable(request)
        document = self._document(one)
        form = request.path_params["form"]
        if document is None or form not in ("json", "csv", "parquet"):
            raise HTTPException(404, "There is no such download: take data.json, data.csv or data.parquet.")
        makers: dict[str, tuple[str, Callable[[], Any]]] = {
            "json": ("application/json", lambda: orjson.dumps(document)),
            "csv": ("text/csv; charset=utf-8", lambda: views.as_csv(document)),
            "parquet": ("application/vnd.apache.parquet", lambda: views.as_parquet(document)),
        }
        media, make = makers[form]
        return self._file(make(), media, f"{one.id}.{form}")

    def bibtex(self, request: Request) -> Response:
        one, _ = self._result(request)
        return self._file(views.as_bibtex(one, self.origin), "application/x-bibtex", f"{one.id}.bib")

    def badge(self, request: Request) -> Response:
        """For other people's pages."""
        one, readable = self._result(request)
        short, told = (views.few_words(one), views.badge_of(one).text) if readable else ("withdrawn", "withdrawn")
        fill = GREEN if readable and one.reproduced else GREY
        width = 70 + 14 + 7 * len(short)
        drawn = _TEMPLATES.get_template("badge.svg").render(text=short, told=told, fill=fill, width=width)
        headers = {**HEADERS, "Cross-Origin-Resource-Policy": "cross-origin"}
        return Response(drawn, media_type="image/svg+xml", headers=headers)

    # -- several results -----------------------------------------------------------------------------------------

    def compare(self, request: Request) -> Response:
        """Any set side by side; ranked only where they were measured alike."""
        table = self.table_of(request.query_params.getlist("id"), self.viewer_of(request))
        return self.page("compare", table=table, status_code=200 if table else 422)

    def table_of(self, named: Sequence[str], viewer: Viewer) -> ranking.Table | None:
        """None unless there are two or more, all of them to be read."""
        ids = [one for one in dict.fromkeys(named) if one][: queries.MOST_SIDES]
        sides = []
        for result_id in ids:
            one = queries.result_of(self.database, result_id, viewer)
            document = self._document(one) if one is not None and queries.may_read_data(one, viewer) else None
            if one is not None and document is not None:
                sides.append(ranking.Side(one.id, one.title, one.product, document, one.verified, one.owner))
        return ranking.compared(sides) if 2 <= len(sides) == len(ids) else None

    def feed(self, request: Request) -> Response:
        """The newest of a search as Atom: products; results where only words are given, or of one product."""
        asked, of = Asked.of(request.query_params), request.query_params.get("product", "")[:MOST_LETTERS]
        sought, of_products = replace(asked.sought(), sort=Sort.NEWEST, page=1), asked.texts(q="") and not of
        products = catalogue.search(self.database, sought).entries if of_products else ()
        found = () if of_products else queries.search(self.database, Wanted(asked.q, of), limit=FEED_ENTRIES).entries
        told = {"said": asked.texts(product=of), "sought": sought, "products": products, "results": found}
        text = _TEMPLATES.get_template("feed.xml").render(origin=self.origin, **told)
        return Response(text, media_type="application/atom+xml", headers=HEADERS)

    def sitemap(self, _request: Request) -> Response:
        """For search engines."""
        places = ["/", "/results", "/rules", *queries.addresses(self.database, MOST_PLACES)]
        text = _TEMPLATES.get_template("sitemap.xml").render(origin=self.origin, places=places)
        return Response(text, media_type="application/xml", headers=HEADERS)

    def rules(self, _request: Request) -> Response:
        """What the badge, the grade and the order mean."""
        return self.page("rules")

    # -- helpers -------------------------------------------------------------------------------------------------

    def fault(self, status: int, text: str) -> Response:
        """A page for an address that answers nothing else."""
        titles = {200: "Sent", 401: "Sign in", 404: "There is no such page", 410: "It is gone", 429: "Too many at once"}
        return self._render("fault", status, title=titles.get(status, "This is not possible"), text=text)

    def _result(self, request: Request) -> tuple[Result, bool]:
        """The result of the address, and whether its data may be read."""
        viewer = self.viewer_of(request)
        one = self.named(request, viewer)
        return one, queries.may_read_data(one, viewer)

    def _readable(self, request: Request) -> Result:
        """The result of the address, where its data may be read."""
        return readable(self.database, request.path_params["id"], self.viewer_of(request))

    def _document(self, one: Result) -> Mapping[str, Any] | None:
        """Its export."""
        return self.kept.document(one.bundle_sha256) if one.bundle_sha256 else None

    def signed_in(self, request: Request) -> tuple[Account, Viewer]:
        """Who asks. Raises 401 for nobody."""
        viewer = self.viewer_of(request)
        if viewer.account is None or not viewer.account_id:
            raise HTTPException(401, "This page is for who has an account.")
        return viewer.account, viewer

    def named(self, request: Request, viewer: Viewer) -> Result:
        """The result of the address. Raises as `api.found_result`."""
        return found_result(self.database, request.path_params["id"], viewer)

    def page(self, name: str, *, status_code: int = 0, **values: object) -> Response:
        """422 where it shows a `fault` and nothing else is said."""
        status = status_code or (422 if values.get("fault") else 200)
        return self._render(name, status, origin=self.origin or "URL", **values)

    def _render(self, name: str, status_code: int, **values: object) -> Response:
        text = _TEMPLATES.get_template(f"{name}.html").render(version=__version__, **values)
        return HTMLResponse(text, status_code, headers=HEADERS)

    def _file(self, content: str | bytes, media: str, name: str) -> Response:
        told = {**HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type=media, headers=told)
