# SPDX-License-Identifier: Apache-2.0
"""Who may ask `ioatlas ui`: no other name, no other site, nobody without the token."""

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from ioatlas_atlas.ui.app import Gate, new_token

HOST = "127.0.0.1:8750"
HOSTS = frozenset({HOST, "localhost:8750"})


def echo(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"{request.method} {request.url.query}")


@pytest.fixture
def token() -> str:
    return new_token()


@pytest.fixture
def browser(token: str) -> TestClient:
    """One that opened the printed address."""
    app = Gate(Starlette(routes=[Route("/", echo, methods=["GET", "POST"])]), hosts=HOSTS, token=token)
    client = TestClient(app, base_url=f"http://{HOST}")
    opened = client.get(f"/?token={token}&q=nas", follow_redirects=False)
    assert opened.status_code == 303
    assert opened.headers["location"] == "/?q=nas"
    return client


def test_the_token_leaves_the_address_and_stays_as_a_cookie_of_this_site(browser: TestClient, token: str) -> None:
    opened = browser.get(f"/?token={token}", follow_redirects=False)
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(opened.headers["set-cookie"].split("; "))
    assert browser.get("/?q=nas").text == "GET q=nas"


def test_nobody_without_the_token(browser: TestClient) -> None:
    browser.cookies.clear()
    assert browser.get("/").status_code == 403
    assert browser.get("/?token=guessed").status_code == 403
    assert browser.get("/", headers={"Cookie": "ioatlas-8750=guessed"}).status_code == 403
    assert browser.post("/", headers={"Origin": f"http://{HOST}"}).status_code == 403


@pytest.mark.parametrize("name", ["evil.example", "evil.example:8750", "127.0.0.1", "127.0.0.1:8751", "", "[::1]:8750"])
def test_no_other_name_leads_here(browser: TestClient, name: str) -> None:
    assert browser.get("/", headers={"Host": name}).status_code == 403


@pytest.mark.parametrize(
    "origin",
    [None, "null", "http://evil.example", "https://127.0.0.1:8750", "http://127.0.0.1:8751", "http://127.0.0.1"],
)
def test_no_page_of_another_site_changes_anything(browser: TestClient, origin: str | None) -> None:
    headers = {} if origin is None else {"Origin": origin}
    assert browser.post("/", headers=headers).status_code == 403
    assert browser.post("/", headers={"Origin": f"http://{HOST}"}).text == "POST "


def test_nothing_is_kept_or_framed_or_guessed(browser: TestClient) -> None:
    headers = browser.get("/").headers
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    refused = browser.get("/", headers={"Host": "evil.example"}).headers
    assert "default-src 'none'" in refused["Content-Security-Policy"]
