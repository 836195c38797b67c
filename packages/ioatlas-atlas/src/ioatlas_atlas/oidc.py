# SPDX-License-Identifier: Apache-2.0
"""Signing in with a provider of OpenID Connect: authorization code with PKCE; its ID token is verified here."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from ioatlas.model.errors import IoAtlasError, RefusedError, UsageError
from ioatlas_atlas.client import LOOPBACK

ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")
"""Signed with a key that only the provider has; never with a secret that this service has too, never unsigned."""
LEEWAY_SECONDS, KNOWN_SECONDS, TIMEOUT_SECONDS = 60, 3600.0, 10
MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Started:
    """What a browser keeps between leaving for the provider and coming back."""

    state: str
    nonce: str
    verifier: str

    @classmethod
    def of(cls, text: str) -> Started | None:
        parts = text.split(".")
        return cls(*parts) if len(parts) == 3 and all(parts) else None

    @property
    def text(self) -> str:
        return f"{self.state}.{self.nonce}.{self.verifier}"


@dataclass(frozen=True)
class Person:
    """subject: unique for the provider, and for good. name: that it would like."""

    subject: str
    name: str


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Provider:
    """One issuer, as which the operator registered this service."""

    def __init__(self, issuer: str, client: str, secret: str = "") -> None:
        """Raises UsageError for an issuer that is no https address, and where PyJWT is not installed."""
        _check_address(issuer, "--oidc-issuer")
        try:
            import jwt
        except ImportError as error:
            raise UsageError(
                "signing in with a provider needs PyJWT", where="--oidc-issuer", remedy="`pip install 'ioatlas[oidc]'`"
            ) from error
        self._jwt = jwt
        self.issuer, self.client, self._secret = issuer, client, secret
        self._lock = threading.Lock()
        self._known: tuple[float, dict[str, Any], list[Any]] | None = None
        self._opener = urllib.request.build_opener(_NoRedirects)

    def begin(self, back: str) -> tuple[str, Started]:
        """(where the browser goes, what it keeps). back: address that it comes back to."""
        started = Started(secrets.token_urlsafe(24), secrets.token_urlsafe(24), secrets.token_urlsafe(48))
        challenge = base64.urlsafe_b64encode(hashlib.sha256(started.verifier.encode()).digest()).decode().rstrip("=")
        asked = {
            "response_type": "code",
            "client_id": self.client,
            "redirect_uri": back,
            "scope": "openid profile email",
            "state": started.state,
            "nonce": started.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        place = str(self._metadata()[0]["authorization_endpoint"])
        return f"{place}{'&' if '?' in place else '?'}{urlencode(asked)}", started

    def finish(self, answer: Mapping[str, str], started: Started | None, back: str) -> Person:
        """Who came back. Raises RefusedError for an answer to another question, or a token that is not sound."""
        if started is None or not hmac.compare_digest(answer.get("state", ""), started.state):
            raise _refused("this browser did not ask for it")
        if answer.get("iss", self.issuer) != self.issuer:
            raise _refused("another provider answers")
        if not (code := answer.get("code")):
            raise _refused("the provider did not let you in")
        metadata, _ = self._metadata()
        asked = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "client_id": self.client,
            "code_verifier": started.verifier,
        }
        told = self._fetch(str(metadata["token_endpoint"]), asked)
        claims = self._verified(str(told.get("id_token", "")))
        if not hmac.compare_digest(str(claims.get("nonce", "")), started.nonce):
            raise _refused("its token is for another sign-in")
        email = str(claims.get("email") or "").partition("@")[0]
        return Person(str(claims["sub"]), str(claims.get("preferred_username") or email or claims.get("name") or ""))

    def _verified(self, text: str) -> dict[str, Any]:
        try:
            head = self._jwt.get_unverified_header(text)
            fits = self._keys(head.get("kid"))
            if head.get("alg") not in ALGORITHMS or len(fits) != 1:
                raise _refused("its token is signed with no key of the provider")
            claims: dict[str, Any] = self._jwt.decode(
                text,
                fits[0].key,
                algorithms=list(ALGORITHMS),
                audience=self.client,
                issuer=self.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except self._jwt.PyJWTError as error:
            raise _refused(f"its token is not sound: {type(error).__name__}") from error
        several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if (several or "azp" in claims) and claims.get("azp") != self.client:
            raise _refused("its token is for another service")
        return claims

    def _keys(self, kid: object) -> list[Any]:
        """Keys of that name; asked for anew where there is none: the provider may have a new one."""
        for again in (True, False):
            if found := [one for one in self._metadata()[1] if kid in (None, one.key_id)]:
                return found
            if again:
                with self._lock:
                    self._known = None
        return []

    def _metadata(self) -> tuple[dict[str, Any], list[Any]]:
        """What the provider says of itself, and its keys; asked for anew after a while."""
        with self._lock:
            if self._known and self._known[0] > time.monotonic():
                return self._known[1], self._known[2]
            found = self._fetch(f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
            if found.get("issuer") != self.issuer:
                raise _refused("the provider calls itself by another name")
            for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                _check_address(str(found.get(name, "")), name)
            try:
                keys = self._jwt.PyJWKSet.from_dict(self._fetch(str(found["jwks_uri"]))).keys
            except self._jwt.PyJWTError as error:
                raise _refused("the provider has no key that can be used") from error
            self._known = (time.monotonic() + KNOWN_SECONDS, found, list(keys))
            return found, list(keys)

    def _fetch(self, url: str, form: Mapping[str, str] | None = None) -> dict[str, Any]:
        request = urllib.request.Request(url, urlencode(form).encode() if form else None)  # noqa: S310
        request.add_header("Accept", "application/json")
        if form and self._secret:
            pair = base64.b64encode(f"{self.client}:{self._secret}".encode()).decode()
            request.add_header("Authorization", f"Basic {pair}")
        try:
            with self._opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
                told: dict[str, Any] = {**json.loads(answer.read(MOST_BYTES))}
        except urllib.error.HTTPError as error:
            raise ProviderError(f"the provider refuses: {_line(error)}", where=url, remedy=_REMEDY) from error
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise ProviderError("the provider does not answer as it should", where=url, remedy="try again") from error
        return told


class ProviderError(IoAtlasError):
    """It cannot be asked."""


_REMEDY = "look at --oidc-client and IOATLAS_OIDC_SECRET, and at what is registered there"


def _line(error: urllib.error.HTTPError) -> str:
    """For the service's own log: what it says, cut short."""
    try:
        text = error.read(500).decode("utf-8", "replace")
    except OSError:
        text = ""
    return f"HTTP {error.code} {''.join(letter if letter.isprintable() else ' ' for letter in text)}".strip()


def _check_address(url: str, where: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise UsageError("a provider has an https:// address", where=where, remedy="https://id.example")


def _refused(what: str) -> RefusedError:
    return RefusedError(f"you are not signed in: {what}", where="sign-in", remedy="sign in again")
