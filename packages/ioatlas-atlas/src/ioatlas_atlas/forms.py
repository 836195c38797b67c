# SPDX-License-Identifier: Apache-2.0
"""Forms of the pages: taken from this service's own pages alone."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

Form = dict[str, str]
MOST_FIELDS = 50


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
