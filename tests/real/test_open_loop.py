# SPDX-License-Identifier: Apache-2.0
"""Paced loads: latency from the time each I/O was due, overloaded points, and what is said where that time is not known."""

import json
import shutil

import pytest

from ioatlas import lab
from ioatlas.lab.running import missing
from tests.real.conftest import ioatlas

pytestmark = [pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio"), pytest.mark.usefixtures("own_lab")]

SWEEP = """
visits = 1
window = "{window}"
[target]
name = "disk"
uri = "{uri}"
[sweep]
rw = ["randread"]
bs = "4k"
size = "16m"
{sweep}
"""


def measured(tmp_path, scenario, sweep, window="1s", **settings):
    """{offered rate: row}, the batches' directory."""
    if missing(lab.scenarios()[scenario]):
        pytest.skip(f"{scenario} needs {missing(lab.scenarios()[scenario])}")
    with lab.start(scenario, **settings) as target:
        (tmp_path / "c.toml").write_text(SWEEP.format(uri=target.location, sweep=sweep, window=window))
        done = ioatlas("map", "--campaign", tmp_path / "c.toml", "-o", tmp_path / "c", "--read-only", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(ioatlas("show", tmp_path / "c", "--json").stdout)["rows"]
    return {row.get("rate_iops"): row for row in rows}


def test_waiting_behind_a_stall_is_charged_and_a_rate_beyond_the_target_is_overloaded(tmp_path):
    """A server that stands still for half a second makes a hundred I/Os late, of which fio's own clock sees one."""
    rows = measured(tmp_path, "stalling", "rate_iops = [200, 20000]\niodepth = 1", window="4s", period_seconds=2.0, stall_seconds=0.5)
    paced = rows["200"]
    assert paced["loop"] == "open"
    assert paced["lat_kind"] == "intended"
    # Of every 2 s, I/Os due in the half second wait for a quarter of one on average: 62 ms in the mean of all; fio's clock alone tells about 3 ms.
    assert paced["lat_mean_ns"] > 40e6
    assert paced["lat_p99_ns"] > 250e6
    beyond = rows["20000"]
    assert beyond["verdict"] == "overloaded"
    assert any("backlog" in note for note in beyond["notes"])
    logs = list((tmp_path / "c" / "batches").glob("*/logs.zip"))
    assert logs


def test_random_arrivals_and_fast_loads_are_lower_bounds_and_say_so(tmp_path):
    rows = measured(tmp_path, "memory", 'rate_iops = [500]\nrate_process = "poisson"\niodepth = 4')
    (row,) = rows.values()
    assert row["loop"] == "open"
    assert row["lat_kind"] == "total"
    assert any("lower bound" in note and "backlog" in note for note in row["notes"])


def test_a_closed_loop_is_called_so(tmp_path):
    rows = measured(tmp_path, "memory", "numjobs = [1, 2]", window="200ms")
    assert {row["loop"] for row in rows.values()} == {"closed"}
