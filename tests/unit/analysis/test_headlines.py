# SPDX-License-Identifier: Apache-2.0
"""Findings in reading order, and what stands beside the map: balance, place on a device, power."""

from dataclasses import replace

import pytest

from ioatlas.answer.analysis.balance import balance_findings, client_findings, groups_of
from ioatlas.answer.analysis.energy import power_findings, with_watts
from ioatlas.answer.analysis.findings import _ORDER, in_reading_order
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.imported_reading import ImportedReading
from ioatlas.model.outcomes import KeptMeter
from ioatlas.model.testbed import DiskUsage, Fact, NicUsage, Testbed, Usage
from ioatlas.model.verdict import VerdictCode
from ioatlas.model.visit import Histogram, Part, Series, Visit

MIB = 1 << 20


def test_trouble_stands_first_and_what_is_in_order_last():
    given = [
        Finding(FindingCode.COUNTERS, in_order=True),
        *map(Finding, (FindingCode.BURST, FindingCode.HIGHEST_LOAD)),
        Finding(FindingCode.CACHE, cells=("a",)),
        *map(Finding, (FindingCode.CLOCK, FindingCode.CORRUPTION)),
    ]
    order = ["corruption", "cache", "highest-load", "burst", "clock", "counters"]
    assert [one.code for one in in_reading_order(given)] == order


def test_the_five_things_to_know_of_two_directions_stay_at_the_head_beside_trouble():
    twice = ["counters", "highest-load", "knee"]
    codes = [*twice, *twice, "drift", "limit", "burst", "not-measured", "method"]
    head = [one.code for one in in_reading_order(Finding(FindingCode(code), cells=("a",)) for code in codes)[:8]]
    assert head == ["counters", "drift", *["highest-load"] * 2, *["knee"] * 2, "not-measured", "burst"]


def test_every_finding_leads_somewhere():
    codes = (FindingCode.BURST, FindingCode.METHOD, FindingCode.NOT_MEASURED)
    made = in_reading_order([*map(Finding, codes), Finding(FindingCode.HIGHEST_LOAD, cells=("a",))])
    places = {"highest-load": "", "burst": "method", "not-measured": "not-measured", "method": "method"}
    assert {one.code: one.place for one in made} == places
    assert in_reading_order(made) == made, "a second time changes nothing"


def disk(size):
    return DiskUsage(size, 0, 0.5)


def test_balance_over_paths_links_and_drives():
    facts = (
        Fact("device.stack", "dm-0 > sda > sdb"),
        Fact("device.dm-0.slaves", "sda sdb"),
        Fact("device.dm-0.dm_kind", "mpath"),
        Fact("nic.name", "bond0"),
        Fact("nic.members", "eth0 eth1"),
    )
    groups = groups_of(Testbed("", 0.0, facts))
    assert [(one.kind, one.members) for one in groups] == [("links", ("eth0", "eth1")), ("paths", ("sda", "sdb"))]
    nics = {"eth0": NicUsage(900 * MIB, 0, 0, 0), "eth1": NicUsage(10 * MIB, 0, 0, 0)}
    usage = Usage(1.0, disks={"sda": disk(400 * MIB), "sdb": disk(410 * MIB)}, nics=nics)
    links, paths = balance_findings(groups, [usage])
    assert [(one.values["kind"], one.values["even"]) for one in (links, paths)] == [("links", False), ("paths", True)]
    assert list(balance_findings(groups, [Usage(1.0, disks={"sda": disk(MIB), "sdb": disk(0)})])) == []


def result(host, gigabytes, **more):
    told = {"tool": "fio", "direction": "read", "rw": "read", "bs_bytes": MIB, "numjobs": 2, "host": host}
    return ImportedReading("all.json", 1, **{**told, "io_bytes": gigabytes * 10**9, **more})


def test_balance_over_clients():
    [uneven] = client_findings([result("nas-a", 10), result("nas-b", 1)])
    assert uneven.values["least_share"] == pytest.approx(2 / 11)
    assert [one["name"] for one in uneven.values["shares"]] == ["host 1", "host 2"]
    [write, read] = client_findings(
        [result("a", 10, direction=way) for way in ("write", "read")]
        + [result("b", 9, direction=way) for way in ("write", "read")]
    )
    assert [one.values["even"] for one in (write, read)] == [True, True]


@pytest.mark.parametrize(
    "other",
    [
        {"host": "a"},
        {"host": None},
        {"numjobs": 4},
        {"tool": "bonnie++"},
        {"source": "other.json"},
        {"direction": "write"},
        {"io_bytes": 0, "bs_bytes": 4096},
    ],
)
def test_clients_that_did_not_do_the_same_at_once_are_not_compared(other):
    first, second = result("a", 10), replace(result("b", 1), **other)
    assert client_findings([first, second]) == ()


def at(offset, rate, **more):
    which = Cell.of("disk", {"rw": "read", "bs": MIB, "size": 1 << 30, "numjobs": 1, "iodepth": 4, "offset": offset})
    interval = {"bw_low": rate * 0.98, "bw_high": rate * 1.02, "verdict": VerdictCode.STEADY}
    return Estimate(which, "read", "measured", 3, rate, iops=rate / MIB, **interval, **more)


def test_power_of_the_target_counts_and_a_gap_is_told():
    e, other = at(0, 200e6), at(1 << 30, 100e6)
    part = Part("read", MIB, 1, 1000, None, Histogram(), Series(0))
    visits = [Visit(n, e.cell.key, 1, n, 0, 0, 0.0, (part,)) for n in (1, 2, 3)]
    meters = (
        KeptMeter("nas", "target", "JSON over HTTP"),
        KeptMeter("shelf", "target", "typed in", 10.0),
        KeptMeter("cpu", "client", "RAPL"),
    )
    watts = {1: {"nas": 40.0, "cpu": 60.0}, 2: {"nas": 50.0}, 3: {"cpu": 60.0}}
    made = with_watts([e, other], visits, watts, meters)
    assert made[0].watts == pytest.approx(55.0)
    assert made[0].bw_bytes_per_s_per_watt == pytest.approx(200e6 / 55)
    assert made[1].watts is None
    (finding,) = power_findings(made, meters, {"nas": 30.0, "shelf": 8.0, "cpu": 5.0})
    assert [(one["meter"], one["watts"]) for one in finding.values["idle"]] == [
        ("nas", 30.0),
        ("shelf", 8.0),
        ("cpu", 5.0),
    ]
    assert (finding.values["n_unknown"], finding.values["n_values"]) == (1, 2)
    assert with_watts([e], visits, watts, ()) == (e,)
    assert power_findings([e], (), {}) == ()


def test_every_kind_of_finding_has_one_place_in_the_order():
    assert {one.code for one in in_reading_order(map(Finding, FindingCode))} == set(FindingCode)
    assert len(_ORDER) == len(set(_ORDER))
    fine, peak = Finding(FindingCode.COUNTERS, in_order=True), Finding(FindingCode.HIGHEST_LOAD)
    assert [one.code for one in in_reading_order([fine, peak])] == ["highest-load", "counters"]
    assert [one.code for one in in_reading_order([replace(fine, in_order=False), peak])] == ["counters", "highest-load"]
