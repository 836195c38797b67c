# SPDX-License-Identifier: Apache-2.0
"""Windows that hold enough I/Os, orders that are random but repeatable, plans that fit their budget."""

from collections import Counter

import pytest

from ioatlas.model.cell import Cell
from ioatlas.plan.orders import coarsen, random_replicates
from ioatlas.plan.pace import OWN_PROCESS_GAP_MS, Pace


def cell(bs=4096, jobs=1, depth=1, rw="read", **more):
    return Cell.of("t", {"rw": rw, "bs": bs, "size": 1 << 30, "numjobs": jobs, "iodepth": depth, **more})


def test_a_fast_target_gets_the_shortest_window_less_the_gap():
    pace = Pace(500)
    pace.learn(cell(), 50e-6)
    assert pace.runtime_and_gap_ms(cell()) == (498, 2)


def test_a_slow_target_gets_twenty_completions_a_job_and_time_to_drain():
    pace = Pace(500)
    pace.learn(cell(), 0.008)  # 125 IOPS, one at a time
    pace.learn(cell(jobs=32), 0.256)
    runtime_ms, gap_ms = pace.runtime_and_gap_ms(cell(jobs=32))
    latency_ms = 8 * 32
    assert runtime_ms >= 20 * latency_ms
    assert gap_ms >= latency_ms
    assert (runtime_ms + gap_ms) % 100 == 0


def test_the_rounding_of_a_fast_cells_run_time_is_no_drain():
    pace, told = Pace(500), Pace(500)
    for each in (pace, told):
        each.learn(cell(bs=1 << 20, jobs=16), 0.1, 0.4)
    told.learn(cell(), 80e-6, 0.001 / 80e-6)
    heavy = cell(bs=1 << 20, jobs=16)
    assert told.runtime_and_gap_ms(heavy) == pace.runtime_and_gap_ms(heavy)
    assert 60 <= pace.runtime_and_gap_ms(heavy)[1] <= 61, "half as long again as the drain"


def test_a_gap_waits_for_the_longest_drain_that_the_readings_allow():
    pace = Pace(500)
    pace.learn(cell(), 0.001)
    pace.learn(cell(bs=1 << 20, jobs=16), 0.1)
    unread = cell(bs=1 << 20, jobs=1)
    assert pace.bounds_seconds(unread) == pytest.approx((0.1 / 16, 0.1))
    assert pace.runtime_and_gap_ms(unread) == (350, 150), "a look no longer than the least that it may take"
    pace.learn(unread, 0.01)
    assert pace.runtime_and_gap_ms(unread)[1] == 15


def test_a_load_that_drains_long_has_a_process_of_its_own_and_costs_what_is_likely():
    pace = Pace(500)
    pace.learn(cell(), 0.0003)  # 12 MB/s
    pace.learn(cell(bs=1 << 20, jobs=16), 1.4)
    assert 1400 < pace.runtime_and_gap_ms(cell(bs=1 << 20, jobs=16))[1] <= 2100
    runtime_ms, gap_ms = pace.runtime_and_gap_ms(cell(bs=1 << 20, jobs=4))
    assert OWN_PROCESS_GAP_MS <= gap_ms < 1.5 * 1400
    assert runtime_ms < 2100, "four usual windows before it is read"
    assert pace.runtime_and_gap_ms(cell())[1] < OWN_PROCESS_GAP_MS


def test_readings_that_contradict_each_other_leave_time_for_the_longer():
    pace = Pace(500)
    pace.learn(cell(), 4096 / 100e6)  # while burst credit lasts
    pace.learn(cell(bs=1 << 20, jobs=16), 16 * (1 << 20) / 10e6)
    assert pace.bounds_seconds(cell(bs=1 << 20, jobs=16)) == pytest.approx((1.68, 1.68), rel=0.01)
    low, high = pace.bounds_seconds(cell(bs=1 << 20, jobs=4))
    assert low < 0.1 < high == pytest.approx(0.42, rel=0.01)


def test_windows_shrink_with_the_share_that_the_budget_leaves():
    pace = Pace(500)
    pace.learn(cell(), 0.1)
    usual_ms, _ = pace.runtime_and_gap_ms(cell())
    pace.share = 0.15
    shrunk_ms, _ = pace.runtime_and_gap_ms(cell())
    assert usual_ms >= 2000
    assert 300 <= shrunk_ms <= 450
    unsure = cell(bs=1 << 20)
    assert pace.runtime_and_gap_ms(unsure)[0] <= 450, "a first look at a cell that may take 256 times as long"


def test_sections_that_started_late_leave_a_tick_free():
    pace = Pace(500)
    pace.learn(cell(), 50e-6)
    pace.widen()
    runtime_ms, gap_ms = pace.runtime_and_gap_ms(cell())
    assert (runtime_ms, gap_ms) == (498, 102)


def test_bytes_in_flight_bound_the_window_of_deep_queues():
    pace = Pace(500)
    pace.learn(cell(depth=64), 0.1)
    runtime_ms, _ = pace.runtime_and_gap_ms(cell(depth=64))
    assert runtime_ms >= 10 * 100


def test_the_tightest_reading_wins_and_a_newer_one_replaces_it():
    pace = Pace(500)
    pace.learn(cell(), 0.001)
    assert pace.latency_seconds(cell(bs=65536)) == pytest.approx(0.016)
    pace.learn(cell(bs=65536), 0.002)
    assert pace.latency_seconds(cell(bs=65536)) == pytest.approx(0.002)
    pace.learn(cell(bs=65536), 0.004)
    assert pace.latency_seconds(cell(bs=65536)) == pytest.approx(0.004)


def test_another_mode_serves_until_the_own_is_known():
    pace = Pace(500)
    assert pace.latency_seconds(cell()) is None
    pace.learn(cell(rw="write"), 0.003)
    assert pace.latency_seconds(cell()) == pytest.approx(0.003)


def test_blocks_visit_every_cell_once_each_in_an_order_of_their_own():
    keys = [str(i) for i in range(40)]
    order = random_replicates(keys, 3, seed=5)
    assert order == random_replicates(keys, 3, seed=5)
    assert order != random_replicates(keys, 3, seed=6)
    blocks = [[key for key, block, _ in order if block == b] for b in range(3)]
    assert all(sorted(block) == sorted(keys) for block in blocks)
    assert blocks[0] != blocks[1]
    assert len({seed for _, _, seed in order}) == 120
    assert Counter(block for _, block, _ in order) == {0: 40, 1: 40, 2: 40}


def seconds(axes, visits):
    count = visits
    for values in axes.values():
        count *= len(values)
    return float(count)


AXES = {"rw": ("read", "write"), "bs": (4096, 16384, 65536, 262144, 1048576), "numjobs": (1, 2, 4, 8)}


def test_a_plan_that_fits_stays_whole():
    kept = coarsen(AXES, 2, seconds, 80)
    assert kept.axes == AXES
    assert kept.visits == 2


@pytest.mark.parametrize("budget", [79, 40, 20, 9, 4])
def test_a_coarsened_plan_fits_and_keeps_modes_and_ends(budget):
    kept = coarsen(AXES, 2, seconds, budget)
    assert seconds(kept.axes, kept.visits) <= budget
    assert kept.axes["rw"] == AXES["rw"]
    for name in ("bs", "numjobs"):
        assert kept.axes[name][0] == AXES[name][0]
        if len(kept.axes[name]) > 1:
            assert kept.axes[name][-1] == AXES[name][-1]
        assert set(kept.axes[name]) <= set(AXES[name])


def test_a_budget_for_nothing_leaves_the_smallest_plan_and_says_that_it_does_not_fit():
    kept = coarsen(AXES, 2, seconds, 1)
    assert not kept.fits
    assert seconds(kept.axes, kept.visits) == len(AXES["rw"])
