# SPDX-License-Identifier: Apache-2.0
"""A target that wanders while it is measured is told, by its replicates; what was voided stays in the
journal.

The baseline visits of a larger sweep are in tests/unit/cli/test_map_simulated.py.
"""

import json
import subprocess
import tempfile
import threading

import pytest

from ioatlas.errors import IoAtlasError
from ioatlas.model.outcomes import Voided
from ioatlas.store.journal import Journal
from tests.real.conftest import ioatlas
from tests.real.target_lab import Bench, needs, wait_for

FAST, SLOW = 80_000_000, 6_000_000

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


@pytest.fixture
def moved():
    """A server whose rate can be set while it runs: its URI, and what sets it."""
    with tempfile.TemporaryDirectory(prefix="iod", dir="/tmp") as directory:  # socket paths are short
        bench = Bench(directory)
        rate, ready, socket = (bench.directory / name for name in ("rate", "ready", "s"))

        def hold(bytes_per_s):
            rate.with_suffix(".new").write_text(f"{bytes_per_s * 8}\n")
            rate.with_suffix(".new").replace(rate)

        hold(FAST)
        bench.start(
            "nbdkit", "--foreground", "--pidfile", ready, "--unix", socket, "--filter=rate", "memory", "64M",
            f"rate={FAST * 8}", f"rate-file={rate}", "burstiness=0.2", stderr=subprocess.DEVNULL,
        )  # fmt: skip
        wait_for(ready.exists)
        yield f"nbd+unix:///?socket={socket}", hold
        bench.clear()


def _swept(directory):
    """Visits that count: those of a slow time that are discarded shall be made again while it is slow."""
    try:
        journal = Journal.open(directory)
    except IoAtlasError:
        return 0  # it is not there yet
    try:
        return sum(visit.purpose == "sweep" and not visit.discarded for visit in journal.visits())
    finally:
        journal.close()


@needs("nbdkit")
@pytest.mark.long("stats", "run")
def test_a_drifting_target_is_told_and_nothing_is_lost(tmp_path, moved):
    """Over ten times slower in the middle of the sweep, however long that takes."""
    uri, hold = moved
    (tmp_path / "c.toml").write_text(SWEEP.format(uri=uri))
    done = threading.Event()

    def move():
        for visits, rate in ((24, SLOW), (48, FAST)):
            while _swept(tmp_path / "c") < visits and not done.wait(0.1):
                pass
            hold(rate)

    mover = threading.Thread(target=move)
    mover.start()
    try:
        ran = ioatlas("map", "--campaign", tmp_path / "c.toml", "-o", tmp_path / "c", "--read-only", "--json")
    finally:
        done.set()
        mover.join()
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ioatlas("show", tmp_path / "c", "--json").stdout)
    assert any(one["code"] == "drift" for one in told["findings"]), told["findings"]

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
    # A voided block is made again, twice at most: those that met the slow time each time stay out.
    per_cell = [sum(visit.cell_key == row["cell"] and not visit.discarded for visit in swept) for row in told["rows"]]
    assert min(per_cell) >= 4
