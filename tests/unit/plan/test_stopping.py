# SPDX-License-Identifier: Apache-2.0

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioatlas.model.cell import Cell
from ioatlas.model.errors import UsageError
from ioatlas.plan.snia import PROCEDURES, deviations, passes, plan_snia
from ioatlas.plan.stopping import CERTIFIED_LOOKS, certified_grade, look_confidence, map_grade
from ioatlas.stats.intervals import PooledVariance, median_interval

positive = st.floats(1.0, 1e9)


def run(rule, draw):
    values = []
    decision = rule(values)
    while decision.state == "more":
        values += [draw() for _ in range(decision.next_visits)]
        decision = rule(values)
    return values, decision


def test_quiet_cells_stop_at_three_and_noisy_ones_at_the_cap():
    quiet = map_grade([100.0, 100.1, 99.9])
    assert (quiet.state, quiet.next_visits) == ("precise", 0)
    noisy = map_grade([100.0, 150.0, 80.0, 120.0, 60.0])
    assert noisy.state == "cap"
    assert noisy.interval.relative_half_width > 0.05


def test_the_first_look_is_at_three_or_two_with_a_pool():
    assert map_grade([]).next_visits == 3
    assert map_grade([5.0, 5.0]).next_visits == 1
    pool = PooledVariance(0.0001, math.inf, 50)
    assert map_grade([], pooled=pool).next_visits == 2
    assert map_grade([100.0, 101.0], pooled=pool).state == "precise"


def test_looks_are_judged_at_more_than_is_claimed():
    values = [100.0, 104.0, 97.0]
    decision = map_grade(values, cap=5)
    assert decision.interval.confidence == 0.95
    assert decision.interval.method == "log-t-looks/1"
    assert look_confidence(3) == 0.97
    assert decision.interval.high == pytest.approx(
        100.29 * math.exp(_t(0.985, 2) * np.log(values).std(ddof=1) / math.sqrt(3)), rel=1e-3
    )


def _t(p, dof):
    from scipy import stats

    return stats.t.ppf(p, dof)


def test_certified_looks_only_when_planned():
    values = [100.0 + 0.01 * i for i in range(30)]
    for n in range(31):
        decision = certified_grade(values[:n])
        if n in CERTIFIED_LOOKS:
            assert decision.state != "more"
        elif n < 7 or (n < 30 and decision.state == "more"):
            assert n + decision.next_visits in CERTIFIED_LOOKS
    assert certified_grade(values[:8]).state == "more"
    assert certified_grade(values[:8]).next_visits == 2


def test_certified_uses_the_published_ranks():
    values = [float(v) for v in range(1, 31)]
    for n, low in ((7, 1), (10, 2), (13, 3), (20, 5)):
        decision = certified_grade(values[:n], precision=0.001)
        assert (decision.interval.low, decision.interval.high) == (low, n + 1 - low)
    assert certified_grade(values, precision=0.001).interval.low == 10
    assert certified_grade(values).interval.low == median_interval(values).low


@pytest.mark.parametrize("ratio", [0.4, 1.0, 2.5])
def test_map_grade_covers_what_it_claims_where_it_stops(ratio):
    rng = np.random.default_rng(round(ratio * 10))
    covered = [
        run(map_grade, lambda: math.exp(0.05 * ratio * rng.normal()))[1].interval.covers(1.0) for _ in range(1000)
    ]
    assert 0.93 <= np.mean(covered) <= 0.98


@pytest.mark.parametrize("modes", [pytest.param(1.0, marks=pytest.mark.long("plan", "stats")), 1.15])
def test_certified_grade_covers_the_median_of_any_shape(modes):
    rng = np.random.default_rng(5)
    draws = rng.choice([1.0, modes], 100_000, p=[0.6, 0.4]) * np.exp(0.02 * rng.normal(size=100_000))
    truth, each = float(np.median(draws)), iter(draws.tolist())
    covered = [run(certified_grade, lambda: next(each))[1].interval.covers(truth) for _ in range(600)]
    assert np.mean(covered) >= 0.925


def test_stalled_cells_run_to_the_cap():
    assert map_grade([0.0, 0.0, 0.0]).state == "more"
    assert map_grade([0.0] * 5).state == "cap"
    assert map_grade([0.0, 100.0, 100.0]).interval.method == "t/1"


@pytest.mark.parametrize(
    "call",
    [
        lambda: map_grade([1.0], precision=5),
        lambda: map_grade([1.0], cap=2),
        lambda: certified_grade([1.0], cap=6),
        lambda: map_grade([1.0], precision=0),
    ],
)
def test_impossible_requests_are_refused(call):
    with pytest.raises(UsageError):
        call()


@given(st.lists(positive, max_size=40), st.integers(3, 60))
def test_map_grade_always_ends_and_never_passes_the_cap(values, cap):
    decision = map_grade(values, cap=cap)
    assert decision.state != "more" or len(values) + decision.next_visits <= cap
    if len(values) >= cap:
        assert decision.state != "more"


TIB = 1 << 40
KIB = 1 << 10


def cells_of(test, size=TIB, **changed):
    procedure = PROCEDURES[test]
    axes = {**procedure.axes, **{name: values for name, values in changed.items() if name in procedure.axes}}
    constants = {
        **procedure.constants,
        "size": size,
        **{name: value for name, value in changed.items() if name not in axes},
    }
    return [
        Cell.of("drive", {**constants, **dict(zip(axes, values, strict=True))}) for values in product(*axes.values())
    ]


def test_the_iops_test_has_56_minutes_a_round_and_one_tracked_cell():
    cells = cells_of("iops")
    (group,) = passes("iops", cells)
    assert len(group) == 56
    # Read shares in the outer loop, largest block first.
    assert [(c.integer("rwmixread", -1), c.bs_bytes) for c in group[:2]] == [(100, 1024 * KIB), (100, 128 * KIB)]
    tracked = [c for c in group if PROCEDURES["iops"].tracks(c)]
    assert [(c.integer("rwmixread", -1), c.bs_bytes) for c in tracked] == [(0, 4096)]
    plan = plan_snia("iops", cells, sequential_write_bytes_per_s=5e8)
    assert plan.round_seconds == 56 * 60
    assert plan.fill_bytes == 2 * TIB
    assert plan.least_seconds == pytest.approx(2 * TIB / 5e8 + 5 * 3360)
    assert plan.most_seconds == pytest.approx(2 * TIB / 5e8 + 25 * 3360)
    # 8 sizes x (0 + 5 + 35 + 50 + 65 + 95 + 100)% of a minute of writing.
    assert plan.least_bytes == pytest.approx(2 * TIB + 5 * 8 * 3.5 * 60 * 5e8)


def test_the_throughput_test_fills_before_each_block_size():
    cells = cells_of("throughput")
    assert [[c.rw for c in group] for group in passes("throughput", cells)] == [["read", "write"], ["read", "write"]]
    plan = plan_snia("throughput", cells, sequential_write_bytes_per_s=5e8)
    assert plan.passes == 2
    assert plan.least_seconds == pytest.approx(2 * (2 * TIB / 5e8 + 5 * 120))


def test_write_saturation_ends_when_four_times_the_range_is_written_or_after_a_day():
    plan = plan_snia(
        "saturation", cells_of("saturation", 3 * 10**9), sequential_write_bytes_per_s=5e8, random_write_bytes_per_s=1e8
    )
    assert plan.fill_bytes == 0
    assert plan.least_rounds == 2  # 12 GB at 6 GB a minute
    assert plan.most_rounds == 24 * 60


def test_what_is_not_as_the_specification_says_is_named():
    assert deviations("iops", cells_of("iops"), window_seconds=60, capacity_bytes=TIB) == ()
    told = deviations("iops", cells_of("iops", bs=(4096,), size=TIB // 2), window_seconds=1, capacity_bytes=TIB)
    assert any("ran 1 s" in text and "60 s" in text for text in told)
    assert any("512 B" in text and "left out" in text for text in told)
    assert any("512 GiB of 1 TiB" in text for text in told)
    assert any(
        "file system" in text for text in deviations("iops", cells_of("iops"), window_seconds=60, capacity_bytes=None)
    )


def test_a_test_without_its_tracked_cell_is_refused():
    for changed in ({"bs": (8192,)}, {"rwmixread": (100, 50)}):
        with pytest.raises(UsageError, match="tracks one cell"):
            passes("iops", cells_of("iops", **changed))
