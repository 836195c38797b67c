# SPDX-License-Identifier: Apache-2.0
"""The seal of a journal: a digest of plan, targets and cells under the key of this machine and user.

Whoever changes what a session would do, or brings a directory from elsewhere, has not the key. The seal is renewed in
the transaction that changes what it covers, so that no moment is without one. It says nothing of where the directory
lies: copied or moved on the same machine it stays valid. The key
is made at first use.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ioatlas.model.errors import IoAtlasError
from ioatlas.store import schema as t
from ioatlas.store.confined import NEW_FILE
from ioatlas.store.database import Database

NAME = "seal"
"""Of the outcome that holds it."""
VERSION = 1
NONE = "its plan carries no seal: it comes from an older ioatlas, or from elsewhere"
OTHER = "its plan was sealed on another machine or by another user, or was changed since"
ASKS = "[measure] or [power] of its testbed.toml was changed since it was sealed"


class Seals(Database):
    """The seal; without a key nothing is sealed."""

    _key: bytes | None = None

    def seal(self, key: bytes, asks: str) -> None:
        """Seal plan, targets and cells as they are, and from now on whenever they change. asks: what the facts file has
        the machine ask and measure.
        """
        self._key = key
        with self.together():
            self._put_seal(self._digest(key), _of_text(key, asks))

    def foreign(self, key: bytes, asks: str) -> str:
        """Why the plan is not one of this machine and user, as it was made; '' when it is: then its changes are
        sealed from now on.
        """
        kept, mine = self._kept_seal(), self._digest(key)
        if not kept:
            return NONE
        if not hmac.compare_digest(mine, str(kept.get("plan", "")).encode("ascii", "replace").decode()):
            return OTHER
        if not hmac.compare_digest(_of_text(key, asks), str(kept.get("asks", "")).encode("ascii", "replace").decode()):
            return ASKS
        self._key = key
        return ""

    def forget_processes(self) -> None:
        """Loads that ran elsewhere are none of this machine's."""
        self._do("UPDATE batch SET pid = NULL, pid_started = NULL")

    @contextlib.contextmanager
    def changing_plan(self) -> Iterator[None]:
        """A transaction that changes what the seal covers."""
        with self.together():
            yield
            if self._key is not None and (kept := self._kept_seal()):
                self._put_seal(self._digest(self._key), str(kept.get("asks", "")))

    def _kept_seal(self) -> dict[str, Any]:
        text = self._value("SELECT value_json FROM outcome WHERE name = :name", name=NAME)
        try:
            record = json.loads(text) if text else {}
        except (ValueError, RecursionError):
            return {}
        seal = record.get(NAME) if isinstance(record, dict) and record.get("version") == VERSION else None
        return seal if isinstance(seal, dict) else {}

    def _put_seal(self, plan: str, asks: str) -> None:
        record = {"version": VERSION, NAME: {"plan": plan, "asks": asks}}
        self._replace("outcome", "name", {"name": NAME, "value_json": json.dumps(record)})

    def _digest(self, key: bytes) -> str:
        """Of every row that says what a session does, in an order of its own."""
        found = hmac.new(key, digestmod=hashlib.sha256)
        for query in (
            "SELECT campaign_id, name, plan_json FROM campaign",
            f"SELECT {t.TABLES['target'].listed()} FROM target ORDER BY name",
            f"SELECT {t.TABLES['cell'].listed()} FROM cell ORDER BY cell_key",
        ):
            for row in self._rows(query):
                found.update(json.dumps(list(row)).encode() + b"\n")
            found.update(b"\n")
        return found.hexdigest()


def _of_text(key: bytes, text: str) -> str:
    return hmac.new(key, b"asks " + text.encode(), hashlib.sha256).hexdigest()


KEY_BYTES = 32
_MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))


def key_file() -> Path:
    """`$XDG_STATE_HOME/ioatlas/key`, `~/.local/state/ioatlas/key` where that is not set."""
    home = os.environ.get("XDG_STATE_HOME", "")
    # The specification of those directories has a relative one ignored.
    root = Path(home) if home.startswith("/") else Path("~/.local/state").expanduser()
    return root / "ioatlas" / "key"


def machine_key() -> bytes:
    """The key, of this machine and user alone even where homes are shared. Raises IoAtlasError when it cannot be made
    or others may read it.
    """
    path = key_file()
    try:
        secret = _read(path) or _make(path)
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home
        raise IoAtlasError(
            f"the key that signs campaigns cannot be used: {getattr(error, 'strerror', None) or error}",
            where=str(path),
            remedy="make its directory writable for you, or set XDG_STATE_HOME",
        ) from error
    return hmac.digest(secret, f"{_machine_id()} {os.geteuid()}".encode(), hashlib.sha256)


def _read(path: Path) -> bytes:
    """What the file holds; empty when there is none."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    with os.fdopen(file, "rb") as opened:
        status = os.fstat(file)
        data = opened.read(KEY_BYTES + 1) if stat.S_ISREG(status.st_mode) else b""
    if status.st_uid != os.geteuid() or status.st_mode & 0o077 or len(data) != KEY_BYTES:
        raise IoAtlasError(
            f"this is no key of yours alone: {KEY_BYTES} bytes that only you may read",
            where=str(path),
            remedy="remove it; the next campaign makes another, and those of before are resumed with --trust",
        )
    return data


def _make(path: Path) -> bytes:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_name(f"key.{os.getpid()}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(new, NEW_FILE, 0o600), "wb") as file:
        file.write(secrets.token_bytes(KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
    try:
        with contextlib.suppress(FileExistsError):
            os.link(new, path)  # another session may have made one meanwhile: that one counts
    finally:
        new.unlink()
    return _read(path)


def _machine_id() -> str:
    for path in _MACHINE_IDS:
        with contextlib.suppress(OSError):
            return path.read_text(encoding="ascii", errors="replace").strip()
    return os.uname().nodename
