# SPDX-License-Identifier: Apache-2.0
"""Truth of targets with several servers or disks that are loaded together: it follows from the settings."""

import re

import pytest
from tests.lab_check import _mean_between

from ioatlas.model.errors import UsageError
from ioatlas.model.units import words
from ioatlas_lab.network import goodput_bytes_per_s
from ioatlas_lab.running import expected, fill, filled, find, scenarios
from ioatlas_lab.scenario import Limit, Link, Loop, MakeFile, Nodes, Run, Serve, Text
from ioatlas_lab.spread_server import parts_of


def recipe(name, **given):
    scenario = find(name)
    return scenario.build(filled(scenario, given))


def served(made):
    return {step.name for step in made.steps if isinstance(step, Serve)}


def test_a_pair_writes_as_fast_as_its_slowest_part():
    fast, slow = 10**9, 10**8
    truth = recipe("pair", rate_bits_per_s=fast, replication_bits_per_s=slow, bw_bytes_per_s=50_000_000).truth
    assert truth["write_bytes_per_s"].value == goodput_bytes_per_s(slow, 1500)
    assert truth["read_bytes_per_s"].value == 50_000_000
    truth = recipe("pair", rate_bits_per_s=slow, replication_bits_per_s=fast).truth
    assert truth["write_bytes_per_s"].value == truth["read_bytes_per_s"].value == goodput_bytes_per_s(slow, 1500)


def test_a_pair_without_its_second_box_does_not_replicate():
    alone = recipe("pair", one_away=1, reads="both")
    assert alone.truth["write_bytes_per_s"].value == goodput_bytes_per_s(10**8, 1500)
    assert "disk2" not in served(alone)
    together = recipe("pair", reads="both")
    assert {"disk2", "paths"} <= served(together)
    assert together.truth["random_read_iops"].value == 2 * alone.truth["random_read_iops"].value
    # Of two turns the later one counts: two thirds of a turn in the mean, where one takes half.
    turn_ms = 60_000 / 7200
    later, once = (made.truth["write_lat_mean_ms"].value for made in (together, alone))
    assert later - once == pytest.approx(turn_ms / 6, rel=0.01)


@pytest.mark.parametrize("given", [{"store": "tape"}, {"reads": "none"}])
def test_a_pair_of_something_else_is_refused(given):
    with pytest.raises(UsageError):
        recipe("pair", **given)


def test_a_pair_has_a_link_of_its_own():
    (nodes,) = (step for step in recipe("pair", replication_bits_per_s=7_000_000).steps if isinstance(step, Nodes))
    assert (nodes.count, nodes.beside_bits_per_s) == (2, 7_000_000)


@pytest.mark.parametrize(
    ("given", "share"),
    [
        ({"kind": "distributed"}, 1),
        ({"kind": "replicated", "nodes": 4, "replicas": 2}, 1 / 2),
        ({"kind": "replicated", "nodes": 3, "replicas": 3}, 1 / 3),
        ({"kind": "dispersed", "nodes": 6, "redundancy": 2}, 4 / 6),
    ],
)
def test_a_cluster_writes_what_its_copies_leave_of_the_port(given, share):
    made = recipe("cluster", **given)
    link = goodput_bytes_per_s(10**8, 1500)
    assert made.truth["write_bytes_per_s"].value == pytest.approx(share * link)
    assert made.truth["read_bytes_per_s"].value == link
    (nodes,) = (step for step in made.steps if isinstance(step, Nodes))
    assert sum(isinstance(step, Serve) and step.name.startswith("gluster") for step in made.steps) == nodes.count


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "striped"},
        {"nodes": 4, "replicas": 3},
        {"replicas": 1},
        {"kind": "dispersed", "nodes": 4, "redundancy": 2},
        {"kind": "dispersed", "redundancy": 0},
    ],
)
def test_a_cluster_that_cannot_be_is_refused(given):
    with pytest.raises(UsageError):
        recipe("cluster", **given)


def test_the_nfs_client_is_chosen_by_name():
    assert recipe("nas-nfs").kind == "uri"
    assert recipe("nas-nfs", client="kernel").kind == "file"
    with pytest.raises(UsageError):
        recipe("nas-nfs", client="mine")


def test_arrays_of_a_box_share_its_link():
    made = recipe("central-box", arrays=3, read_bits_per_s=400_000_000, write_bits_per_s=100_000_000)
    (link,) = (step for step in made.steps if isinstance(step, Link))
    assert (link.rate_bits_per_s, link.in_bits_per_s) == (400_000_000, 100_000_000)
    assert made.truth["all_write_bytes_per_s"].value == goodput_bytes_per_s(100_000_000, 1500)
    assert made.truth["write_bytes_per_s"].value == made.truth["all_write_bytes_per_s"].value
    assert len({location for _, location in made.exports}) == 3
    slow = recipe("central-box", arrays=3, bw_bytes_per_s=100_000, read_bits_per_s=10**9)
    assert slow.truth["all_read_bytes_per_s"].value == 3 * slow.truth["read_bytes_per_s"].value


def test_arrays_over_nodes_add_up():
    made = recipe("storage-nodes")
    (nodes,) = (step for step in made.steps if isinstance(step, Nodes))
    assert nodes.count == 10
    assert nodes.client_bits_per_s >= 10 * nodes.rate_bits_per_s
    assert made.truth["all_read_bytes_per_s"].value == 10 * goodput_bytes_per_s(40_000_000, 1500)
    disks = [step for step in made.steps if isinstance(step, Serve) and step.name.startswith("disk")]
    assert {step.node for step in disks} == set(range(1, 11)), "one in each"


def test_where_they_will_be_is_known_beforehand():
    found = dict(expected("central-box", {}, "some-1").exports)
    assert list(found) == ["array1", "array2", "array3", "array4", "array5"]
    assert all("{" not in location for location in found.values())
    assert all("{" not in location for _, location in expected("storage-nodes", {}, "some-2").exports)
    assert expected("bandwidth", {}, "some-3").exports == ()


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("central-box", {"arrays": 0}),
        ("central-box", {"arrays": 17}),
        ("storage-nodes", {"arrays": 9, "nodes_each": 2}),
        ("storage-nodes", {"drives": 9}),
        ("storage-nodes", {"drives": 2}),
    ],
)
def test_what_cannot_be_is_refused(name, given):
    with pytest.raises(UsageError):
        recipe(name, **given)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(("offset", "length"), [(0, 1), (5, 40), (16, 16), (15, 2), (0, 96)])
def test_stripes_hold_every_byte_once(count, offset, length):
    """Each byte of a request lies at one place of one disk, and no two of a disk at the same."""
    parts = parts_of(offset, length, 16, count)
    seen = {}
    for disk, part in parts.items():
        at = part.offset
        for piece in part.pieces:
            for byte in range(piece.start, piece.stop):
                seen[byte] = (disk, at)
                at += 1
        assert at - part.offset == part.length
    assert sorted(seen) == list(range(length))
    assert len(set(seen.values())) == length
    for byte, (disk, at) in seen.items():
        unit, inside = divmod(offset + byte, 16)
        assert (disk, at) == (unit % count, unit // count * 16 + inside)


PLACES = {
    *words("dir python plugins server client namespace device octet gluster1_pid name"),
    *(f"{kind}{index}" for kind in ("node", "namespace", "beside") for index in range(1, 13)),
    *(f"loop{index}" for index in range(5)),
}


@pytest.mark.parametrize("name", list(scenarios()))
def test_each_recipe_is_complete(name):
    scenario = scenarios()[name]
    recipe = scenario.build(scenario.settings)
    told = [recipe.location]
    for step in recipe.steps:
        if isinstance(step, Serve):
            told += [*step.argv, step.ready, *(value for _, value in step.environment)]
        elif isinstance(step, Run):
            told += step.argv
        elif isinstance(step, (MakeFile, Loop)):
            told.append(step.path)
        elif isinstance(step, Text):
            told += [step.path, step.text]
        elif isinstance(step, Limit):
            told.append(step.device)
    assert {place for word in told for place in re.findall(r"{(\w+)}", word)} <= PLACES
    assert all(check.quantity in recipe.truth for check in recipe.checks)
    assert all(
        truth.unit and truth.source in {"configured", "arithmetic", "documented"} for truth in recipe.truth.values()
    )
    assert scenario.requires
    assert scenario.summary
    for check in recipe.checks:
        # The tolerances that are promised: 1% of a rate, 2% or 0.3 ms of a latency; whatever is wider says why.
        promised = check.tolerance <= (0.02 if check.kind == "latency" else 0.01) and check.tolerance_absolute <= (
            0.3 if check.kind == "latency" else 0
        )
        assert promised or check.wider, check
        assert not check.without_delay or scenario.build({**filled(scenario, {}), check.without_delay: 0}), (
            "it can do without the delay"
        )


def test_settings_reach_the_truth():
    scenario = find("latency")
    recipe = scenario.build(filled(scenario, {"lat_ms": 10, "threads": "4"}))
    assert recipe.truth["lat_mean_ms"].value == 10
    assert recipe.truth["iops_per_job"].value == 400
    assert recipe.truth["knee_iodepth"].value == 4


@pytest.mark.parametrize("given", [{"lat_ms": 1.5}, {"lat_ms": "x"}, {"size_bytes": 0}, {"lat_ms": -1}, {"speed": 1}])
def test_settings_that_cannot_be_are_refused(given):
    with pytest.raises(UsageError):
        filled(find("latency"), given)


def test_braces_that_mean_something_else_stay():
    assert fill("{dir}/x {other}", {"dir": "/d"}) == "/d/x {other}"


def test_the_link_truth_counts_what_the_token_bucket_counts():
    assert goodput_bytes_per_s(10**9, 1500) / 1e6 == pytest.approx(119.55, abs=0.005)
    assert goodput_bytes_per_s(10**9, 9000) / 1e6 == pytest.approx(124.08, abs=0.005)


def test_a_rate_log_with_a_gap_is_weighed_by_time():
    # The entry of 400 ms is missing: the one of 500 ms speaks for 200 ms.
    log = [(100, 10, 0), (200, 10, 0), (300, 10, 0), (500, 40, 0), (600, 10, 0)]
    assert _mean_between(log, 100, 500) == pytest.approx((100 * 10 + 100 * 10 + 200 * 40 + 100 * 10) / 500)
    both = [(100, 10, 0), (100, 5, 1), (200, 10, 0), (200, 5, 1)]
    assert _mean_between(both, 100, 200) == 15
