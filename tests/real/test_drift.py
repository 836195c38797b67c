# SPDX-License-Identifier: Apache-2.0
"""A target that wanders while it is measured is told, by its replicates; what was voided stays in the
journal.

The baseline visits of a larger sweep are in tests/unit/cli/test_map_simulated.py.
"""

import json

import pytest

from ioatlas import lab
from ioatlas.lab.running import missing
from ioatlas.model.outcomes import Voided
from ioatlas.store.journal import Journal
from tests.real.conftest import ioatlas

pytestmark = pytest.mark.usefixtures("own_lab")

SWEEP = """
visits = 8
window = "200ms"
order_seed = 2
[target]
name = "disk"
uri = "{uri}"
[sweep]
rw = ["read", "randread"]
bs = ["32k", "64k"]
size = "16m"
numjobs = [1, 2]
iodepth = 4
"""


def test_a_drifting_target_is_told_and_nothing_is_lost(tmp_path):
    needed = missing(lab.scenarios()["drifting"])
    if needed:
        pytest.skip(f"needs {needed}")
    # Over ten times slower and back within the sweep, whenever its probes are done.
    with lab.start("drifting", high_bytes_per_s=80_000_000, low_bytes_per_s=6_000_000, drift_seconds=10.0) as target:
        (tmp_path / "c.toml").write_text(SWEEP.format(uri=target.location))
        done = ioatlas("map", "--campaign", tmp_path / "c.toml", "-o", tmp_path / "c", "--read-only", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(ioatlas("show", tmp_path / "c", "--json").stdout)
    doubts = told["summary"]["doubts"]
    assert any(one["code"] == "drift" for one in (*told["findings"], *doubts)), doubts

    journal = Journal.open(tmp_path / "c")
    visits, voided = journal.visits(), journal.kept(Voided).replicates
    journal.close()
    swept = [visit for visit in visits if visit.purpose == "sweep"]
    assert len(voided) <= 2 * 8, "a block is repeated twice at most"
    for record in voided:
        mine = [visit for visit in swept if visit.replicate == record.replicate]
        assert mine
        assert all(visit.discarded for visit in mine)
        assert any(visit.replicate == record.again for visit in swept)
    assert {row["block"] for row in told["blocks"]} >= {record.replicate for record in voided}
    # Every cell keeps its visits: a voided block is made again.
    per_cell = [sum(visit.cell_key == row["cell"] and not visit.discarded for visit in swept) for row in told["rows"]]
    assert min(per_cell) >= 7
