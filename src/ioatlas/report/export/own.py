# SPDX-License-Identifier: Apache-2.0
"""The charts that a campaign brings itself, as a drawing and as tables."""

from __future__ import annotations

from ioatlas.model.errors import UsageError
from ioatlas.model.panel import Dot, Drawing, Panel, Table
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
