# SPDX-License-Identifier: Apache-2.0
"""A plan as the journal keeps it, and the one place where it is read back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from ioatlas.config.options import Table
from ioatlas.config.spec import CampaignSpec
from ioatlas.errors import UsageError
from ioatlas.run.plan import Plan
from ioatlas.store.journal import Journal
from ioatlas.store.stored import Row, check_files, check_on_target

SPARE_PLACES, PLACES_PER_CELL = 1000, 20
"""Combinations of values of the axes: a search tries few of its own."""


def plan_record(plan: Plan) -> dict[str, Any]:
    """JSON of what a resumed session needs besides cells and targets."""
    return {"spec": plan.spec.to_record(), "files": plan.files, "remarks": list(plan.remarks)}


def spec_from_plan(record: Mapping[str, Any]) -> CampaignSpec:
    """The specification of a plan's record."""
    return CampaignSpec.from_record(record["spec"])


def recorded_spec(journal: Journal, tables: Iterable[type[Table]]) -> CampaignSpec:
    """The specification of a campaign that was begun. tables: those of its procedures.

    Raises IoAtlasError for what nobody could have asked for, on the command line or in a campaign file.
    """
    place = _place(journal)
    try:
        spec = spec_from_plan(journal.plan())
        spec.check(_key)
        for table in tables:
            spec.of(table).check(_key)
        # A figure is drawn for every combination of values: of a sweep each is a cell.
        if math.prod(map(len, spec.axes.values())) > SPARE_PLACES + PLACES_PER_CELL * journal.count_cells():
            place.bad("its axes have far more combinations than there are cells", "plan_json, axes")
    except UsageError as error:
        place.bad(error.what, f"plan_json, {error.where}")
    except ValueError as error:  # pydantic's, among them
        place.bad(f"the plan has values of another type: {_first(error)}", "plan_json")
    return spec


def _key(*path: str | int) -> str:
    return ".".join(map(str, path))


def _first(error: ValueError) -> str:
    told: list[dict[str, Any]] = getattr(error, "errors", list)()
    return _key(*told[0]["loc"]) if told else "spec"


def _place(journal: Journal) -> Row:
    return journal.row("campaign", journal.campaign().campaign_id)


def recorded_plan(journal: Journal, tables: Iterable[type[Table]]) -> Plan:
    """The plan of a campaign that was begun. Raises as `recorded_spec`."""
    place, record = _place(journal), journal.plan()
    spec, targets, cells = recorded_spec(journal, tables), journal.targets(), tuple(journal.cells())
    by_name = {target.name: target for target in targets}
    if not targets:
        place.bad("it has no target")
    groups = {group.name: group.members for group in spec.groups([*by_name])}
    for cell, reason in cells:
        row, names = journal.row("cell", cell.key), groups.get(cell.target, (cell.target,))
        if cell.of_group and not reason and not 1 <= cell.n_targets <= len(groups.get(cell.target, ())):
            row.bad(f"it loads {cell.n_targets} targets, and its group has not so many", "options_json")
        for name in names:
            check_on_target(row, cell, by_name[name])
    files = check_files(place, record.get("files"), [*by_name])
    remarks = record.get("remarks")
    if not isinstance(remarks, list) or not all(isinstance(one, str) for one in remarks):
        place.bad("these are no remarks", "plan_json, remarks")
    return Plan(spec, targets, cells, tuple(remarks), files)
