# SPDX-License-Identifier: Apache-2.0
"""Signing in with a provider on loopback: what is sound gets in, and each forged answer does not."""

import base64
import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
import sqlalchemy as sa
from cryptography.hazmat.primitives.asymmetric import rsa
from starlette.testclient import TestClient

from ioatlas.model.errors import UsageError
from ioatlas_atlas import accounts, browsers
from ioatlas_atlas.app import make_app
from ioatlas_atlas.oidc import Provider
from ioatlas_atlas.tables import account

KEY, OTHER = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
PUBLIC = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key())) | {"kid": "one", "use": "sig", "alg": "RS256"}


class Issuer(ThreadingHTTPServer):
    """Discovery, keys and tokens. It checks the verifier of PKCE; `claims` and `sign` are what a test forges."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Answers)
        self.issuer = f"http://127.0.0.1:{self.server_port}"
        self.asked, self.claims, self.said = {}, {}, {}
        self.sign = lambda claims: jwt.encode(claims, KEY, "RS256", headers={"kid": "one"})

    def token(self, form):
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).decode()
        if challenge.rstrip("=") != self.asked["code_challenge"] or form["code"] != "good":
            return {"error": "invalid_grant"}
        now = int(time.time())
        claims = {
            "iss": self.issuer, "aud": "atlas", "sub": "42", "iat": now, "exp": now + 300,
            "nonce": self.asked["nonce"], "preferred_username": "Dora D.",
        }  # fmt: skip
        changed = {name: value for name, value in {**claims, **self.claims}.items() if value is not None}
        return {"access_token": "x", "token_type": "Bearer", "id_token": self.sign(changed)}


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        at = self.server.issuer
        names = {"authorization_endpoint": "auth", "token_endpoint": "token", "jwks_uri": "keys"}
        told = {"issuer": at, **{name: f"{at}/{path}" for name, path in names.items()}, **self.server.said}
        self._say({"keys": [PUBLIC]} if self.path == "/keys" else told)

    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self._say(self.server.token({name: values[0] for name, values in parse_qs(text).items()}))

    def _say(self, told):
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def issuer():
    with Issuer() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def browser(database, blobs, issuer):
    with TestClient(
        make_app(database, blobs, provider=Provider(issuer.issuer, "atlas")), follow_redirects=False
    ) as one:
        yield one


def come_back(browser, issuer, **more):
    left = browser.get("/sign-in/provider")
    assert left.status_code == 303
    issuer.asked = {name: values[0] for name, values in parse_qs(urlsplit(left.headers["location"]).query).items()}
    assert issuer.asked["code_challenge_method"] == "S256"
    return browser.get("/sign-in/back", params={"code": "good", "state": issuer.asked["state"], **more})


def names(database):
    with database.reading() as link:
        return link.execute(sa.select(account.c.name).order_by(account.c.name)).scalars().all()


def test_who_the_provider_knows_gets_an_account_and_the_same_again(browser, issuer, database):
    accounts.new_account(database, "dora-d")  # another's: a name that is like it does not open it
    for _ in range(2):
        assert come_back(browser, issuer).headers["location"] == "/mine"
        assert "dora-d-2" in browser.get("/mine").text
    assert names(database) == ["dora-d", "dora-d-2"]
    with database.writing() as link:
        link.execute(sa.update(account).where(account.c.name == "dora-d-2").values(disabled_at=1.0))
    assert browser.get("/mine").status_code == 401
    assert come_back(browser, issuer).status_code == 403


def test_a_person_is_linked_to_an_account_by_the_operator(browser, issuer, database):
    vera = accounts.new_account(database, "vera")
    browsers.link_to(database, vera, issuer.issuer, "42")
    assert come_back(browser, issuer).status_code == 303
    assert "<h1>vera</h1>" in browser.get("/mine").text
    with pytest.raises(UsageError, match="has an account"):
        browsers.link_to(database, vera, issuer.issuer, "42")


FORGED = {
    "nonce": {"nonce": "other"},
    "no nonce": {"nonce": None},
    "issuer": {"iss": "https://evil.example"},
    "audience": {"aud": "other"},
    "audiences": {"aud": ["atlas", "other"]},
    "party": {"azp": "other"},
    "expired": {"exp": int(time.time()) - 3600},
    "no expiry": {"exp": None},
    "of tomorrow": {"iat": int(time.time()) + 86_400, "nbf": int(time.time()) + 86_400},
    "no subject": {"sub": None},
}


@pytest.mark.parametrize("claims", FORGED.values(), ids=FORGED)
def test_a_token_that_says_something_else_is_refused(browser, issuer, database, claims):
    issuer.claims = claims
    refused(come_back(browser, issuer), browser, database)


def _hmac_of_the_public_key(claims):
    """The old confusion: the public key taken for a shared secret."""
    plain = lambda value: base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=")  # noqa: E731
    text = plain({"alg": "HS256", "kid": "one"}) + b"." + plain(claims)
    return (text + b"." + base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=")).decode()


SIGNED = {
    "other key": lambda claims: jwt.encode(claims, OTHER, "RS256", headers={"kid": "one"}),
    "unknown key": lambda claims: jwt.encode(claims, OTHER, "RS256", headers={"kid": "two"}),
    "unsigned": lambda claims: jwt.encode(claims, None, "none", headers={"kid": "one"}),
    "shared secret": _hmac_of_the_public_key,
    "changed": lambda claims: jwt.encode(claims, KEY, "RS256", headers={"kid": "one"})[:-6] + "AAAAAA",
    "no token": lambda _claims: "",
}


@pytest.mark.parametrize("sign", SIGNED.values(), ids=SIGNED)
def test_a_token_that_the_provider_did_not_sign_is_refused(browser, issuer, database, sign):
    issuer.sign = sign
    refused(come_back(browser, issuer), browser, database)


@pytest.mark.parametrize(
    "more", [{"state": "other"}, {"state": ""}, {"code": ""}, {"code": "bad"}, {"iss": "https://evil.example"}]
)
def test_an_answer_to_another_question_is_refused(browser, issuer, database, more):
    refused(come_back(browser, issuer, **more), browser, database)


def test_an_answer_that_another_browser_brings_is_refused(browser, issuer, database):
    come_back(browser, issuer, code="")
    browser.cookies.clear()
    back = browser.get("/sign-in/back", params={"code": "good", "state": issuer.asked["state"]})
    refused(back, browser, database)


def test_a_provider_that_calls_itself_otherwise_or_leads_astray_is_refused(browser, issuer):
    issuer.said = {"issuer": "https://evil.example"}
    assert browser.get("/sign-in/provider").status_code == 403
    issuer.said = {"token_endpoint": "http://evil.example/token"}
    assert browser.get("/sign-in/provider").status_code == 400
    with pytest.raises(UsageError, match="https"):
        Provider("http://id.example", "atlas")


def refused(answer, browser, database):
    assert answer.status_code in (403, 502), answer.text
    assert browser.get("/mine").status_code == 401
    assert names(database) == []
