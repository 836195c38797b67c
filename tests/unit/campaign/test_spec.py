# SPDX-License-Identifier: Apache-2.0
"""Campaign files: what is read, and that every fault names line, key and remedy."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from ioatlas.campaign.profiles import PROFILES, find_profile
from ioatlas.campaign.spec import CampaignSpec, campaign_schema, campaign_toml, read_campaign
from ioatlas.errors import UsageError

SCHEMA = Path(__file__).parents[3] / "docs" / "campaign.schema.json"

FULL = """
name = "my nas"
visits = 3
budget = "1h30m"
order_seed = 7
window = "2s"
sharing = "private"
cells = 48
error = "2.5%"
precision = "4%"
grade = "certified"
max_visits = 13

[[target]]
name = "a"
path = "/mnt/a"

[[target]]
uri = "nbd://host/x"

[sweep]
rw = ["read", "randtrim"]
bs = "4k..1m"
size = ["64MiB", "1g"]
iodepth = [1, 8]
rwmixread = 70
"""


def test_a_full_file_reads_as_written():
    spec = read_campaign(FULL, source="c.toml")
    assert spec.targets == (("a", "/mnt/a"), ("", "nbd://host/x"))
    assert spec.axes["bs"] == (4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576)
    assert spec.axes["size"] == (64 << 20, 1 << 30)
    assert spec.constants == {"rwmixread": 70}
    assert (spec.wanted.name, spec.wanted.precision, spec.wanted.cap) == ("certified", 0.04, 13)
    assert (spec.cells, spec.error) == (48, 0.025)
    assert (spec.visits, spec.budget_seconds, spec.order_seed, spec.window_seconds, spec.sharing) == (3, 5400, 7, 2, "private")


def test_written_out_and_read_back_it_is_the_same():
    spec = read_campaign(FULL, source="c.toml")
    assert read_campaign(campaign_toml(spec), source="d.toml") == spec


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("visits = 0\n", 1, ["visits"]),
        ("visits = 2\nvists = 3\n", 2, ["vists", "did you mean 'visits'"]),
        ('[sweep]\nrw = "read"\nbs = ["4k", "5x"]\n', 3, ["bs", "not a size"]),
        ("[sweep]\nruntime = [1, 2]\n", 2, ["runtime", "not a repeat count", "visits"]),
        ('[sweep]\nfilename = "/etc/passwd"\n', 2, ["filename", "ioatlas alone sets"]),
        ('[sweep]\nexec_prerun = "sh"\n', 2, ["exec_prerun", "not taken"]),
        ("[sweep]\niodpth = [1]\n", 2, ["iodpth", "did you mean 'iodepth'"]),
        ('[sweep]\nbs = "4k..1000k"\n', 2, ["does not reach"]),
        ("[sweep]\nbs = []\n", 2, ["empty"]),
        ('[target]\nname = "x"\n', 1, ["path", "uri"]),
        ('[[target]]\npath = "/a"\n\n[[target]]\npth = "/b"\n', 5, ["pth", "did you mean 'path'"]),
        ('window = "10ms"\n', 1, ["at least 100 ms"]),
        ('budget = "soon"\n', 1, ["not a duration"]),
        ("visits = \n", 1, ["not TOML"]),
        ('profile = "quik"\n', 1, ["no profile 'quik'", "did you mean 'quick'"]),
        ("[sweep]\nbs = [4096, true]\n", 2, ["True"]),
        ('sharing = "both"\n', 1, ["sharing"]),
        ('error = "250%"\n', 1, ["not between 0% and 100%"]),
    ],
)
def test_a_fault_names_line_key_and_remedy(text, line, words):
    with pytest.raises(UsageError) as caught:
        read_campaign(text, source="c.toml", profiles=find_profile)
    message = str(caught.value)
    assert f"c.toml:{line}" in message, message
    assert "what to do" in message
    for word in words:
        assert word in message, message


def test_a_file_overrides_the_profile_it_names():
    spec = read_campaign('profile = "quick"\n[sweep]\nbs = ["8k"]\nsize = "64m"\n', source="c", profiles=find_profile)
    assert spec.axes["bs"] == (8192,)
    assert spec.axes["rw"] == PROFILES["quick"][1].axes["rw"]
    assert "size" not in spec.axes
    assert spec.constants["size"] == 64 << 20


def test_seed2021_has_the_grid_of_the_study():
    spec = find_profile("seed2021")
    assert {name: len(values) for name, values in spec.axes.items()} == {"rw": 2, "size": 12, "bs": 10, "numjobs": 8}
    assert spec.cell_count == 1920
    assert any("repeat count" in remark for remark in spec.remarks)


def test_the_published_schema_is_the_one_in_force():
    assert json.loads(SCHEMA.read_text()) == campaign_schema(), "run `make schema`"
    Draft202012Validator.check_schema(campaign_schema())


def test_default_specification_is_closed_to_typing_errors():
    with pytest.raises(TypeError):
        CampaignSpec(vists=3)
