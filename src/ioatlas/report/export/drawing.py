# SPDX-License-Identifier: Apache-2.0
"""What all pages and tiles of a drawing share, so that equal colours mean equal values."""

from __future__ import annotations

from dataclasses import dataclass

from ioatlas.answer.analysis.best import Mark, mark_of
from ioatlas.model import panel
from ioatlas.model.quantities import Quantity, Unit
from ioatlas.report.export.grid import Axis, Layout, Level, Page, Tile
from ioatlas.report.table import Entry

DECADES = 100.0
"""Largest over smallest value from which a linear scale hides most of them."""
NOT_BELIEVED = (Mark.UNSTABLE, Mark.DISAGREE, Mark.SUSPECT)
"""Values that have no colour: the brightest cell is one that can be believed."""


def is_believed(entry: Entry) -> bool:
    return entry.estimate is not None and mark_of(entry.estimate) not in NOT_BELIEVED


@dataclass(frozen=True)
class Drawing:
    """What every page shares: quantity, unit, colour range in that unit, and whether colours are logarithmic."""

    layout: Layout
    quantity: Quantity
    unit: Unit
    low: float
    high: float
    log: bool
    values: tuple[float, ...] = ()
    """Those above zero that have a colour, in base units."""

    @classmethod
    def of(cls, layout: Layout, quantity: Quantity, *, log: bool | None = None) -> Drawing:
        """log: None takes it where imported values span decades: on a linear scale of the fastest the others are 0."""
        entries = [e for page in layout.pages for tile in page.tiles for e in tile.cells.values()]
        shown = [(v, e) for e in entries if (v := quantity.shown(e.estimate)) is not None]
        values = [v for v, e in shown if is_believed(e)] or [v for v, _ in shown]
        unit = quantity.unit(values)
        positive = [v for v in values if v > 0]
        top = max(values, default=unit.factor) or unit.factor
        if log is None:
            imported = all(e.estimate is not None and e.estimate.kind == "imported" for e in entries)
            log = imported and len(positive) > 1 and top >= DECADES * min(positive)
        low = min(positive, default=top / 10) if log else 0.0
        if log and low >= top:
            low = top / 10
        return cls(layout, quantity, unit, low / unit.factor, top / unit.factor, log, tuple(positive))

    def lines(self, page: Page, title: str) -> panel.Drawing:
        """A page as slices: the quantity over x, a line for each level of y, with the interval of each cell."""
        layout, q = self.layout, self.quantity
        ticks = tuple((float(i), layout.x.label(level)) for i, level in enumerate(layout.x.levels))
        dots = [{level: self._dots(tile, level) for level in layout.y.levels} for tile in page.tiles]
        shown = [level for level in layout.y.levels if any(each[level] for each in dots)]
        panels = tuple(
            panel.Panel(
                _heading(layout, tile),
                tuple(panel.Series(layout.y.title(level), each[level]) for level in shown),
                ticks,
            )
            for tile, each in zip(page.tiles, dots, strict=True)
        )
        notes = ["Bars: one standard deviation of the repeats."] if q.bars_of_sd else []
        if any(dot.unsure for each in panels for series in each.series for dot in series.dots):
            notes.append("Hollow: estimated, imported, not steady, or suspect.")
        return panel.Drawing(
            title,
            "lines",
            layout.x.heading,
            q.words,
            q.kind,
            panels,
            y_scale="log" if self.log else "linear",
            note=" ".join(notes),
            columns=layout.arrange(page).columns,
            graded=len(layout.y.levels) > 2 and not isinstance(layout.y.levels[0], str),
        )

    def _dots(self, tile: Tile, y: Level) -> tuple[panel.Dot, ...]:
        dots = []
        for i, x in enumerate(self.layout.x.levels):
            entry = tile.cells.get((x, y))
            value = self.quantity.shown(entry.estimate) if entry is not None else None
            if entry is None or entry.estimate is None or value is None:
                continue
            e = entry.estimate
            unsure = e.kind != "measured" or not is_believed(entry)
            dots.append(panel.Dot(float(i), value, *self.quantity.bounds(e), e.n_visits, unsure=unsure))
        return tuple(dots)


def _heading(layout: Layout, tile: Tile) -> str:
    sides: tuple[tuple[Axis | None, Level | None], ...] = ((layout.columns, tile.column), (layout.rows, tile.row))
    return ", ".join(axis.title(level) for axis, level in sides if axis is not None and level is not None)
