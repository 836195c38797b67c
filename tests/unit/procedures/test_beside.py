# SPDX-License-Identifier: Apache-2.0
"""What is told beside a map: writes that wait for a flush each, and reads while writes keep the target at its limit."""

import json
from dataclasses import replace

import pytest

from ioatlas.answer.analysis.summary import summarise
from ioatlas.measure import campaign
from ioatlas.model.visit import Purpose
from tests.simulate.law import Burst, Law, Way
from tests.unit.simulated import Shell, World

FLUSH_SECONDS = 0.004
WAY = Way(0.001, 800, 20e6)
LAW = Law(read=WAY, write=WAY, flush_seconds=FLUSH_SECONDS)
MAP = """
budget = "{budget}"
[target]
path = "TARGET"
[sweep]
rw = [{modes}]
size = "4m"
bs = ["4k", "1m"]
numjobs = [1, 4, 16]
"""
LATER = pytest.mark.long("procedures", "run")
ALL = '"read", "write", "randread", "randwrite"'


def told(tmp_path, law=LAW, budget="60s", modes=ALL, text=MAP):
    world = World(tmp_path, law)
    summary = world.run(text.format(budget=budget, modes=modes))
    world.check()
    return world, summary, campaign.load_result(world.directory)


def test_a_map_tells_of_flushes_and_of_reads_under_writes(tmp_path):
    world, session, result = told(tmp_path)
    flush, reads = summarise(result).beside
    assert flush.reading.lat_mean_ns == pytest.approx(1e9 * (WAY.seconds(4096) + FLUSH_SECONDS), rel=0.15)
    assert flush.reading.iops == pytest.approx(1e9 / flush.reading.lat_mean_ns, rel=0.1)
    assert flush.reading.lat_p99_ns > flush.reading.lat_mean_ns
    assert flush.writes_bytes_per_s is None
    assert reads.alone_ns == pytest.approx(1e9 * WAY.seconds(4096), rel=0.15)
    assert reads.reading.lat_mean_ns > 2 * reads.alone_ns
    assert 0.5 * WAY.bytes_per_s < reads.writes_bytes_per_s < 1.1 * WAY.bytes_per_s
    assert session.seconds <= 61
    assert "fdatasync" not in result.axes
    # They are no cells of the map, and come after all of these: they would take credit from them.
    assert not any(e.cell.flushes or e.cell.streams for e in result.estimates)
    purposes = [visit.purpose for visit in world.journal().visits()]
    assert purposes.index(Purpose.BESIDE) == len(purposes) - 2


@pytest.mark.long("procedures")
def test_a_map_of_single_jobs_has_them_too(tmp_path):
    _, _, result = told(tmp_path, text=MAP.replace("[1, 4, 16]", "[1]"))
    assert [one.writes_bytes_per_s is None for one in summarise(result).beside] == [True, False]


@pytest.mark.parametrize(
    ("seconds", "rate"),
    [*(pytest.param(*one, marks=LATER) for one in ((0.0002, 3e6), (0.05, 20e6))), (0.3, 1e6)],
    ids=["3 MB/s", "50 ms", "300 ms and 1 MB/s"],
)
def test_slow_targets_have_time_for_them_too(tmp_path, seconds, rate):
    way = Way(seconds, 1 / seconds, rate)
    _, session, result = told(tmp_path, replace(LAW, read=way, write=way))
    assert len(summarise(result).beside) == 2
    assert session.seconds <= 62


@pytest.mark.long("procedures")
@pytest.mark.parametrize(("budget", "modes"), [("60s", '"read", "randread"'), ("10s", ALL)])
def test_nothing_is_made_beside_a_map_that_only_reads_or_has_no_time(tmp_path, budget, modes):
    world, _, result = told(tmp_path, budget=budget, modes=modes)
    assert not summarise(result).beside
    assert not any(visit.purpose is Purpose.BESIDE for visit in world.journal().visits())


@pytest.mark.long("law", "procedures")
def test_what_credit_gave_is_not_told_as_lasting(tmp_path):
    """A tenth faster than what lasts for longer than these loads run."""
    law = replace(LAW, flush_seconds=0.00001, burst=Burst(40e6, 1.3, 1e6))
    _, _, result = told(tmp_path, law)
    flush = next(one for one in summarise(result).beside if one.writes_bytes_per_s is None)
    (alone,) = (e for e in result.estimates if (e.cell.rw, e.cell.bs_bytes, e.cell.numjobs) == ("randwrite", 4096, 1))
    assert flush.reading.iops <= alone.iops


def test_flushes_that_nobody_saw_are_not_told(tmp_path):
    _, _, result = told(tmp_path, replace(LAW, flush_seconds=0.0))
    assert [one.writes_bytes_per_s is None for one in summarise(result).beside] == [False]


@pytest.mark.long("procedures", "cli", "report")
def test_screen_show_json_and_what_is_pasted_tell_the_same(tmp_path):
    shell = Shell(LAW)
    (tmp_path / "target").mkdir()
    planned = shell("plan", tmp_path / "target", "--budget", "60s", "--json")
    assert json.loads(planned.stdout)["beside"] == ["4 KiB writes, each with its flush", "4 KiB reads under writes"]
    said = shell("map", tmp_path / "target", "--budget", "60s", "--size", "4m", "-o", tmp_path / "out")
    assert said.returncode == 0, said.stderr
    (flush, under) = json.loads(shell("show", tmp_path / "out", "--json").stdout)["summary"]["beside"]
    assert flush["label"] == "4 KiB + flush"
    assert under["label"] == "Under writes"
    for form in ((), ("--markdown",), ("--bbcode",)):
        text = " ".join(shell("show", tmp_path / "out", *form).stdout.split())
        assert f"p99 {flush['reading']['lat_p99_ns'] / 1e6:.3g} ms" in text
        assert f"instead of {under['alone_ns'] / 1e6:.3g} ms" in text
    assert f"instead of {under['alone_ns'] / 1e6:.3g} ms" in (tmp_path / "out" / "report.html").read_text()
