# SPDX-License-Identifier: Apache-2.0
"""The tests of the atlas again, over a real PostgreSQL."""

import contextlib

import pytest
import sqlalchemy as sa

from ioatlas.atlas import accounts
from ioatlas.atlas.backup import backup, restore
from ioatlas.atlas.blobs import Blobs
from ioatlas.atlas.database import open_database
from ioatlas.atlas.migrations import migrate
from tests.real.postgresql import cluster, program
from tests.unit.atlas import conftest as shared
from tests.unit.atlas.made import OLD_BUNDLE, found, put
from tests.unit.atlas.test_backup import *  # noqa: F403
from tests.unit.atlas.test_changes import *  # noqa: F403
from tests.unit.atlas.test_migrations import *  # noqa: F403
from tests.unit.atlas.test_mine import *  # noqa: F403
from tests.unit.atlas.test_moderation import *  # noqa: F403
from tests.unit.atlas.test_queries import *  # noqa: F403
from tests.unit.atlas.test_reply_form import *  # noqa: F403
from tests.unit.atlas.test_seen import *  # noqa: F403
from tests.unit.atlas.test_tidy import *  # noqa: F403
from tests.unit.atlas.test_uploads import *  # noqa: F403

del test_what_is_no_sound_bundle_is_refused_and_leaves_nothing  # noqa: F821 - before there is anything for a database

_each_upload_read_once, alice, blobs = shared._each_upload_read_once, shared.alice, shared.blobs
client, desk, people = shared.client, shared.desk, shared.people
pytestmark = [pytest.mark.unmeasured, pytest.mark.skipif(program("initdb") is None, reason="needs PostgreSQL")]


@pytest.fixture(scope="module")
def postgresql():
    with cluster() as running:
        yield running


@contextlib.contextmanager
def opened(postgresql, template="template1"):
    address = postgresql.new_database(template)
    held = open_database(address)
    yield held
    held.close()
    postgresql.drop(address)


@pytest.fixture
def empty(postgresql):
    with opened(postgresql) as held:
        yield held


@pytest.fixture
def another(postgresql):
    with opened(postgresql) as held:
        yield held


@pytest.fixture(scope="module")
def migrated(postgresql):
    """The name of an atlas's database in which nothing is yet."""
    address = postgresql.new_database()
    held = open_database(address)
    migrate(held)
    held.close()
    return sa.make_url(address).database


@pytest.fixture
def database(postgresql, migrated):
    """Tables are made once: a copy of them is as good."""
    with opened(postgresql, migrated) as held:
        yield held


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
    assert [hit["result"]["id"] for hit in client.get(place).json()["entries"]] == [number]
    assert client.get("/healthz").status_code == 200
