# SPDX-License-Identifier: Apache-2.0
"""Several campaigns, targets or result files in one drawing, for `ioatlas export`."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ioatlas.errors import IoAtlasError

if TYPE_CHECKING:
    from ioatlas.model.panel import Drawing, Line
    from ioatlas.model.result import CampaignResult
    from ioatlas.results.sides import Side

KINDS = ("bars", "lines", "latency")


def write(
    kind: str, sides: Sequence[Path], where: Sequence[str], output: Path | None, chosen: Mapping[str, str]
) -> list[Path]:
    """Draws the sides in the order in which they are named. chosen: quantity, x, by and title, where they are given."""
    from ioatlas.report.export.to_panels import write_drawing

    drawing = _drawing(kind, sides, where, chosen)
    return list(write_drawing(drawing, output or Path("nothing"), columns=int(chosen.get("columns", 0))))


def _drawing(kind: str, places: Sequence[Path], where: Sequence[str], chosen: Mapping[str, str]) -> Drawing:
    from ioatlas.report.export.conditions import conditions
    from ioatlas.results import panels
    from ioatlas.results.only import parse_filter
    from ioatlas.results.sides import align, read_sides

    loads, quantity = parse_filter(where), chosen.get("quantity", "bw")
    sides = read_sides(places, quantity, by_target="by" in chosen)
    title, results = chosen.get("title") or ", ".join(side.name for side in sides), _results(sides)
    if kind == "latency":
        drawing = panels.latency_curves(results, where=loads, title=title)
    elif kind == "bars":
        drawing = panels.bars(align(sides), quantity, where=loads, title=title)
    else:
        ceilings, x = _ceilings(results) if quantity == "bw" else {}, chosen.get("x", "")
        drawing = panels.lines(align(sides), quantity, where=loads, title=title, x=x, ceilings=ceilings)
    return replace(drawing, conditions=" ".join(conditions(result) for _, result in results))


def _results(sides: Sequence[Side]) -> list[tuple[str, CampaignResult]]:
    """By side the result of its targets, of those that were measured here; each campaign is read once."""
    from ioatlas.campaign import load_result

    whole: dict[Path, CampaignResult] = {}
    for directory in {side.directory for side in sides if side.kind == "measured"}:
        with contextlib.suppress(IoAtlasError):
            whole[directory] = load_result(directory)
    return [
        (side.name, replace(result, estimates=tuple(e for e in result.estimates if e.cell.target in side.targets)))
        for side in sides
        if side.kind == "measured" and (result := whole.get(side.directory)) is not None
    ]


def _ceilings(results: Sequence[tuple[str, CampaignResult]]) -> dict[str, list[Line]]:
    """The tightest known bound of each load."""
    from ioatlas.model.panel import Line

    found: dict[str, list[Line]] = {}
    for name, result in results:
        for e in result.estimates:
            if e.ceiling is not None:
                label = f"{name}: {e.ceiling.name}" if len(results) > 1 else e.ceiling.name
                found.setdefault(f"{e.cell.key}/{e.direction}", []).append(Line(label, e.ceiling.bw_bytes_per_s))
    return found
