# SPDX-License-Identifier: Apache-2.0
"""The key of this machine and user, made at first use: what it signs was begun here, by the same user."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path

from ioatlas.beneath import NEW_FILE
from ioatlas.errors import IoAtlasError

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
