# SPDX-License-Identifier: Apache-2.0
"""gnuplot: a data file and a script that draws the same heat maps as matplotlib does, for gnuplot 5.2 and newer.

All tiles and pages share one colour range, set by hand: gnuplot would scale each by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ioatlas.analysis.marks import SIGNS, Mark
from ioatlas.model.result import CampaignResult
from ioatlas.model.words import words
from ioatlas.report.export import printing
from ioatlas.report.export.conditions import conditions
from ioatlas.report.export.drawing import NOT_BELIEVED, Drawing
from ioatlas.report.export.grid import Layout, Page, Tile
from ioatlas.report.export.printing import MUTED, SMALL, gnuplot_text, one_line, opening_lines
from ioatlas.report.export.quantities import Quantity, units_of
from ioatlas.report.export.to_figure import NO_VALUE, Cell, MapPlan, Ticks, axis_word, page_title

PALETTE = words("""
    #471365 #482475 #463480 #414487 #3b528b #355f8d #2f6c8e #2a788e #25848e #21918c #1e9c89 #22a884 #2fb47c #44bf70
    #5ec962 #7ad151 #9bd93c #bddf26 #dfe318 #fde725
""")
"""Viridis without its darkest, in even steps."""
MISSING = len(Mark)
"""The code of a place without a value; the others are the places of their marks."""


def write_gnuplot(
    result: CampaignResult,
    layout: Layout,
    quantity: Quantity,
    script: Path,
    *,
    log: bool | None = None,
    columns: int = 0,
) -> tuple[Path, Path]:
    """Write `script` and its data file beside it (same name, .dat). Returns both."""
    data = script.with_suffix(".dat")
    drawing = Drawing.of(layout, quantity, log=log)
    plans = [(page, MapPlan.of(page, drawing, columns)) for page in layout.pages]
    script.parent.mkdir(parents=True, exist_ok=True)
    data.write_text("\n".join(_data_lines(drawing, plans)) + "\n", encoding="utf-8")
    lines = _script_lines(result, drawing, plans, (script.name, data.name))
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return script, data


def _data_lines(drawing: Drawing, plans: list[tuple[Page, MapPlan]]) -> Iterator[str]:
    layout, q = drawing.layout, drawing.quantity
    yield f"# {q.label} ({units_of(q.kind)[0].name}), {q.low} and {q.high} are its interval"
    yield f"# x: {layout.x.name} = {' '.join(str(v) for v in layout.x.levels)}"
    yield f"# y: {layout.y.name} = {' '.join(str(v) for v in layout.y.levels)}"
    yield f"# mark: {', '.join(f'{code} {mark}' for code, mark in enumerate(Mark))}, {MISSING} {NO_VALUE}"
    yield "# columns: x_index y_index value low high mark n_visits half_width colour_of_text text"
    for page, plan in plans:
        for tile in page.tiles:
            yield from (_tile_heading(page, tile, layout), *map(_line, plan.cells(tile)), "", "")


def _tile_heading(page: Page, tile: Tile, layout: Layout) -> str:
    sides = [(layout.columns, tile.column), (layout.rows, tile.row)]
    words = [page.title, *(axis.title(level) for axis, level in sides if axis is not None and level is not None)]
    return "# " + one_line(", ".join(word for word in words if word))


def _line(cell: Cell) -> str:
    """Every place of the grid has one, also one that the sweep does not have."""
    numbers = " ".join("NaN" if v is None else f"{v:.9g}" for v in (cell.value, cell.low, cell.high))
    code = MISSING if cell.mark is None else list(Mark).index(cell.mark)
    ink = {"white": 0xFFFFFF, "black": 0}.get(cell.ink, int(MUTED[1:], 16))
    return f'{cell.place[0]} {cell.place[1]} {numbers} {code} {cell.n_visits} {cell.half} {ink} "{cell.text}"'


def _script_lines(
    result: CampaignResult, drawing: Drawing, plans: list[tuple[Page, MapPlan]], names: tuple[str, str]
) -> Iterator[str]:
    layout, unit = drawing.layout, drawing.unit
    doubtful = " || ".join(f"m == {list(Mark).index(mark)}" for mark in NOT_BELIEVED)
    told = conditions(result)
    heights = [plan.bottom(page_title(result, page)) + 22 + _foot(plan, told).height for page, plan in plans]
    size = (printing.width_of(plans[0][1].columns), max(heights))
    yield f"# {one_line(result.name)}: {drawing.quantity.label} over {layout.x.name} and {layout.y.name}"
    yield from opening_lines(*names, size)
    yield f"unit = {unit.factor:.10g}"
    yield f"low = {drawing.low:.6g}"
    yield f"high = {drawing.high:.6g}"
    yield f"set palette defined ({', '.join(f'{i} {gnuplot_text(c)}' for i, c in enumerate(PALETTE))})"
    if drawing.log:
        yield "set logscale cb"
    yield "set cbrange [low:high]"
    yield f"set xrange [-0.5:{len(layout.x.levels) - 0.5}]"
    yield f"set yrange [-0.5:{len(layout.y.levels) - 0.5}]"
    yield f"unset border; set tics scale 0 nomirror offset 0,0.3 font ',{SMALL}'; set cbtics scale 0.5"
    yield "shown(value) = value / unit > low ? value / unit : low"
    yield f"doubted(m) = {doubtful}"
    first = 0
    for page, plan in plans:
        slug = f"-{page.slug}" if len(plans) > 1 and page.slug else ""
        yield ""
        yield f"set output folder . {gnuplot_text(names[0].rsplit('.', 1)[0] + slug)} . '.' . format"
        yield from _page_lines(page, plan, first, size, (page_title(result, page), told))
        first += len(page.tiles)
    yield "unset output"


def _page_lines(
    page: Page, plan: MapPlan, first: int, size: tuple[float, float], told: tuple[str, str]
) -> Iterator[str]:
    layout, unit = plan.drawing.layout, plan.drawing.unit
    width, whole = size
    names, notes = plan.names(told[0]), _foot(plan, told[1]).lines
    yield "unset label; set multiplot"
    texts = [(name, 4.0, 8 + n * 1.3 * printing.TITLE, printing.TITLE) for n, name in enumerate(names)]
    texts += [(line, 4.0, whole - 4 - (len(notes) - 1 - n) * 1.3 * SMALL, SMALL) for n, line in enumerate(notes)]
    bottom = plan.bottom(told[0]) + 10
    texts += [(f"across: {axis_word(layout.x)} · up: {axis_word(layout.y)}", 4.0, bottom, SMALL)]
    for number, (text, left, top, points) in enumerate(texts, 1):
        place = f"at screen {left / width:.4f}, {1 - top / whole:.4f} left font ',{points}'"
        yield f"set label {number} {gnuplot_text(text)} {place}"
    yield (
        f"set colorbox horizontal user origin screen {1 - 120 / width:.4f}, {1 - (bottom + 3) / whole:.4f} "
        f"size screen {110 / width:.4f}, {6 / whole:.4f}"
    )
    place = f"at screen {1 - 126 / width:.4f}, {1 - bottom / whole:.4f}"
    yield f"set label {len(texts) + 1} {gnuplot_text(unit.name)} {place} right font ',{SMALL}'"
    for number, tile in enumerate(page.tiles):
        row, column = plan.arranged.place(number)
        left, top = plan.corner(told[0], row, column)
        wide, high = plan.tile
        yield f"set lmargin at screen {left / width:.4f}; set rmargin at screen {(left + wide) / width:.4f}"
        yield f"set tmargin at screen {1 - top / whole:.4f}; set bmargin at screen {1 - (top + high) / whole:.4f}"
        yield "unset label 100; unset label 101"
        if layout.columns and tile.column is not None and (row == 0 or plan.arranged.wrapped):
            yield f"set label 100 {gnuplot_text(layout.columns.title(tile.column))} at graph 0, 1 left offset 0,0.6"
        if layout.rows and tile.row is not None and column == plan.arranged.columns - 1:
            heading = gnuplot_text(layout.rows.title(tile.row))
            yield f"set label 101 {heading} at graph 1, 0.5 center offset 1,0 rotate by -90"
        yield _tics("x", plan.ticks, told=plan.arranged.is_lowest(number))
        yield _tics("y", Ticks.up(layout.y, plan.cell[1]), told=column == 0)
        yield _plot(first + number)
        if number == 0:
            yield "unset colorbox; unset label"
    yield "unset multiplot"


def _foot(plan: MapPlan, told: str) -> printing.Foot:
    """The marks that there are, in words, and the conditions."""
    found = [f"{sign} {said}" for mark, (sign, said) in SIGNS.items() if mark in plan.marks and sign]
    dashed = ["dashed: not believed"] if plan.marks & set(NOT_BELIEVED) else []
    empty = [f"empty: {NO_VALUE}"] if None in plan.marks else []
    return printing.Foot(plan.columns, [" · ".join([*found, *dashed, *empty]), told])


def _plot(index: int) -> str:
    source = f"data index {index} using"
    box = "with boxxyerror fs"
    there, edge = f"$6 < {MISSING}", "with boxxyerror fs empty border lc rgb"
    colour = f"{source} ({there} && !doubted($6) ? $1 : NaN):2:8:8:(shown($3)) {box} solid noborder fc palette notitle"
    dashed = f"{source} (doubted($6) ? $1 : NaN):2:8:8 {edge} '{MUTED}' dt 3 lw 0.5 lc rgb '{MUTED}' notitle"
    empty = f"{source} ({there} ? NaN : $1):2:8:8 {edge} '{printing.FAINT}' lw 0.4 lc rgb '{printing.FAINT}' notitle"
    text = f"{source} 1:2:10:9 with labels tc rgb variable font ',{SMALL}' notitle"
    return f"plot {colour}, \\\n     {dashed}, \\\n     {empty}, \\\n     {text}"


def _tics(side: str, ticks: Ticks, *, told: bool) -> str:
    marks = ", ".join(
        f"{gnuplot_text(label if told else '')} {at}" for at, label in zip(ticks.places, ticks.labels, strict=True)
    )
    return f"set {side}tics {'rotate by 90 right ' if ticks.rotation else ''}({marks})"
