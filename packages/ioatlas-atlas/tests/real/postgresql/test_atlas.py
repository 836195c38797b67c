# SPDX-License-Identifier: Apache-2.0
"""The tests of the atlas that its database answers, again over a real PostgreSQL."""

import pytest
from made import OLD_BUNDLE, found, put
from test_backup import *  # noqa: F403
from test_catalogue import *  # noqa: F403
from test_migrations import *  # noqa: F403

from ioatlas_atlas import accounts
from ioatlas_atlas.backup import backup, restore
from ioatlas_atlas.blobs import Blobs
from postgresql import program
from postgresql.conftest import opened

pytestmark = [pytest.mark.unmeasured, pytest.mark.skipif(program("initdb") is None, reason="needs PostgreSQL")]


def test_moved_to_another_database_it_goes_on(postgresql, database, desk, alice, tmp_path):
    put(desk, alice, found("one"))
    backup(database, desk.blobs, tmp_path / "backup")
    with opened(postgresql) as again:
        restore(again, Blobs(tmp_path / "again"), tmp_path / "backup")
        assert accounts.new_account(again, "later").name == "later"  # its line in the audit log takes the next number


def test_its_server_killed_what_was_acknowledged_is_there_again(postgresql, client, people):
    place = "/api/v1/results"
    number = client.post(place, content=OLD_BUNDLE.read_bytes(), headers=people["alice"]).json()["id"]
    postgresql.stop("immediate")
    try:
        gone = client.get(place)
        assert (gone.status_code, gone.headers["content-type"]) == (503, "application/problem+json")
        assert str(postgresql.folder) not in gone.text
        assert client.get("/healthz").status_code == 503
        assert client.post(place, content=b"x", headers=people["alice"]).status_code == 503
    finally:
        postgresql.start()
    assert [hit["id"] for hit in client.get(place).json()["entries"]] == [number]
    assert client.get("/healthz").status_code == 200
