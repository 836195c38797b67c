# SPDX-License-Identifier: Apache-2.0
"""What a request is answered that was not done, as problem details (RFC 9457)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse

MEDIA_TYPE = "application/problem+json"
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


def answer(status: int, detail: str, *, headers: Any = None, **more: Any) -> JSONResponse:
    """Without what is empty. more: remedy and checks."""
    wait = {"Retry-After": RETRY_SECONDS[status]} if status in RETRY_SECONDS else {}
    said = asdict(Problem(HTTPStatus(status).phrase, status, detail, **more))
    told = {name: value for name, value in said.items() if value}
    return JSONResponse(told, status, {**wait, **(headers or {})}, media_type=MEDIA_TYPE)
