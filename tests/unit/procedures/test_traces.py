# SPDX-License-Identifier: Apache-2.0
"""What a campaign that replays a trace may say besides."""

import pytest

from ioatlas.load.fio.batch import Section
from ioatlas.load.fio.replay import LEAD_MS, cap_ms
from ioatlas.measure.procedures.options import TraceOptions
from ioatlas.measure.procedures.trace import summed_up
from ioatlas.measure.run.plan import default_pace, expected_seconds
from ioatlas.model.cell import Cell
from ioatlas.model.errors import UsageError
from ioatlas.plan.spec import CampaignSpec


@pytest.fixture
def three_ios(tmp_path):
    path = tmp_path / "t.iolog"
    path.write_text("fio version 3 iolog\n" + "".join(f"{1000 * k} f read {4096 * k} 4096\n" for k in range(3)))
    return str(path)


def test_every_lane_has_an_io(three_ios):
    assert summed_up(CampaignSpec().having(TraceOptions(three_ios)), ()).constants["numjobs"] == 3
    assert summed_up(CampaignSpec(axes={"numjobs": (1, 3)}).having(TraceOptions(three_ios)), ()).axes == {
        "numjobs": (1, 3)
    }
    for spec in (
        CampaignSpec(constants={"numjobs": 4}).having(TraceOptions(three_ios)),
        CampaignSpec(axes={"numjobs": (1, 4)}).having(TraceOptions(three_ios)),
    ):
        with pytest.raises(UsageError, match="4 I/Os in flight are more than the 3"):
            summed_up(spec, ())


def test_what_is_summed_up_sums_up_to_the_same_again(three_ios):
    once = summed_up(CampaignSpec().having(TraceOptions(three_ios)), ())
    assert summed_up(once, ()) == once
    with pytest.raises(UsageError, match="'bs' is settled by the trace"):
        summed_up(CampaignSpec(constants={"bs": 4096}).having(TraceOptions(three_ios)), ())


def test_a_budget_counts_a_traces_own_time_not_its_cap():
    cell = Cell.of(
        "t", {"trace": "x", "trace_seconds": 20.0, "rw": "randread", "bs": 4096, "size": 1 << 20, "numjobs": 4}
    )
    section = Section(1, cell, 1, cap_ms(cell), 10, ())
    pace = default_pace(CampaignSpec())
    assert expected_seconds([section], pace) == pytest.approx(20 + LEAD_MS / 1000, rel=0.01)
    pace.learn(cell, 60.0)  # few I/Os in a long time are no slow target
    assert expected_seconds([section], pace) == pytest.approx(20 + LEAD_MS / 1000, rel=0.01)
    assert section.turns * 0.1 > 80
