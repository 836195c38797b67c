# SPDX-License-Identifier: Apache-2.0
"""The campaign file of all procedures: each brings the table of its options."""

from __future__ import annotations

from ioatlas.config.campaign_file import CampaignFormat
from ioatlas.procedures.adaptive_map.options import AdaptiveOptions
from ioatlas.procedures.fit.options import FitOptions
from ioatlas.procedures.fixed_work.options import FixedWorkOptions
from ioatlas.procedures.load_points.options import LoadPointsOptions
from ioatlas.procedures.metadata.options import MetadataOptions
from ioatlas.procedures.snia.options import SniaOptions
from ioatlas.procedures.trace.options import TraceOptions

CAMPAIGN = CampaignFormat(
    (
        AdaptiveOptions,
        FitOptions,
        FixedWorkOptions,
        LoadPointsOptions,
        MetadataOptions,
        SniaOptions,
        TraceOptions,
    )
)

read_campaign, read_campaign_file, campaign_toml = CAMPAIGN.read, CAMPAIGN.read_file, CAMPAIGN.write
find_profile, campaign_schema = CAMPAIGN.profile, CAMPAIGN.schema
