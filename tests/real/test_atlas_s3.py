# SPDX-License-Identifier: Apache-2.0
"""Bundles in a bucket of a real S3 service: versitygw, found on PATH or named by IOATLAS_S3_SERVER."""

import os
import shutil
import socket
import subprocess
import time

import pytest
from starlette.testclient import TestClient

from ioatlas.atlas import accounts
from ioatlas.atlas.app import make_app
from ioatlas.atlas.buckets import BucketError, open_bucket
from ioatlas.atlas.database import open_database
from ioatlas.atlas.migrations import migrate
from ioatlas.errors import UsageError
from tests.unit.atlas.made import OLD_BUNDLE

SERVER = os.environ.get("IOATLAS_S3_SERVER") or shutil.which("versitygw")
KEYS = {"AWS_ACCESS_KEY_ID": "atlas", "AWS_SECRET_ACCESS_KEY": "a-secret-of-tests"}
pytestmark = [pytest.mark.unmeasured, pytest.mark.skipif(SERVER is None, reason="needs versitygw, an S3 service")]


@pytest.fixture
def bucket(tmp_path):
    """(its address, the server's process)."""
    (tmp_path / "s3" / "bundles").mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    environment = {"PATH": os.environ["PATH"], "ROOT_ACCESS_KEY": "atlas", "ROOT_SECRET_KEY": "a-secret-of-tests"}
    command = [SERVER, "--port", f"127.0.0.1:{port}", "posix", "--nometa", str(tmp_path / "s3")]
    running = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 300
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/bundles", running
    finally:
        running.kill()
        running.wait()


def test_bundles_are_in_the_bucket_and_come_back_from_it(bucket, tmp_path):
    url, running = bucket
    database = open_database(f"sqlite:///{tmp_path}/atlas.sqlite")
    migrate(database)
    alice = accounts.new_account(database, "alice")
    mine = {"Authorization": f"Bearer {accounts.new_token(database, alice)}"}
    blobs, other = (open_bucket(tmp_path / name, url, KEYS) for name in ("one", "two"))
    with TestClient(make_app(database, blobs)) as client:
        sent = client.post("/api/v1/results", content=OLD_BUNDLE.read_bytes(), headers=mine)
        assert sent.status_code == 201, sent.text
        place = f"/api/v1/results/{sent.json()['id']}"
        (lies,) = (tmp_path / "s3" / "bundles").glob("??/*.zip")
        assert lies.read_bytes() == OLD_BUNDLE.read_bytes()
        with TestClient(make_app(database, other)) as second:  # another machine, with an empty folder
            assert second.get(f"{place}/bundle").content == OLD_BUNDLE.read_bytes()
            assert second.get(f"/r/{sent.json()['id']}").status_code == 200
        changed = bytearray(lies.read_bytes())
        changed[100] ^= 1
        lies.write_bytes(changed)
        third = open_bucket(tmp_path / "three", url, KEYS)
        with pytest.raises(BucketError, match="not those of its name"):
            third.path(lies.stem)
        assert not list((tmp_path / "three").rglob("*.zip"))
        assert client.delete(place, headers=mine).status_code == 204
        assert not list((tmp_path / "s3" / "bundles").rglob("*.zip"))
        assert not third.path(lies.stem).exists()
        running.kill()
        running.wait()
        again = client.post("/api/v1/results", content=OLD_BUNDLE.read_bytes(), headers=mine)
        assert again.status_code == 503  # not acknowledged: the bucket does not have it
        assert client.get("/api/v1/results").json()["entries"] == []
    database.close()


def test_a_bucket_that_is_not_there_or_not_ours_is_told(bucket, tmp_path):
    url, _ = bucket
    with pytest.raises(BucketError, match="no such bucket"):
        open_bucket(tmp_path / "one", url.replace("bundles", "others"), KEYS)
    with pytest.raises(BucketError, match="does not"):
        open_bucket(tmp_path / "two", url, {**KEYS, "AWS_SECRET_ACCESS_KEY": "wrong"})
    with pytest.raises(UsageError, match="no address"):
        open_bucket(tmp_path / "three", "ftp://x/y", KEYS)
