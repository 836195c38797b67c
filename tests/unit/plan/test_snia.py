# SPDX-License-Identifier: Apache-2.0
from itertools import product

import pytest

from ioatlas.model.cell import Cell
from ioatlas.model.errors import UsageError
from ioatlas.plan.snia import PROCEDURES, deviations, passes, plan_snia

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
