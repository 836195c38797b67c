# SPDX-License-Identifier: Apache-2.0
"""Drawings of how a target changed, the level of each campaign with its steps, and of price against what is given."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from ioatlas.analysis.timeline import SUBJECTS, Timeline
from ioatlas.errors import UsageError
from ioatlas.model.panel import Dot, Drawing, Line, Panel, Series
from ioatlas.product.comparison import CostComparison
from ioatlas.product.cost import Costed, Front
from ioatlas.product.readings import Unit

DAY = 86400.0
MOST_DATES = 12


def timeline_drawing(title: str, quantity: str, timelines: Sequence[Timeline]) -> Drawing:
    """A panel for each part, one below the other."""
    panels = tuple(map(_level_panel, timelines))
    name = "over the first campaign"
    return Drawing(
        f"{title}: {quantity} over time", "lines", "", name, "", panels, "linear", columns=1, from_zero=False
    )


def _level_panel(timeline: Timeline) -> Panel:
    points = timeline.points
    dots = tuple(Dot(p.time / DAY, p.ratio, min(p.low, p.ratio), max(p.high, p.ratio)) for p in points)
    steps = (Line(f"{change.ratio - 1:+.0%}", points[change.at].time / DAY) for change in timeline.changes)
    dated = points[:: -(-len(points) // MOST_DATES)]
    ticks = tuple((p.time / DAY, f"{datetime.fromtimestamp(p.time, UTC):%-d %b %Y}") for p in dated)
    return Panel(
        SUBJECTS[timeline.part], (Series("", dots),), ticks, limits=(Line("as at first", 1.0),), marks=tuple(steps)
    )


def price_drawing(found: CostComparison, title: str) -> Drawing:
    """Total cost to the right, what a product gives upwards. Raises UsageError when fewer than two have a price."""
    panels = tuple(panel for unit in found.units if (panel := _price_panel(unit, found.products)) is not None)
    if not panels:
        raise UsageError(
            "fewer than two products have a price and a value in common", where="-o", remedy="write a table instead"
        )
    terms = found.terms
    over = f" over {terms.years:g} years" if terms.years else ""
    note = "Dashed: products that no other one beats in both cost and value. Bars: 95% intervals."
    return Drawing(title, "points", f"total cost{over} ({terms.currency})", "", "", panels, "linear", "linear", note)


def _price_panel(unit: Unit, products: tuple[Costed, ...]) -> Panel | None:
    known = [
        (one, total, cost) for one in products if (total := one.spend.total) is not None and (cost := one.unit(unit))
    ]
    if len(known) < 2:
        return None
    series = tuple(
        Series(one.label, (Dot(total, cost.amount.value, cost.amount.low, cost.amount.high),))
        for one, total, cost in known
    )
    front = sorted((total, cost.amount.value) for _, total, cost in known if cost.front is Front.YES)
    return Panel(str(unit), series, path=tuple(front))
