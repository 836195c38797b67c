# SPDX-License-Identifier: Apache-2.0
"""The page on which a vendor replies to a result, and its evaluator answers: shown first, sent then."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from ioatlas.model.errors import RefusedError, UsageError
from ioatlas_atlas import queries, replies, views
from ioatlas_atlas.api import needs
from ioatlas_atlas.bodies import Form, taken
from ioatlas_atlas.pages import Pages
from ioatlas_atlas.records import Account, Reply, Result, Scope


@dataclass(frozen=True)
class ReplyForm:
    """Anybody but the product's vendor and the evaluator gets 401, 403 or 404."""

    pages: Pages

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/r/{id}/reply", self.form),
            Route("/r/{id}/reply", taken(self.pages.origin, self.take), methods=["POST"]),
        ]

    def form(self, request: Request) -> Response:
        """With what the account said last, to change it."""
        found, account = self._allowed(request)
        said = self._mine(found, account)
        return self._page(found, account, text=said[0].text if said else "")

    def take(self, request: Request, form: Form) -> Response:
        """The button that was pressed says whether it is only looked at."""
        found, account = self._allowed(request)
        text = form.get("text", "")
        try:
            plain = replies.checked(text)
            if form.get("do") == "send":
                replies.write(self.pages.database, found, account, plain)
                return RedirectResponse(f"/r/{found.id}#replies", 303)
        except UsageError as error:
            return self._page(found, account, text=text, fault=f"{error.what}: {error.remedy}")
        return self._page(found, account, text=plain, preview=plain)

    def _page(self, found: Result, account: Account, *, text: str, preview: str = "", fault: str = "") -> Response:
        said = self._mine(found, account)
        said_so_far = views.replies(queries.replies_of(self.pages.database, found.id))
        return self.pages.page(
            "reply",
            result=found,
            account=account.name,
            role=views.role_words(replies.kind_of(found, account)),
            next_version=said[0].version + 1 if said else 1,
            most=replies.MOST_LETTERS,
            others=[one for one in said_so_far if one.account != account.name],
            text=text,
            preview=preview,
            fault=fault,
        )

    def _mine(self, found: Result, account: Account) -> list[Reply]:
        return [one for one in queries.replies_of(self.pages.database, found.id) if one.account_id == account.id]

    def _allowed(self, request: Request) -> tuple[Result, Account]:
        account, viewer = self.pages.signed_in(request)
        found = self.pages.named(request, viewer)
        needs(viewer, Scope.REPLY)
        try:
            replies.kind_of(found, account)
        except RefusedError as error:
            raise HTTPException(403, f"{error.what}: {error.remedy}") from None
        return found, account
