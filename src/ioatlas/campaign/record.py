# SPDX-License-Identifier: Apache-2.0
"""A plan as the journal keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ioatlas.campaign.plan import Plan
from ioatlas.campaign.spec import CampaignSpec
from ioatlas.campaign.streams_spec import streams_from_record


def plan_record(plan: Plan) -> dict[str, Any]:
    """JSON of what a resumed session needs besides cells and targets."""
    return {"spec": asdict(plan.spec), "files": plan.files, "remarks": list(plan.remarks)}


def spec_from_plan(record: Mapping[str, Any]) -> CampaignSpec:
    spec = dict(record["spec"])
    return CampaignSpec(
        **{
            **spec,
            "targets": tuple((name, location) for name, location in spec["targets"]),
            "axes": {name: tuple(values) for name, values in spec["axes"].items()},
            "patterns": tuple(spec.get("patterns", ())),
            "engines": tuple(spec.get("engines", ("fio",))),
            "streams": streams_from_record(spec.get("streams")),
            "remarks": tuple(spec["remarks"]),
        }
    )
