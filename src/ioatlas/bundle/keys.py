# SPDX-License-Identifier: Apache-2.0
"""Ed25519 keys: the user's own, those that the user trusts, and keys that OpenSSH made.

They lie in `ioatlas/keys` below $XDG_CONFIG_HOME, or ~/.config where that is not set:
    signing       the private key in OpenSSH's format, readable by its owner alone
    signing.pub   its public half, one line as in authorized_keys
    trusted       public keys that are trusted, one a line, the rest of the line a name
"""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ioatlas.answer.results.library import settings_file
from ioatlas.model.errors import IoAtlasError, RefusedError, UsageError, faults, written
from ioatlas.store.confined import NEW_FILE

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

KIND = "ssh-ed25519"
PASSPHRASE_VARIABLE = "IOATLAS_KEY_PASSPHRASE"  # noqa: S105 - the name of a variable
MOST_BYTES = 64 << 10
_NO_KEY = "name an Ed25519 key: `ioatlas atlas key new` makes one, `ssh-keygen -t ed25519` too"

_FIELD = 2**255 - 19
_EIGHTH = int.from_bytes(bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little")
SMALL_ORDER = frozenset((0, 1, _FIELD - 1, _EIGHTH, _FIELD - _EIGHTH))
"""y of the eight points of edwards25519 whose order divides 8 (RFC 7748, 4.1, and RFC 8032, 5.1.7)."""

AskPassphrase = Callable[[], str]


@dataclass(frozen=True)
class PublicKey:
    """raw: its 32 bytes. name: what the user calls it."""

    raw: bytes
    name: str = ""

    @property
    def blob(self) -> bytes:
        """As OpenSSH writes it: two fields, each with its length before it."""
        return b"".join(len(part).to_bytes(4, "big") + part for part in (KIND.encode(), self.raw))

    @property
    def line(self) -> str:
        """Kind and key as in authorized_keys, without a name."""
        return f"{KIND} {base64.b64encode(self.blob).decode()}"

    @property
    def fingerprint(self) -> str:
        """In OpenSSH's form, as `ssh-keygen -l` prints it."""
        return f"SHA256:{base64.b64encode(hashlib.sha256(self.blob).digest()).decode().rstrip('=')}"

    @property
    def proves(self) -> bool:
        """Whether a signature tells of its holder: of a point of small order anybody makes one that fits.

        What encodes a point in another form than RFC 8032 does, with y beyond the field, is no key either.
        """
        y = int.from_bytes(self.raw, "little") & (2**255 - 1)
        return len(self.raw) == 32 and y < _FIELD and y not in SMALL_ORDER

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Whether the signature is this key's over the message."""
        if not self.proves:
            return False
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True)
class SigningKey:
    """A private key and its public half."""

    private: Ed25519PrivateKey
    public: PublicKey

    def sign(self, message: bytes) -> bytes:
        return self.private.sign(message)

    def name_of(self, text: str) -> str:
        """The same of the same text, from a signature that is kept to oneself: who lacks the key can try no guess."""
        return hashlib.sha256(self.sign(b"ioatlas name\0" + text.encode())).hexdigest()[:16]


def folder() -> Path:
    return settings_file().parent / "keys"


def own_path() -> Path:
    """Of the private key."""
    return folder() / "signing"


def public_path(path: Path) -> Path:
    """Of the public half of a private key, as OpenSSH has it."""
    return path.with_name(f"{path.name}.pub")


def trusted_path() -> Path:
    return folder() / "trusted"


def read_public(text: str, where: str) -> PublicKey:
    """A line of authorized_keys or of a .pub file. Raises UsageError."""
    kind, _, rest = text.strip().partition(" ")
    data, _, name = rest.strip().partition(" ")
    try:
        blob = base64.b64decode(data, validate=True)
    except ValueError:
        blob = b""
    key = PublicKey(blob[-32:], name.strip())
    if kind != KIND or key.blob != blob:
        raise UsageError("this is no public Ed25519 key of OpenSSH's form", where=where, remedy=_NO_KEY)
    if not key.proves:
        raise UsageError("this key proves nothing: anybody can sign with it", where=where, remedy=_NO_KEY)
    return key


def make_key(path: Path, passphrase: str = "") -> PublicKey:
    """A new key at `path`, its public half beside it. Raises RefusedError when there is one already."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.generate()
    how = serialization.BestAvailableEncryption(passphrase.encode()) if passphrase else serialization.NoEncryption()
    text = private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, how)
    public = _public_of(private.public_key())
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, NEW_FILE, 0o600), "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        _put(public_path(path), f"{public.line}\n")
    except FileExistsError:
        raise RefusedError(
            "there is a key already, and it is never replaced",
            where=str(path),
            remedy="move it away by hand; what it signed stays verifiable with its public half",
        ) from None
    except OSError as error:
        raise IoAtlasError(
            f"the key cannot be written: {error.strerror}", where=str(path), remedy="set XDG_CONFIG_HOME"
        ) from error
    return public


def load_key(path: Path, ask: AskPassphrase | None = None) -> SigningKey:
    """A private key of OpenSSH's or of PEM form. ask: for its passphrase, where it has one. Raises UsageError."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    data = _private_bytes(path)
    try:
        private = _parsed(data, None, path)
    except TypeError:  # what cryptography raises for a key that has a passphrase
        passphrase = os.environ.get(PASSPHRASE_VARIABLE, "") or (ask() if ask is not None else "")
        if not passphrase:
            raise UsageError(
                "the key has a passphrase",
                where=str(path),
                remedy=f"type it on a terminal, or set {PASSPHRASE_VARIABLE}",
            ) from None
        private = _parsed(data, passphrase.encode(), path)
    if not isinstance(private, Ed25519PrivateKey):
        raise UsageError("this is a key of another kind than Ed25519", where=str(path), remedy=_NO_KEY)
    return SigningKey(private, _public_of(private.public_key()))


def _parsed(data: bytes, passphrase: bytes | None, path: Path) -> object:
    """Raises TypeError for a key that has a passphrase where none is given, UsageError for what is no key."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

    load = load_ssh_private_key if b"OPENSSH PRIVATE KEY" in data else load_pem_private_key
    try:
        return load(data, passphrase)
    except (ValueError, UnsupportedAlgorithm):
        what = "this is not its passphrase" if passphrase else "this is no private key"
        raise UsageError(what, where=str(path), remedy=_NO_KEY) from None


def _private_bytes(path: Path) -> bytes:
    """Of a file that its owner alone may read. Raises UsageError."""
    with faults(UsageError, "the key cannot be read", where=str(path), remedy=_NO_KEY):
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(file, "rb") as opened:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
            raise UsageError("this is no private key", where=str(path), remedy=_NO_KEY)
        if status.st_mode & 0o077 or status.st_uid not in (os.geteuid(), 0):
            raise RefusedError(
                "others may read this private key", where=str(path), remedy=f"`chmod 600 {path}`, and it must be yours"
            )
        return opened.read()


def _public_of(key: Ed25519PublicKey) -> PublicKey:
    return PublicKey(key.public_bytes_raw())


def own_public() -> PublicKey | None:
    """The public half of the user's own key; None without one. Raises UsageError for a file that is none."""
    path = public_path(own_path())
    text = _text_of(path)
    return None if text is None else read_public(text, str(path))


def _text_of(path: Path) -> str | None:
    """None where there is no file. Raises UsageError."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the key cannot be read: {error}", where=str(path)) from error


# -- trust ---------------------------------------------------------------------------------------------------


def trusted() -> list[PublicKey]:
    """Keys that the user trusts, the own one first. Raises UsageError for a line that is no key."""
    path, own = trusted_path(), own_public()
    lines = (_text_of(path) or "").splitlines()
    keys = [
        read_public(line, f"{path}:{number}")
        for number, line in enumerate(lines, start=1)
        if line.strip() and not line.startswith("#")
    ]
    return [*([PublicKey(own.raw, "own key")] if own else []), *keys]


def trust(key: PublicKey) -> bool:
    """Trust a key from now on; False when it was trusted already."""
    if any(key.raw == known.raw for known in trusted()):
        return False
    _write_trusted(f"{_text_of(trusted_path()) or ''}{key.line}{f' {key.name}' if key.name else ''}\n")
    return True


def distrust(fingerprint: str) -> bool:
    """Trust a key no longer; False when it was not trusted."""
    path = trusted_path()
    lines = (_text_of(path) or "").splitlines()
    kept = [
        line
        for line in lines
        if not line.strip() or line.startswith("#") or read_public(line, str(path)).fingerprint != fingerprint
    ]
    if len(kept) == len(lines):
        return False
    _write_trusted("".join(f"{line}\n" for line in kept))
    return True


def _write_trusted(text: str) -> None:
    path = trusted_path()
    with written(path, "set XDG_CONFIG_HOME", "the list of trusted keys"):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _put(path, text)


def _put(path: Path, text: str) -> None:
    new = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(new, NEW_FILE, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    new.replace(path)
