# SPDX-License-Identifier: Apache-2.0
"""The figures of a paper, each as PDF and SVG with a caption."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ioatlas.errors import UsageError
from ioatlas.model.result import CampaignResult
from ioatlas.report.export.conditions import conditions, subject
from ioatlas.report.export.drawing import Drawing
from ioatlas.report.export.grid import Layout, lay_out
from ioatlas.report.export.own import OwnStyle, own_drawing
from ioatlas.report.export.printing import Kind
from ioatlas.report.export.quantities import QUANTITIES, Quantity
from ioatlas.report.export.to_figure import axis_word, write_figures
from ioatlas.report.export.to_panels import write_drawing
from ioatlas.report.redact import redactor

KINDS: tuple[Kind, ...] = ("pdf", "svg")
MAPS = ("bw", "lat_p99")
WIDE = 20.0
"""Values further apart than this go on a logarithmic scale of colours."""


@dataclass(frozen=True)
class Figure:
    """name: of its files, without suffix. files: in the order of `KINDS`. pages: what each page of its PDF is of, where
    there are several.
    """

    name: str
    caption: str
    files: tuple[Path, ...]
    pages: tuple[str, ...] = ()


def draw(results: Sequence[CampaignResult], folder: Path) -> list[Figure]:
    """Every figure that the campaigns can give. Raises IoAtlasError when matplotlib is not installed."""
    found: list[Figure] = []
    for result, name in zip(results, _names(results), strict=True):
        found += _maps(result, name, folder)
        clean = redactor(result.targets)(result.name)
        told: tuple[tuple[OwnStyle, str, str], ...] = (
            ("charts", "charts", _of_charts(result)),
            ("curves", "load", f"{clean}: latency against the I/Os per second that were achieved."),
            ("rounds", "rounds", f"{clean}: rounds and steady state."),
        )
        for style, word, caption in told:
            with contextlib.suppress(UsageError):  # it brings none of these
                drawing = own_drawing(result, style)
                files = [write_drawing(drawing, folder / f"{name}-{word}.{kind}") for kind in KINDS]
                found.append(_figure(f"{name}-{word}", caption, files))
    return found


def _maps(result: CampaignResult, name: str, folder: Path) -> list[Figure]:
    try:
        layout = lay_out(result)
    except UsageError:
        return []
    clean = redactor(result.targets)
    found = []
    for quantity in (QUANTITIES[each] for each in MAPS):
        drawing = Drawing.of(layout, quantity)
        if not drawing.values:
            continue
        log = drawing.high > WIDE * min(drawing.values) / drawing.unit.factor
        stem = f"{name}-{quantity.name.replace('_', '-')}"
        written = [
            write_figures(result, layout, quantity, folder / f"{stem}.{kind}", kind, style="map", log=log)
            for kind in KINDS
        ]
        caption = _caption(result, layout, quantity)
        pages = tuple(clean(page.title) for page in layout.pages) if len(layout.pages) > 1 else ()
        found.append(_figure(stem, caption, written, pages))
    return found


def _figure(name: str, caption: str, files: Sequence[tuple[Path, ...]], pages: tuple[str, ...] = ()) -> Figure:
    return Figure(name, caption, tuple(path for each in files for path in each), pages)


def _of_charts(result: CampaignResult) -> str:
    """What the charts show, and what each says of its bars."""
    clean = redactor(result.targets)
    shown = "; ".join(dict.fromkeys(chart.title[:1].lower() + chart.title[1:] for chart in result.charts))
    notes = dict.fromkeys(chart.note for chart in result.charts if chart.note)
    bars = "" if any("Bars" in note for note in notes) else " Bars are one standard deviation over starts."
    return clean(" ".join([f"{result.name}: {shown}.{bars}", *notes]))


def _caption(result: CampaignResult, layout: Layout, quantity: Quantity) -> str:
    tiles = [axis_word(axis) for axis in (layout.columns, layout.rows) if axis is not None]
    panels = f"; a panel for each {' and '.join(tiles)}" if tiles else ""
    sides = f"over {axis_word(layout.x)} (across) and {axis_word(layout.y)} (up)"
    return f"{subject(result)}: {quantity.label.lower()} {sides}{panels}. {conditions(result)}"


def _names(results: Sequence[CampaignResult]) -> list[str]:
    """Names of files, one for each campaign, without what a file system or LaTeX would take amiss."""
    names: list[str] = []
    for result in results:
        plain = re.sub(r"[^a-z0-9]+", "-", redactor(result.targets)(result.name).lower()).strip("-") or "campaign"
        count = sum(name == plain or name.startswith(f"{plain}--") for name in names)
        names.append(f"{plain}--{count + 1}" if count else plain)
    return names
