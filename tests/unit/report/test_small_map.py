# SPDX-License-Identifier: Apache-2.0
from ioatlas.model.cell import Cell
from ioatlas.model.reason import read_unmeasured
from ioatlas.model.result import Unmeasured
from ioatlas.report.small_map import small_map
from tests.unit.analysis.test_overview import result, sweep


def test_a_level_of_which_nothing_is_known_takes_no_room():
    measured = sweep(lambda **o: 1e6, rw=("read",), bs=(4096, 1 << 20), numjobs=(1,))
    cell = Cell.of("nas", {"rw": "read", "bs": 4096, "numjobs": 64})
    left_out = Unmeasured(cell, read_unmeasured("left-out: time was up"))
    found = small_map(result(measured, unmeasured=(left_out,)))
    assert (found.x.levels, set(found.y.levels)) == ((1,), {4096, 1 << 20})
