# SPDX-License-Identifier: Apache-2.0
"""Paced loads: latency from the time each I/O was due, overloaded points, and what is said where it is not known."""

import json

import pytest

import ioatlas_lab as lab
from ioatlas_lab.running import missing
from tests.real.conftest import ioatlas

pytestmark = [pytest.mark.needs("fio"), pytest.mark.unmeasured, pytest.mark.usefixtures("own_lab")]

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
    if lacking := missing(lab.scenarios()[scenario]):
        pytest.skip(f"not installed: {', '.join(need.program for need in lacking)}")
    with lab.start(scenario, **settings) as target:
        (tmp_path / "c.toml").write_text(SWEEP.format(uri=target.location, sweep=sweep, window=window))
        done = ioatlas("map", "--campaign", tmp_path / "c.toml", "-o", tmp_path / "c", "--read-only", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(ioatlas("show", tmp_path / "c", "--json").stdout)["rows"]
    return {row.get("rate_iops"): row for row in rows}


def test_waiting_behind_a_stall_is_charged_and_a_rate_beyond_the_target_is_overloaded(tmp_path):
    """A server that stands still for an eighth of a second makes 25 I/Os late, of which fio's own clock sees one."""
    rows = measured(
        tmp_path,
        "stalling",
        "rate_iops = [200, 20000]\niodepth = 1",
        window="1s",
        period_seconds=0.5,
        stall_seconds=0.125,
    )
    paced = rows["200"]
    assert paced["loop"] == "open"
    assert paced["lat_kind"] == "intended"
    # Of every half second, I/Os due in its quarter wait for a sixteenth on average: 16 ms in the mean of all; fio's own
    # clock tells about 2 ms.
    assert paced["lat_mean_ns"] > 10e6
    assert paced["lat_p99_ns"] > 62e6
    beyond = rows["20000"]
    assert beyond["verdict"] == "overloaded"
    assert any("backlog" in note for note in beyond["notes"])
    logs = list((tmp_path / "c" / "batches").glob("*/logs.zip"))
    assert logs


def test_a_replayed_trace_is_charged_from_its_own_times(tmp_path):
    """200 I/Os a second at a server that stands still for a third of the time; of few lanes most cannot start."""
    if lacking := missing(lab.scenarios()["stalling"]):
        pytest.skip(f"not installed: {', '.join(need.program for need in lacking)}")
    rows = [f"{5000 * k} /dev/sdz read {4096 * k} 4096" for k in range(300)]
    (tmp_path / "t.iolog").write_text("fio version 3 iolog\n0 /dev/sdz add\n0 /dev/sdz open\n" + "\n".join(rows) + "\n")
    (tmp_path / "c.toml").write_text("visits = 1\ntrace = 't.iolog'\n[sweep]\nnumjobs = 4\n")
    with lab.start("stalling", period_seconds=0.75, stall_seconds=0.25) as target:
        done = ioatlas(
            "map", target.location, "--campaign", tmp_path / "c.toml", "-o", tmp_path / "c", "--read-only", "--json"
        )
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(ioatlas("show", tmp_path / "c", "--json").stdout)["rows"]
    assert (row["loop"], row["lat_kind"]) == ("open", "intended")
    assert any("intended-trace/1" in note for note in row["notes"])
    text = (tmp_path / "c" / "batches" / "00001" / "fio.json").read_text()
    own = json.loads(text[text.index("{") :])["jobs"][0]["read"]
    assert own["total_ios"] == 300
    # Fifty I/Os of 150 are due in each stall and wait for 125 ms on average; fio's own clock sees four of them.
    assert row["lat_mean_ns"] > 30e6
    assert row["lat_p99_ns"] > 200e6
    assert own["lat_ns"]["mean"] < row["lat_mean_ns"] / 3


def test_a_trace_beyond_the_target_or_beside_a_sweep_is_refused(tmp_path):
    (tmp_path / "disk").write_bytes(bytes(8192))
    (tmp_path / "t.iolog").write_text("fio version 3 iolog\n5 f read 8192 4096\n")
    done = ioatlas("plan", tmp_path / "disk", "--trace", tmp_path / "t.iolog", "--read-only")
    assert done.returncode == 2
    assert "the trace reaches to" in done.stderr
    done = ioatlas("plan", tmp_path / "disk", "--trace", tmp_path / "t.iolog", "--size", "4k", "--read-only")
    assert done.returncode == 2
    assert "'size' is settled by the trace" in done.stderr
