# SPDX-License-Identifier: Apache-2.0
"""What two campaigns differ in is told by values, not by silence."""

from ioatlas.answer.results.comparison import options_apart
from ioatlas.model.cell import Cell


def cells(**options):
    return [Cell.of("t", {"rw": rw, "bs": bs, **options}) for rw in ("read", "write") for bs in (4096, 1 << 20)]


def test_options_without_a_common_value_are_named_with_their_values():
    assert options_apart(cells(size=256 << 20), cells(size=64 << 20)) == ["size 256 MiB and 64 MiB"]
    assert options_apart(cells(iodepth=1), cells(iodepth=8)) == ["iodepth 1 and 8"]


def test_equal_or_overlapping_options_are_not():
    assert options_apart(cells(), cells()) == []
    assert options_apart(cells(), cells()[:2]) == []
