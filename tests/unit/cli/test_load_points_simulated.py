# SPDX-License-Identifier: Apache-2.0
"""Several streams at once on a simulated target: load points in order, the search, what exports say."""

import json

import pytest

from tests.load_points import campaign, check_load_points, rows
from tests.simulate.law import Law, Way
from tests.unit.simulated import Shell

ioatlas = Shell()


def shown(directory):
    return json.loads(ioatlas("show", directory, "--json").stdout)


def test_load_points_in_order_with_their_streams(tmp_path):
    full = check_load_points(ioatlas, tmp_path)
    assert full["n_visits"] == 3
    assert full["lat_mean_ns"]["low"] is not None


def test_a_free_load_keeps_its_shares(tmp_path):
    path = campaign(tmp_path, 'load = "free"\ncapacity = "1TB"')
    ioatlas("map", "--campaign", path, "-o", tmp_path / "out", "--yes", "--visits", "2")
    (curve,) = shown(tmp_path / "out")["load_curves"]
    (point,) = curve["points"]
    assert point["loop"] == "closed"
    assert point["offered_iops"] is None
    shares = {stream["stream"]: 0.0 for stream in point["streams"]}
    for stream in point["streams"]:
        shares[stream["stream"]] += stream["share"]
    # flow counts I/Os: shares are kept but for the last ones in flight.
    assert shares["big"] == pytest.approx(0.3, abs=0.02)


def test_the_highest_load_of_a_target_with_a_known_one(tmp_path):
    """A target that serves four reads at once, each in 5 ms, carries 800 a second."""
    way = Way(5e-3, 800, 1e9)
    shell = Shell(Law(read=way, write=way, spread=0.1))
    (tmp_path / "target").mkdir()
    path = tmp_path / "campaign.toml"
    path.write_text(
        f"""
window = "600ms"
visits = 1
[target]
path = "{tmp_path / "target"}"
[sweep]
size = "4m"
direct = 0
[streams]
load = "highest"
limit = "40ms"
points = [100, 10]
[[stream]]
name = "reads"
rw = "randread"
bs = "4k"
"""
    )
    done = shell("map", "--campaign", path, "-o", tmp_path / "out", "--yes")
    assert done.returncode == 0, done.stderr
    (curve,) = json.loads(shell("show", tmp_path / "out", "--json").stdout)["load_curves"]
    highest = curve["highest_iops"][""]
    assert 0.85 * 800 <= highest <= 800 * 1.12
    assert curve["limited_by"][""] in ("throughput", "response time")
    assert rows(tmp_path / "out", "select count(*) from visit where purpose='search' and status='done'")[0][0] >= 4
    assert [point["asked_iops"] for point in curve["points"]] == pytest.approx([highest, highest / 10])
    assert all(point["lat_mean_ns"]["value"] >= 4.5e6 for point in curve["points"])


def test_a_plan_tells_the_time(tmp_path):
    told = json.loads(ioatlas("plan", "--campaign", campaign(tmp_path, 'load = "highest"'), "--json").stdout)
    assert told["searches"] == 1
    assert told["seconds"] > 3
    assert told["load_points"] == ["100%"]
    profile = json.loads(
        ioatlas("plan", tmp_path / "target", "--profile", "spc1-like", "--size", "1g", "--json").stdout
    )
    assert profile["load_points"] == ["100%", "95%", "90%", "80%", "50%", "10%"]
    assert profile["space_needed_bytes"] == 1 << 30


@pytest.mark.long("cli", "report", "procedures")
def test_exports_draw_latency_against_load(tmp_path):
    path = campaign(tmp_path, "load = 400\npoints = [100, 60, 20]", window="500ms")
    assert ioatlas("map", "--campaign", path, "-o", tmp_path / "out", "--yes").returncode == 0
    pytest.importorskip("matplotlib")
    done = ioatlas("export", tmp_path / "out", "--format", "svg", "-o", tmp_path / "a.svg")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "a.svg").read_text()
    assert "achieved I/Os per second" in text
    assert all(f">{percent}%<" in text for percent in (20, 60, 100))
    assert "mathdefault" not in text
    refused = ioatlas("export", tmp_path / "out", "--format", "svg", "--figure", "curves", "--x", "bs")
    assert refused.returncode == 2
    assert ioatlas("export", tmp_path / "out", "--format", "svg", "--figure", "map", "-o", tmp_path / "m.svg").stdout
