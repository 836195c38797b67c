# SPDX-License-Identifier: Apache-2.0
"""What limits a value beside a link."""

import pytest

from ioatlas.answer.analysis.attribution import Seen, limits_of
from ioatlas.answer.analysis.cache import CacheReport
from ioatlas.answer.analysis.ceilings import Ceiling
from ioatlas.answer.results.evidence import is_remote
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate, Limit
from ioatlas.model.testbed import CpuShares, Fact, Testbed, Usage

CELL = Cell("target", (("rw", "read"), ("bs", 65536)))
LINK = Ceiling("10 Gb/s link", "link", 1.2e9, None, "computed")


def bed(**facts):
    return Testbed("nas", 0.0, tuple(Fact(name.replace("__", "."), value) for name, value in facts.items()))


def test_a_server_on_this_machine_is_not_behind_a_wire():
    assert is_remote(bed(server__address="10.0.0.1"))
    assert not is_remote(bed(server__address="127.0.0.1", route__local=True))


FULL = Seen((Usage(1.0, core_busy=(1.0, 1.0)),), (0.05,), (0.5,), (CpuShares(0.05, 0.95),))
"""A client whose processors others keep busy."""


@pytest.mark.parametrize(
    ("share", "seen", "by_law", "limit"),
    [
        (0.99, Seen(), "target bandwidth", "link"),
        (0.99, FULL, "target bandwidth", "link"),  # it is carried, whoever else is at work
        (0.94, Seen(), "target bandwidth", "undetermined"),  # of a link that is shared, or of the target
        (0.94, Seen(), "rate limit in bytes", "undetermined"),
        (0.94, Seen(), "latency", "latency"),
        (0.94, FULL, "target bandwidth", "other programs on this client"),
        (0.80, Seen(), "target bandwidth", "target bandwidth"),
    ],
)
def test_near_what_a_link_carries_the_target_is_not_named(share, seen, by_law, limit):
    value = Estimate(CELL, "read", "measured", 2, bw_bytes_per_s=share * 1.2e9)
    caches = CacheReport({})
    told = limits_of([value], caches, {CELL.key: seen}, lambda _: Limit(by_law), lambda *_: (LINK,))
    assert told[CELL.key, "read"].resource == limit
