# SPDX-License-Identifier: Apache-2.0
import pytest

from ioatlas.model.cell import Cell
from ioatlas.model.result import Unmeasured
from ioatlas.model.verdict import read_unmeasured
from ioatlas.report.small_map import COLOURS, small_map
from tests.unit.analysis.test_overview import result, sweep


def test_a_level_of_which_nothing_is_known_takes_no_room():
    measured = sweep(lambda **o: 1e6, rw=("read",), bs=(4096, 1 << 20), numjobs=(1,))
    cell = Cell.of("nas", {"rw": "read", "bs": 4096, "numjobs": 64})
    left_out = Unmeasured(cell, read_unmeasured("left-out: time was up"))
    found = small_map(result(measured, unmeasured=(left_out,)))
    assert (found.x.levels, set(found.y.levels)) == ((1,), {4096, 1 << 20})


@pytest.mark.parametrize(("speeds", "middle"), [((1e6, 4e6, 8e6), 13), ((1e6, 1e7, 1e8), 13), ((1e6, 5e7, 1e8), 22)])
def test_colours_are_those_of_the_pages_map(speeds, middle):
    """Shares of the largest; on logarithms where a quarter of the values would be told from zero by nobody."""
    sizes = (4096, 65536, 1 << 20)
    found = small_map(result(sweep(lambda bs, **o: speeds[sizes.index(bs)], rw=("read",), bs=sizes, numjobs=(1, 4))))
    steps = {bs: found.values["read", 1, bs].step for bs in sizes}
    assert steps[sizes[1]] == middle
    assert steps[sizes[2]] == len(COLOURS) - 1
    assert (steps[sizes[0]] == 0) == (speeds != (1e6, 4e6, 8e6))
