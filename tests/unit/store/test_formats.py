# SPDX-License-Identifier: Apache-2.0
"""Journals of every format, by version 0.3.0 on simulated targets, and of 0.1.0 and 0.2.0: each is loaded and shown."""

import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from ioatlas.measure.campaign import load_result
from ioatlas.store import schema
from tests.command_line import call

FOLDER = Path(__file__).parent / "formats"
READ, WRITE = 495, 782
RATES = {
    1: {("target", 1): READ},
    2: {("d1", 1): READ, ("d2", 1): READ, ("d1 write", 1): WRITE, ("d2 write", 1): WRITE},
    3: {("target", 1): 161},
    4: {("a + b", 1): READ, ("a + b", 2): 971},
    5: {("d1", 1): READ, ("d2", 1): READ, ("d1 write", 1): WRITE, ("d2 write", 1): WRITE},
    6: {("target write", 1): 60.3},
}
"""MB/s that version 0.3.0 gave, by target and number of targets loaded at once."""
OLDER = {"0.1.0": (564.61, 254.72), "0.2.0": (445.94, 195.58)}
"""MB/s of reads and writes, from visits that these versions made again (`fresh_bw_bytes_per_s` of 0.1.0)."""


@pytest.fixture(params=RATES)
def kept(request, tmp_path):
    """The format, and a directory with nothing but a journal of it."""
    return request.param, unpacked(f"{request.param}-of-0.3.0", tmp_path)


def unpacked(name, directory):
    with zipfile.ZipFile(FOLDER / f"{name}.zip") as packed:
        packed.extractall(directory)
    return directory


def test_there_is_one_of_every_format():
    assert list(RATES) == list(range(schema.FIRST_VERSION, schema.VERSION + 1))


def test_a_journal_of_an_earlier_format_gives_what_it_gave(kept):
    version, directory = kept
    with closing(sqlite3.connect(directory / "journal.sqlite")) as link:
        assert link.execute("pragma user_version").fetchone() == (version,)
    result = load_result(directory)
    found = {
        (f"{e.cell.target}{' write' * (e.direction == 'write')}", e.cell.n_targets): e.bw_bytes_per_s / 1e6
        for e in result.estimates
    }
    assert found == {cell: pytest.approx(rate, rel=0.03) for cell, rate in RATES[version].items()}
    first = result.estimates[0]
    assert [part.name for part in first.shares.parts] == ["a", "b"] if version == 3 else first.shares is None
    assert (first.lat_kind == "flushed") is (version == 6)
    assert result.n_visits == {2: 4, 5: 8}.get(version, 2)
    shown = call("show", directory)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "MiB/s" in shown.stdout


def test_journals_of_the_first_versions_are_read_and_compared(tmp_path):
    directories = {version: unpacked(f"1-of-{version}", tmp_path / version) for version in OLDER}
    for version, directory in directories.items():
        found = {e.direction: e.bw_bytes_per_s / 1e6 for e in load_result(directory).estimates}
        assert (found["read"], found["write"]) == pytest.approx(OLDER[version], rel=0.001)
        assert call("show", directory).returncode == 0
    compared = call("compare", *directories.values(), "--json")
    assert compared.returncode == 0
    assert [side["origin"] for side in json.loads(compared.stdout)["sides"]] == [*map(str, directories.values())]
