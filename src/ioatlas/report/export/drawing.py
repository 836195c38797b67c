# SPDX-License-Identifier: Apache-2.0
"""What all pages and tiles of a drawing share, so that equal colours mean equal values."""

from __future__ import annotations

from dataclasses import dataclass

from ioatlas.report.export.grid import Layout, status
from ioatlas.report.export.quantities import Quantity, Unit

DECADES = 100.0
"""Largest over smallest value from which a linear scale hides most of them."""


@dataclass(frozen=True)
class Drawing:
    """What every page shares: quantity, unit, colour range in that unit, and whether colours are logarithmic."""

    layout: Layout
    quantity: Quantity
    unit: Unit
    low: float
    high: float
    log: bool

    @classmethod
    def of(cls, layout: Layout, quantity: Quantity, *, log: bool | None = None) -> Drawing:
        """log: None takes it where imported values span decades: on a linear scale of the fastest the others are 0."""
        values = [
            v
            for page in layout.pages
            for tile in page.tiles
            for e in tile.cells.values()
            if (v := quantity.shown(e)) is not None
        ]
        unit = quantity.unit(values)
        positive = [v for v in values if v > 0]
        top = max(values, default=unit.factor) or unit.factor
        if log is None:
            entries = [e for page in layout.pages for tile in page.tiles for e in tile.cells.values()]
            imported = bool(entries) and all(status(e) == "imported" for e in entries)
            log = imported and len(positive) > 1 and top >= DECADES * min(positive)
        low = min(positive, default=top / 10) if log else 0.0
        if log and low >= top:
            low = top / 10
        return cls(layout, quantity, unit, low / unit.factor, top / unit.factor, log)
