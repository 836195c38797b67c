# SPDX-License-Identifier: Apache-2.0
"""The load-latency curve: what is offered, and when a step counts as overloaded."""

from dataclasses import replace

import pytest

from ioatlas.measure.procedures.tune.advice import Foretold, Gain, cure, gains, of_the_path
from ioatlas.measure.procedures.tune.result import Best, curve_levels, curve_point, trial_of
from ioatlas.model.cell import Cell
from ioatlas.model.testbed import Fact, Testbed
from ioatlas.model.visit import Histogram, Part, Series, Visit
from ioatlas.plan.latency_search import Goal
from ioatlas.plan.spec import CampaignSpec
from ioatlas.stats.gates import offered_iops


def best(jobs, depth, iops, **shares):
    return Best(jobs, depth, iops, None, None, iops * 4096, 1e6, 2e6, 5, shares or {"read": 1.0})


@pytest.mark.parametrize(("jobs", "iops"), [(1, 16_000.0), (8, 1234.5), (64, 100.0), (3, 7.0)])
def test_ten_steps_up_to_the_capacity(jobs, iops):
    levels = curve_levels(best(jobs, 4, iops))
    assert [level.percent for level in levels] == list(range(10, 101, 10))
    for level in levels:
        # fio takes whole numbers for each job: half an I/O a second each may be lost or won.
        assert level.offered_iops == pytest.approx(iops * level.percent / 100, abs=max(1.0, level.numjobs / 2))
        assert level.numjobs <= jobs
        assert level.offered_iops == int(level.options["rate_iops"]) * level.numjobs
        assert level.iodepth >= 16


def test_a_mix_keeps_its_shares():
    levels = curve_levels(best(2, 8, 10_000.0, read=0.7, write=0.3))
    assert levels[-1].options["rate_iops"] == "3500,1500"
    cell = Cell.of("t", {"rw": "randrw", "numjobs": 2, **levels[-1].options})
    assert offered_iops(cell) == 10_000
    assert cell.loop == "open"


def visit(done, *, seconds=1.0, lat_ms=1.0, late_share=1.0):
    """`late_share`: throughput of the last four fifths over what they would need."""
    rates = [1.0] * 2 + [late_share] * 8
    series = Series(
        100, tuple(range(100, 1100, 100)), tuple(done * 4096 * r * 10 / sum(rates) for r in rates), (lat_ms * 1e6,) * 10
    )
    part = Part(
        "read",
        done * 4096,
        done,
        round(seconds * 1000),
        lat_ms * 1e6,
        Histogram.from_counts({round(lat_ms * 1e6): done}),
        series,
    )
    return Visit(1, "k", 1, 0, 50, 1, 0.0, (part,))


def paced(rate, jobs=1):
    return Cell.of("t", {"rw": "randread", "bs": 4096, "numjobs": jobs, "iodepth": 64, "rate_iops": rate})


@pytest.mark.parametrize(
    ("done", "lat_ms", "late_share", "overloaded"),
    [
        (1000, 1.0, 1.0, False),
        (985, 20.0, 1.0, False),  # 20 I/Os are under way when the time is up
        (900, 1.0, 1.0, True),
        (900, 20.0, 1.0, True),
        (970, 1.0, 2.0, False),  # a late start, made up for since
    ],
)
def test_overload_is_what_the_target_does_not_carry(done, lat_ms, late_share, overloaded):
    point = curve_point(paced(1000), [visit(done, lat_ms=lat_ms, late_share=late_share)], Goal())
    assert point.offered == 1000
    assert point.iops == done
    assert point.overloaded is overloaded


@pytest.mark.parametrize(
    ("lat_ms", "state"),
    [
        ((1.0,), "within"),
        ((9.0,), "over"),
        ((1.0, 1.0, 9.0), "within"),
        ((1.0, 9.0, 9.0), "over"),
        ((1.0, 9.0), "over"),
    ],
)
def test_of_several_visits_of_a_rate_the_middle_one_counts(lat_ms, state):
    """One disturbed visit of three does not decide, as in the search."""
    visits = [visit(1000, lat_ms=value) for value in lat_ms]
    point = curve_point(paced(1000), visits, Goal("p99", 5e6))
    assert point.state == state
    assert point.n_visits == len(lat_ms)
    assert point.low_ns == point.high_ns == point.lat_p99_ns == sorted(lat_ms)[len(lat_ms) // 2] * 1e6
    assert point.seconds == 1.0


@pytest.mark.parametrize(("sustained", "state"), [(1000, "within"), (999, "borderline"), (None, "within")])
def test_a_rate_that_the_closed_loop_did_not_surely_keep_up_is_borderline(sustained, state):
    point = curve_point(paced(1000), [visit(1000, lat_ms=1.0)], Goal("p99", 5e6), sustained)
    assert (point.state, point.overloaded) == (state, False)


def test_a_rate_that_one_visit_of_three_did_not_carry_is_borderline():
    visits = [visit(done, lat_ms=1.0) for done in (1000, 900, 1000)]
    point = curve_point(paced(1000), visits, Goal("p99", 5e6))
    assert (point.state, point.overloaded, point.n_overloaded) == ("borderline", False, 1)
    point = curve_point(paced(1000), [visits[1], *visits[:2]], Goal("p99", 5e6))
    assert (point.state, point.overloaded, point.n_overloaded) == ("over", True, 2)


def test_a_trial_is_the_slower_direction_and_all_ios():
    parts = [
        Part(name, 4096 * ios, ios, 1000, lat, Histogram.from_counts({round(lat): ios}), Series(0))
        for name, ios, lat in (("read", 700, 1e6), ("write", 300, 5e6))
    ]
    trial = trial_of(
        Cell.of("t", {"rw": "randrw", "numjobs": 4, "iodepth": 2}), Visit(1, "k", 1, 0, 0, 1, 0.0, tuple(parts))
    )
    assert trial.point == (4, 2)
    assert trial.iops == pytest.approx(1000)
    assert (trial.lat_mean_ns, trial.lat_p99_ns) == (5e6, 5e6)


BASE = {"numjobs": 1, "iodepth": 1, "bs": 4096}
CHANGES = ({"numjobs": 8}, {"iodepth": 16}, {"bs": 1 << 20})


def burst(cell, number, first, then):
    """A visit of a second: 0.3 s at a rate that does not last, MB/s, and its window after them."""
    rates = [first * 1e6] * 3 + [then * 1e6] * 7
    done = round(sum(rates) / 10)
    series = Series(100, tuple(range(100, 1100, 100)), tuple(rates), (1e6,) * 10)
    made = Part("read", done, done // 4096, 1000, 1e6, Histogram.from_counts({1_000_000: done // 4096}), series)
    return Visit(number, cell.key, 1, number, number, number, float(number), (made,), window_start_ms=300)


def test_a_change_gains_what_lasts_of_it_not_what_its_burst_gave():
    cells = [Cell.of("t", {"rw": "randread", **BASE, **more}) for more in ({}, *CHANGES)]
    visits = [burst(cells[more], n, 200, (80 if more == 1 else 10) + 0.1 * n) for n in range(6) for more in range(4)]
    best, *others = gains(cells, [replace(visit, replicate=2 + visit.replicate) for visit in visits], BASE)
    assert (best.option, best.value, best.proved) == ("numjobs", 8, True)
    assert best.gain == pytest.approx(7.8, abs=0.2)
    assert not any(one.proved for one in others)


@pytest.mark.parametrize(
    ("foretold", "words"),
    [((8, 7.9, 8), ""), ((8, 8, 8.5), "less than foretold"), ((1, 0.9, 1.1), "more than foretold"), ((8, 1, 16), "")],
)
def test_what_was_foretold_and_not_got_is_said(foretold, words):
    told = Gain("numjobs", 8, 7.8, 7.7, 7.95, Foretold(*foretold)).words
    assert told.endswith(words)
    assert ("than foretold" in told) == bool(words)


def test_a_gain_without_an_interval_says_why_and_what_budget_gives_one():
    spec = CampaignSpec(targets=(("", "/t"),), constants={}, budget_seconds=20)
    found = [Gain("numjobs", 8, 2.4, None, None, turns=2), Gain("bs", 1 << 20, None, None, None)]
    assert found[0].words == "2.4 times the throughput in 2 of 3 turns"
    assert (cure(found, spec)["n_turns"], cure(found, spec)["budget"]) == (3, "1m")
    most = [Gain("numjobs", 8, 2.4, 2.0, 3.0, turns=6), Gain("bs", 1 << 20, 2.4, None, None, turns=2)]
    assert cure(most, replace(spec, budget_seconds=180))["budget"] == "5m"  # more than it had


@pytest.mark.parametrize(
    ("load", "low", "named"),
    [
        ({"rw": "read", "direct": 0}, 2.0, True),
        ({"rw": "read", "direct": 0}, 0.9, False),
        ({"rw": "read", "direct": 1}, 2.0, False),
        ({"rw": "randread", "direct": 0}, 2.0, False),
    ],
)
def test_read_ahead_is_named_where_larger_blocks_help_reads_through_the_page_cache(load, low, named):
    found = [Gain("numjobs", 8, 3.0, 2.0, 4.0), Gain("bs", 1 << 20, 3.0, low, 5.0)]
    assert cure(found, CampaignSpec(targets=(("", "/t"),), constants=load))["read_ahead"] == named


PATH = {"nic.name": "eth0", "nic.mtu": 1500, "nic.speed": 1_000_000_000}


@pytest.mark.parametrize(
    ("facts", "bs", "rate", "deeper", "said"),
    [
        (PATH, 1 << 20, 50e6, 1.0, ["at most 2.5 times", "--cure 'ip link set dev eth0 mtu 9000' --undo"]),
        (PATH | {"nic.speed": 100e9}, 1 << 20, 50e6, 1.0, ["at most 6.18 times"]),
        (PATH, 1 << 20, 120e6, 1.0, []),  # the link is full
        (PATH, 1024, 50e6, 1.0, []),  # one packet each
        (PATH, 1 << 20, 50e6, 2.0, []),  # it waits for I/Os, not for packets
        (PATH | {"route.local": True}, 1 << 20, 50e6, 1.0, []),
        (PATH | {"nic.mtu": 9000, "nfs.connections": 1}, 1 << 20, 25e6, 1.0, ["nconnect=8", "at most 5 times"]),
        (PATH | {"nic.mtu": 9000, "nfs.connections": 4}, 1 << 20, 25e6, 1.0, []),
    ],
)
def test_settings_of_a_path_are_foretold_where_more_depth_gains_nothing(facts, bs, rate, deeper, said):
    bed = Testbed("nas", 0.0, tuple(Fact(*one) for one in facts.items()))
    told = list(of_the_path(bed, bs, rate, [Gain("iodepth", 16, deeper, 0.9 * deeper, 1.1 * deeper)]))
    assert len(told) == bool(said)
    assert all(one in told[0] for one in said)
