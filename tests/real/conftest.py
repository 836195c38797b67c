# SPDX-License-Identifier: Apache-2.0
"""What tests on real targets share."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.command_line import call
from tests.real.target_lab import Bench


def ioatlas(*arguments, cwd=None):
    """Run the tool; returns what it ended with and printed. What is sent signals is started by `start`."""
    return call(*arguments, cwd=cwd)


@pytest.fixture
def own_temporary(monkeypatch):
    """A directory that this test's own temporary files go to: what is left there, this test left, whoever runs beside.

    Its name is short, since sockets lie in it.
    """
    with tempfile.TemporaryDirectory(prefix="iow", dir="/tmp") as place:
        monkeypatch.setattr(tempfile, "tempdir", place)
        yield Path(place)


@pytest.fixture
def bench(tmp_path):
    """What a test makes of devices and mounts below its directory is taken down."""
    bench = Bench(tmp_path)
    yield bench
    bench.clear()


def start(*arguments):
    """Start the tool as a user would, in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "ioatlas", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        stdin=subprocess.DEVNULL,
    )


@contextlib.contextmanager
def disk_directory():
    """A directory on a real disk (not a tmpfs) that takes direct I/O."""
    place = Path(os.environ.get("IOATLAS_TEST_DISK", "/var/tmp")) / f"ioatlas-test-{os.getpid()}-{os.urandom(3).hex()}"
    place.mkdir()
    try:
        yield place
    finally:
        shutil.rmtree(place)


@pytest.fixture
def disk_dir():
    """A directory on a real disk of one test alone."""
    with disk_directory() as place:
        yield place


@pytest.fixture
def own_lab(monkeypatch):
    """A lab directory of this test alone; whatever it leaves running is taken down."""
    from ioatlas_lab import instance

    # Unix socket paths end at 107 characters, and pytest's own directories are longer.
    with tempfile.TemporaryDirectory(prefix="iol", dir="/tmp") as folder:
        monkeypatch.setenv("IOATLAS_LAB_DIR", f"{folder}/l")
        yield
        for one in instance.instances():
            assert instance.take_down(one.directory) == []


def needs(name):
    """Skips a test whose lab target cannot be started here."""
    from ioatlas_lab.running import missing, scenarios

    if missing(scenarios()[name]) or (scenarios()[name].needs_root and os.geteuid() != 0):
        pytest.skip(f"{name} cannot be started here")


def rows(journal, query):
    """Rows of a campaign's journal, read from outside by the plain driver."""
    link = sqlite3.connect(journal / "journal.sqlite")
    try:
        return link.execute(query).fetchall()
    except sqlite3.OperationalError:  # its tables are being made
        return []
    finally:
        link.close()
