# SPDX-License-Identifier: Apache-2.0
"""An atlas whose disk is full: it says so, leaves nothing half-done, and goes on when there is room."""

import os
import subprocess

import pytest
from made import OLD_BUNDLE
from starlette.testclient import TestClient

from ioatlas_atlas import accounts
from ioatlas_atlas.app import make_app
from ioatlas_atlas.blobs import Blobs
from ioatlas_atlas.database import open_database
from ioatlas_atlas.migrations import migrate

RESULTS = "/api/v1/results"
MIB = 1 << 20
pytestmark = [pytest.mark.needs("root"), pytest.mark.unmeasured, pytest.mark.long("atlas")]


@pytest.fixture
def disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "atlas", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def filled(place, leave):
    """A file that takes all room but so many bytes."""
    room = os.statvfs(place)
    path = place / "filler"
    path.write_bytes(bytes(room.f_bavail * room.f_frsize - leave))
    return path


def test_a_full_disk_is_told_leaves_nothing_and_is_got_over(disk):
    held = open_database(f"sqlite:///{disk}/atlas.sqlite")
    migrate(held)
    blobs = Blobs(disk / "blobs")
    token = accounts.new_token(held, accounts.new_account(held, "alice"))
    headers = {"Authorization": f"Bearer {token}"}
    with TestClient(make_app(held, blobs), headers=headers) as client:

        def refused(data):
            said = client.post(RESULTS, content=data)
            assert (said.status_code, said.json()["detail"]) == (507, "there is no room for more")
            assert list((blobs.folder / "incoming").iterdir()) == []
            assert list(blobs.kept()) == []

        refused(os.urandom(9 * MIB))  # full while it comes in
        filler = filled(disk, MIB)
        refused(OLD_BUNDLE.read_bytes())  # it came in, and cannot be unpacked
        filler.unlink()
        filler = filled(disk, 0)
        refused(OLD_BUNDLE.read_bytes())
        filler.unlink()
        sent = client.post(RESULTS, content=OLD_BUNDLE.read_bytes())
        assert sent.status_code == 201, sent.text
        number = sent.json()["id"]
        filler = filled(disk, 0)
        page = client.get(f"/r/{number}")
        assert (page.status_code, "There is no room" in page.text or "no room" in page.text) == (507, True)
        assert client.get(f"{RESULTS}/{number}").status_code == 200
        assert client.post(f"{RESULTS}/{number}/withdraw", json={"reason": "x" * 500}).status_code in (204, 507)
        filler.unlink()
        assert client.get(f"/r/{number}").status_code in (200, 410)
    held.close()
