# SPDX-License-Identifier: Apache-2.0
"""An atlas for tests. real/postgresql runs these tests again over PostgreSQL."""

import hashlib
import json
import os
import pickle
import shutil
import socket
import threading
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path
from unittest import mock
from uuid import uuid4

import pytest
import sqlalchemy as sa
import uvicorn
from starlette.testclient import TestClient

from ioatlas.model.errors import IoAtlasError
from ioatlas_atlas import accounts, admission, derive, derived, extract
from ioatlas_atlas.admission import Limits
from ioatlas_atlas.app import make_app
from ioatlas_atlas.blobs import Blobs
from ioatlas_atlas.database import open_database
from ioatlas_atlas.derive import DOUBTS, EXPLORER, EXPORT
from ioatlas_atlas.migrations import migrate
from ioatlas_atlas.records import AccountKind
from ioatlas_atlas.uploads import Desk


@sa.event.listens_for(sa.Engine, "engine_connect")
def _hurry(connection) -> None:
    """An atlas of a test survives the death of its process, not that of the machine."""
    if connection.dialect.name == "sqlite" and "hurried" not in connection.info:  # once for each link to a file
        connection.info["hurried"] = True
        connection.connection.dbapi_connection.execute("PRAGMA synchronous=OFF")


@pytest.fixture(scope="module")
def apart():
    """Whether each upload is read, and made into pages, in a process of its own, as a service does it."""
    return False


@pytest.fixture(autouse=True)
def _each_upload_read_once(apart, monkeypatch, tmp_path_factory):
    """The same bytes give the same: in a run they are read once, and made into pages once, by whichever worker.

    That what reads them has limits is the subject of test_hostile.py; elsewhere a process would but take time to start.
    """
    base = tmp_path_factory.getbasetemp()
    kept = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"kept{' apart' * apart}"
    kept.mkdir(exist_ok=True)
    monkeypatch.setattr(admission, "read", partial(_read_once, admission_read if apart else _read_here, kept))
    make = admission.confined if apart else _made_here
    monkeypatch.setattr(derived, "confined", partial(_confined_once, make, kept))


def _read_here(path, declared, limits):
    place = path.parent / "reading" / "config"
    place.mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(place))
        told = extract._read(path, asdict(limits), asdict(declared))
    return admission._checked(json.dumps(told, allow_nan=False).encode())


def _made_here(module, path, limits, place, more=""):
    assert module == derive.__name__
    own = {name: place / name for name in (EXPORT, EXPLORER, DOUBTS)}
    with mock.patch.multiple(derive, confine=lambda _: None, Path=lambda name: own.get(name) or Path(name)):
        try:
            return derive.main([str(path), json.dumps(asdict(limits)), more])
        except IoAtlasError:  # a process would end with it
            return 1


def _read_once(how, kept, path, declared, limits):
    def read():
        try:
            return how(path, declared, limits)
        except admission.NotAdmittedError as error:
            return error.what, error.checks

    told = _once(kept, (path, declared, limits), read)
    if isinstance(told, tuple):
        raise admission.NotAdmittedError(*told)
    return told


def _confined_once(how, kept, module, path, limits, place, more=""):
    def made():
        code = how(module, path, limits, place, more)
        return code, {} if code else {name: (place / name).read_bytes() for name in (EXPORT, EXPLORER)}

    given = {one.name: one.read_bytes() for one in place.iterdir()}
    code, files = _once(kept, (path, module, limits, more, given), made)
    for name, content in files.items():
        (place / name).write_bytes(content)
    return code


def _once(kept, of, make):
    """What `make` gives of a bundle, the first of `of`."""
    path, *more = of
    place = kept / hashlib.sha256(path.read_bytes() + repr(more).encode()).hexdigest()
    if not place.exists():
        new = kept / uuid4().hex
        new.write_bytes(pickle.dumps(make()))
        new.rename(place)
    return pickle.loads(place.read_bytes())


admission_read = admission.read


@pytest.fixture
def empty(tmp_path):
    held = open_database(f"sqlite:///{tmp_path}/atlas.sqlite")
    yield held
    held.close()


@pytest.fixture
def another(tmp_path):
    """A second empty database."""
    held = open_database(f"sqlite:///{tmp_path}/another.sqlite")
    yield held
    held.close()


@pytest.fixture(scope="session")
def migrated(tmp_path_factory):
    """The file of an atlas in which nothing is yet."""
    path = tmp_path_factory.mktemp("migrated") / "atlas.sqlite"
    held = open_database(f"sqlite:///{path}")
    migrate(held)
    held.close()
    return path


@pytest.fixture
def database(empty, migrated, tmp_path):
    """Tables are made once: a copy of them is as good."""
    shutil.copyfile(migrated, tmp_path / "atlas.sqlite")
    return empty


@pytest.fixture
def blobs(tmp_path):
    return Blobs(tmp_path / "blobs")


@pytest.fixture
def desk(database, blobs):
    return Desk(database, blobs, Limits())


@pytest.fixture
def alice(database):
    return accounts.new_account(database, "anna")


@pytest.fixture
def client(database, blobs):
    with TestClient(make_app(database, blobs)) as one:
        yield one


@pytest.fixture
def people(database):
    """Headers of three accounts."""
    kinds = {"alice": AccountKind.MEMBER, "robert": AccountKind.MEMBER, "carol": AccountKind.MODERATOR}
    made = {name: accounts.new_account(database, name, kind) for name, kind in kinds.items()}
    return {name: {"Authorization": f"Bearer {accounts.new_token(database, one)}"} for name, one in made.items()}


@pytest.fixture
def service(database, blobs):
    """Its address and a token."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(make_app(database, blobs), log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    token = accounts.new_token(database, accounts.new_account(database, "alice"))
    yield f"http://127.0.0.1:{listening.getsockname()[1]}", token
    server.should_exit = True
    thread.join()
