# SPDX-License-Identifier: Apache-2.0
"""Two campaign directories compared: which cells are the same cell, and their visits side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

from ioatlas.analysis.compare import TOLERANCE, Comparison, Reading, between_campaigns, compare
from ioatlas.analysis.imported_compare import ImportedValue
from ioatlas.analysis.windows import window_values
from ioatlas.errors import UsageError
from ioatlas.model.cell import Cell
from ioatlas.model.purpose import Purpose
from ioatlas.model.units import format_size
from ioatlas.store.journal import Journal

QUANTITIES = {"bw": "bw_bytes_per_s", "iops": "iops", "lat_mean": "lat_mean_ns", "lat_p99": "lat_p99_ns"}


@dataclass(frozen=True)
class Row:
    """One cell and direction of the comparison, by the name the readings carry."""

    cell: Cell
    direction: str
    label: str


@dataclass(frozen=True)
class CampaignComparison:
    """result: of `quantity` ('bw', 'iops', 'lat_mean', 'lat_p99'). rows: by cell name. names: of the two campaigns,
    their directories when they are called the same. by_target: whether the target's name is part of a cell's name.
    """

    quantity: str
    names: tuple[str, str]
    directories: tuple[Path, Path]
    rows: dict[str, Row]
    result: Comparison
    campaign_sd: float | None
    by_target: bool


@dataclass(frozen=True)
class _Side:
    name: str
    targets: tuple[str, ...]
    readings: dict[tuple[str, str], list[Reading]]
    rows: dict[str, Row]


def compare_campaigns(
    first: Path, second: Path, quantity: str = "bw", *, tolerance: float = TOLERANCE, same: Sequence[Path] = ()
) -> CampaignComparison:
    """Compare two campaigns of one sweep.

    Cells are the same when all options, file sharing and state are; the target's name counts only when both campaigns
    have a target of that name or
    one of them has several. same: at least two further campaigns of the first one's unchanged target, which show how
    much campaigns differ by themselves.
    """
    sides = [_read(path, quantity) for path in (first, second, *same)]
    by_target = len(sides[0].targets) > 1 or len(sides[1].targets) > 1
    readings = [_named(side, by_target=by_target) for side in sides]
    # Rows of the first campaign win: a cell goes by the name it had there.
    rows = _labelled(
        {name: row for side in (sides[1], sides[0]) for name, row in _rows(side, by_target=by_target).items()}
    )
    if not {r.cell for r in readings[0]} & {r.cell for r in readings[1]}:
        raise UsageError(
            "the two campaigns have no measured cell in common",
            where=f"{first} and {second}",
            remedy="run both with the same sweep, options and file sharing; `ioatlas show DIR --cells` lists them",
        )
    sd, dof = None, inf
    if len(same) == 1:
        raise UsageError(
            "one further campaign says too little about how campaigns differ", where="--same", remedy="give two or more"
        )
    if same:
        sd, dof = between_campaigns([readings[0], *readings[2:]])
    result = compare(readings[0], readings[1], tolerance=tolerance, campaign_sd=sd or 0.0, campaign_dof=dof)
    names = (sides[0].name, sides[1].name) if sides[0].name != sides[1].name else (str(first), str(second))
    return CampaignComparison(quantity, names, (first, second), rows, result, sd, by_target)


def _read(directory: Path, quantity: str) -> _Side:
    journal = Journal.open(directory)
    try:
        name = str(journal.campaign().name)
        cells = {cell.key: cell for cell, _ in journal.cells()}
        visits = journal.visits(with_series=True)
        targets = tuple(target.name for target in journal.targets())
    finally:
        journal.close()
    readings: dict[tuple[str, str], list[Reading]] = {}
    rows: dict[str, Row] = {}
    for visit in visits:
        cell = cells.get(visit.cell_key)
        if cell is None or visit.discarded or visit.purpose is not Purpose.SWEEP:
            continue
        for part in visit.parts:
            value = getattr(window_values(part, visit.window_start_ms), QUANTITIES[quantity])
            if value is None:
                continue
            place = (cell.key, part.direction)
            rows.setdefault("/".join(place), Row(cell, part.direction, ""))
            readings.setdefault(place, []).append(Reading("/".join(place), float(value), visit.started_at))
    if not readings:
        raise UsageError(
            "the campaign has no visit to compare", where=str(directory), remedy="finish it with `ioatlas resume`"
        )
    return _Side(name, targets, readings, rows)


def measured_values(directory: Path, quantity: str) -> tuple[list[ImportedValue], dict[str, str]]:
    """The visits of a campaign as values to hold imported ones against, and how they were measured, in the words used
    for other tools.
    """
    side = _read(directory, quantity)
    values = [
        ImportedValue(side.rows["/".join(place)].cell, place[1], reading.value, "visits", reading.time)
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


def identity(cell: Cell, direction: str, *, by_target: bool) -> str:
    """What two campaigns' cells have in common when they are the same: the name of a row of the comparison."""
    return json.dumps(
        [cell.target if by_target else "", list(cell.options), cell.sharing, cell.state, direction],
        separators=(",", ":"),
    )


def _named(side: _Side, *, by_target: bool) -> list[Reading]:
    found = []
    for place, readings in side.readings.items():
        row = side.rows["/".join(place)]
        name = identity(row.cell, row.direction, by_target=by_target)
        found += [Reading(name, reading.value, reading.time) for reading in readings]
    return found


def _rows(side: _Side, *, by_target: bool) -> dict[str, Row]:
    return {identity(row.cell, row.direction, by_target=by_target): row for row in side.rows.values()}


def _labelled(rows: dict[str, Row]) -> dict[str, Row]:
    """Rows with a label of rw and the options in which they differ."""
    cells = [row.cell for row in rows.values()]
    names = sorted(
        {
            name
            for cell in cells
            for name in cell.option
            if len({str(other.option.get(name, "")) for other in cells}) > 1
        }
        - {"rw"}
    )
    targets = len({row.cell.target for row in rows.values()}) > 1

    def words(row: Row) -> str:
        cell = row.cell
        first = cell.rw if len(cell.directions) == 1 else f"{cell.rw} ({row.direction})"
        values = [
            f"{name} {format_size(value) if name in ('bs', 'size') and isinstance(value, int) else value}"
            for name in names
            for value in [cell.option.get(name, "")]
        ]
        return ", ".join([*([cell.target] if targets else []), first, *values])

    return {name: replace(row, label=words(row)) for name, row in rows.items()}
