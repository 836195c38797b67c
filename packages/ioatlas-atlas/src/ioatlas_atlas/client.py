# SPDX-License-Identifier: Apache-2.0
"""An atlas asked from afar: publish, search, fetch, over HTTP with nothing but the standard library."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, urlencode, urlsplit

from ioatlas import __version__
from ioatlas.model.errors import IoAtlasError, RefusedError, UsageError

TIMEOUT_SECONDS = 60
READING_SECONDS = 600
"""An atlas answers once it has read what was sent, after others' uploads that wait before it."""
MOST_ANSWER_BYTES = 16 << 20
MOST_BUNDLE_BYTES = 4 << 30
PIECE_BYTES = 64 << 10
OTHERWISE = 409
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class OtherwiseError(RefusedError):
    """The same was sent before, and said otherwise."""


class Client:
    """One service. Redirects are not followed: a token goes where the user sent it, and nowhere else."""

    def __init__(self, url: str, token: str = "") -> None:
        """Raises UsageError for an address that is none, or would carry a token in the clear over a network."""
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1 or parts.username:
            raise UsageError("this is no address of an atlas", where=url, remedy="write it as https://atlas.example")
        if parts.scheme == "http" and token and parts.hostname not in LOOPBACK:
            raise UsageError("a token is not sent in the clear", where=url, remedy="use https://")
        self.url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self._parts, self._port, self._token = parts, port, token

    def publish(
        self, bundle: Path, key: str, said: Mapping[str, str], told: Callable[[int], None] = lambda _: None
    ) -> dict[str, Any]:
        """Send a bundle; the same key gives the same result. said: what the publisher declares. Raises IoAtlasError."""
        with bundle.open("rb") as file:
            headers = {
                "Content-Type": "application/zip",
                "Content-Length": str(os.fstat(file.fileno()).st_size),
                "Idempotency-Key": key,
            }
            path = f"/api/v1/results?{urlencode(said)}"
            return self._json(*self._ask("POST", path, headers, _pieces(file, told), seconds=READING_SECONDS))

    def search(self, asked: Mapping[str, str], what: str = "results") -> dict[str, Any]:
        """A page of results, or of products."""
        return self.ask("GET", f"/api/v1/{what}?{urlencode(asked)}")

    def result(self, result_id: str) -> dict[str, Any]:
        """One result. Raises IoAtlasError."""
        return self.ask("GET", f"/api/v1/results/{quote(result_id, safe='')}")

    def reproduces(self, result_id: str, by: str) -> str:
        """What came of holding one's own result against another's there. Raises IoAtlasError."""
        path = f"/api/v1/results/{quote(result_id, safe='')}/reproductions"
        return str(self.ask("POST", path, {"by": by}, seconds=READING_SECONDS).get("outcome", ""))

    def ask(
        self, method: str, path: str, said: Mapping[str, Any] | None = None, *, seconds: float | None = None
    ) -> dict[str, Any]:
        """Any other request; {} where it answers nothing. said: as JSON. Raises IoAtlasError."""
        if said is None:
            return self._json(*self._ask(method, path, {}))
        body = json.dumps(said).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        return self._json(*self._ask(method, path, headers, [body], seconds=seconds))

    def fetch(self, result_id: str, path: Path, told: Callable[[int], None] = lambda _: None) -> int:
        """Its bundle, into a new file, whole or not at all; the bytes. Raises IoAtlasError."""
        connection, answer = self._ask("GET", f"/api/v1/results/{quote(result_id, safe='')}/bundle", {})
        new = path.with_name(f".{path.name}.{os.getpid()}")
        count = 0
        try:
            with new.open("xb") as file:
                while piece := answer.read(PIECE_BYTES):
                    count += len(piece)
                    if count > MOST_BUNDLE_BYTES:
                        raise IoAtlasError("it is larger than any bundle", where=self.url)
                    file.write(piece)
                    told(count)
            length = answer.getheader("Content-Length")
            if length is not None and int(length) != count:
                raise IoAtlasError("it broke off", where=self.url, remedy="fetch it again")
            os.link(new, path)  # fails where a file has come meanwhile
        except FileExistsError:
            raise UsageError("there is a file already", where=str(path), remedy="name another with -o") from None
        except (OSError, http.client.HTTPException) as error:
            raise IoAtlasError(f"it broke off: {error}", where=self.url, remedy="fetch it again") from error
        finally:
            new.unlink(missing_ok=True)
            connection.close()
        return count

    # -- one request ---------------------------------------------------------------------------------------------

    def _json(self, connection: http.client.HTTPConnection, answer: http.client.HTTPResponse) -> dict[str, Any]:
        """What is answered; the connection ends with it."""
        with contextlib.closing(connection):
            told = {} if answer.status == 204 else _object(answer, MOST_ANSWER_BYTES)
        if told is None:
            raise IoAtlasError("it does not answer as an atlas does", where=self.url, remedy="check the address")
        return told

    def _ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Iterable[bytes] | None = None,
        *,
        seconds: float | None = None,
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(str(self._parts.hostname), self._port, timeout=seconds or TIMEOUT_SECONDS)
        sent = {"User-Agent": f"ioatlas/{__version__}", "Accept": "application/json", **headers}
        if self._token:
            sent["Authorization"] = f"Bearer {self._token}"
        try:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may have answered before the end
                connection.request(method, f"{self._parts.path.rstrip('/')}{path}", body, sent)
            answer = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise IoAtlasError(
                f"it cannot be reached: {error or type(error).__name__}", where=self.url, remedy="check the address"
            ) from error
        if not 200 <= answer.status < 300:
            with contextlib.closing(connection):
                raise self._refusal(answer)
        return connection, answer

    def _refusal(self, answer: http.client.HTTPResponse) -> IoAtlasError:
        """An error from problem details (RFC 9457); its texts are a stranger's, and stay short and on one line."""
        told = _object(answer, PIECE_BYTES) or {}
        what = _line(told.get("detail") or told.get("title") or answer.reason or "it refused")
        remedy = _line(told.get("remedy") or REMEDIES.get(answer.status, ""))
        kind = RefusedError if answer.status in (400, 401, 403, 404, 409, 410, 413, 415, 422) else IoAtlasError
        kind = OtherwiseError if answer.status == OTHERWISE else kind
        return kind(f"{what} (HTTP {answer.status})", where=self.url, remedy=remedy)


REMEDIES = {
    **dict.fromkeys((301, 302, 308), "use the address that it moved to"),
    401: "set IOATLAS_TOKEN to a token of this service",
    403: "ask its keeper for a token that may do this",
    404: "check the id",
    413: "this service takes smaller bundles only",
    **dict.fromkeys((429, 503), "wait a while, then try again"),
}


def _object(answer: http.client.HTTPResponse, most_bytes: int) -> dict[str, Any] | None:
    """A JSON object; None for anything else."""
    try:
        told = json.loads(answer.read(most_bytes))
    except (OSError, ValueError, RecursionError, http.client.HTTPException):
        return None
    return told if isinstance(told, dict) else None


def _line(text: object) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in str(text))[:300].strip()


def _pieces(file: IO[bytes], told: Callable[[int], None]) -> Iterator[bytes]:
    count = 0
    while piece := file.read(PIECE_BYTES):
        yield piece
        count += len(piece)
        told(count)
