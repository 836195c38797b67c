# SPDX-License-Identifier: Apache-2.0
"""Disks that are loaded together: what they share and what each has follows from the settings."""

import pytest

from ioatlas.model.errors import UsageError
from ioatlas_lab.network import goodput_bytes_per_s
from ioatlas_lab.running import expected, filled, find
from ioatlas_lab.scenario import Link, Nodes, Serve
from ioatlas_lab.spread_server import parts_of


def recipe(name, **given):
    scenario = find(name)
    return scenario.build(filled(scenario, given))


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
