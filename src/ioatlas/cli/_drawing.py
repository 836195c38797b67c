# SPDX-License-Identifier: Apache-2.0
"""Several campaigns, targets or result files in one drawing, for `ioatlas export`."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ioatlas.errors import IoAtlasError, UsageError

if TYPE_CHECKING:
    from ioatlas.model.panel import Drawing, Line
    from ioatlas.model.result import CampaignResult
    from ioatlas.results.sides import Side

KINDS = ("bars", "lines", "latency")


def write(
    kind: str, sides: Sequence[Path], where: Sequence[str], output: Path | None, chosen: Mapping[str, str]
) -> list[Path]:
    """Draws the sides in the order in which they are named. chosen: quantity, x, by and title, where they are given."""
    from ioatlas.report.export.to_panels import SUFFIXES, write_drawing

    if output is None or output.suffix.lower() not in SUFFIXES:
        named = output.name if output else "nothing"
        raise UsageError(f"{named} is no drawing", where="-o", remedy=f"end its name in {', '.join(SUFFIXES)}")
    if "x" in chosen and kind != "lines":
        raise UsageError("--x is for lines", where=kind, remedy="leave it out")
    return list(write_drawing(_drawing(kind, sides, where, chosen), output))


def _drawing(kind: str, places: Sequence[Path], where: Sequence[str], chosen: Mapping[str, str]) -> Drawing:
    from ioatlas.results import panels
    from ioatlas.results.only import parse_filter
    from ioatlas.results.sides import align, read_sides

    loads, quantity = parse_filter(where), chosen.get("quantity", "bw")
    sides = read_sides(places, quantity, by_target="by" in chosen)
    title = chosen.get("title") or ", ".join(side.name for side in sides)
    if kind == "latency":
        return panels.latency_curves(_results(sides), where=loads, title=title)
    aligned = align(sides)
    if kind == "bars":
        return panels.bars(aligned, quantity, where=loads, title=title)
    ceilings = _ceilings(sides) if quantity == "bw" else {}
    return panels.lines(aligned, quantity, where=loads, title=title, x=chosen.get("x", ""), ceilings=ceilings)


def _results(sides: Sequence[Side]) -> list[tuple[str, CampaignResult]]:
    """By side the result of its targets, of those that were measured here; each campaign is read once."""
    from dataclasses import replace

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


def _ceilings(sides: Sequence[Side]) -> dict[str, list[Line]]:
    """The tightest known bound of each load."""
    from ioatlas.model.panel import Line

    found: dict[str, list[Line]] = {}
    for name, result in _results(sides):
        for e in result.estimates:
            if e.ceiling is not None:
                label = f"{name}: {e.ceiling.name}" if len(sides) > 1 else e.ceiling.name
                found.setdefault(f"{e.cell.key}/{e.direction}", []).append(Line(label, e.ceiling.bw_bytes_per_s))
    return found
