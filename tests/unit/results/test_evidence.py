# SPDX-License-Identifier: Apache-2.0
"""The ceiling that stands beside a value."""

import pytest

from ioatlas.analysis.ceilings import Ceiling
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate, Limit
from ioatlas.model.testbed import Fact, Testbed
from ioatlas.results.evidence import _with_limit, is_remote

CELL = Cell("target", (("rw", "read"), ("bs", 65536)))
MEMORY = Ceiling("path to a target in memory, 1 job", "stack", 1e9, None, "measured")
LINK = Ceiling("10 Gb/s link", "link", 1.2e9, None, "computed")


def bed(**facts):
    return Testbed("nas", 0.0, tuple(Fact(name.replace("__", "."), value) for name, value in facts.items()))


def test_a_server_on_this_machine_is_not_behind_a_wire():
    assert is_remote(bed(server__address="10.0.0.1"))
    assert not is_remote(bed(server__address="127.0.0.1", route__local=True))


@pytest.mark.parametrize(("rate", "nearest"), [(9e8, MEMORY.name), (1.1e9, LINK.name)])
def test_memory_that_is_slower_than_the_value_bounds_nothing(rate, nearest):
    value = Estimate(CELL, "read", "measured", 2, bw_bytes_per_s=rate)
    found = _with_limit(value, {(CELL.key, "read"): Limit()}, lambda cell, direction: (MEMORY, LINK))
    assert found.ceiling is not None
    assert found.ceiling.name == nearest
