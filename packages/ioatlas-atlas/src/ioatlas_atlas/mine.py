# SPDX-License-Identifier: Apache-2.0
"""The pages of who is signed in: its results, and what it changes of a result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from ioatlas.model.errors import RefusedError, UsageError
from ioatlas_atlas import accounts, browsers, changes, queries, removal
from ioatlas_atlas.admission import Limits
from ioatlas_atlas.api import needs
from ioatlas_atlas.blobs import Blobs
from ioatlas_atlas.bodies import Form, taken
from ioatlas_atlas.changes import Change
from ioatlas_atlas.fairness import day_of
from ioatlas_atlas.oidc import Provider, Started
from ioatlas_atlas.pages import Pages
from ioatlas_atlas.records import Result, Scope, Viewer

STARTED, STARTED_SECONDS = "ioatlas-sign-in", 600


@dataclass(frozen=True)
class Mine:
    """limits: of an account. provider: of OpenID Connect, None where there is none."""

    pages: Pages
    blobs: Blobs
    limits: Limits
    provider: Provider | None = None

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/sign-in", self.sign_in),
            Route("/sign-in", self._form(self.sign_in_with_token), methods=["POST"]),
            Route("/sign-in/provider", self.leave),
            Route("/sign-in/back", self.back),
            Route("/sign-out", self._form(self.sign_out), methods=["POST"]),
            Route("/mine", self.mine),
            Route("/mine/token", self._form(self.token), methods=["POST"]),
            Route("/mine/{id}", self.one),
            Route("/mine/{id}", self._form(self.change), methods=["POST"]),
        ]

    def _form(self, answer: Callable[[Request, Form], Response]) -> Callable[..., object]:
        return taken(self.pages.origin, answer)

    # -- signing in ------------------------------------------------------------------------------------------------

    def sign_in(self, _request: Request, fault: str = "") -> Response:
        status = 403 if fault else 200
        return self.pages.page("sign-in", provider=bool(self.provider), fault=fault, status_code=status)

    def sign_in_with_token(self, request: Request, form: Form) -> Response:
        """With a token of the command line."""
        text = form.get("token", "").strip()
        viewer = accounts.viewer_of(self.pages.database, text)
        if viewer is None:
            return self.sign_in(request, "This token is not good.")
        return self._signed_in(request, browsers.sign_in(self.pages.database, viewer))

    def leave(self, request: Request) -> Response:
        """To the provider."""
        place, started = self._provider().begin(self._back())
        answer = RedirectResponse(place, 303)
        self._cookie(request, answer, STARTED, started.text, STARTED_SECONDS)
        return answer

    def back(self, request: Request) -> Response:
        """From the provider."""
        provider = self._provider()
        started = Started.of(request.cookies.get(STARTED, ""))
        person = provider.finish(dict(request.query_params), started, self._back())
        of = browsers.account_of(self.pages.database, provider.issuer, person.subject, person.name)
        viewer = Viewer(of, frozenset(accounts.DEFAULT_SCOPES[of.kind]))
        answer = self._signed_in(request, browsers.sign_in(self.pages.database, viewer))
        answer.delete_cookie(STARTED)
        return answer

    def sign_out(self, request: Request, _form: Form) -> Response:
        browsers.sign_out(self.pages.database, request.cookies.get(browsers.COOKIE, ""))
        answer = RedirectResponse("/", 303)
        answer.delete_cookie(browsers.COOKIE)
        return answer

    def _provider(self) -> Provider:
        if self.provider is None:
            raise HTTPException(404, "This atlas has no provider to sign in with.")
        return self.provider

    def _back(self) -> str:
        return f"{self.pages.origin}/sign-in/back"

    def _signed_in(self, request: Request, secret: str) -> Response:
        answer = RedirectResponse("/mine", 303)
        self._cookie(request, answer, browsers.COOKIE, secret, browsers.SECONDS)
        return answer

    def _cookie(self, request: Request, answer: Response, name: str, value: str, seconds: int) -> None:
        secure = request.url.scheme == "https" or self.pages.origin.startswith("https://")
        answer.set_cookie(name, value, max_age=seconds, httponly=True, samesite="lax", secure=secure)

    # -- what is one's own -----------------------------------------------------------------------------------------

    def mine(self, request: Request, token: str = "") -> Response:
        """Results in every state, newest first."""
        account, viewer = self.pages.signed_in(request)
        cursor = request.query_params.get("cursor", "")
        found = queries.owned(self.pages.database, viewer, cursor)
        return self.pages.page(
            "mine",
            account=account,
            limits=self.limits,
            results=found.entries,
            token=token,
            next=f"/mine?cursor={found.next}" if found.next else "",
            moderates=viewer.moderates,
        )

    def token(self, request: Request, form: Form) -> Response:
        """A new token, shown once."""
        account, viewer = self.pages.signed_in(request)
        label = form.get("label", "")[:60]
        made = accounts.new_token(self.pages.database, account, viewer.scopes, label=label, made_with=viewer.token_id)
        return self.mine(request, made)

    def one(self, request: Request, fault: str = "") -> Response:
        """What can be changed of a result."""
        found = self._own(request, self.pages.signed_in(request)[1])
        return self.pages.page("change", result=found, fault=fault)

    def change(self, request: Request, form: Form) -> Response:
        """One change: the button that was pressed says which."""
        _, viewer = self.pages.signed_in(request)
        found = self._own(request, viewer)
        needs(viewer, Scope.PUBLISH)
        try:
            self._do(found, viewer, form)
        except (RefusedError, UsageError) as error:
            return self.one(request, f"{error.what}: {error.remedy}")
        return RedirectResponse("/mine" if form.get("do") == "delete" else f"/mine/{found.id}", 303)

    def _do(self, found: Result, viewer: Viewer, form: Form) -> None:
        do, text = form.get("do", ""), form.get("text", "").strip()
        if do in ("permission", "withdraw") and not (text and len(text) <= 400 and text.isprintable()):
            raise UsageError("a line of up to 400 characters is missing", remedy="write one")
        wishes = {
            "permission": lambda: Change(permission=text),
            "embargo": lambda: Change(embargo=day_of(text, "embargo")),
            "public": lambda: Change(private=False),
            "private": lambda: Change(private=True),
        }
        if do in wishes:
            changes.change(self.pages.database, found, viewer, wishes[do]())
        elif do == "withdraw":
            removal.withdraw(self.pages.database, found, viewer, text)
        elif do == "delete":
            if text != found.id:
                raise UsageError("its id was not typed", remedy="type it, so that nothing is deleted by mistake")
            removal.delete(self.pages.database, self.blobs, found, viewer)
        else:
            raise UsageError("nothing was chosen", remedy="press one of the buttons")

    def _own(self, request: Request, viewer: Viewer) -> Result:
        found = self.pages.named(request, viewer)
        if not viewer.owns(found):
            raise HTTPException(404, "You have no such result.")
        return found
