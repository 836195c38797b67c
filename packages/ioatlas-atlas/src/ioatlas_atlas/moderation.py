# SPDX-License-Identifier: Apache-2.0
"""The pages of moderators: a decision on a result with its reason, and who decided what before."""

from __future__ import annotations

import time
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from ioatlas.model.errors import RefusedError, UsageError
from ioatlas_atlas import accounts, audit, changes, queries
from ioatlas_atlas.bodies import Form, taken
from ioatlas_atlas.changes import DECIDED, Decision
from ioatlas_atlas.pages import Pages
from ioatlas_atlas.records import Viewer

MOST_DECISIONS, MOST_NOTES, MOST_LETTERS, DAY_SECONDS = 50, 100, 500, 86_400
NOTED = "note"
"""Of the audit log: what visitors tell the moderators, so many in a day."""


@dataclass(frozen=True)
class Moderation:
    """Anybody else than a moderator gets 401 or 403."""

    pages: Pages

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/moderate", self.decisions),
            Route("/moderate/account", taken(self.pages.origin, self.account), methods=["POST"]),
            Route("/moderate/{id}", self.one),
            Route("/note", taken(self.pages.origin, self.note), methods=["POST"]),
            Route("/moderate/{id}", taken(self.pages.origin, self.decide), methods=["POST"]),
        ]

    def decisions(self, request: Request, token: str = "") -> Response:
        """The newest ones. token: of an account that was just made."""
        self._moderator(request)
        return self.pages.page(
            "moderate",
            decisions=audit.entries(self.pages.database, MOST_DECISIONS, begins=DECIDED),
            notes=self._notes(),
            token=token,
        )

    def note(self, request: Request, form: Form) -> Response:
        """Anybody reports a result, or asks for an account: moderators read it."""
        text, of = form.get("text", "").strip(), self.pages.viewer_of(request).account_id or audit.VISITOR
        if not text or len(text) > MOST_LETTERS or not text.isprintable():
            raise HTTPException(422, f"A note is one line of up to {MOST_LETTERS} characters.")
        if sum(one.at > time.time() - DAY_SECONDS for one in self._notes()) >= MOST_NOTES:
            raise HTTPException(429, "Many notes were sent today: send yours tomorrow.")
        with self.pages.database.writing() as link:
            audit.note(link, of, NOTED, form.get("about", "")[:20], text=text)
        return self.pages.fault(200, "Thank you. The moderators of this atlas read it.")

    def account(self, request: Request, form: Form) -> Response:
        """For who asked for one. Its token is shown once, and the moderator passes it on."""
        by = self._moderator(request).account_id
        made = accounts.new_account(self.pages.database, form.get("name", "").strip(), by=by)
        return self.decisions(request, accounts.new_token(self.pages.database, made, by=by))

    def one(self, request: Request, fault: str = "") -> Response:
        """One result: why it is doubted, what happened to it, and the form."""
        viewer = self._moderator(request)
        found = self.pages.named(request, viewer)
        return self.pages.page(
            "decide",
            result=found,
            own=viewer.owns(found),
            fault=fault,
            doubts=[one for one in found.checks if one["state"] in ("failed", "note")],
            trail=queries.traces_of(self.pages.database, found.id, viewer),
        )

    def decide(self, request: Request, form: Form) -> Response:
        """The button that was pressed says what."""
        viewer = self._moderator(request)
        found = self.pages.named(request, viewer)
        try:
            if form.get("do") not in tuple(Decision):
                raise UsageError("nothing was chosen", remedy="press one of the buttons")
            changes.decide(self.pages.database, found.id, Decision(form["do"]), form.get("reason", "").strip(), viewer)
        except (RefusedError, UsageError) as error:
            return self.one(request, f"{error.what}: {error.remedy}")
        return RedirectResponse("/moderate", 303)

    def _notes(self) -> list[audit.Entry]:
        return audit.entries(self.pages.database, MOST_NOTES, begins=NOTED)

    def _moderator(self, request: Request) -> Viewer:
        _, viewer = self.pages.signed_in(request)
        if not viewer.moderates:
            raise HTTPException(403, "Only moderators decide.")
        return viewer
