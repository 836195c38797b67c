# SPDX-License-Identifier: Apache-2.0
"""Heat maps of a campaign as PNG, SVG and PDF: cells with their values where these fit, and the report's marks.

Full cell: measured. Smaller cell: estimated. Dashed without a colour: not believed. Empty: no value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ioatlas.answer.analysis.best import SIGNS, Mark, mark_of
from ioatlas.model.errors import UsageError
from ioatlas.model.quantities import quantity as quantity_named
from ioatlas.model.result import CampaignResult
from ioatlas.model.units import number_of
from ioatlas.report.export import printing
from ioatlas.report.export.drawing import NOT_BELIEVED, Drawing
from ioatlas.report.export.grid import Arrangement, Axis, Page, Tile, lay_out
from ioatlas.report.export.printing import MUTED, SMALL, TEXT, Kind, text_width
from ioatlas.report.export.texts import conditions, subject
from ioatlas.report.export.to_panels import write_drawing
from ioatlas.report.redact import redactor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE_CELL = 15.0
"""Points from which a value stands in a cell, with its mark four more; tiles of one axis go on in further rows to have
them.
"""
LOW_CELL = 8.5
"""Points of height from which a value stands in a cell."""
GAP = 8.0
"""Points between tiles."""
NO_VALUE = "no value"
BRIGHT = 0.45
"""Share of the colours from which black stands out more than white."""


def write_figures(
    result: CampaignResult,
    out: Path,
    kind: Kind,
    *,
    quantity: str = "bw",
    style: str = "map",
    x: str = "",
    y: str = "",
    tiles: str = "",
    scale: str = "",
    bars: str = "",
    columns: int = 0,
) -> tuple[Path, ...]:
    """Draw every page as `kind`, over one or two columns of a page; 0: as many as it needs.

    style: 'map' or 'lines'. x, y, tiles: axes, '' to choose them; tiles: one or two, with a comma. scale: 'linear' or
    'log'. bars: of lines, 'sd' for one standard deviation of repeats. A PDF holds all pages of maps; others get a file
    each, named after the page when there are several. Returns the files.
    Raises IoAtlasError when matplotlib is not installed.
    """
    layout = lay_out(result, x=x, y=y, tiles=[name.strip() for name in tiles.split(",") if name.strip()])
    shown = quantity_named(quantity)
    if bars == "sd":
        if not any(getattr(e, shown.sd) is not None for e in result.estimates):
            raise UsageError(
                "no value has a standard deviation of repeats",
                where="--bars sd",
                remedy="`ioatlas import FILES --repeats -o DIR` makes some; leave --bars out for intervals",
            )
        shown = replace(shown, bars_of_sd=True)
    drawing = Drawing.of(layout, shown, log=scale == "log" if scale else None)

    names = [page.slug if len(layout.pages) > 1 else "" for page in layout.pages]
    told = conditions(result)
    titles = [page_title(result, page) for page in layout.pages]
    if style == "lines":
        written: list[Path] = []
        for name, page, heading in zip(names, layout.pages, titles, strict=True):
            place = out.with_name(f"{out.stem}-{name}{out.suffix}") if name else out
            written += write_drawing(replace(drawing.lines(page, heading), conditions=told), place, kind, columns)
        return tuple(written)
    with printing.drawing_library():
        figures = (
            MapPlan.of(page, drawing, columns).draw(heading, told)
            for page, heading in zip(layout.pages, titles, strict=True)
        )
        return printing.save(zip(names, figures, strict=True), out, kind)


def page_title(result: CampaignResult, page: Page) -> str:
    """What was measured, and what a page is of beside the target where that is the only one."""
    fixed = [(axis, level) for axis, level in page.fixed if axis.name != "target" or len(result.targets) > 1]
    parts = (subject(result), replace(page, fixed=tuple(fixed)).title)
    return redactor(result.targets)(", ".join(part for part in parts if part))


@dataclass(frozen=True)
class Cell:
    """What stands in one place. half: of its side, where a whole place is 0.5. text: as far as it fits; size: of its
    type. mark: None where there is no value.
    """

    place: tuple[int, int]
    value: float | None
    low: float | None
    high: float | None
    mark: Mark | None
    half: float
    n_visits: int = 0
    text: str = ""
    size: float = TEXT
    ink: str = MUTED


@dataclass
class MapPlan:
    """Where everything of a page stands, in points from the upper left corner, whatever draws it."""

    page: Page
    drawing: Drawing
    columns: int
    arranged: Arrangement
    left: float
    cell: tuple[float, float]
    marks: set[Mark | None] = field(default_factory=set)

    @classmethod
    def of(cls, page: Page, drawing: Drawing, columns: int = 0) -> MapPlan:
        layout = drawing.layout
        x, y = len(layout.x.levels), len(layout.y.levels)
        columns = columns or (1 if len(page.tiles) == 1 and x <= 16 else 2)
        width = printing.width_of(columns)
        left = min(0.5 * width, max(text_width(layout.y.label(level), SMALL) for level in layout.y.levels) + 8)
        room = width - left - (14 if layout.rows else 5)
        found = (entry.estimate for tile in page.tiles for entry in tile.cells.values())
        guessed = any(e is not None and e.kind == "predicted" for e in found)
        wanted = x * (WIDE_CELL + 4 * guessed)
        arranged = layout.arrange(page, max(1, min(4, int((room + GAP) / (wanted + GAP)))))
        if arranged.wrapped and wanted > room:  # values would not fit anyhow
            arranged = layout.arrange(page)
        wide = min(48.0, (room - GAP * (arranged.columns - 1)) / arranged.columns / x)
        high = wide if wide < 12 else max(12.0, min(20.0, 0.5 * wide))
        high = max(2.0, min(high, (printing.HIGHEST - 120 - 18 * arranged.rows) / (arranged.rows * y)))
        plan = cls(page, drawing, columns, arranged, left, (wide, high))
        plan.marks = {cell.mark for tile in page.tiles for cell in plan.cells(tile)}
        return plan

    @property
    def tile(self) -> tuple[float, float]:
        layout = self.drawing.layout
        return self.cell[0] * len(layout.x.levels), self.cell[1] * len(layout.y.levels)

    @property
    def ticks(self) -> Ticks:
        return Ticks.across(self.drawing.layout.x, self.cell[0])

    def names(self, title: str) -> list[str]:
        text = f"{title}: {self.drawing.quantity.words}"
        return printing.fold(text, printing.width_of(self.columns) - 8, 1.1 * printing.TITLE)

    def corner(self, title: str, row: int, column: int) -> tuple[float, float]:
        """Of a tile."""
        headed = self.drawing.layout.columns is not None
        high = self.tile[1] + GAP + (11 if headed and self.arranged.wrapped else 0)
        top = printing.title_height(self.names(title)) + (11 if headed else 2)
        return self.left + column * (self.tile[0] + GAP), top + row * high

    def bottom(self, title: str) -> float:
        """Of the tiles with what stands below them."""
        return self.corner(title, self.arranged.rows - 1, 0)[1] + self.tile[1] + self.ticks.height + 4

    def cells(self, tile: Tile) -> Iterator[Cell]:
        """Of every place."""
        layout, q = self.drawing.layout, self.drawing.quantity
        for i, x in enumerate(layout.x.levels):
            for j, y in enumerate(layout.y.levels):
                entry = tile.cells.get((x, y))
                e, value = (entry.estimate, q.shown(entry.estimate)) if entry is not None else (None, None)
                if e is None or value is None:
                    yield Cell((i, j), None, None, None, None, 0.46)
                    continue
                mark, (low, high) = mark_of(e), q.bounds(e)
                half = 0.46 if mark in NOT_BELIEVED else 0.44 if mark is Mark.PREDICTED else 0.5
                text, size = self._fitting(
                    _texts(mark, *(v and v / self.drawing.unit.factor for v in (value, low, high))), half
                )
                yield Cell((i, j), value, low, high, mark, half, e.n_visits, text, size, self._ink(mark, value))

    def _fitting(self, texts: Sequence[str], half: float) -> tuple[str, float]:
        """The first text that fits in a cell, and its size."""
        for text in texts if self.cell[1] >= LOW_CELL else ():
            for size in (TEXT, SMALL):
                if text_width(text, size) <= 2 * half * self.cell[0] - 1:
                    return text, size
        return "", TEXT

    def _ink(self, mark: Mark, value: float) -> str:
        """Black on the bright half of the colours."""
        if mark in NOT_BELIEVED:
            return MUTED
        low, high, value = self.drawing.low, self.drawing.high, value / self.drawing.unit.factor
        value = min(max(value, low), high)
        share = math.log(value / low) / math.log(high / low) if self.drawing.log else (value - low) / (high - low)
        return "black" if share > BRIGHT else "white"

    # -- matplotlib ------------------------------------------------------------------------------------------

    def draw(self, title: str, told: str) -> Figure:
        from matplotlib.colors import LogNorm, Normalize

        norm = (LogNorm if self.drawing.log else Normalize)(self.drawing.low, self.drawing.high)
        foot = printing.Foot(self.columns, [told], list(self._legend()))
        bottom = self.bottom(title)
        whole = bottom + 22 + foot.height
        figure = printing.figure_of(self.columns, whole)
        printing.draw_title(figure, self.names(title))
        for number, tile in enumerate(self.page.tiles):
            row, column = self.arranged.place(number)
            panel = self._panel(figure, self.corner(title, row, column), whole)
            self._draw_tile(panel, tile, norm)
            self._name(panel, tile, row, column)
            for side, ticks, named in (
                ("x", self.ticks, self.arranged.is_lowest(number)),
                ("y", Ticks.up(self.drawing.layout.y, self.cell[1]), column == 0),
            ):
                labels = ticks.labels if named else [""] * len(ticks.labels)
                getattr(panel, f"set_{side}ticks")(ticks.places, labels, rotation=ticks.rotation)
            panel.tick_params(length=0, labelcolor=MUTED)
        self._bar(figure, norm, bottom, whole)
        foot.draw(figure)
        return figure

    def _panel(self, figure: Figure, corner: tuple[float, float], whole: float) -> Axes:
        width = printing.width_of(self.columns)
        (left, top), (wide, high), layout = corner, self.tile, self.drawing.layout
        panel = figure.add_axes((left / width, 1 - (top + high) / whole, wide / width, high / whole))
        panel.set_xlim(-0.5, len(layout.x.levels) - 0.5)
        panel.set_ylim(-0.5, len(layout.y.levels) - 0.5)
        panel.spines[:].set_visible(False)
        return panel

    def _name(self, panel: Axes, tile: Tile, row: int, column: int) -> None:
        layout = self.drawing.layout
        if layout.columns and tile.column is not None and (row == 0 or self.arranged.wrapped):
            text = layout.columns.title(tile.column)
            fitting = TEXT * min(1.0, (self.tile[0] + GAP - 2) / max(1.2 * text_width(text), 1.0))
            panel.set_title(text, fontsize=fitting)
        if layout.rows and tile.row is not None and column == self.arranged.columns - 1:
            within: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
            how: dict[str, Any] = {"ha": "left", "va": "center", "fontsize": SMALL, "fontweight": "bold"}
            panel.annotate(layout.rows.title(tile.row), (1, 0.5), (4, 0), rotation=270, **within, **how)

    def _draw_tile(self, panel: Axes, tile: Tile, norm: Any) -> None:
        """A collection for each kind of cell: thousands of single patches take minutes."""
        from matplotlib.collections import PolyCollection

        thin = min(0.5, 0.06 * self.cell[0])
        cells = list(self.cells(tile))
        looks: tuple[tuple[Callable[[Cell], bool], dict[str, Any]], ...] = (
            (_is_coloured, {"edgecolors": "white", "linewidths": thin, "cmap": printing.colours(), "norm": norm}),
            (lambda cell: cell.mark in NOT_BELIEVED, _dashes(self.cell[0])),
            (
                lambda cell: cell.mark is None,
                {"facecolors": "none", "edgecolors": printing.FAINT, "linewidths": thin / 2},
            ),
        )
        for chosen, look in looks:
            found = [cell for cell in cells if chosen(cell)]
            if found:
                collection = PolyCollection([_square(cell) for cell in found], **look)
                if chosen is _is_coloured:
                    factor = self.drawing.unit.factor
                    collection.set_array([max((cell.value or 0.0) / factor, self.drawing.low) for cell in found])
                panel.add_collection(collection)
        for cell in cells:
            if cell.text:
                style = "italic" if cell.mark is Mark.PREDICTED else "normal"
                how: dict[str, Any] = {"fontsize": cell.size, "color": cell.ink, "style": style}
                panel.text(*cell.place, cell.text, ha="center", va="center_baseline", **how)

    def _bar(self, figure: Figure, norm: Any, top: float, whole: float) -> None:
        """What colours mean, and what stands across and up."""
        from matplotlib.cm import ScalarMappable

        layout, width = self.drawing.layout, printing.width_of(self.columns)
        axes = f"across: {axis_word(layout.x)} · up: {axis_word(layout.y)}"
        unit = self.drawing.unit.name + (", logarithmic" if self.drawing.log else "")
        long = 55.0 * self.columns
        told = "\n".join(printing.fold(axes, width - long - text_width(unit, SMALL) - 34, SMALL))
        figure.text(4 / width, 1 - (top + 3) / whole, told, fontsize=SMALL, color=MUTED, va="top")
        left = width - long - 14
        place = (left / width, 1 - (top + 9) / whole, long / width, 6 / whole)
        bar = figure.colorbar(
            ScalarMappable(norm, printing.colours()), cax=figure.add_axes(place), orientation="horizontal"
        )
        bar.outline.set_visible(False)
        if self.drawing.log:
            printing.plain_logarithmic(bar.ax.xaxis)
        else:
            bar.ax.locator_params(axis="x", nbins=4)
        bar.ax.tick_params(length=1.5, labelcolor=MUTED)
        figure.text((left - 6) / width, 1 - (top + 3) / whole, unit, fontsize=SMALL, va="top", ha="right")

    def _legend(self) -> Iterator[tuple[Any, str]]:
        """Only of marks that there are."""
        from matplotlib.patches import Patch

        for mark, (sign, words) in SIGNS.items():
            if mark in self.marks and sign:
                look = _dashes(20.0) if mark in NOT_BELIEVED else {"facecolors": "#7fb3a2", "edgecolors": "none"}
                patch: dict[str, Any] = {name.removesuffix("s"): value for name, value in look.items()}
                yield Patch(**patch), f"{sign} {words}"
        if None in self.marks:
            yield Patch(facecolor="none", edgecolor=printing.FAINT, linewidth=0.5), NO_VALUE


@dataclass(frozen=True)
class Ticks:
    """Labels of an axis: level where they fit, upright where these fit, else every second, third, ..."""

    places: Sequence[int]
    labels: Sequence[str]
    rotation: int = 0
    height: float = SMALL * 1.3 + 2

    @classmethod
    def across(cls, axis: Axis, wide: float) -> Ticks:
        widest = max(text_width(axis.label(level), SMALL) for level in axis.levels)
        if widest + 3 <= wide:
            return cls(range(len(axis.levels)), [axis.label(level) for level in axis.levels])
        return replace(cls.up(axis, wide), rotation=90, height=widest + 4)

    @classmethod
    def up(cls, axis: Axis, high: float) -> Ticks:
        places = range(0, len(axis.levels), max(1, math.ceil(1.15 * SMALL / high)))
        return cls(places, [axis.label(axis.levels[at]) for at in places])


def _texts(mark: Mark, value: float | None, low: float | None, high: float | None) -> list[str]:
    """A value with its sign; where runs disagree the range, which says more."""
    sign = SIGNS[mark][0]
    if mark is not Mark.DISAGREE:
        return [f"{number_of(value or 0.0)}{sign}"]
    return [*([f"{number_of(low)}–{number_of(high)}"] if low is not None and high is not None else []), sign]


def _is_coloured(cell: Cell) -> bool:
    return cell.mark is not None and cell.mark not in NOT_BELIEVED


def _square(cell: Cell) -> list[tuple[float, float]]:
    (i, j), half = cell.place, cell.half
    return [(i - half, j - half), (i + half, j - half), (i + half, j + half), (i - half, j + half)]


def _dashes(wide: float) -> dict[str, Any]:
    dash = min(2.0, wide / 5)
    width = 0.5 if wide > 6 else 0.25
    style = (0, (dash / width, dash / width))
    return {"facecolors": "#f1f2f3", "edgecolors": MUTED, "linestyle": style, "linewidths": width}


def axis_word(axis: Axis) -> str:
    """'block size (bs)': the words of an axis inside a sentence."""
    return axis.heading[:1].lower() + axis.heading[1:]
