# SPDX-License-Identifier: Apache-2.0
"""What the documents say of campaigns is what the code does."""

from pathlib import Path

from ioatlas.campaign.profiles import PROFILES
from ioatlas.campaign.spec import CampaignFile
from ioatlas.model.options import ALLOWED, REFUSED

PAGE = (Path(__file__).parents[3] / "docs" / "campaign.md").read_text()


def test_every_option_that_may_be_set_is_documented():
    missing = [name for name in ALLOWED if f"| `{name}` |" not in PAGE]
    assert not missing, "run `make schema`"
    assert not [name for name in REFUSED if f"| `{name}` |" in PAGE]


def test_every_profile_and_key_is_documented():
    assert not [name for name in PROFILES if f"| `{name}` |" not in PAGE]
    assert not [key for key in CampaignFile.model_fields if key not in PAGE]


def test_no_option_is_both_allowed_and_refused():
    assert not ALLOWED.keys() & REFUSED.keys()
