# SPDX-License-Identifier: Apache-2.0
"""What limits a value beside a link; parts of a result, and what it tells once something speaks against a load."""

import pytest

from ioatlas.answer.analysis.attribution import Seen, limits_of
from ioatlas.answer.analysis.cache import CacheReport
from ioatlas.answer.analysis.ceilings import Ceiling
from ioatlas.answer.results.evidence import is_remote
from ioatlas.answer.results.only import only, parse_filter
from ioatlas.model.cell import Cell
from ioatlas.model.errors import UsageError
from ioatlas.model.estimate import Estimate, Limit
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.result import CampaignResult, ProductCost, UnitPrice
from ioatlas.model.summary import Headline
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


CELLS = [Cell.of("t", {"rw": rw, "bs": bs, "numjobs": 1}) for rw in ("read", "randread") for bs in (4096, 65536)]


def result():
    return CampaignResult(
        "id",
        "name",
        0.0,
        "0",
        (),
        {"rw": ("read", "randread"), "bs": (4096, 65536)},
        {},
        tuple(Estimate(cell, "read", "measured", 2, 1e6) for cell in CELLS),
        findings=(Finding(FindingCode.METHOD), Finding(FindingCode.KNEE, cells=(CELLS[1].key,))),
    )


def test_loads_are_chosen_as_one_writes_them():
    found = only(result(), parse_filter(["bs=4k", "rw=randread"]))
    assert [(e.cell.rw, e.cell.bs_bytes) for e in found.estimates] == [("randread", 4096)]
    assert found.axes == {"rw": ("randread",), "bs": (4096,)}
    assert [one.code for one in found.findings] == [FindingCode.METHOD]


def test_without_a_choice_all_stays():
    whole = result()
    assert only(whole, {}) is whole


def test_nothing_left_names_what_there_is():
    with pytest.raises(UsageError, match="no load is left") as refused:
        only(result(), parse_filter(["bs=1m"]))
    assert "bs=4096,65536" in refused.value.remedy


def test_two_options_in_one_choice_are_refused():
    with pytest.raises(UsageError, match="names two"):
        parse_filter(["bs=4k,numjobs=1"])


def price(unit, cell, direction):
    return UnitPrice(unit, 1.0, None, None, 1.0, None, "", cell, direction, lower_bound=False)


RESULT = CampaignResult(
    "", "", 0.0, "", (), {}, {}, (),
    findings=(
        Finding(FindingCode.LIMIT, {"about": "of it"}, ("x", "y"), direction="read"),
        Finding(FindingCode.LIMIT, {"about": "of any direction of it"}, ("x",)),
        Finding(FindingCode.LIMIT, {"about": "of its writes"}, ("x",), direction="write"),
        Finding(FindingCode.KNEE, {"about": "of another"}, ("y",)),
        Finding(FindingCode.POWER, {"about": "of all reads"}, direction="read"),
        Finding(FindingCode.BURST, {"about": "of all writes"}, direction="write"),
        Finding(FindingCode.METHOD, {"about": "of all"}),
        Finding(FindingCode.CORRUPTION, {"about": "of its data"}, target="t"),
    ),
    headlines=tuple(Headline(cell, "t", "read", "iops", 1.0, cell=cell) for cell in ("x", "y")),
    costs=(ProductCost("t", "p", "USD", 9.0, "", None, (price("TiB", "", ""), price("MB/s", "x", "read"))),),
)  # fmt: skip


def test_what_rests_on_a_doubted_load_is_not_told():
    made = RESULT.doubted({("x", "read"): "why"})
    told = [one.values["about"] for one in made.findings]
    assert told == ["of its writes", "of another", "of all writes", "of its data"]
    assert [one.cell for one in made.headlines] == ["y"]
    assert [one.unit for one in made.costs[0].units] == ["TiB"]


def test_without_a_doubt_it_is_as_it_was():
    assert RESULT.doubted({}) == RESULT
