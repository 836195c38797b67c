# SPDX-License-Identifier: Apache-2.0
"""PNG, SVG and PDF by matplotlib (the extra `figures`): tiled heat maps, and lines with error bars."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ioatlas.errors import IoAtlasError
from ioatlas.model.result import CampaignResult
from ioatlas.report.export.drawing import Drawing
from ioatlas.report.export.grid import Arrangement, Axis, Layout, Level, Page, Status, Tile, status
from ioatlas.report.export.quantities import Quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Kind = Literal["png", "svg", "pdf"]
Style = Literal["map", "lines"]

HATCHES: dict[Status, tuple[str, str]] = {
    "missing": ("xxx", "no value"),
    "predicted": ("///", "predicted"),
    "imported": ("...", "from elsewhere"),
    "unsteady": ("\\\\\\", "no steady state"),
    "suspect": ("xx", "suspect: see its verdict"),
}
"""How a cell that is not a steady measured one is marked, and its word in the legend."""
MARKERS = "osD^v<>Pp*Xh"
DOTS_PER_INCH = 110
LETTERS_PER_INCH = 9.5
"""Of a title."""
METADATA: dict[Kind, dict[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
"""No date and no program version in the file: equal results give equal files."""


def write_figures(
    result: CampaignResult,
    layout: Layout,
    quantity: Quantity,
    out: Path,
    kind: Kind,
    *,
    style: Style = "map",
    log: bool | None = None,
) -> tuple[Path, ...]:
    """Draw every page as `kind`.

    A PDF holds all pages; PNG and SVG get a file each, named after the page when there are several. Returns the files.
    Raises IoAtlasError when matplotlib is not installed.
    """
    drawing = Drawing.of(layout, quantity, log=log)
    draw: Callable[[Page, Drawing, str], Figure] = _map_figure if style == "map" else _lines_figure
    out.parent.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    with drawing_library():
        if kind == "pdf":
            from matplotlib.backends.backend_pdf import PdfPages

            with PdfPages(out, metadata=METADATA["pdf"]) as pages:
                for page in layout.pages:
                    pages.savefig(draw(page, drawing, _title(result, page)))
            return (out,)
        for page in layout.pages:
            path = (
                out if len(layout.pages) == 1 or not page.slug else out.with_name(f"{out.stem}-{page.slug}{out.suffix}")
            )
            draw(page, drawing, _title(result, page)).savefig(path, format=kind, metadata=METADATA[kind])
            written.append(path)
    return tuple(written)


@contextmanager
def drawing_library() -> Iterator[None]:
    """The drawing library without a display and without figures kept alive, or one clear error."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise IoAtlasError(
            "figures need matplotlib, which is not installed",
            remedy="install the extra: pip install 'ioatlas[figures]'; or use --format gnuplot",
        ) from error
    # Fixed salt: element ids in SVG are the same in every run.
    options: dict[Any, Any] = {
        "font.size": 8,
        "hatch.linewidth": 0.6,
        "figure.dpi": DOTS_PER_INCH,
        "text.parse_math": False,
        "svg.hashsalt": "ioatlas",
        "svg.fonttype": "none",
    }
    with mpl.rc_context(options):
        yield


def _title(result: CampaignResult, page: Page) -> str:
    return f"{result.name}: {page.title}" if page.title and page.title not in result.name else result.name


def plain_logarithmic(axis: Any) -> None:
    """Plain numbers at 1, 2 and 5 of each decade: the library's own labels are formulas, which are not read here."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


@dataclass(frozen=True)
class _Panels:
    """A panel for each tile of a page, in the same order."""

    figure: Figure
    each: list[Axes]
    arranged: Arrangement

    def tick(self, layout: Layout) -> None:
        """Marks on both sides of all; labels only where no other panel stands below or to the left."""
        for number, panel in enumerate(self.each):
            _tick(panel, layout.x, "x", labelled=self.arranged.is_lowest(number))
            _tick(panel, layout.y, "y", labelled=self.is_leftmost(number))

    def is_leftmost(self, number: int) -> bool:
        return self.arranged.place(number)[1] == 0


def _panels(page: Page, drawing: Drawing, title: str, *, tile_inches: tuple[float, float]) -> _Panels:
    """A figure with one panel for each tile, headings in place."""
    from matplotlib.figure import Figure

    layout, arranged = drawing.layout, drawing.layout.arrange(page)
    size = (2.6 + arranged.columns * tile_inches[0], 1.6 + arranged.rows * tile_inches[1])
    figure = Figure(figsize=size, layout="constrained")
    # sharing axes costs minutes with 64 panels
    grid = list(figure.subplots(arranged.rows, arranged.columns, squeeze=False).flat)
    for unused in grid[arranged.count :]:
        unused.remove()
    lines = textwrap.wrap(title, width=max(20, round(LETTERS_PER_INCH * size[0])))
    figure.suptitle("\n".join(lines), fontsize=12)
    for number, (panel, tile) in enumerate(zip(grid, page.tiles, strict=False)):
        row, column = arranged.place(number)
        if layout.columns and tile.column is not None and (row == 0 or arranged.wrapped):
            panel.set_title(layout.columns.title(tile.column), fontsize=9)
        if layout.rows and tile.row is not None and column == arranged.columns - 1:
            panel.annotate(
                layout.rows.title(tile.row),
                (1, 0.5),
                (5, 0),
                xycoords="axes fraction",
                textcoords="offset points",
                rotation=270,
                ha="left",
                va="center",
                fontsize=9,
            )
    return _Panels(figure, grid[: arranged.count], arranged)


def _map_figure(page: Page, drawing: Drawing, title: str) -> Figure:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm, Normalize
    from matplotlib.patches import Patch

    layout = drawing.layout
    tile_inches = (0.35 + 0.17 * max(len(layout.x.levels), 6), 0.35 + 0.17 * max(len(layout.y.levels), 6))
    # Labels that are whole sentences take room of their own.
    beyond = max(0, max(len(layout.y.label(level)) for level in layout.y.levels) - 20)
    panels = _panels(page, drawing, title, tile_inches=(tile_inches[0] + 0.075 * beyond, tile_inches[1]))
    figure = panels.figure
    norm = (LogNorm if drawing.log else Normalize)(drawing.low, drawing.high)
    marks: set[Status] = set()
    for panel, tile in zip(panels.each, page.tiles, strict=True):
        marks |= _draw_tile(panel, tile, drawing, norm)
    panels.tick(layout)
    # The layout keeps room for name and legend, but puts both at the very bottom: an empty line lifts the name above
    # the legend.
    figure.supxlabel(layout.x.heading + ("\n" if marks else ""), fontsize=10, linespacing=2.0)
    figure.supylabel(layout.y.heading, fontsize=10)
    bar = figure.colorbar(ScalarMappable(norm, "cividis"), ax=panels.each, fraction=0.04, aspect=40, pad=0.02)
    if drawing.log:
        plain_logarithmic(bar.ax.yaxis)
    bar.set_label(f"{drawing.quantity.label} ({drawing.unit.name})")
    if marks:
        handles = [
            Patch(facecolor="white" if mark == "missing" else "0.45", edgecolor=_ink(mark), hatch=hatch, label=word)
            for mark, (hatch, word) in HATCHES.items()
            if mark in marks
        ]
        figure.legend(handles=handles, loc="outside lower left", ncols=len(handles), frameon=False)
    return figure


def _draw_tile(panel: Axes, tile: Tile, drawing: Drawing, norm: Any) -> set[Status]:
    """One image, and a hatched frame over each cell that is not steady and measured. Returns the marks used."""
    import numpy as np
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    layout, q = drawing.layout, drawing.quantity
    image = np.full((len(layout.y.levels), len(layout.x.levels)), np.nan)
    frames: dict[Status, list[tuple[int, int]]] = {}
    for (i, x), (j, y) in ((p, r) for p in enumerate(layout.x.levels) for r in enumerate(layout.y.levels)):
        entry = tile.cells.get((x, y))
        value = q.shown(entry) if entry is not None else None
        mark: Status = "missing" if entry is None or value is None else status(entry)
        if value is not None:
            image[j, i] = max(value / drawing.unit.factor, drawing.low)
        if mark != "measured":
            frames.setdefault(mark, []).append((i, j))
    panel.imshow(image, cmap="cividis", norm=norm, origin="lower", aspect="auto", interpolation="nearest")
    corners = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5], [-0.5, -0.5]])
    square = [Outline.MOVETO, Outline.LINETO, Outline.LINETO, Outline.LINETO, Outline.CLOSEPOLY]
    for (
        mark,
        places,
    ) in frames.items():  # one outline for each mark: the hatching of thousands of single patches takes minutes
        outline = Outline((np.array(places)[:, None, :] + corners).reshape(-1, 2), square * len(places))
        face = "white" if mark == "missing" else "none"
        panel.add_patch(PathPatch(outline, facecolor=face, edgecolor=_ink(mark), hatch=HATCHES[mark][0], linewidth=0.4))
    return set(frames)


def _ink(mark: Status) -> str:
    return {"missing": "0.55", "predicted": "white", "imported": "white"}.get(mark, "#e00000")


def _lines_figure(page: Page, drawing: Drawing, title: str) -> Figure:
    """Slices: the quantity over x, a line for each level of y, with the interval of each cell as its error bar."""
    import matplotlib as mpl

    layout = drawing.layout
    panels = _panels(page, drawing, title, tile_inches=(2.9, 2.3))
    figure = panels.figure
    colors = [
        mpl.colormaps["cividis"](0.92 * place / max(len(layout.y.levels) - 1, 1))
        for place in range(len(layout.y.levels))
    ]
    for number, (panel, tile) in enumerate(zip(panels.each, page.tiles, strict=True)):
        for place, y in enumerate(layout.y.levels):
            _draw_line(panel, tile, y, drawing, colors[place], MARKERS[place % len(MARKERS)])
        _tick(panel, layout.x, "x", labelled=panels.arranged.is_lowest(number))
        panel.set_xlim(-0.5, len(layout.x.levels) - 0.5)
        panel.grid(visible=True, color="0.9", linewidth=0.6)
        if drawing.log:
            panel.set_yscale("log")
            plain_logarithmic(panel.yaxis)
        panel.tick_params(labelleft=panels.is_leftmost(number))
    limits = [panel.get_ylim() for panel in panels.each]
    for panel in panels.each:
        panel.set_ylim(min(low for low, _ in limits) if drawing.log else 0, max(high for _, high in limits))
    figure.supylabel(f"{drawing.quantity.label} ({drawing.unit.name})", fontsize=10)
    # A line may be in some panels only; the legend has all of them, in the order of their axis.
    found: dict[str, Any] = {}
    for panel in panels.each:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    labels = [label for label in map(layout.y.label, layout.y.levels) if label in found]
    handles = [found[label] for label in labels]
    figure.legend(handles, labels, title=layout.y.heading, loc="outside right upper", frameon=False)
    bars = f"bars: one standard deviation of {_repeats(page)}repeats" if drawing.quantity.bars_of_sd else ""
    if bars:
        figure.text(0.995, 0.005, bars, fontsize=7, ha="right", va="bottom")
    hollow = any(
        status(e) != "measured"
        for tile in page.tiles
        for e in tile.cells.values()
        if drawing.quantity.shown(e) is not None
    )
    if hollow:
        told = "hollow: predicted, imported, without a steady state, or suspect"
        figure.text(0.005, 0.005, told, fontsize=7, ha="left", va="bottom")
    # The layout keeps no room for free text: an empty line lifts the name above it.
    figure.supxlabel(layout.x.heading + ("\n" if hollow or bars else ""), fontsize=10, linespacing=2.0)
    return figure


def _repeats(page: Page) -> str:
    """How many repeats the values of a page are means of, where it is one number."""
    counts = {
        entry.estimate.n_repeats for tile in page.tiles for entry in tile.cells.values() if entry.estimate is not None
    }
    return f"{min(counts)} " if len(counts) == 1 and min(counts) else ""


def _draw_line(panel: Axes, tile: Tile, y: Level, drawing: Drawing, color: Any, marker: str) -> None:
    layout, q, factor = drawing.layout, drawing.quantity, drawing.unit.factor
    points = []
    for i, x in enumerate(layout.x.levels):
        entry = tile.cells.get((x, y))
        value = q.shown(entry) if entry is not None else None
        if entry is None or entry.estimate is None or value is None:
            continue
        low, high = q.bounds(entry.estimate)
        points.append(
            (
                i,
                value / factor,
                (value - (low if low is not None else value)) / factor,
                ((high if high is not None else value) - value) / factor,
                status(entry),
            )
        )
    if not points:
        return
    label = layout.y.label(y)
    panel.plot([p[0] for p in points], [p[1] for p in points], color=color, linewidth=1, label="_line")
    for solid in (True, False):
        chosen = [p for p in points if (p[4] == "measured") == solid]
        if not chosen and not solid:
            continue
        errors = [[max(p[2], 0) for p in chosen], [max(p[3], 0) for p in chosen]]
        panel.errorbar(
            [p[0] for p in chosen],
            [p[1] for p in chosen],
            yerr=errors if chosen else None,
            fmt=marker,
            color=color,
            markersize=4,
            markerfacecolor=color if solid else "white",
            capsize=2,
            linewidth=0.9,
            label=label if solid else "_hollow",
        )


def _tick(panel: Axes, axis: Axis, side: Literal["x", "y"], *, labelled: bool) -> None:
    """A mark for each level; labels only on the panels at the figure's edge."""
    labels = [axis.label(level) if labelled else "" for level in axis.levels]
    if side == "x":
        panel.set_xticks(range(len(labels)), labels, rotation=60, ha="right", rotation_mode="anchor")
    else:
        panel.set_yticks(range(len(labels)), labels)
    panel.tick_params(length=2)
