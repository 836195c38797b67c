# SPDX-License-Identifier: Apache-2.0
"""What a campaign that replays a trace may say besides."""

import pytest

from ioatlas.campaign.spec import CampaignSpec
from ioatlas.campaign.traces import summed_up
from ioatlas.errors import UsageError


@pytest.fixture
def three_ios(tmp_path):
    path = tmp_path / "t.iolog"
    path.write_text("fio version 3 iolog\n" + "".join(f"{1000 * k} f read {4096 * k} 4096\n" for k in range(3)))
    return str(path)


def test_every_lane_has_an_io(three_ios):
    assert summed_up(CampaignSpec(trace=three_ios), ()).constants["numjobs"] == 3
    assert summed_up(CampaignSpec(trace=three_ios, axes={"numjobs": (1, 3)}), ()).axes == {"numjobs": (1, 3)}
    for spec in (CampaignSpec(trace=three_ios, constants={"numjobs": 4}), CampaignSpec(trace=three_ios, axes={"numjobs": (1, 4)})):
        with pytest.raises(UsageError, match="4 I/Os in flight are more than the 3"):
            summed_up(spec, ())


def test_what_is_summed_up_sums_up_to_the_same_again(three_ios):
    once = summed_up(CampaignSpec(trace=three_ios), ())
    assert summed_up(once, ()) == once
    with pytest.raises(UsageError, match="'bs' is settled by the trace"):
        summed_up(CampaignSpec(trace=three_ios, constants={"bs": 4096}), ())
