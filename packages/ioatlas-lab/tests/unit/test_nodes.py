# SPDX-License-Identifier: Apache-2.0
"""Truth of targets with several servers: which part is the slowest follows from the settings."""

import pytest

from ioatlas.model.errors import UsageError
from ioatlas_lab.network import goodput_bytes_per_s
from ioatlas_lab.running import filled, find
from ioatlas_lab.scenario import Nodes, Serve


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
