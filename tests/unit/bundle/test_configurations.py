# SPDX-License-Identifier: Apache-2.0
"""A bundle of configurations that were measured one after another: their records keep their names."""

import json
import shutil
import zipfile

import pytest

from ioatlas.bundle import statement
from ioatlas.bundle.pack import pack
from ioatlas.bundle.redaction import RedactPlan
from ioatlas.bundle.verify import verify
from ioatlas.model.outcomes import Voided, VoidedReplicate
from ioatlas.model.verdict import Reason, ReasonCode
from ioatlas.model.visit import Purpose
from ioatlas.store.journal import Journal
from tests.unit.bundle.made import bundle_file, campaign
from tests.unit.procedures.test_configurations import Switching
from tests.unit.simulated import Shell


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
