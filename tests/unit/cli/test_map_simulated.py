# SPDX-License-Identifier: Apache-2.0
"""`ioatlas map` on simulated targets: a budget that is too small, a target that wanders, loads that are not paced."""

import json

import pytest

from ioatlas.model.outcomes import Voided
from ioatlas.store.journal import Journal
from tests.simulate.law import Burst, Law, Way
from tests.unit.simulated import Shell


def mapped(shell, directory, *arguments):
    """(events, the result) of a finished campaign."""
    done = shell("map", *arguments, "-o", directory, "--json")
    assert done.returncode == 0, done.stderr
    shown = shell("show", directory, "--json")
    assert shown.returncode == 0, shown.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], json.loads(shown.stdout)


@pytest.mark.long("cli", "procedures", "law")
def test_a_budget_too_small_coarsens_and_says_so(target, tmp_path):
    events, result = mapped(Shell(), tmp_path / "c", target, "--profile", "standard", "--budget", "20s")
    assert events[-1]["seconds"] <= 30
    assert any("left out" in event.get("text", "") for event in events)
    assert any("left out" in json.dumps(value) for value in result.values())


DRIFT = """
visits = 4
window = "200ms"
order_seed = 2
[sweep]
rw = ["read", "randread"]
bs = ["16k", "32k", "64k"]
size = ["16m", "32m"]
numjobs = [1, 2]
iodepth = 4
direct = 0
"""


@pytest.mark.long("cli", "procedures", "results")
def test_a_drifting_target_is_told_and_nothing_is_lost(target, tmp_path):
    """It is four times as fast until its credit is spent, in the first replicate: more than a probe can use up."""
    way = Way(1e-6, 1e6, 20e6)
    file = tmp_path / "c.toml"
    file.write_text(DRIFT)
    shell = Shell(Law(read=way, write=way, noise=0.01, burst=Burst(600e6, 4, 1e6)))
    _, told = mapped(shell, tmp_path / "c", target, "--campaign", file)
    assert any(finding["code"] == "drift" for finding in told["findings"]), told["findings"]
    journal = Journal.open(tmp_path / "c")
    visits, voided = journal.visits(), journal.kept(Voided).replicates
    journal.close()
    swept = [visit for visit in visits if visit.purpose == "sweep"]
    assert voided
    assert len(voided) <= 2 * 4, "a replicate is repeated twice at most"
    for record in voided:
        mine = [visit for visit in swept if visit.replicate == record.replicate]
        assert mine
        assert all(visit.discarded for visit in mine)
        assert any(visit.replicate == record.again for visit in swept)
    assert {row["block"] for row in told["blocks"]} >= {record.replicate for record in voided}
    # Every cell keeps its visits: a voided replicate is made again.
    per_cell = [sum(visit.cell_key == row["cell"] and not visit.discarded for visit in swept) for row in told["rows"]]
    assert min(per_cell) >= 3


def test_a_closed_loop_is_called_so(target, tmp_path):
    file = tmp_path / "c.toml"
    file.write_text(
        'visits = 1\nwindow = "200ms"\n[sweep]\nrw = "randread"\nsize = "16m"\ndirect = 0\nnumjobs = [1, 2]\n'
    )
    _, result = mapped(Shell(), tmp_path / "c", target, "--campaign", file)
    assert len(result["rows"]) == 2
    assert {row["loop"] for row in result["rows"]} == {"closed"}


def test_random_arrivals_are_lower_bounds_and_say_so(target, tmp_path):
    file = tmp_path / "c.toml"
    file.write_text(
        'visits = 1\nwindow = "1s"\n[sweep]\nrw = ["randread"]\nbs = "4k"\nsize = "16m"\ndirect = 0\n'
        'rate_iops = [500]\nrate_process = "poisson"\niodepth = 4\n'
    )
    _, result = mapped(Shell(), tmp_path / "c", target, "--campaign", file)
    (row,) = result["rows"]
    assert row["loop"] == "open"
    assert row["lat_kind"] == "total"
    assert any("lower bound" in note and "backlog" in note for note in row["notes"])
