# SPDX-License-Identifier: Apache-2.0
"""A bundle of any format where a campaign's directory is taken: read, never resumed, and nothing is written into it."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from ioatlas.bundle import opening, statement
from ioatlas.bundle.pack import pack
from ioatlas.bundle.redaction import RedactPlan
from ioatlas.bundle.verify import verify
from ioatlas.measure.campaign import load_result
from ioatlas.model.outcomes import Voided, VoidedReplicate
from ioatlas.model.verdict import Reason, ReasonCode
from ioatlas.model.visit import Purpose
from ioatlas.report.export.to_json import document
from ioatlas.store.journal import Journal
from tests.command_line import call
from tests.unit.bundle.made import bundle_file, campaign, packed
from tests.unit.procedures.test_configurations import Switching
from tests.unit.simulated import Shell


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


FOLDER = Path(__file__).parent / "formats"
BUNDLES = sorted(FOLDER.iterdir())
NOTED = {"values", "descriptors", "rules", "what ran"}
"""What a version with other methods or descriptors says of an older bundle without refusing it."""


def test_there_is_one_of_every_format():
    assert {path.name.partition("-")[0] for path in BUNDLES} == {str(n + 1) for n in range(statement.FORMAT)}


@pytest.mark.parametrize("path", BUNDLES, ids=lambda path: path.name.partition(".ioatlas")[0])
def test_it_is_read_and_made_again_from_its_raw_output(path):
    found = verify(path)
    assert not found.refused, found.checks
    noted = {check.name for check in found.checks if check.state not in ("passed", "told")}
    assert noted <= NOTED
    assert found.verified == (not noted)
    assert f"-of-{found.since}." in path.name
    assert {check.name for check in found.checks if check.differs} <= noted
    directory = opening.opened_directory(path)
    with opening.open_bundle(path).container as opened:
        kept = json.loads(opened.read(statement.RESULT))
    made = json.loads(json.dumps(document(load_result(directory))))
    # A law may tell a value from more than its own load.
    pairs = [(one["iops"], other["iops"]) for one, other in zip(made["rows"], kept["rows"], strict=True)]
    known = [(one, was) for one, was in pairs if was is not None]
    assert known
    assert [one for one, _ in known] == pytest.approx([was for _, was in known], rel=0.25)


@pytest.mark.long("bundle", "procedures")
def test_a_replicate_that_was_voided_as_a_whole_is_no_fault(tmp_path):
    """That it moved shows in no visit's own output. One of its visits alone may not be left out so."""
    shutil.copytree(campaign("dense"), tmp_path / "campaign")
    journal = Journal.open(tmp_path / "campaign")
    (target,) = {cell.target for cell, _ in journal.cells()}
    mine = [v.visit_id for v in journal.visits() if v.purpose is Purpose.SWEEP and v.replicate == 1]
    assert len(mine) > 1
    journal.keep(Voided((VoidedReplicate(target, 1, 3, "level -38% against the other replicates", len(mine), 0),)))
    reason = Reason(ReasonCode.VOIDED, f"{ReasonCode.VOIDED}: level -38% against the other replicates")
    failed = []
    for part in (mine[:1], mine):
        journal.discard_visits(part, reason)
        found = verify(bundle_file(tmp_path, pack(tmp_path / "campaign", plan=RedactPlan()).data()))
        failed.append([check.name for check in found.checks if check.state == "failed"])
    journal.close()
    assert failed == [["rules"], []]


@pytest.mark.long("bundle", "procedures")
@pytest.mark.usefixtures("no_law")  # the last: what others share was made with one
def test_records_of_one_configuration_are_no_users_at_a_host(tmp_path):
    world = Switching(tmp_path, blocks=2)
    world.run()
    found = Shell()("bundle", world.directory, "-o", tmp_path / "b.zip")
    assert found.returncode == 0, found.stderr
    name = next(name for name, table in statement.TABLES.items() if table == "outcome")
    with zipfile.ZipFile(tmp_path / "b.zip") as bundle:
        kept = {json.loads(line)["name"] for line in bundle.read(name).splitlines()}
    known = {row[0] for row in world.rows("select name from outcome where name like '%@d%'")}
    assert known
    assert known <= kept
