# SPDX-License-Identifier: Apache-2.0
"""Drawings of price against what is given."""

from __future__ import annotations

from ioatlas.errors import UsageError
from ioatlas.model.panel import Dot, Drawing, Panel, Series
from ioatlas.product.comparison import CostComparison
from ioatlas.product.cost import Costed, Front
from ioatlas.product.readings import Unit


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
