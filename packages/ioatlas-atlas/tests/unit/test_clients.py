# SPDX-License-Identifier: Apache-2.0
"""`ioatlas atlas publish`, `search` and `fetch` against an atlas on loopback."""

import json
import os
import socket

import pytest
from made import OLD_BUNDLE, bundle_of_today, found, put
from tests.command_line import call

from ioatlas.model.errors import UsageError
from ioatlas_atlas.client import Client


def test_a_bundle_is_published_found_and_fetched(service, tmp_path):
    url, token = service
    said = ["publish", bundle_of_today(), "--to", url, "--sponsor", "none"]
    looked = call(*said, "--dry-run", "--json")
    told = json.loads(looked.stdout)
    assert looked.returncode == 0, looked.stderr
    assert (told["published"], told["verified"], told["state"]) == (False, True, "public")
    assert call("search", "--at", url).returncode == 3  # nothing was sent

    published = call(*said, "--yes", IOATLAS_TOKEN=token)
    assert published.returncode == 0, published.stderr
    address = published.stdout.split()[0]

    found = call("search", "--at", url)
    assert found.stdout.startswith(f"{address}  ")
    assert "recomputed" in found.stdout
    place = tmp_path / "fetched"
    place.mkdir()
    fetched = call("fetch", address, cwd=place)
    assert fetched.returncode == 0, fetched.stderr
    (path,) = place.iterdir()
    assert path.read_bytes() == bundle_of_today().read_bytes()
    assert "there is a file already" in call("fetch", address, cwd=place).stderr
    assert "There is no such result" in call("fetch", "nosuch", "--from", url, cwd=place).stderr
    assert list(place.iterdir()) == [path]  # nothing half-done is left
    path.unlink()
    for size in ("Fetching", ""):  # once
        shown = call("reproduce", address, tmp_path, "--dry-run", cwd=place)
        assert shown.returncode == 0, shown.stderr
        assert (path.exists(), "verified" in shown.stdout, size in shown.stderr) == (True, False, True)
    assert "check the id" in call("reproduce", f"{url}/r/nosuch", tmp_path, cwd=place).stderr


def test_a_bundle_that_was_published_before_is_told_as_that(service):
    url, token = service
    said = ["publish", OLD_BUNDLE, "--to", url, "--sponsor", "none", "--yes"]
    assert "already" not in call(*said, IOATLAS_TOKEN=token).stdout
    assert "it was there already" in call(*said, IOATLAS_TOKEN=token).stdout
    other = call(*said, "--conflict", "I work for Contoso", IOATLAS_TOKEN=token)
    assert other.returncode == 2
    assert "declared something else" in other.stderr
    assert "ioatlas atlas change" in other.stderr


def test_an_upload_is_waited_for_longer_than_an_answer(service, monkeypatch):
    url, token = service
    monkeypatch.setattr("ioatlas_atlas.client.TIMEOUT_SECONDS", 0.001)
    assert Client(url, token).publish(OLD_BUNDLE, "key", {})["state"] == "public"


def test_what_cannot_be_is_told_in_one_message(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nowhere = f"http://127.0.0.1:{taken.getsockname()[1]}"
    assert "it cannot be reached" in call("search", "--at", nowhere).stderr
    assert "this is no address of an atlas" in call("search", "--at", "ftp://x").stderr
    assert "is no number" in call("search", "--at", nowhere, "--iops", "many").stderr
    assert "which atlas is not said" in call("fetch", "4x7k").stderr
    assert "nobody agreed" in call("publish", OLD_BUNDLE, "--to", nowhere).stderr
    assert "is no date" in call("publish", OLD_BUNDLE, "--to", nowhere, "--embargo", "soon").stderr
    other = tmp_path / "other.zip"
    other.write_bytes(b"PK")
    assert "this is no bundle" in call("publish", other, "--to", nowhere, "--yes").stderr


def test_a_token_is_not_sent_in_the_clear_and_not_read_where_others_can(tmp_path):
    with pytest.raises(UsageError, match="in the clear"):
        Client("http://atlas.example", "ioa_x")
    tokens = tmp_path / "ioatlas" / "tokens"
    tokens.mkdir(parents=True)
    (tokens / "atlas.example").write_text("ioa_x")
    os.chmod(tokens / "atlas.example", 0o644)
    said = call("search", "--at", "https://atlas.example", XDG_CONFIG_HOME=str(tmp_path), IOATLAS_TOKEN="")
    assert "others can read this token" in said.stderr


def test_what_was_published_is_changed_and_deleted(service):
    url, token = service

    def said(*arguments):
        return call(*arguments, IOATLAS_TOKEN=token)

    published = said("atlas", "publish", OLD_BUNDLE, "--to", url, "--private", "--yes")
    address = published.stdout.split()[0]
    assert "would be public" in said("atlas", "change", address, "--public", "--dry-run").stderr
    assert call("search", "--at", url).returncode == 3
    refused = said("atlas", "change", address, "--public")
    assert (refused.returncode, "nobody agreed" in refused.stderr) == (2, True)
    assert said("atlas", "change", address, "--public", "--yes").stdout.startswith("public")
    again = said("atlas", "change", address, "--private", "--yes")
    assert (again.returncode, "cannot be made private" in again.stderr) == (2, True)
    assert "one change at a time" in said("atlas", "change", address).stderr
    assert said("atlas", "change", address, "--delete", "--yes").stdout == "deleted\n"
    assert call("fetch", address).returncode == 2


def test_a_backup_without_its_bundles_is_told_by_its_status(database, desk, alice, tmp_path):
    put(desk, alice, found())
    place = ["--database", f"sqlite:///{tmp_path}/atlas.sqlite"]
    lacking = call("serve", "backup", tmp_path / "lacking", *place, "--blobs", tmp_path / "elsewhere")
    assert (lacking.returncode, "1 result whose bundle is not there" in lacking.stderr) == (1, True)
    assert call("serve", "restore", tmp_path / "lacking", "--folder", tmp_path / "first").returncode == 1
    whole = call("serve", "backup", tmp_path / "whole", *place, IOATLAS_BLOBS=str(desk.blobs.folder))
    assert (whole.returncode, whole.stdout.startswith("1 result and 1 bundle written")) == (0, True), whole.stderr
    assert call("serve", "restore", tmp_path / "whole", "--folder", tmp_path / "second").returncode == 0
