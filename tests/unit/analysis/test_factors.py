# SPDX-License-Identifier: Apache-2.0
"""What factors do and what limits targets together: trends, efficiency and where it stops, on known values."""

import math
import random
from dataclasses import replace

import pytest

from ioatlas.answer.analysis.balance import balance_findings, groups_of_targets
from ioatlas.answer.analysis.factors import (
    factor_charts,
    factor_effects,
    factor_findings,
    factor_tables,
    pairs,
    ratio_of,
)
from ioatlas.answer.analysis.shares import OWN, SHARED, VARY, with_group_limits
from ioatlas.model.cell import TARGETS, Cell
from ioatlas.model.estimate import Bound, Estimate, Limit, Share, Shares
from ioatlas.model.factors import Factor, Measured, Member
from ioatlas.model.testbed import DiskUsage, Fact, NicUsage, Testbed, Usage

LINK = Bound("link", 117.7e6)


def measured(value, spread=0.01, visits=5, **more):
    return Measured(value, value * (1 - spread), value * (1 + spread), visits, **more)


def member(name, factors, **values):
    """values: read or write rates, or what was measured."""
    told = {key: value if isinstance(value, Factor) else Factor(value) for key, value in factors.items()}
    return Member(name, told, {("load", d): v if isinstance(v, Measured) else measured(v) for d, v in values.items()})


def effects(*members):
    return factor_effects(members, str)


def only(found, factor, direction="read"):
    (line,) = [line for line in found.lines if (line.factor, line.direction) == (factor, direction)]
    return line


def test_in_proportion_is_full_efficiency():
    line = only(effects(*(member(f"d{n}", {"drives": n}, read=20e6 * n) for n in (8, 1, 2, 4))), "drives")
    assert [point.level.value for point in line.points] == [1, 2, 4, 8]
    assert line.points[-1].change.value == pytest.approx(8)
    assert line.points[-1].efficiency.value == pytest.approx(1)
    assert line.ends is None


def test_where_it_stops_is_told_with_the_ceiling_beside_it():
    rates = {3: 42e6, 5: 84e6, 7: 117e6, 9: 117.2e6, 11: 117.1e6}
    found = effects(*(member(f"d{n}", {"drives": n}, read=measured(rate, ceiling=LINK)) for n, rate in rates.items()))
    line = only(found, "drives")
    assert line.points[line.ends].level.value == 7
    (finding,) = factor_findings(found)
    told = finding.values
    assert (told["span"], told["way"], told["at"], told["last"]) == ("3 to 7 drives", "up", "7 drives", "11 drives")
    assert told["change"] == pytest.approx({"value": 2.79, "low": 2.75, "high": 2.83}, abs=0.005)
    assert (told["ends"], told["limit"]) == (True, "link: 117.1 of 117.7 MB/s")
    assert told["efficiency"] == pytest.approx(0.76, abs=0.005)
    (chart,) = factor_charts(found)
    assert [dot.x for dot in chart.series[0].dots] == [3, 5, 7, 9, 11]
    assert [(limit.name, limit.value) for limit in chart.limits] == [("link", 117.7e6)]
    (table,) = factor_tables(found)
    assert len(table.rows) == 5


def test_other_factors_are_held():
    found = effects(
        *(
            member(f"{raid}{n}", {"drives": n, "raid": raid}, write=rate * n)
            for raid, rate in (("raid5", 10e6), ("raid10", 5e6))
            for n in (2, 4, 8)
        )
    )
    along = [line for line in found.lines if line.factor == "drives"]
    assert {(line.held["raid"].value, len(line.points)) for line in along} == {("raid5", 3), ("raid10", 3)}
    across = [line for line in found.lines if line.factor == "raid"]
    assert [line.points[1].change.value for line in across] == [pytest.approx(0.5)] * 3
    told = [one.values for one in factor_findings(found) if one.values["held"] == "drives = 2"]
    assert [(one["noun"], one["pairs"][0]["level"], one["pairs"][0]["first"]) for one in told] == [
        ("writes", "raid10", "raid5")
    ]


def test_confounded_factors_are_said_to_tell_nothing():
    found = effects(
        member("a", {"drives": 3, "firmware": "1.2"}, read=1e8), member("b", {"drives": 7, "firmware": "2.0"}, read=2e8)
    )
    assert found.lines == ()
    assert set(found.alone) == {"drives", "firmware"}
    assert [one.values["factor"] for one in factor_findings(found)] == ["drives", "firmware"]


def test_no_sure_change_is_told_as_that():
    found = effects(*(member(str(mtu), {"mtu": mtu}, read=measured(1e8 + mtu, 0.1)) for mtu in (1500, 9000)))
    (finding,) = factor_findings(found)
    assert (finding.values["span"], finding.values["way"]) == ("mtu 1500 to 9000", "unsure")


def test_a_level_of_zero_has_no_efficiency():
    found = effects(*(member(str(n), {"cache": Factor(n, "GiB")}, read=1e8 + 5e6 * n) for n in (0, 2, 4)))
    line = only(found, "cache")
    assert not any(point.efficiency for point in line.points)
    assert factor_findings(found)[0].values["span"] == "cache 0 to 4 GiB"


def test_loads_that_few_members_have_do_not_speak():
    one, two, three = (member(f"d{n}", {"drives": n}, read=1e8 * n) for n in (1, 2, 4))
    fast = Member(one.name, one.factors, {**one.measured, ("fast", "read"): measured(9e9)})
    assert only(effects(fast, two, three), "drives").load == "load"


def test_pairs_of_texts_hold_together():
    levels = ["raid0", "raid5", "raid6"]
    line = only(effects(*(member(raid, {"raid": raid}, read=1e8) for raid in levels)), "raid")
    alone = ratio_of(line.points[0].measured, line.points[1].measured)
    assert len(pairs(line)) == 3
    for _, _, ratio in pairs(line):
        assert ratio.low < alone.low < alone.high < ratio.high


@pytest.mark.parametrize("truth", [1.0, 2.0])
def test_the_interval_of_a_ratio_holds_as_often_as_it_says(truth):
    generator = random.Random(7)
    held = 0
    for _ in range(400):
        values = []
        for level in (1.0, truth):
            logs = [math.log(level) + generator.gauss(0, 0.1) for _ in range(5)]
            mean = sum(logs) / 5
            half = 2.776 * math.sqrt(sum((x - mean) ** 2 for x in logs) / 4 / 5)
            values.append(Measured(math.exp(mean), math.exp(mean - half), math.exp(mean + half), 5))
        ratio = ratio_of(values[1], values[0])
        held += ratio.low <= truth <= ratio.high
    assert 0.93 <= held / 400 <= 0.995


def test_values_without_intervals_make_a_ratio_without_one():
    found = effects(*(member(str(n), {"drives": n}, read=Measured(1e8 * n, None, None, 1)) for n in (1, 2, 3)))
    line = only(found, "drives")
    assert line.points[1].change.low is None
    assert line.ends is None
    assert factor_findings(found)[0].values["way"] == "alone"


def test_members_with_the_same_factors_are_repeats():
    three = [member(f"d3-{n}", {"drives": 3}, read=1e8 * (1 + n / 100)) for n in range(-1, 2)]
    found = effects(*three, member("d6", {"drives": 6}, read=2e8))
    line = only(found, "drives")
    assert [point.level.value for point in line.points] == [3, 6]
    first = line.points[0]
    assert first.measured.visits == 3
    assert first.measured.value == pytest.approx(1e8, rel=0.001)
    assert first.measured.low == pytest.approx(1e8 * (1 - 0.0248), rel=0.001), "t of 2 degrees, sd 1%, n 3"


def test_what_all_have_in_common_is_not_repeated():
    found = effects(*(member(str(n), {"drives": n, "raid": "raid5", "mtu": 9000}, read=1e8 * n) for n in (1, 2)))
    assert [line.factor for line in found.lines] == ["drives"]
    assert found.lines[0].held == {}


def test_the_factor_with_most_levels_is_told_first_and_its_chart_names_load_and_what_is_held():
    found = effects(
        *(member(f"d{n}", {"mtu": 1500, "raid": "raid5", "drives": n}, read=20e6 * n) for n in (3, 7, 11)),
        member("jumbo", {"mtu": 9000, "raid": "raid5", "drives": 3}, read=70e6),
        member("raid6", {"mtu": 1500, "raid": "raid6", "drives": 3}, read=40e6),
    )
    assert [line.factor for line in found.lines] == ["drives", "mtu", "raid"]
    first = factor_charts(found)[0]
    assert first.note == "Bars are 95% intervals over visits. load, with mtu = 1500, raid = raid5."


def test_a_chart_without_intervals_says_so():
    once = Measured(20e6, None, None, 1), Measured(40e6, None, None, 1)
    found = effects(*(member(f"d{n}", {"drives": n}, read=one) for n, one in zip((1, 2), once, strict=True)))
    assert factor_charts(found)[0].note == "Too few visits for intervals. load."


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
