# SPDX-License-Identifier: Apache-2.0
"""A bundle where a campaign's directory is taken: read, never resumed, and nothing is written into it."""

import json

import pytest

from tests.command_line import call
from tests.unit.bundle.made import campaign, packed


@pytest.fixture
def bundle(tmp_path):
    path = tmp_path / "nas1.ioatlas.zip"
    path.write_bytes(packed("trace").data())
    return path


def test_show_says_the_same_of_it_and_names_the_bundle(bundle):
    mine, told = (json.loads(call("show", one, "--json").stdout) for one in (campaign("trace"), bundle))
    assert told["rows"] == mine["rows"]
    screen = call("show", bundle)
    assert screen.returncode == 0
    assert str(bundle) in screen.stdout
    assert "ioatlas-bundle-" not in screen.stdout


def test_what_is_written_of_it_lies_here_under_its_name(bundle, tmp_path):
    assert call("report", bundle, cwd=tmp_path).stdout.strip() == "nas1-report.html"
    assert (tmp_path / "nas1-report.html").stat().st_size > 10_000
    assert call("export", bundle, "--format", "csv").stdout.splitlines()[0].count(",") > 20
    assert call("export", bundle, "--format", "svg", cwd=tmp_path).returncode == 0
    assert (tmp_path / "nas1-map.svg").exists()


def test_it_is_compared_and_listed(bundle, tmp_path):
    told = call("compare", bundle, campaign("trace"), "--json")
    assert told.returncode == 0, told
    assert json.loads(told.stdout)["sides"][0]["origin"] == str(bundle)
    (entry,) = json.loads(call("list", tmp_path, "--json").stdout)
    assert (entry["directory"], entry["state"]) == (str(bundle), "bundle")
    assert entry["targets"][0]["name"] == "target"
    (tmp_path / "bad.ioatlas.zip").write_bytes(b"x")
    assert "cannot be read" in call("list", tmp_path).stdout


def test_its_name_is_enough_where_it_lies_in_the_library(bundle, tmp_path, monkeypatch):
    monkeypatch.setenv("IOATLAS_RESULTS", str(tmp_path))
    assert call("show", bundle.name, cwd="/").returncode == 0


def test_it_is_never_resumed_nor_packed_again(bundle):
    for command in ("resume", "bundle"):
        told = call(command, bundle)
        assert told.returncode == 2
        assert "never resumed" in told.stderr


def test_one_that_was_changed_is_not_read(bundle):
    data = bytearray(bundle.read_bytes())
    data[len(data) // 2] ^= 1
    bundle.write_bytes(bytes(data))
    told = call("show", bundle)
    assert told.returncode == 1
    assert "Traceback" not in told.stderr
