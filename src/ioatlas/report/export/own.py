# SPDX-License-Identifier: Apache-2.0
"""The charts that a campaign brings itself, as a drawing and as tables; several sides in one drawing."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ioatlas.answer.results import panels
from ioatlas.answer.results.only import parse_filter
from ioatlas.answer.results.sides import Side, align, read_sides
from ioatlas.measure.procedures.registry import load_result
from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas.model.panel import Dot, Drawing, Line, Panel, Table
from ioatlas.model.quantities import panel_unit
from ioatlas.model.result import CampaignResult
from ioatlas.report.export.texts import conditions
from ioatlas.report.redact import redacted, redactor

STYLES = ("charts", "rounds", "curves")
"""Words by which users ask for them."""


def has_own(result: CampaignResult) -> bool:
    """Whether a campaign is drawn as its charts where nobody asked for anything."""
    return result.shown_as != "map" and bool(result.charts)


def own_drawing(result: CampaignResult) -> Drawing:
    """Raises UsageError where the campaign brings nothing to draw."""
    if not result.charts:
        raise UsageError(
            "the campaign has no chart of its own",
            where="--figure",
            remedy="use --figure map, or `ioatlas resume`",
        )
    clean = redactor(result.targets)
    panels, told = redacted(result.charts, clean), conditions(result)
    # Those of numbers are wide, of a few sizes several fit beside each other.
    columns = 3 if all(panel.x_scale == "log" for panel in panels) else 1
    return Drawing(
        clean(result.name), "lines", "", "", "", panels, "linear", alike=False, columns=columns, conditions=told
    )


def chart_table(panel: Panel) -> Table:
    """A row for each x, a column for each series."""
    labels = dict(panel.ticks)
    xs = sorted({dot.x for one in panel.series for dot in one.dots})
    unit = panel_unit(panel.y_unit, [panel])
    by_x = [{dot.x: dot for dot in one.dots} for one in panel.series]
    rows = ((labels.get(x, f"{x:g}"), *(_text(dots.get(x), unit.factor) for dots in by_x)) for x in xs)
    heads = (f"{one.name}, {unit.name}" if unit.name else one.name for one in panel.series)
    return Table(panel.title, (panel.x_name, *heads), tuple(rows), panel.note)


def _text(dot: Dot | None, factor: float) -> str:
    """'70.1 ± 3.2 (10)', or '70.1, 66 to 73 (10)' where the ends are not as far from the value."""
    if dot is None:
        return "–"
    bar, value = "", dot.value / factor
    if dot.low is not None and dot.high is not None:
        below, above = value - dot.low / factor, dot.high / factor - value
        even = abs(above - below) <= 1e-6 * abs(value)
        bar = f" ± {above:.3g}" if even else f", {value - below:.4g} to {value + above:.4g}"
    return f"{value:.4g}{bar} ({dot.n})"


def drawing_of(
    places: Sequence[Path],
    where: Sequence[str] = (),
    *,
    style: str = "lines",
    quantity: str = "bw",
    by: str = "",
    title: str = "",
    x: str = "",
) -> Drawing:
    """Several sides in one drawing: 'bars', 'lines' or 'latency'. where: only loads with these values, as of
    `parse_filter`. by: 'target' where each target of a campaign is a side.
    """
    loads, sides = parse_filter(where), read_sides(places, quantity, by_target=bool(by))
    title, results = title or ", ".join(side.name for side in sides), _results(sides)
    if style == "latency":
        drawing = panels.latency_curves(results, where=loads, title=title)
    elif style == "bars":
        drawing = panels.bars(align(sides), quantity, where=loads, title=title)
    else:
        ceilings = _ceilings(results) if quantity == "bw" else {}
        drawing = panels.lines(align(sides), quantity, where=loads, title=title, x=x, ceilings=ceilings)
    return replace(drawing, conditions=" ".join(conditions(result) for _, result in results))


def _results(sides: Sequence[Side]) -> list[tuple[str, CampaignResult]]:
    """By side the result of its targets, of those that were measured here; each campaign is read once."""
    whole, found = functools.cache(load_result), []
    for side in sides:
        if side.kind == "measured":
            with contextlib.suppress(IoAtlasError):
                result = whole(side.directory)
                own = tuple(e for e in result.estimates if e.cell.target in side.targets)
                found.append((side.name, replace(result, estimates=own)))
    return found


def _ceilings(results: Sequence[tuple[str, CampaignResult]]) -> dict[str, list[Line]]:
    """The tightest known bound of each load."""
    found: dict[str, list[Line]] = {}
    for name, result in results:
        for e in result.estimates:
            if e.ceiling is not None:
                label = f"{name}: {e.ceiling.name}" if len(results) > 1 else e.ceiling.name
                found.setdefault(f"{e.cell.key}/{e.direction}", []).append(Line(label, e.ceiling.bw_bytes_per_s))
    return found
