# SPDX-License-Identifier: Apache-2.0
"""Parts of a result by the values of its loads."""

import pytest

from ioatlas.answer.results.only import only, parse_filter
from ioatlas.model.cell import Cell
from ioatlas.model.errors import UsageError
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.result import CampaignResult

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
        findings=(Finding(FindingCode.METHOD, "Of all."), Finding(FindingCode.KNEE, "Of one.", (CELLS[1].key,))),
    )


def test_loads_are_chosen_as_one_writes_them():
    found = only(result(), parse_filter(["bs=4k", "rw=randread"]))
    assert [(e.cell.rw, e.cell.bs_bytes) for e in found.estimates] == [("randread", 4096)]
    assert found.axes == {"rw": ("randread",), "bs": (4096,)}
    assert [one.sentence for one in found.findings] == ["Of all."]


def test_without_a_choice_all_stays():
    whole = result()
    assert only(whole, {}) is whole


def test_nothing_left_names_what_there_is():
    with pytest.raises(UsageError, match="no load is left") as refused:
        only(result(), parse_filter(["bs=1m"]))
    assert "bs=4096,65536" in refused.value.remedy


def test_two_options_in_one_choice_are_refused():
    with pytest.raises(UsageError, match="names two options"):
        parse_filter(["bs=4k,numjobs=1"])
