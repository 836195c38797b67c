# SPDX-License-Identifier: Apache-2.0
"""What a journal keeps of a campaign: flat JSON that stays readable, whatever wrote it."""

import json
from pathlib import Path

import pytest

from ioatlas.measure.procedures.fixed_work.options import FixedWorkOptions
from ioatlas.measure.procedures.load_points.options import streams_of
from ioatlas.measure.procedures.options import (
    CAMPAIGN,
    SniaOptions,
    TraceOptions,
    campaign_toml,
    find_profile,
    read_campaign,
)
from ioatlas.model.options import Preparation, SniaTest
from ioatlas.plan.options import declared
from ioatlas.plan.spec import CampaignSpec

OF_0_1 = json.loads((Path(__file__).parent / "journal_specs.json").read_text())
"""Specifications as version 0.1 wrote them into its journals, one of each kind of campaign."""
SINCE = {
    "rest_seconds": 0.0,
    "blocks": None,
    "product": "",
    "together": False,
    "clients": "",
    "client_range": "auto",
    "on_lost_client": "stop",
}
"""Options of every campaign that came since, at their defaults."""


@pytest.mark.parametrize("name", OF_0_1)
def test_a_record_of_before_is_read_and_written_again_without_a_loss(name):
    spec = CampaignSpec.from_record(OF_0_1[name])
    assert json.loads(json.dumps(spec.to_record())) == {**OF_0_1[name], **SINCE}
    assert CampaignSpec.from_record(spec.to_record()) == spec


def test_what_a_record_of_before_says():
    first = CampaignSpec.from_record(OF_0_1["map"])
    assert (first.name, first.targets, first.axes["iodepth"]) == ("record", (("a", "/mnt/nas"),), (1, 2))
    assert (first.precision, first.grade, first.prepare) == (0.3, "certified", Preparation.FILLED)
    assert (first.wanted.name, first.wanted.cap) == ("certified", first.max_visits)
    assert CampaignSpec.from_record(OF_0_1["snia"]).of(SniaOptions).snia is SniaTest.IOPS
    assert CampaignSpec.from_record(OF_0_1["iozone"]).of(FixedWorkOptions) == FixedWorkOptions("iozone2017", ("fio",))
    a, b = streams_of(CampaignSpec.from_record(OF_0_1["streams"])).streams
    assert (a.name, a.region, a.options["bs"], b.share) == ("a", (0.0, 50.0), 8192, 30.0)
    assert CampaignSpec.from_record(OF_0_1["trace"]).of(TraceOptions).trace == "/root/t.iolog"


@pytest.mark.parametrize("name", OF_0_1)
def test_the_campaign_file_of_a_record_reads_back_to_the_same(name):
    """But for what the file leaves to the profile or the trace."""
    spec = CampaignSpec.from_record(OF_0_1[name])
    again = read_campaign(campaign_toml(spec))
    for one in CAMPAIGN.options:
        if one.key not in ("trace", "name") and one.field in spec.to_record():
            assert again.to_record()[one.field] == spec.to_record()[one.field], one.key
    assert again.targets == spec.targets
    assert again.of(SniaOptions) == spec.of(SniaOptions)


def test_an_older_record_lacks_what_came_later():
    old = {name: value for name, value in OF_0_1["map"].items() if name not in ("patterns", "engines", "streams")}
    assert CampaignSpec.from_record(old).of(FixedWorkOptions).engines == ("fio",)
    assert CampaignSpec.from_record(old).patterns == ()


def test_options_that_nobody_here_knows_are_kept():
    record = OF_0_1["map"] | {"of_a_later_version": [1, 2]}
    assert CampaignSpec.from_record(record).to_record()["of_a_later_version"] == [1, 2]


def test_no_two_tables_keep_an_option_under_the_same_name():
    fields = [one.field for one in CAMPAIGN.options]
    keys = [one.key for one in CAMPAIGN.options] + [key for table in CAMPAIGN.tables for key in table.table_keys()]
    assert len(set(fields)) == len(fields)
    assert len(set(keys)) == len(keys)


def test_a_new_record_says_every_option_even_at_its_default():
    record = find_profile("quick").to_record()
    assert {one.field for one in CAMPAIGN.options} <= record.keys()
    assert {one.field for table in CAMPAIGN.tables for one in declared(table)} <= record.keys()
