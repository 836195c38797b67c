# SPDX-License-Identifier: Apache-2.0
"""gnuplot: a data file and a script that draws the tiled heat maps of the 2021 study, for gnuplot 5.2 and newer.

Cells are drawn by `with image`: `pm3d map` draws between points, so that 12 x 10 points show as 11 x 9 cells.
All tiles and pages share one colour range, set by hand: gnuplot would scale each by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

from ioatlas.model.result import CampaignResult
from ioatlas.model.words import words
from ioatlas.report.export.drawing import Drawing
from ioatlas.report.export.grid import Axis, Layout, Page, Status, Tile, status
from ioatlas.report.export.quantities import Quantity
from ioatlas.report.table import Entry

CIVIDIS = words("""
    #00224e #002e6c #1e3a6f #35456c #47516c #575d6d #666970 #757575 #848279 #948e77 #a59c74 #b7a96e #c8b866
    #dbc75a #eed649 #fee838
""")

HATCHES: dict[Status, tuple[str, str]] = {
    "missing": ("pattern 1 fc rgb '#909090'", "no value"),
    "predicted": ("transparent pattern 5 fc rgb '#ffffff'", "predicted"),
    "imported": ("transparent pattern 7 fc rgb '#ffffff'", "from elsewhere"),
    "unsteady": ("transparent pattern 4 fc rgb '#e00000'", "no steady state"),
    "suspect": ("transparent pattern 1 fc rgb '#e00000'", "suspect: see its verdict"),
}
"""How a cell that is not a steady measured one is marked: fill style, and its word in the legend."""
STATUS_CODE: dict[Status, int] = {name: code for code, name in enumerate(get_args(Status))}

TILE_WIDTH, TILE_HEIGHT = 370, 290
HEADING = 66
"""Further room above the tiles of a second row and on, where each tile has a heading."""
LEFT, RIGHT, TOP, BOTTOM, GAP = 170, 230, 130, 190, 24
"""Room around the tiles and between them, in pixels."""


def write_gnuplot(
    result: CampaignResult, layout: Layout, quantity: Quantity, script: Path, *, log: bool | None = None
) -> tuple[Path, Path]:
    """Write `script` and its data file beside it (same name, .dat). Returns both."""
    data = script.with_suffix(".dat")
    drawing = Drawing.of(layout, quantity, log=log)
    script.parent.mkdir(parents=True, exist_ok=True)
    data.write_text("\n".join(_data_lines(result, drawing)) + "\n", encoding="utf-8")
    script.write_text("\n".join(_script_lines(result, drawing, script.name, data.name)) + "\n", encoding="utf-8")
    return script, data


def _data_lines(result: CampaignResult, drawing: Drawing) -> Iterator[str]:
    layout, q = drawing.layout, drawing.quantity
    yield f"# {one_line(result.name)} - {q.label} ({q.units[0].name}), {q.low} and {q.high} are its interval"
    yield f"# x: {layout.x.name} = {' '.join(str(v) for v in layout.x.levels)}"
    yield f"# y: {layout.y.name} = {' '.join(str(v) for v in layout.y.levels)}"
    yield f"# status: {', '.join(f'{code} {name}' for name, code in STATUS_CODE.items())}"
    yield "# columns: x_index y_index value low high status n_visits"
    for page in layout.pages:
        for tile in page.tiles:
            yield from (_tile_heading(page, tile, layout), *_tile_lines(tile, drawing), "", "")


def _tile_heading(page: Page, tile: Tile, layout: Layout) -> str:
    sides = [(layout.columns, tile.column), (layout.rows, tile.row)]
    words = [page.title, *(axis.title(level) for axis, level in sides if axis is not None and level is not None)]
    return "# " + one_line(", ".join(word for word in words if word))


def _tile_lines(tile: Tile, drawing: Drawing) -> Iterator[str]:
    """Every place of the grid has a line, also one that the sweep does not have: an image must be complete."""
    layout, q = drawing.layout, drawing.quantity
    for j, y in enumerate(layout.y.levels):
        for i, x in enumerate(layout.x.levels):
            entry = tile.cells.get((x, y))
            estimate = entry.estimate if entry is not None else None
            value = q.shown(entry) if entry is not None else None
            low, high = q.bounds(estimate) if estimate is not None else (None, None)
            numbers = " ".join("NaN" if v is None else f"{v:.9g}" for v in (value, low, high))
            yield (
                f"{i} {j} {numbers} {STATUS_CODE[_mark(entry, drawing)]} "
                f"{estimate.n_visits if estimate is not None else 0}"
            )


def _mark(entry: Entry | None, drawing: Drawing) -> Status:
    return "missing" if entry is None or drawing.quantity.shown(entry) is None else status(entry)


def _script_lines(result: CampaignResult, drawing: Drawing, script_name: str, data_name: str) -> Iterator[str]:
    layout, q, unit = drawing.layout, drawing.quantity, drawing.unit
    stem = script_name.rsplit(".", 1)[0]
    sizes = [layout.arrange(page) for page in layout.pages[:1]]
    width = LEFT + RIGHT + sizes[0].columns * TILE_WIDTH
    height = TOP + BOTTOM + sizes[0].rows * (TILE_HEIGHT + (HEADING if sizes[0].wrapped else 0))
    yield f"# {one_line(result.name)}: {q.label} over {layout.x.name} and {layout.y.name}"
    yield from opening_lines(script_name, data_name, (width, height), 13)
    yield f"unit = {unit.factor:.10g}"
    yield f"low = {drawing.low:.6g}"
    yield f"high = {drawing.high:.6g}"
    yield f"set palette defined ({', '.join(f'{i} {gnuplot_text(c)}' for i, c in enumerate(CIVIDIS))})"
    if drawing.log:
        yield "set logscale cb"
    yield "set cbrange [low:high]"
    yield f"set cblabel {gnuplot_text(f'{q.label} ({unit.name})')}"
    yield f"set xrange [-0.5:{len(layout.x.levels) - 0.5}]"
    yield f"set yrange [-0.5:{len(layout.y.levels) - 0.5}]"
    yield "set tics out scale 0.4 nomirror"
    yield "shown(value) = value == value ? (value / unit > low ? value / unit : low) : low"
    yield "marked(column, status, wanted) = status == wanted ? column : NaN"
    first = 0
    for page in layout.pages:
        yield ""
        slug = f"-{page.slug}" if len(layout.pages) > 1 and page.slug else ""
        yield f"set output folder . {gnuplot_text(stem + slug)} . '.' . format"
        yield from _page_lines(
            page, drawing, first, (width, height), f"{result.name}: {page.title}" if page.title else result.name
        )
        first += len(page.tiles)
    yield "unset output"


def opening_lines(script_name: str, data_name: str, size: tuple[int, int], points: int) -> Iterator[str]:
    """The beginning of every script: how to draw it, where its data is, and a terminal of this size in pixels and font
    in points for each format.
    """
    width, height = size
    yield f"# Draw it:  gnuplot {script_name}      as PDF or SVG:  gnuplot -e \"format='pdf'\" {script_name}"
    yield "if (!exists('format')) format = 'png'"
    yield f"name = {gnuplot_text(script_name)}"
    yield (
        "folder = (strlen(ARG0) >= strlen(name) && ARG0[strlen(ARG0) - strlen(name) + 1:*] eq name) ? "
        "ARG0[1:strlen(ARG0) - strlen(name)] : ''"
    )
    yield f"data = folder . {gnuplot_text(data_name)}"
    yield f"if (format eq 'png') set terminal pngcairo noenhanced size {width},{height} font 'sans,{points}'"
    yield f"if (format eq 'svg') set terminal svg noenhanced size {width},{height} font 'sans,{points}'"
    yield (
        f"if (format eq 'pdf') set terminal pdfcairo noenhanced size {width / 100:.2f},{height / 100:.2f} font "
        f"'sans,{points * 3 // 4 + 1}'"
    )


def _page_lines(page: Page, drawing: Drawing, first_index: int, size: tuple[int, int], title: str) -> Iterator[str]:
    layout = drawing.layout
    width, height = size
    arranged = layout.arrange(page)
    gap = GAP + (HEADING if arranged.wrapped else 0)
    yield (
        f"set multiplot layout {arranged.rows},{arranged.columns} margins screen {LEFT / width:.4f}, "
        f"{1 - RIGHT / width:.4f}, {BOTTOM / height:.4f}, {1 - TOP / height:.4f} "
        f"spacing screen {GAP / width:.4f}, {gap / height:.4f}"
    )
    yield f"set label 1 {gnuplot_text(title)} at screen 0.5, {1 - 40 / height:.4f} center font ',20'"
    yield (
        f"set label 2 {gnuplot_text(layout.x.heading)} at screen {(LEFT + width - RIGHT) / 2 / width:.4f}, "
        f"{72 / height:.4f} center font ',16'"
    )
    yield (
        f"set label 3 {gnuplot_text(layout.y.heading)} at screen {36 / width:.4f}, "
        f"{(BOTTOM + height - TOP) / 2 / height:.4f} center rotate by 90 font ',16'"
    )
    yield from _legend_lines(page, drawing, size)
    yield (
        f"set colorbox vertical user origin screen {1 - 120 / width:.4f}, {BOTTOM / height:.4f}"
        f" size screen {24 / width:.4f}, {1 - (TOP + BOTTOM) / height:.4f}"
    )
    for place, tile in enumerate(page.tiles):
        row, column = arranged.place(place)
        headed = layout.columns is not None and tile.column is not None and (row == 0 or arranged.wrapped)
        heading = layout.columns.title(tile.column) if headed else ""  # type: ignore[union-attr, arg-type]
        yield f"set title {gnuplot_text(heading)} offset 0,-0.6"
        yield "unset label 4"
        if layout.rows and tile.row is not None and column == arranged.columns - 1:
            yield f"set label 4 {gnuplot_text(layout.rows.title(tile.row))} at graph 1.04, 0.5 center rotate by 90"
        yield _tics("x", layout.x, "rotate by -60" if arranged.is_lowest(place) else "")
        yield _tics("y", layout.y, "right" if column == 0 else "")
        yield _plot_line(tile, drawing, first_index + place)
        if place == 0:
            yield "unset colorbox; unset label 1; unset label 2; unset label 3; unset label 5; unset object"
            yield "; ".join(f"unset label {6 + i}" for i in range(len(HATCHES)))
    yield "unset label 4"
    yield "unset multiplot"


def _plot_line(tile: Tile, drawing: Drawing, index: int) -> str:
    layout = drawing.layout
    source = f"data index {index}"
    if len(layout.x.levels) > 1 and len(layout.y.levels) > 1:
        parts = [f"{source} using 1:2:(shown($3)) with image notitle"]
    else:  # gnuplot's images are at least 2 x 2
        parts = [f"{source} using 1:2:(0.5):(0.5):(shown($3)) with boxxyerror fs solid noborder fc palette notitle"]
    parts += [
        (
            f"{source} using (marked($1, $6, {STATUS_CODE[mark]})):2:(0.5):(0.5) with boxxyerror fs {style} noborder "
            "notitle"
        )
        for mark, (style, _) in HATCHES.items()
        if mark in _marks([tile], drawing)
    ]
    return "plot " + ", \\\n     ".join(
        part.replace(" noborder", "", 1) if "pattern" in part else part for part in parts
    )


def _marks(tiles: Sequence[Tile], drawing: Drawing) -> set[Status]:
    layout = drawing.layout
    return {_mark(tile.cells.get((x, y)), drawing) for tile in tiles for x in layout.x.levels for y in layout.y.levels}


def _legend_lines(page: Page, drawing: Drawing, size: tuple[int, int]) -> Iterator[str]:
    width, height = size
    found = _marks(page.tiles, drawing)
    left = 20
    for place, (mark, (style, word)) in enumerate(HATCHES.items()):
        if mark not in found:
            continue
        x, y = left / width, 16 / height
        if "transparent" in style:
            yield (
                f"set object {2 * place + 1} rectangle from screen {x:.4f},{y:.4f} to screen "
                f"{x + 34 / width:.4f},{y + 20 / height:.4f} fs solid fc rgb '#57656e' behind"
            )
        yield (
            f"set object {2 * place + 2} rectangle from screen {x:.4f},{y:.4f} to screen "
            f"{x + 34 / width:.4f},{y + 20 / height:.4f} fs {style} front"
        )
        yield f"set label {6 + place} {gnuplot_text(word)} at screen {x + 42 / width:.4f},{y + 10 / height:.4f} left"
        left += 74 + 9 * len(word)


def _tics(side: str, axis: Axis, extra: str) -> str:
    marks = ", ".join(f"{gnuplot_text(axis.label(level) if extra else '')} {i}" for i, level in enumerate(axis.levels))
    return f"set {side}tics {extra if side == 'x' else ''} ({marks})".replace("  ", " ")


def one_line(text: str) -> str:
    """The text without line breaks: a comment ends with its line."""
    return " ".join(text.split())


def gnuplot_text(text: str) -> str:
    """The text as a string of a script, taken as it stands."""
    return "'" + one_line(text).replace("'", "''") + "'"
