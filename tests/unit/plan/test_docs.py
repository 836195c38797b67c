# SPDX-License-Identifier: Apache-2.0
"""What the documents say of campaigns is what the code does."""

from pathlib import Path

from ioatlas.measure.procedures.options import CAMPAIGN
from ioatlas.model.options import ALLOWED, REFUSED
from ioatlas.plan.profiles import profiles

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "campaign.md").read_text()
OPTIONS = PAGE.split("<!-- options: begin -->")[1].split("<!-- options: end -->")[0]


def test_every_option_that_may_be_set_is_documented():
    missing = [name for name in ALLOWED if f"`{name}`" not in OPTIONS]
    assert not missing, "run `make schema`"
    assert not [name for name in REFUSED if f"`{name}`" in OPTIONS]


def test_every_profile_and_key_is_documented():
    assert not [name for name in profiles() if f"| `{name}` |" not in PAGE]
    keys = PAGE.split("<!-- keys: begin -->")[1].split("<!-- keys: end -->")[0]
    assert not [key for key in CAMPAIGN.model.model_fields if f"`{key}`" not in keys]


def test_no_option_is_both_allowed_and_refused():
    assert not ALLOWED.keys() & REFUSED.keys()


def test_campaigns_of_the_examples_are_read():
    files = sorted((Path(__file__).parents[3] / "examples" / "campaigns").glob("*.toml"))
    assert files
    for path in files:
        spec = CAMPAIGN.read_file(path)
        assert spec.configurations or spec.axes, path
