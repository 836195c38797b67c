# SPDX-License-Identifier: Apache-2.0
"""The load of names as the program that it is."""

import json
import subprocess
import sys

import pytest

from ioatlas.load.fio.collect import SCRIPT, TOLD, names_process
from ioatlas.load.fio.names_load import rounded
from ioatlas.load.fio.output import parse_fio_json

JOBS, FILES = 2, 20


@pytest.fixture
def tree(tmp_path):
    for job in range(JOBS):
        folder = tmp_path / f"job.{job}"
        folder.mkdir()
        for number in range(FILES):
            (folder / f"f.{job}.{number}").touch()
    return tmp_path


def run(tree, operation, direction="read"):
    told = {
        "name": "v7-1",
        "operation": operation,
        "direction": direction,
        "jobs": JOBS,
        "files": FILES,
        "passes": 3,
        "top": str(tree),
        "folder": "job.$jobnum",
        "names": "job.$jobnum/f.$jobnum.$filenum",
        "renamed": "job.$jobnum/r.$jobnum.$filenum",
    }
    process = names_process(told, tree, limit_seconds=60)
    assert json.loads((tree / TOLD).read_text())["operation"] == operation
    return subprocess.run(
        [sys.executable, *process.arguments], cwd=tree, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize(("operation", "calls"), [("open", JOBS * FILES), ("list", JOBS * 3), ("rename", JOBS * FILES)])
def test_every_file_is_done_once_and_told_as_fio_tells(tree, operation, calls):
    way = "write" if operation == "rename" else "read"
    ended = run(tree, operation, way)
    assert (ended.returncode, ended.stderr) == (0, "")
    (output,) = parse_fio_json((tree / "fio.json").read_text()).outputs
    (job,) = output.jobs
    figures = job.directions[way]
    assert job.name == "v7-1"
    assert figures.total_ios == figures.io_bytes == calls
    assert figures.lat.samples == calls
    assert figures.lat.mean_ns > 0
    assert figures.runtime_ms >= 1
    mark = "r" if operation == "rename" else "f"
    assert len(list(tree.rglob(f"{mark}.*.*"))) == JOBS * FILES
    assert not list(tree.glob("*.times"))


def test_a_file_that_is_missing_is_named_and_nothing_is_told_as_measured(tree):
    (tree / "job.1/f.1.5").unlink()
    ended = run(tree, "open")
    assert ended.returncode != 0
    assert "No such file or directory" in ended.stderr
    assert "f.1.5" in ended.stderr
    assert not (tree / "fio.json").exists()


def test_it_needs_nothing_of_ioatlas():
    assert "import ioatlas" not in SCRIPT.read_text()
    assert "from ioatlas" not in SCRIPT.read_text()


@pytest.mark.parametrize("value", [1, 127, 128, 4321, 10**9])
def test_a_latency_keeps_its_first_bits(value):
    assert 0 <= value - rounded(value) <= value / 64
