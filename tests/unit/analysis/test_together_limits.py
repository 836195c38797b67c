# SPDX-License-Identifier: Apache-2.0
"""What limits targets together, from what more of them add; and how their load is spread over links and drives."""

from dataclasses import replace

import pytest

from ioatlas.answer.analysis.balance import balance_findings, groups_of_targets
from ioatlas.answer.analysis.shares import OWN, SHARED, VARY, with_group_limits
from ioatlas.model.cell import TARGETS, Cell
from ioatlas.model.estimate import Estimate, Limit, Share, Shares
from ioatlas.model.testbed import DiskUsage, Fact, NicUsage, Testbed, Usage


def estimate(loaded, rate, spread=0.01, limit=None):
    shares = tuple(Share(f"t{n}", 3, rate / loaded, 1.0, 1 / loaded) for n in range(loaded))
    cell = Cell("five", (("bs", 65536), ("iodepth", 1), ("rw", "read"), (TARGETS, loaded)))
    made = Estimate(cell=cell, direction="read", kind="measured", n_visits=3, bw_bytes_per_s=rate, limit=limit)
    return replace(
        made, bw_low=rate * (1 - spread), bw_high=rate * (1 + spread), targets=Shares(shares, 0.0, 0.0, loaded, loaded)
    )


def limits(*estimates):
    return [e.limit for e in with_group_limits(estimates)]


def test_what_gives_no_more_is_shared():
    first, last = limits(estimate(1, 100e6), estimate(5, 102e6))
    assert first is None, "one target alone is no group's matter"
    assert last.resource == SHARED
    assert last.probability > 0.9
    assert "5 targets together give 1.02 times" in last.evidence[0]


def test_what_adds_up_is_limited_by_each_as_one_alone_is():
    assert limits(estimate(1, 100e6), estimate(5, 490e6))[1].resource == OWN
    drive = Limit("drive bandwidth", evidence=("flat over depth",), probability=0.9)
    named = limits(estimate(1, 100e6, limit=drive), estimate(5, 490e6))[1]
    assert named.resource == "drive bandwidth"
    assert named.evidence[1] == "flat over depth"


@pytest.mark.parametrize("spread", [0.01, 0.6])
def test_between_and_wide_intervals_name_nothing(spread):
    rate = 250e6 if spread < 0.1 else 115e6
    found = limits(estimate(1, 100e6, spread), estimate(5, rate, spread))[1]
    assert not found.determined or found.probability < 0.7
    if spread < 0.1:
        assert "less than all of them would apart" in found.evidence[0]


def test_what_is_known_stays_and_one_number_says_how_to_tell():
    busy = Limit("client CPU", probability=0.95)
    assert limits(estimate(1, 100e6), estimate(5, 102e6, limit=busy))[1] is busy
    (alone,) = limits(estimate(5, 100e6))
    assert (alone.determined, alone.evidence) == (False, (VARY,))
    bare = replace(estimate(5, 102e6), bw_low=None, bw_high=None)
    assert "no interval" in limits(estimate(1, 100e6), bare)[1].evidence[0]


def bed(**facts):
    return Testbed("t", 0.0, tuple(Fact(name.replace("_", "."), value) for name, value in facts.items()))


def test_links_and_drives_of_targets_are_held_against_each_other():
    beds = [bed(nic_name="eth1", device_stack="sda > vg"), bed(nic_name="eth2", device_stack="sdb")]
    links, drives = groups_of_targets("two LUNs", beds)
    assert (links.kind, links.members) == ("links", ("eth1", "eth2"))
    assert (drives.kind, drives.members) == ("drives", ("sda", "sdb"))
    assert groups_of_targets("one way", [bed(nic_name="eth1")] * 2) == ()
    gib = 1 << 30
    usage = Usage(
        1.0,
        disks={name: DiskUsage(size, 0, 1.0) for name, size in (("sda", gib), ("sdb", gib))},
        nics={name: NicUsage(size, 0, 0, 0) for name, size in (("eth1", 3 * gib), ("eth2", gib))},
    )
    told = [finding.values for finding in balance_findings((links, drives), [usage])]
    assert [one["even"] for one in told] == [False, True]
    assert told[0]["shares"][1] == {"name": "eth2", "share": 0.25}
