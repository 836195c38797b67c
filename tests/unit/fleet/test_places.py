# SPDX-License-Identifier: Apache-2.0
"""Private directories: gone with their session, or swept when it was killed."""

import subprocess
import sys
import tempfile

import pytest

from ioatlas.load.fleet.client import PrivateDirectory, sweep

KILLED = (
    "import os; from ioatlas.load.fleet.client import PrivateDirectory as P; "
    "print(P().path, flush=True); os.kill({}, 9)"
)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_what_a_killed_session_left_is_swept_and_no_other(temporary):
    mine = PrivateDirectory()
    assert mine.path.stat().st_mode & 0o77 == 0
    (temporary / "ioatlas-fleet-other").mkdir()
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, check=False)
    left = temporary / done.stdout.strip()
    assert left.is_dir()
    assert sweep() == [left]
    assert not left.exists()
    assert mine.path.is_dir()
    mine.close()
    mine.close()
    assert [one.name for one in temporary.iterdir()] == ["ioatlas-fleet-other"], "nothing says that its owner is dead"


def test_what_a_link_names_is_not_swept(temporary, tmp_path_factory):
    there = tmp_path_factory.mktemp("there")
    (there / "held").touch()
    (temporary / "ioatlas-fleet-link").symlink_to(there)
    assert sweep() == []
    assert (there / "held").exists()
