# SPDX-License-Identifier: Apache-2.0
"""Keys: made, read back, exchanged with OpenSSH, trusted."""

import json
import stat
import subprocess

import pytest

from ioatlas.bundle import keys
from ioatlas.model.errors import RefusedError, UsageError
from tests.command_line import call

LINE = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJUJ0QRhY7SdkRCjfuP1KW0l/azvgrNF2JeAW5rM7tqI alice"
FINGERPRINT = "SHA256:8eyWFUOyrz/rpdy0+I+ysqoTnPLFC3E5YmtI22DHkYs"
"""As `ssh-keygen -l` printed it for that line."""


@pytest.fixture(autouse=True)
def _own_settings(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv(keys.PASSPHRASE_VARIABLE, raising=False)


def test_a_new_key_is_its_owners_alone_and_is_never_replaced():
    public = keys.make_key(keys.own_path())
    assert stat.S_IMODE(keys.own_path().stat().st_mode) == 0o600
    assert keys.own_public().raw == public.raw
    with pytest.raises(RefusedError, match="already"):
        keys.make_key(keys.own_path())
    assert keys.load_key(keys.own_path()).public == public


def test_what_it_signs_only_it_verifies(tmp_path):
    one, other = (keys.make_key(tmp_path / name) for name in ("one", "other"))
    signature = keys.load_key(tmp_path / "one").sign(b"text")
    assert one.verifies(signature, b"text")
    assert not one.verifies(signature, b"texu")
    assert not other.verifies(signature, b"text")
    assert not one.verifies(signature[:-1], b"text")
    order = 2**252 + 27742317777372353535851937790883648493
    again = signature[:32] + (int.from_bytes(signature[32:], "little") + order).to_bytes(32, "little")
    assert not one.verifies(again, b"text"), "the same signature in another form"


IDENTITY = (1).to_bytes(32, "little")
TO_THE_EIGHTH = "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc"
SMALL = [
    *(value.to_bytes(32, "little") for y in (0, 1, 2**255 - 20) for value in (y, y | 1 << 255)),
    *(bytes.fromhex(TO_THE_EIGHTH + end) for end in ("05", "85")),
    *(bytes.fromhex(f"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03{end}") for end in ("7a", "fa")),
    *(value.to_bytes(32, "little") for y in (2**255 - 19, 2**255 - 18) for value in (y, y | 1 << 255)),
]
"""Every form of the points whose order divides 8, also those that RFC 8032 does not write."""


@pytest.mark.parametrize("raw", SMALL, ids=bytes.hex)
def test_a_key_that_anybody_can_sign_with_is_none(raw):
    key = keys.PublicKey(raw)
    forged = IDENTITY + bytes(32)  # one of eight messages fits, or every one
    assert not any(key.verifies(forged, bytes([number])) for number in range(64))
    with pytest.raises(UsageError):
        keys.read_public(key.line, "key")


def test_an_encoding_beyond_the_field_is_no_key():
    for y in range(2**255 - 19, 2**255):
        with pytest.raises(UsageError):
            keys.read_public(keys.PublicKey(y.to_bytes(32, "little")).line, "key")


def test_a_passphrase_is_asked_for_once(tmp_path, monkeypatch):
    keys.make_key(tmp_path / "key", "secret")
    with pytest.raises(UsageError, match="has a passphrase"):
        keys.load_key(tmp_path / "key")
    with pytest.raises(UsageError, match="not its passphrase"):
        keys.load_key(tmp_path / "key", lambda: "wrong")
    assert keys.load_key(tmp_path / "key", lambda: "secret")
    monkeypatch.setenv(keys.PASSPHRASE_VARIABLE, "secret")
    assert keys.load_key(tmp_path / "key")


@pytest.mark.needs("ssh-keygen")
@pytest.mark.parametrize("passphrase", ["", "secret"])
def test_keys_of_openssh_are_taken_and_ours_are_taken_by_it(tmp_path, passphrase):
    theirs = tmp_path / "theirs"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "me", "-f", theirs], check=True)
    key = keys.load_key(theirs, lambda: passphrase)
    told = subprocess.run(["ssh-keygen", "-l", "-f", theirs], capture_output=True, text=True, check=True).stdout
    assert key.public.fingerprint in told
    assert keys.read_public((tmp_path / "theirs.pub").read_text(), "").raw == key.public.raw
    ours = keys.make_key(tmp_path / "ours", passphrase)
    command = ["ssh-keygen", "-y", "-P", passphrase, "-f", tmp_path / "ours"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.startswith(ours.line)


def test_a_key_that_others_may_read_is_refused(tmp_path):
    keys.make_key(tmp_path / "key")
    (tmp_path / "key").chmod(0o640)
    with pytest.raises(RefusedError, match="others may read"):
        keys.load_key(tmp_path / "key")


@pytest.mark.parametrize(
    "text", ["", "x", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n", "-----BEGIN PRIVATE KEY-----"]
)
def test_what_is_no_key_is_one_message(tmp_path, text):
    (tmp_path / "key").write_text(text)
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(UsageError, match="no private key"):
        keys.load_key(tmp_path / "key")


@pytest.mark.parametrize(
    "line", ["", "ssh-rsa AAAA", "ssh-ed25519 AAAA", "ssh-ed25519 !", LINE.replace("Vhc", "x")[:60]]
)
def test_what_is_no_public_key_is_one_message(line):
    with pytest.raises(UsageError, match="no public Ed25519 key"):
        keys.read_public(line, "")


def test_a_fingerprint_is_that_of_openssh():
    assert keys.read_public(LINE, "").fingerprint == FINGERPRINT


def test_the_command_line_makes_shows_trusts_and_distrusts():
    assert "no key yet" in call("key", "show").stdout
    made = json.loads(call("key", "new", "--json").stdout)
    assert call("key", "new").returncode == 2
    assert call("key", "trust", LINE, "--fingerprint", "SHA256:other").returncode == 2
    assert "trusted" in call("key", "trust", LINE, "--fingerprint", FINGERPRINT).stdout
    assert "already" in call("key", "trust", LINE).stdout
    told = json.loads(call("key", "show", "--json").stdout)
    assert [(one["name"], one["fingerprint"]) for one in told] == [
        ("own key", made["fingerprint"]),
        ("alice", FINGERPRINT),
    ]
    assert call("key", "show", made["key"]).stdout.startswith(made["fingerprint"])
    assert "no longer" in call("key", "trust", "--remove", FINGERPRINT).stdout
    assert [one.name for one in keys.trusted()] == ["own key"]
