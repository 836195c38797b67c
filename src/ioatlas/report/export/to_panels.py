# SPDX-License-Identifier: Apache-2.0
"""Drawings: PNG, SVG, PDF by matplotlib, and CSV."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ioatlas.answer.analysis.charts import FAR
from ioatlas.model.errors import UsageError, written
from ioatlas.model.panel import Dot, Drawing, Line, Look, Panel, Series
from ioatlas.model.quantities import panel_unit
from ioatlas.model.units import number_of
from ioatlas.report.export import printing
from ioatlas.report.export.printing import Kind
from ioatlas.report.export.texts import csv_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0b5cad", "#c4541a", "#0f7a58", "#7a4aa0", "#4d4d4d", "#5a9fd4", "#b3261e", "#a59c74")
"""Told apart with colour blindness; in print without colour the marks tell them apart."""
MARKERS = "osD^vP*X"
DASHES: dict[Look, Any] = {"line": "-", "dashed": "--", "dotted": ":"}
"""Of lines alone."""
LIMIT = "#3a434d"
OUTLINE: dict[str, Any] = {"edgecolor": printing.INK, "linewidth": 0.4}
"""Of bars."""
ERRORS: dict[str, Any] = {"fmt": "none", "elinewidth": 0.6, "capsize": 1.2, "capthick": 0.6}
CLIPPED = 1.3
"""Intervals that end above the largest value times this end in an arrow."""
SUFFIXES = {".png": "png", ".svg": "svg", ".pdf": "pdf", ".csv": "csv"}


def write_drawing(drawing: Drawing, out: Path, kind: str = "", columns: int = 0) -> tuple[Path, ...]:
    """Write it as `kind`, or else as the suffix says, over one or two columns of a page (0: as it needs). Raises
    UsageError for another suffix, IoAtlasError when it cannot be written.
    """
    suffix = out.suffix.lower()
    if not kind and suffix not in SUFFIXES:
        raise UsageError(f"{out.name} is no drawing", where="-o", remedy=f"end its name in {', '.join(SUFFIXES)}")
    kind = kind or SUFFIXES[suffix]
    with written(out, "name another place"):
        out.parent.mkdir(parents=True, exist_ok=True)
        return _csv(drawing, out) if kind == "csv" else _figure(drawing, out, kind, columns)  # type: ignore[arg-type]


# -- scales --------------------------------------------------------------------------------------------------


def _scale(drawing: Drawing, panel: Panel) -> tuple[str, float]:
    """The unit of a panel's y axis and its factor: the largest in which its largest value is at least 10."""
    scale = panel_unit(panel.y_unit or drawing.y_unit, _along(drawing, panel))
    return scale.name, scale.factor


def _along(drawing: Drawing, panel: Panel) -> Sequence[Panel]:
    """The panels that have one scale with this one."""
    return drawing.panels if drawing.alike else (panel,)


def _logarithmic(drawing: Drawing, panel: Panel) -> bool:
    return (panel.y_scale or drawing.y_scale) == "log"


def _near(drawing: Drawing, panel: Panel) -> tuple[float, list[Line]]:
    """The largest value to show, of ends of intervals unless they lie far out, and of the limits that the values come
    near; and these limits.
    """
    panels = _along(drawing, panel)
    dots = [dot for each in panels for series in each.series for dot in series.dots]
    value = max((dot.value for dot in dots), default=1.0)
    top = max([value, *(min(dot.high, CLIPPED * value) for dot in dots if dot.high is not None)])
    far = math.inf if _logarithmic(drawing, panel) else FAR * top
    near = [line for each in panels for line in each.limits if line.value <= far]
    return max([top, *(line.value for line in near)]), [line for line in panel.limits if line in near]


def _ends(panel: Panel) -> tuple[float, float | None]:
    """Of the axis below: half a tick beside the first and the last, or from zero on."""
    if not panel.ticks:
        return 0.0, None
    first, last = panel.ticks[0][0], panel.ticks[-1][0]
    return (first / 2**0.5, last * 2**0.5) if panel.x_scale == "log" else (first - 0.5, last + 0.5)


def _labels(drawing: Drawing, panel: Panel) -> tuple[str, str]:
    """Of the axes x and y; of points the panel's title is that of y."""
    unit, _ = _scale(drawing, panel)
    name = panel.y_name or drawing.y_name
    label = panel.title if drawing.style == "points" else f"{name} ({unit})" if unit else name
    return panel.x_name or drawing.x_name, label


# -- matplotlib ----------------------------------------------------------------------------------------------


def _figure(drawing: Drawing, out: Path, kind: Kind, columns: int) -> tuple[Path, ...]:
    with printing.drawing_library():
        return printing.save([("", panel_figure(drawing, columns))], out, kind)


def panel_figure(drawing: Drawing, columns: int = 0) -> Figure:
    """Over one or two columns of a page; 0: as many as it needs."""
    count = len(drawing.panels)
    bars = len(drawing.panels[0].series) * len(drawing.panels[0].ticks) if drawing.style == "bars" else 0
    columns = columns or (1 if count == 1 and bars <= 24 else 2)
    across = min(drawing.columns if columns == 2 else 2 if drawing.alike else 1, 4, count)
    rows = math.ceil(count / across)
    width = printing.width_of(columns)
    names = printing.fold(drawing.title, width - 8, 1.1 * printing.TITLE)
    notes = {panel.note for panel in drawing.panels}
    told = notes if len(notes) == 1 else set()  # what all panels say stands once, below them
    legend = _legend(drawing)
    foot = printing.Foot(columns, [*told, drawing.note, drawing.conditions], legend)
    each = min(150.0, max(90.0, 0.66 * width / across)) + (24 if not drawing.alike else 0)
    whole = rows * each + printing.title_height(names) + foot.height + 6
    figure = printing.figure_of(columns, whole)
    engine: Any = "constrained"
    figure.set_layout_engine(
        engine, rect=(0, foot.height / whole, 1, 1 - (foot.height + printing.title_height(names) + 2) / whole)
    )
    grid = list(figure.subplots(rows, across, squeeze=False).flat)
    for unused in grid[count:]:
        unused.remove()
    for panel, axes in zip(drawing.panels, grid, strict=False):
        _draw(axes, replace(panel, note="") if told else panel, drawing, width / across)
    _align(grid[:count], drawing, width / across - 34)
    names_x, names_y = {axes.get_xlabel() for axes in grid[:count]}, {axes.get_ylabel() for axes in grid[:count]}
    for number, axes in enumerate(grid[:count]):
        if len(names_x) == 1 and number + across < count:
            axes.set_xlabel("")
        if len(names_y) == 1 and number % across:
            axes.set_ylabel("")
        axes.tick_params(labelleft=not drawing.alike or drawing.style == "points" or number % across == 0)
    printing.draw_title(figure, names)
    foot.draw(figure)
    return figure


def _looks(drawing: Drawing, count: int) -> list[Any]:
    """A colour for each series: steps of one hue for bars and of the map's for steps of a number, which keep their
    order in print without colour; else hues, beside which marks tell them apart.
    """
    if drawing.style == "bars":
        import matplotlib as mpl

        return [mpl.colormaps["Blues"](0.95 - 0.75 * n / max(1, count - 1)) for n in range(count)]
    if drawing.graded:
        return [printing.colours()(0.88 * n / max(1, count - 1)) for n in range(count)]
    return [COLOURS[n % len(COLOURS)] for n in range(count)]


def _names(drawing: Drawing) -> list[str]:
    """Of the series, each once; the same name has the same look in every panel."""
    return list(dict.fromkeys(series.name for panel in drawing.panels for series in panel.series))


def _legend(drawing: Drawing) -> list[tuple[Any, str]]:
    """Points have their names beside them."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    names = _names(drawing)
    if drawing.style == "points" or names == [""] or (len(names) == 1 and drawing.alike and not drawing.conditions):
        return []
    colours = _looks(drawing, len(names))
    looks = {series.name: series.look for panel in drawing.panels for series in panel.series}
    handles: list[tuple[Any, str]] = []
    for number, name in enumerate(names):
        if drawing.style == "bars":
            handle: Any = Patch(facecolor=colours[number], hatch=_hatch(number, len(names)), **OUTLINE)
        elif looks[name] in DASHES:
            handle = Line2D([], [], color=colours[number], linestyle=DASHES[looks[name]], linewidth=1.0)
        else:
            marker, joined = MARKERS[number % len(MARKERS)], _joined(looks[name])
            handle = Line2D([], [], color=colours[number], marker=marker, markersize=3, **joined)
        handles.append((handle, name))
    return handles


def _hatch(number: int, count: int) -> str:
    """With many bars every second one: lightness alone tells four apart."""
    return "////" if count > 4 and number % 2 else ""


def _draw(axes: Axes, panel: Panel, drawing: Drawing, width: float) -> None:
    _, factor = _scale(drawing, panel)
    if panel.band:
        axes.axvspan(*panel.band, color="0.93", zorder=0)
    names = _names(drawing)
    colours = _looks(drawing, len(names))
    if drawing.style == "bars":
        _bars(axes, panel, factor, colours)
    else:
        if drawing.style == "points":
            _points(axes, panel, factor)
        for series in panel.series:
            number = names.index(series.name)
            _line(axes, series, factor, colours[number], MARKERS[number % len(MARKERS)])
    for mark in panel.marks:
        if mark.drawn:
            axes.axvline(mark.value, color=LIMIT, linestyle=":", linewidth=0.7)
        _named(axes, mark.name, (mark.value, 1), ("data", "axes fraction"), va="top", rotation=90, ha="right")
    x_name, y_name = _labels(drawing, panel)
    room = width - 40
    title = "" if drawing.style == "points" else panel.title
    axes.set_title(
        "\n".join(line for one in title.split("\n") for line in printing.fold(one, room, 1.12 * printing.TEXT))
    )
    axes.set_ylabel(y_name)
    axes.set_xlabel("\n".join([x_name, *printing.fold(panel.note, room, printing.TEXT)]))
    if panel.ticks:
        _tick(axes, panel, room)
    if not drawing.alike or (panel.ticks and drawing.style == "lines"):
        axes.set_xlim(*_ends(panel))
    axes.grid(visible=True, axis="y", color="0.9", linewidth=0.4)
    axes.set_axisbelow(True)


def _tick(axes: Axes, panel: Panel, room: float) -> None:
    """Labels level where they fit beside each other, else slanted, and of many every second, third, ..."""
    ticks = list(panel.ticks)
    places = [x for x, _ in ticks]
    if panel.x_scale == "log":
        axes.set_xscale("log", base=2)
        axes.minorticks_off()
    along = list(map(math.log2, places)) if panel.x_scale == "log" else places
    apart = room * min((b - a for a, b in itertools.pairwise(along)), default=1.0) / max(along[-1] - along[0] + 1, 1e-9)
    widest = max(printing.text_width(line, printing.SMALL) for _, label in ticks for line in label.split("\n"))
    crowded = widest + 3 > apart
    step = math.ceil(1.5 * printing.SMALL / apart) if crowded else 1
    how: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if crowded else {"rotation": 0}
    axes.set_xticks(places[::step], [label for _, label in ticks][::step], **how)


def _align(grid: Sequence[Axes], drawing: Drawing, room: float) -> None:
    """One scale for all panels that are alike, from zero; limits are drawn where the values come near them."""
    if drawing.style == "points":  # each panel has a unit of its own
        for axes in grid:
            axes.set_ylim(0, 1.15 * axes.get_ylim()[1])
        return
    for panel, axes in zip(drawing.panels, grid, strict=True):
        logarithmic = _logarithmic(drawing, panel)
        if logarithmic:
            axes.set_yscale("log")
            printing.plain_logarithmic(axes.yaxis)
        _, factor = _scale(drawing, panel)
        highest, near = _near(drawing, panel)
        dots = [dot for each in _along(drawing, panel) for series in each.series for dot in series.dots]
        least = min([dot.value for dot in dots if dot.value > 0] + [line.value for line in near], default=1.0)
        bottom = least / factor / 1.6 if logarithmic else 0.0
        top = (1.5 if logarithmic else 1.08) * highest / factor
        axes.set_ylim(bottom, top if top > bottom else bottom + 1)
        _limits(axes, near, factor, room)
        _clipped(axes, drawing, panel, factor)


def _limits(axes: Axes, near: Sequence[Line], factor: float, room: float) -> None:
    """Dashed, with their names above them at the left; those that would lie on each other share a line of text."""
    low, high = axes.get_ylim()
    logarithmic = axes.get_yscale() == "log"

    def place(value: float) -> float:
        return (math.log(value / low) / math.log(high / low)) if logarithmic else (value - low) / (high - low)

    told: list[tuple[float, str]] = []
    for line in sorted(near, key=lambda one: one.value):
        value = line.value / factor
        axes.axhline(value, color=LIMIT, linestyle=(0, (4, 2)), linewidth=0.6)
        if told and place(value) - place(told[-1][0]) < 0.07:
            told[-1] = (value, ", ".join(dict.fromkeys([told[-1][1], line.name])))
        else:
            told.append((value, line.name))
    for value, words in told:
        name = "\n".join(printing.fold(words, room, 1.1 * printing.SMALL))
        _named(axes, name, (0.01, value), ("axes fraction", "data"), va="bottom", ha="left")


def _clipped(axes: Axes, drawing: Drawing, panel: Panel, factor: float) -> None:
    """An arrow where an interval goes on beyond the panel, with its end in words where there is room."""
    low, high = axes.get_ylim()
    for which, series in enumerate(panel.series):
        shift = _shift(panel, which) if drawing.style == "bars" else 0.0
        arrow: dict[str, Any] = {"color": printing.INK, "markersize": 3, "clip_on": False, "zorder": 4}
        words: dict[str, Any] = {"fontsize": printing.SMALL - 1, "va": "top", "color": printing.MUTED}
        for dot in series.dots:
            if dot.high is not None and dot.high / factor > high:
                end, text = (dot.x + shift, high), f"to {number_of(dot.high / factor)}"
                axes.plot(*([each] for each in end), "^", **arrow)
                axes.annotate(text, end, (3, -1), textcoords="offset points", **words)
            if dot.low is not None and 0 < dot.low / factor < low:
                axes.plot([dot.x + shift], [low], "v", **arrow)


def _named(axes: Axes, name: str, place: tuple[float, float], within: tuple[str, str], **how: Any) -> None:
    """Words on white: a line of the drawing below them does not cross them out."""
    paper = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.4}
    axes.annotate(name, place, xycoords=within, fontsize=printing.SMALL, color=LIMIT, bbox=paper, zorder=3, **how)


def _bars(axes: Axes, panel: Panel, factor: float, colours: Sequence[Any]) -> None:
    """The lowest part of a stack is solid and the rest paler; a plain bar is solid. Values stand above where they
    fit.
    """
    width = 0.8 / max(1, len(panel.series))
    for number, series in enumerate(panel.series):
        colour, hatch = colours[number], _hatch(number, len(panel.series))
        places = [dot.x + _shift(panel, number) for dot in series.dots]
        solid = [(dot.parts[0][1] if dot.parts else dot.value) / factor for dot in series.dots]
        axes.bar(places, solid, width, color=colour, hatch=hatch, **OUTLINE)
        pale = [dot.value / factor - below for dot, below in zip(series.dots, solid, strict=True)]
        if any(pale):
            axes.bar(places, pale, width, bottom=solid, alpha=0.4, color=colour, **OUTLINE)
        values, errors = [dot.value / factor for dot in series.dots], _errors(series.dots, factor)
        axes.errorbar(places, values, yerr=errors, ecolor=printing.INK, **ERRORS)


def _points(axes: Axes, panel: Panel, factor: float) -> None:
    """Names stand inwards of their points, by turns above and below, so that neighbours keep apart."""
    xs, ys = [x for x, _ in panel.path], [y / factor for _, y in panel.path]
    axes.plot(xs, ys, color="0.6", linestyle="--", linewidth=0.8)
    dots = [(dot, series.name) for series in panel.series for dot in series.dots]
    right = max((dot.x for dot, _ in dots), default=1.0)
    for number, (dot, name) in enumerate(sorted(dots, key=lambda each: each[0].x)):
        aside, ha = (-4, "right") if dot.x > 0.6 * right else (4, "left")
        how: dict[str, Any] = {"textcoords": "offset points", "ha": ha, "fontsize": printing.SMALL}
        axes.annotate(name, (dot.x, dot.value / factor), (aside, -8 if number % 2 == 0 else 4), **how)
    axes.set_xlim(0, 1.08 * right)


def _shift(panel: Panel, which: int) -> float:
    """Where the bars of a series stand beside the middle of their group."""
    return (which - (len(panel.series) - 1) / 2) * 0.8 / max(1, len(panel.series))


def _line(axes: Axes, series: Series, factor: float, colour: Any, marker: str) -> None:
    places, values = [dot.x for dot in series.dots], [dot.value / factor for dot in series.dots]
    if series.look in DASHES:
        axes.plot(places, values, DASHES[series.look], color=colour, linewidth=1.0, label=series.name)
        return
    axes.plot(places, values, marker=marker, color=colour, markersize=3, label=series.name, **_joined(series.look))
    along = _ends_of([(dot.x, dot.x_low, dot.x_high) for dot in series.dots])
    axes.errorbar(places, values, yerr=_errors(series.dots, factor), xerr=along, ecolor=colour, **ERRORS)
    xs, ys = [dot.x for dot in series.dots if dot.unsure], [dot.value / factor for dot in series.dots if dot.unsure]
    axes.plot(xs, ys, marker, color=colour, markersize=3, markerfacecolor="white", zorder=3)


def _joined(look: Look) -> dict[str, Any]:
    return {"linestyle": "none"} if look == "dots" else {"linewidth": 0.9}


def _errors(dots: Sequence[Dot], factor: float) -> list[list[float]]:
    return _ends_of([(dot.value, dot.low, dot.high) for dot in dots], factor)


def _ends_of(intervals: Sequence[tuple[float, float | None, float | None]], factor: float = 1.0) -> list[list[float]]:
    """Distances to the ends. Where there is none nothing is drawn: a bar of no length looks like an exact value."""
    return [
        [math.nan if low is None else max(0.0, value - low) / factor for value, low, _ in intervals],
        [math.nan if high is None else max(0.0, high - value) / factor for value, _, high in intervals],
    ]


# -- text ----------------------------------------------------------------------------------------------------


def _csv(drawing: Drawing, out: Path) -> tuple[Path, ...]:
    rows = [["panel", "series", "x", "value", "low", "high", "n", "parts", "unit"]]
    for panel in drawing.panels:
        labels, unit = dict(panel.ticks), panel.y_unit or drawing.y_unit
        for series, dot in ((one, dot) for one in panel.series for dot in one.dots):
            parts = "; ".join(f"{name} {value!r}" for name, value in dot.parts)
            x = labels.get(dot.x, repr(dot.x)).replace("\n", ", ")
            ends = ["" if end is None else repr(end) for end in (dot.low, dot.high)]
            rows.append([panel.title, series.name, x, repr(dot.value), *ends, str(dot.n), parts, unit])
    out.write_text(csv_text(rows[0], rows[1:]), encoding="utf-8", newline="")
    return (out,)
