# SPDX-License-Identifier: Apache-2.0
"""The atlas of the unit tests over a real PostgreSQL."""

import contextlib

import pytest
import served as shared
import sqlalchemy as sa

from ioatlas_atlas.database import open_database
from ioatlas_atlas.migrations import migrate
from postgresql import cluster

_each_upload_read_once, apart, alice, blobs = (shared._each_upload_read_once, shared.apart, shared.alice, shared.blobs)
client, desk, people, service = shared.client, shared.desk, shared.people, shared.service


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
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
