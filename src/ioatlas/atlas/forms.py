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


def taken(origin_of: Callable[[Request], str], answer: Callable[[Request, Form], Response]) -> Callable[..., object]:
    """Answers a form of this service's own pages; a form of another site is refused."""

    async def take(request: Request) -> Response:
        if request.headers.get("origin", "") != origin_of(request):
            raise HTTPException(403, "This form was sent from another site.")
        text = (await request.body()).decode("utf-8", "replace")
        return await run_in_threadpool(answer, request, dict(parse_qsl(text, max_num_fields=50)))

    return take
