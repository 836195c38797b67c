# SPDX-License-Identifier: Apache-2.0
"""A plan as the journal keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ioatlas.config.spec import CampaignSpec
from ioatlas.run.plan import Plan
from ioatlas.store.journal import Journal


def plan_record(plan: Plan) -> dict[str, Any]:
    """JSON of what a resumed session needs besides cells and targets."""
    return {"spec": plan.spec.to_record(), "files": plan.files, "remarks": list(plan.remarks)}


def spec_from_plan(record: Mapping[str, Any]) -> CampaignSpec:
    """The specification of a stored plan."""
    return CampaignSpec.from_record(record["spec"])


def recorded_plan(journal: Journal) -> Plan:
    """The plan of a campaign that was begun."""
    record = journal.plan()
    cells = tuple(journal.cells())
    return Plan(spec_from_plan(record), journal.targets(), cells, tuple(record["remarks"]), record["files"])
