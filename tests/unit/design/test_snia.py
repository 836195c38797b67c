# SPDX-License-Identifier: Apache-2.0
import pytest

from ioatlas.design.snia import plan_snia
from ioatlas.errors import UsageError

TIB = 1 << 40


def test_the_iops_test_has_56_minutes_a_round_and_one_tracking_cell():
    plan = plan_snia("iops", TIB, sequential_write_bytes_per_s=5e8, can_purge=True, purge_seconds=30)
    (cells,) = plan.passes
    assert len(cells) == 56
    assert plan.round_seconds == 56 * 60
    assert plan.fill_bytes == 2 * TIB
    assert plan.least_seconds == pytest.approx(30 + 2 * TIB / 5e8 + 5 * 3360)
    assert plan.most_seconds == pytest.approx(30 + 2 * TIB / 5e8 + 25 * 3360)
    assert [(c.rw, c.bs_bytes) for c in cells if c.tracking] == [("randwrite", 4096)]
    assert plan.left_out == ()
    # 8 sizes x (0 + 5 + 35 + 50 + 65 + 95 + 100)% of a minute of writing.
    assert plan.least_bytes == pytest.approx(2 * TIB + 5 * 8 * 3.5 * 60 * 5e8)


def test_the_throughput_test_fills_before_each_block_size():
    plan = plan_snia("throughput", TIB, sequential_write_bytes_per_s=5e8)
    assert [[c.rw for c in cells] for cells in plan.passes] == [["read", "write"], ["read", "write"]]
    assert plan.least_seconds == pytest.approx(2 * (2 * TIB / 5e8 + 5 * 120))
    assert "purge" in plan.left_out[0]


def test_sizes_below_the_logical_block_are_left_out_and_named():
    plan = plan_snia("latency", TIB, sequential_write_bytes_per_s=5e8, logical_block_bytes=4096)
    assert {c.bs_bytes for c in plan.passes[0]} == {4096, 8192}
    assert any("bs 512" in reason for reason in plan.left_out)


def test_impossible_plans_are_refused():
    for arguments in (("iops", 0, 1.0), ("iops", 1, 0.0), ("fast", 1, 1.0)):
        with pytest.raises(UsageError):
            plan_snia(arguments[0], arguments[1], sequential_write_bytes_per_s=arguments[2])
