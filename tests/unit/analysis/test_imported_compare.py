# SPDX-License-Identifier: Apache-2.0
"""Loads of two tools: what is the same load, what cannot be known to be, and that nothing is tested without repeats."""

import pytest

from ioatlas.analysis.imported_compare import ImportedValue, compare_readings
from ioatlas.model.cell import Cell


def value(number, time=0.0, direction="read", **options):
    return ImportedValue(Cell.of("t", options), direction, number, "told", time)


def test_equal_loads_are_paired_and_not_tested():
    found = compare_readings(
        [value(100.0, rw="read", bs=4096)], [value(150.0, rw="read", bs=4096), value(9.0, rw="read", bs=8192)]
    )
    (row,) = found.rows
    assert row.ratio == pytest.approx(1.5)
    assert row.test is None
    assert row.reason == "no test: the first and the second side has one value"
    assert (found.only_first, found.only_second, found.tested) == (0, 1, 0)


def test_what_one_side_does_not_tell_fits_if_only_one_load_does():
    ours = [value(100.0, rw="read", bs=4096, iodepth=1, numjobs=1)]
    (row,) = compare_readings(ours, [value(120.0, rw="read", bs=4096, numjobs=1)]).rows
    assert row.unknown == ("iodepth",)
    several = [*ours, value(400.0, rw="read", bs=4096, iodepth=8, numjobs=1)]
    found = compare_readings(several, [value(120.0, rw="read", bs=4096, numjobs=1)])
    assert (found.rows, found.ambiguous) == ((), 2)


@pytest.mark.parametrize(
    "other",
    [
        {"rw": "write", "bs": 4096, "direction": "write"},
        {"rw": "read", "bs": 8192},
        {"rw": "read"},
        {"operation": "reread", "bs": 4096},
        {"rw": "randrw", "bs": 4096, "rwmixread": 70},
    ],
)
def test_other_loads_are_not_paired(other):
    assert compare_readings([value(100.0, rw="read", bs=4096)], [value(100.0, **other)]).rows == ()


def test_a_mix_counts_only_for_mixed_loads():
    assert (
        compare_readings([value(1.0, rw="read", bs=4096, rwmixread=50)], [value(1.0, rw="read", bs=4096)])
        .rows[0]
        .unknown
        == ()
    )
    assert (
        compare_readings(
            [value(1.0, rw="randrw", bs=1, rwmixread=50)], [value(1.0, rw="randrw", bs=1, rwmixread=70)]
        ).rows
        == ()
    )


def test_repeats_on_both_sides_are_tested():
    first = [value(100.0 + i, float(i), rw="read", bs=4096) for i in range(5)]
    second = [value(200.0 + i, float(i), rw="read", bs=4096) for i in range(5)]
    alone = value(50.0, rw="read", bs=8192)
    found = compare_readings([*first, alone], [*second, alone])
    assert found.tested == 1
    tested, single = found.rows
    assert tested.test.outcome == "higher"
    assert tested.test.low < 2.0 < tested.test.high
    assert single.test is None
    same = compare_readings(first, [value(100.2 + i, float(i), rw="read", bs=4096) for i in range(5)]).rows[0]
    assert same.test.outcome in ("not different", "same")
