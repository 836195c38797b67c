# SPDX-License-Identifier: Apache-2.0
"""What a result tells once something speaks against one of its loads."""

from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.result import CampaignResult, ProductCost, UnitPrice
from ioatlas.model.summary import Headline


def price(unit, cell, direction):
    return UnitPrice(unit, 1.0, None, None, 1.0, None, "", cell, direction, lower_bound=False)


RESULT = CampaignResult(
    "", "", 0.0, "", (), {}, {}, (),
    findings=(
        Finding(FindingCode.LIMIT, "of it", ("x", "y"), direction="read"),
        Finding(FindingCode.LIMIT, "of any direction of it", ("x",)),
        Finding(FindingCode.LIMIT, "of its writes", ("x",), direction="write"),
        Finding(FindingCode.KNEE, "of another", ("y",)),
        Finding(FindingCode.EXPLAINED, "of all reads", direction="read"),
        Finding(FindingCode.BURST, "of all writes", direction="write"),
        Finding(FindingCode.METHOD, "of all"),
        Finding(FindingCode.CORRUPTION, "of its data", target="t"),
    ),
    headlines=tuple(Headline(cell, "t", "read", "iops", 1.0, cell=cell) for cell in ("x", "y")),
    costs=(ProductCost("t", "p", "USD", 9.0, "", None, (price("TiB", "", ""), price("MB/s", "x", "read"))),),
)  # fmt: skip


def test_what_rests_on_a_doubted_load_is_not_told():
    made = RESULT.doubted({("x", "read"): "why"})
    told = [one.sentence for one in made.findings]
    assert told == ["of its writes", "of another", "of all writes", "of its data"]
    assert [one.cell for one in made.headlines] == ["y"]
    assert [one.unit for one in made.costs[0].units] == ["TiB"]


def test_without_a_doubt_it_is_as_it_was():
    assert RESULT.doubted({}) == RESULT
