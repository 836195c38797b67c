# SPDX-License-Identifier: Apache-2.0
"""The drawings of a study, in the form in which they were published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ioatlas.errors import UsageError
from ioatlas.model.result import CampaignResult
from ioatlas.reproductions.study import FigureAsked, Study

SUFFIXES = ("png", "pdf")


def draw(study: Study, directory: Path, result: CampaignResult, place: Path) -> tuple[list[Path], list[str]]:
    """Every drawing, as PNG and PDF, into that folder; and why some could not be drawn from what was measured.

    Raises IoAtlasError when matplotlib is not installed.
    """
    place.mkdir(exist_ok=True)
    made: list[Path] = []
    missing: list[str] = []
    for asked in study.figure:
        try:
            for suffix in SUFFIXES:
                made += _draw(asked, directory, result, place, suffix)
        except UsageError as error:
            missing.append(f"{asked.name}: {error.what}")
    return made, missing


def _draw(asked: FigureAsked, directory: Path, result: CampaignResult, place: Path, suffix: str) -> Sequence[Path]:
    out = place / f"{asked.name}.{suffix}"
    if asked.kind == "bars":
        return _bars(asked, directory, out)
    if asked.kind == "series":
        from ioatlas.report.export.own import own_drawing
        from ioatlas.report.export.to_panels import write_drawing

        return write_drawing(own_drawing(replace(result, name=asked.title or result.name), "charts"), out)
    from ioatlas.report.export.grid import lay_out
    from ioatlas.report.export.quantities import quantity
    from ioatlas.report.export.to_figure import write_figures

    layout = lay_out(result, x=asked.x, y=asked.y, tiles=asked.tiles)
    shown = quantity(asked.quantity)
    style = asked.kind
    named = replace(result, name=asked.title or result.name)
    return write_figures(named, layout, shown, out, suffix, style=style)  # type: ignore[arg-type]


def _bars(asked: FigureAsked, directory: Path, out: Path) -> Sequence[Path]:
    from ioatlas.report.export.to_panels import write_drawing
    from ioatlas.results import panels
    from ioatlas.results.only import parse_filter
    from ioatlas.results.sides import align, read_sides

    aligned = align(read_sides([directory], asked.quantity, by_target=True))
    drawing = panels.bars(aligned, asked.quantity, where=parse_filter(asked.where), title=asked.title)
    return write_drawing(drawing, out)
