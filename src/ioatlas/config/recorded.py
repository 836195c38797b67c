# SPDX-License-Identifier: Apache-2.0
"""The specification of a campaign that was begun, as its journal has it."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ioatlas.config.options import Table
from ioatlas.config.spec import CampaignSpec
from ioatlas.errors import UsageError
from ioatlas.store.journal import Journal
from ioatlas.store.stored import Row

SPARE_PLACES, PLACES_PER_CELL = 1000, 20
"""Combinations of values of the axes: a search tries few of its own."""


def recorded_spec(journal: Journal, tables: Iterable[type[Table]]) -> CampaignSpec:
    """The specification of a campaign that was begun. tables: those of its procedures.

    Raises IoAtlasError for what nobody could have asked for, on the command line or in a campaign file.
    """
    place = place_of_plan(journal)
    try:
        spec = CampaignSpec.from_record(journal.plan()["spec"])
        spec.check(_key)
        for table in tables:
            spec.of(table).check(_key)
        # A figure is drawn for every combination of values: of a sweep each is a cell.
        if math.prod(map(len, spec.axes.values())) > SPARE_PLACES + PLACES_PER_CELL * journal.count_cells():
            place.bad("its axes have far more combinations than there are cells", "plan_json, axes")
    except UsageError as error:
        place.bad(error.what, f"plan_json, {error.where}")
    except ValueError as error:
        place.bad(f"the plan has values of another type: {error}", "plan_json")
    return spec


def _key(*path: str | int) -> str:
    return ".".join(map(str, path))


def place_of_plan(journal: Journal) -> Row:
    """Where what is wrong with it is said to stand."""
    return journal.row("campaign", journal.campaign().campaign_id)
