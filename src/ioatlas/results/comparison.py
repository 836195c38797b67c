# SPDX-License-Identifier: Apache-2.0
"""Two campaign directories compared: which cells are the same cell, and their visits side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

from ioatlas.analysis.compare import TOLERANCE, Comparison, Reading, between_campaigns, compare
from ioatlas.analysis.imported_compare import ImportedValue
from ioatlas.analysis.many import effect_for
from ioatlas.errors import UsageError
from ioatlas.model.cell import Cell
from ioatlas.results.conditions import Apart, conditions_apart, options_apart
from ioatlas.results.library import shown
from ioatlas.results.sides import QUANTITIES, Row, Side, engine_aside, identity, labelled, read_campaign

__all__ = ["QUANTITIES", "CampaignComparison", "Row", "compare_campaigns", "identity", "measured_values"]


@dataclass(frozen=True)
class CampaignComparison:
    """result: of `quantity` ('bw', 'iops', 'lat_mean', 'lat_p99'). rows: by cell name. names: of the two campaigns,
    their directories when they are called the same. by_target: whether the target's name is part of a cell's name.
    apart: in which conditions the two differ.
    """

    quantity: str
    names: tuple[str, str]
    directories: tuple[Path, Path]
    rows: dict[str, Row]
    result: Comparison
    campaign_sd: float | None
    by_target: bool
    apart: tuple[Apart, ...] = ()
    aside: frozenset[str] = frozenset()
    """Options that are no part of a load's name."""


def compare_campaigns(
    first: Path, second: Path, quantity: str = "bw", *, tolerance: float = TOLERANCE, same: Sequence[Path] = ()
) -> CampaignComparison:
    """Compare two campaigns of one sweep.

    Cells are the same when all options, file sharing and state are; the target's name counts only when both campaigns
    have a target of that name or
    one of them has several. same: at least two further campaigns of the first one's unchanged target, which show how
    much campaigns differ by themselves.
    """
    sides = [read_campaign(path, quantity) for path in (first, second, *same)]
    by_target = len(sides[0].targets) > 1 or len(sides[1].targets) > 1
    aside = engine_aside(sides[:2], by_target=by_target)
    readings = [_named(side, by_target=by_target, aside=aside) for side in sides]
    # Rows of the first campaign win: a cell goes by the name it had there.
    rows = labelled(
        {
            name: row
            for side in (sides[1], sides[0])
            for name, row in _rows(side, by_target=by_target, aside=aside).items()
        }
    )
    apart = conditions_apart(sides[:2])
    if not {r.cell for r in readings[0]} & {r.cell for r in readings[1]}:
        differing = [one.sentence((shown(first), shown(second))) for one in apart if one.group == "method"]
        told = "; ".join([*options_apart(*(_cells(side) for side in sides[:2])), *differing])
        raise UsageError(
            "the two campaigns have no measured cell in common" + (f"; they differ in {told}" if told else ""),
            where=f"{shown(first)} and {shown(second)}",
            remedy="run both with the same sweep, options and file sharing; `ioatlas show DIR --cells` lists them",
        )
    sd, dof = None, inf
    if len(same) == 1:
        raise UsageError(
            "one further campaign says too little about how campaigns differ", where="--same", remedy="give two or more"
        )
    if same:
        sd, dof = between_campaigns([readings[0], *readings[2:]])
    result = compare(
        readings[0],
        readings[1],
        tolerance=tolerance,
        effect=effect_for(tolerance),
        campaign_sd=sd or 0.0,
        campaign_dof=dof,
    )
    names = (sides[0].name, sides[1].name) if sides[0].name != sides[1].name else (shown(first), shown(second))
    return CampaignComparison(quantity, names, (first, second), rows, result, sd, by_target, apart, aside)


def measured_values(directory: Path, quantity: str) -> tuple[list[ImportedValue], dict[str, str]]:
    """The visits of a campaign as values to hold imported ones against, and how they were measured, in the words used
    for other tools.
    """
    side = read_campaign(directory, quantity)
    values = [
        ImportedValue(side.rows[place].cell, place[1], reading.value, "visits", reading.time)
        for place, readings in side.readings.items()
        for reading in readings
    ]
    # fio's own defaults, where a cell does not set them.
    values = [
        replace(
            value, cell=replace(value.cell, options=tuple({"iodepth": 1, "numjobs": 1, **value.cell.option}.items()))
        )
        for value in values
    ]
    cells = [value.cell for value in values]
    direct = {"direct" if cell.option.get("direct") else "buffered" for cell in cells}
    engines = sorted({str(cell.option["ioengine"]) for cell in cells if "ioengine" in cell.option})
    facts = {
        "tool": "ioatlas with fio",
        "page cache": ", ".join(sorted(direct)),
        "statistic": "visits, each an independent start",
    }
    return values, {
        **facts,
        "mean latency": "total",
        "p99 latency": "total",
        **({"engine": ", ".join(engines)} if engines else {}),
    }


def _cells(side: Side) -> list[Cell]:
    return [row.cell for row in side.rows.values()]


def _named(side: Side, *, by_target: bool, aside: frozenset[str]) -> list[Reading]:
    found = []
    for place, readings in side.readings.items():
        row = side.rows[place]
        name = identity(row.cell, row.direction, by_target=by_target, aside=aside)
        found += [replace(reading, cell=name) for reading in readings]
    return found


def _rows(side: Side, *, by_target: bool, aside: frozenset[str]) -> dict[str, Row]:
    return {identity(row.cell, row.direction, by_target=by_target, aside=aside): row for row in side.rows.values()}
