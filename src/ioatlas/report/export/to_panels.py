# SPDX-License-Identifier: Apache-2.0
"""Drawings: PNG, SVG, PDF by matplotlib, a gnuplot script with its data, CSV."""

from __future__ import annotations

import csv
import math
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ioatlas.errors import IoAtlasError, UsageError
from ioatlas.model.panel import Dot, Drawing, Line, Look, Panel, Series
from ioatlas.report.export.to_figure import METADATA, Kind, drawing_library, plain_logarithmic
from ioatlas.report.export.to_gnuplot import gnuplot_text, one_line, opening_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0b5cad", "#d9822b", "#4d4d4d", "#7fb3e0", "#7a4b94", "#3f8f5b", "#b3261e", "#a59c74")
"""Told apart also in grey and with colour blindness, beside hatches and markers."""
HATCHES = ("", "///", "...", "\\\\\\", "xx", "++", "oo", "--")
MARKERS = "osD^vP*X"
DASHES: dict[Look, tuple[str, int]] = {"line": ("-", 1), "dashed": ("--", 2), "dotted": (":", 3)}
"""Of a line alone, as matplotlib and as gnuplot call it."""
LIMIT = "#8a4b00"
FAR = 1.6
"""A limit this much above the values is not drawn."""
NOTE_CHARACTERS = 76
"""Of a note's line below a panel."""
SUFFIXES = {".png": "png", ".svg": "svg", ".pdf": "pdf", ".gp": "gnuplot", ".csv": "csv"}
_SCALES = {
    "B/s": (("KB/s", 1e3), ("MB/s", 1e6), ("GB/s", 1e9)),
    "1/s": (("IOPS", 1.0), ("kIOPS", 1e3), ("MIOPS", 1e6)),
    "ns": (("µs", 1e3), ("ms", 1e6), ("s", 1e9)),
}


def write_drawing(drawing: Drawing, out: Path, kind: str = "") -> tuple[Path, ...]:
    """Write it as `kind`, or else as the suffix says. Raises UsageError for another suffix, IoAtlasError when it cannot
    be written.
    """
    suffix = out.suffix.lower()
    if not kind and suffix not in SUFFIXES:
        raise UsageError(f"{out.name} is no drawing", where="-o", remedy=f"end its name in {', '.join(SUFFIXES)}")
    kind = kind or SUFFIXES[suffix]
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if kind == "gnuplot":
            return _gnuplot(drawing, out)
        return _csv(drawing, out) if kind == "csv" else _figure(drawing, out, kind)  # type: ignore[arg-type]
    except OSError as error:
        raise IoAtlasError(
            f"cannot be written: {error.strerror}", where=str(error.filename or out), remedy="name another place"
        ) from error


# -- scales --------------------------------------------------------------------------------------------------


def _scale(drawing: Drawing, panel: Panel) -> tuple[str, float]:
    """The unit of a panel's y axis and its factor: the largest in which its largest value is at least 10."""
    values = [dot.value for each in _along(drawing, panel) for series in each.series for dot in series.dots]
    unit = panel.y_unit or drawing.y_unit
    scales = _SCALES.get(unit, ((unit, 1.0),))
    fitting = [scale for scale in scales if max(values, default=0.0) / scale[1] >= 10]
    return fitting[-1] if fitting else scales[0]


def _along(drawing: Drawing, panel: Panel) -> Sequence[Panel]:
    """The panels that have one scale with this one."""
    return drawing.panels if drawing.alike else (panel,)


def _logarithmic(drawing: Drawing, panel: Panel) -> bool:
    return (panel.y_scale or drawing.y_scale) == "log"


def _near(drawing: Drawing, panel: Panel) -> tuple[float, list[Line]]:
    """The largest value to show, of ends of intervals and of the limits that the values come near; and these limits."""
    panels = _along(drawing, panel)
    dots = [dot for each in panels for series in each.series for dot in series.dots]
    top = max((dot.value if dot.high is None else dot.high for dot in dots), default=1.0)
    near = [line for each in panels for line in each.limits if line.value <= FAR * top]
    return max([top, *(line.value for line in near)]), [line for line in panel.limits if line in near]


def _ends(panel: Panel) -> tuple[float, float | None]:
    """Of the axis below: half a tick beside the first and the last, or from zero on."""
    return (panel.ticks[0][0] - 0.5, panel.ticks[-1][0] + 0.5) if panel.ticks else (0.0, None)


def _labels(drawing: Drawing, panel: Panel) -> tuple[str, str]:
    """Of the axes x and y; of points the panel's title is that of y."""
    unit, _ = _scale(drawing, panel)
    name = panel.y_name or drawing.y_name
    label = panel.title if drawing.style == "points" else f"{name} ({unit})" if unit else name
    return panel.x_name or drawing.x_name, label


# -- matplotlib ----------------------------------------------------------------------------------------------


def _figure(drawing: Drawing, out: Path, kind: Kind) -> tuple[Path, ...]:
    with drawing_library():
        from matplotlib.figure import Figure

        count = len(drawing.panels)
        columns = min(drawing.columns, count)
        rows = math.ceil(count / columns)
        figure = Figure(figsize=_inches(drawing, rows, columns), layout="constrained")
        figure.suptitle(drawing.title, fontsize=12)
        grid = list(figure.subplots(rows, columns, squeeze=False).flat)
        for unused in grid[count:]:
            unused.remove()
        handles: dict[str, Any] = {}
        for panel, axes in zip(drawing.panels, grid, strict=False):
            _draw(axes, panel, drawing)
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        _align(grid[:count], drawing)
        if drawing.style != "points" and drawing.alike:  # points have their names beside them
            legend = figure.legend(
                handles.values(),
                handles.keys(),
                loc="outside lower center",
                ncols=4,
                frameon=False,
                fontsize=8,
                title=drawing.note or None,  # a note below it would lie on it
                title_fontsize=6,
            )
            legend.get_title().set_color("0.35")
        elif drawing.note:
            figure.supxlabel(drawing.note, fontsize=6, color="0.35", x=0.01, ha="left")
        figure.savefig(out, format=kind, metadata=METADATA[kind])
    return (out,)


def _inches(drawing: Drawing, rows: int, columns: int) -> tuple[float, float]:
    if drawing.alike:
        return (_width(drawing), 4.2) if len(drawing.panels) == 1 else (4.0 * columns, 2.9 * rows + 0.8)
    return (7.6, 4.6 * rows) if columns == 1 else (4.6 * columns, 3.3 * rows + 0.6)


def _width(drawing: Drawing) -> float:
    if drawing.style != "bars":
        return 6.4
    panel = drawing.panels[0]
    return min(16.0, 2.5 + 0.28 * len(panel.series) * len(panel.ticks) + 0.3 * len(panel.ticks))


def _draw(axes: Axes, panel: Panel, drawing: Drawing) -> None:
    _, factor = _scale(drawing, panel)
    if panel.band:
        axes.axvspan(*panel.band, color="0.93", zorder=0)
    if drawing.style == "bars":
        _bars(axes, panel, factor)
    elif drawing.style == "points":
        _points(axes, panel, factor)
    else:
        for number, series in enumerate(panel.series):
            _line(axes, series, number, factor)
    for mark in panel.marks:
        if mark.drawn:
            axes.axvline(mark.value, color=LIMIT, linestyle=":", linewidth=1)
        _named(axes, mark.name, (mark.value, 1), ("data", "axes fraction"), va="top", rotation=90)
    x_name, y_name = _labels(drawing, panel)
    axes.set_title("" if drawing.style == "points" else panel.title, fontsize=9)
    axes.set_ylabel(y_name, fontsize=8)
    axes.set_xlabel("\n".join([x_name, *textwrap.wrap(panel.note, NOTE_CHARACTERS)]), fontsize=8)
    if panel.ticks:
        crowded = drawing.style == "lines" and len(panel.ticks) > 6 and any(len(label) > 3 for _, label in panel.ticks)
        axes.set_xticks(
            [x for x, _ in panel.ticks],
            [label for _, label in panel.ticks],
            fontsize=7,
            rotation=45 if crowded else 0,
            ha="right" if crowded else "center",
        )
    elif drawing.x_scale == "log":
        axes.set_xscale("log")
    if not drawing.alike:
        axes.set_xlim(*_ends(panel))
    axes.tick_params(axis="y", labelsize=7)
    axes.grid(visible=True, axis="y", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    if not drawing.alike and len(panel.series) > 1:
        axes.legend(fontsize=7, frameon=False)


def _align(grid: Sequence[Axes], drawing: Drawing) -> None:
    """One scale for all panels that are alike, from zero; limits are drawn where the values come near them."""
    if drawing.style == "points":  # each panel has a unit of its own
        for axes in grid:
            axes.set_ylim(0, 1.15 * axes.get_ylim()[1])
        return
    for panel, axes in zip(drawing.panels, grid, strict=True):
        if _logarithmic(drawing, panel):
            axes.set_yscale("log")
            plain_logarithmic(axes.yaxis)
    ranges = [axes.get_ylim() for axes in grid]
    if drawing.alike:
        ranges = [(min(low for low, _ in ranges), max(high for _, high in ranges))] * len(grid)
    for panel, axes, (low, top) in zip(drawing.panels, grid, ranges, strict=True):
        _, factor = _scale(drawing, panel)
        highest, near = _near(drawing, panel)
        for line in near:
            axes.axhline(line.value / factor, color=LIMIT, linestyle=":", linewidth=1)
            _named(axes, line.name, (1, line.value / factor), ("axes fraction", "data"), va="bottom")
        least = min([low, *(line.value / factor / 1.5 for line in near)]) if _logarithmic(drawing, panel) else 0.0
        axes.set_ylim(least, max(top, 1.06 * highest / factor))


def _named(axes: Axes, name: str, place: tuple[float, float], within: tuple[str, str], **how: Any) -> None:
    axes.annotate(name, place, xycoords=within, fontsize=6, color=LIMIT, ha="right", **how)


def _bars(axes: Axes, panel: Panel, factor: float) -> None:
    """The lowest part of a stack is solid and the rest paler; a plain bar is solid."""
    width = 0.8 / max(1, len(panel.series))
    for number, series in enumerate(panel.series):
        colour, hatch = COLOURS[number % len(COLOURS)], HATCHES[number % len(HATCHES)]
        places = [dot.x + _shift(panel, number) for dot in series.dots]
        solid = [_lowest(dot) / factor for dot in series.dots]
        axes.bar(places, solid, width, color=colour, hatch=hatch, edgecolor="white", label=series.name)
        pale = [dot.value / factor - below for dot, below in zip(series.dots, solid, strict=True)]
        if any(pale):
            axes.bar(places, pale, width, bottom=solid, alpha=0.5, color=colour, hatch=hatch, edgecolor="white")
        axes.errorbar(
            places,
            [dot.value / factor for dot in series.dots],
            yerr=_errors(series.dots, factor),
            fmt="none",
            ecolor="black",
            elinewidth=1,
            capsize=2,
        )


def _points(axes: Axes, panel: Panel, factor: float) -> None:
    """Names stand inwards of their points, by turns above and below, so that neighbours keep apart."""
    axes.plot([x for x, _ in panel.path], [y / factor for _, y in panel.path], color="0.6", linestyle="--", linewidth=1)
    dots = [(dot, series.name) for series in panel.series for dot in series.dots]
    right = max((dot.x for dot, _ in dots), default=1.0)
    for number, series in enumerate(panel.series):
        _line(axes, series, number, factor)
    for number, (dot, name) in enumerate(sorted(dots, key=lambda each: each[0].x)):
        inwards = dot.x > 0.6 * right
        axes.annotate(
            name,
            (dot.x, dot.value / factor),
            (-6 if inwards else 6, -11 if number % 2 == 0 else 6),
            textcoords="offset points",
            ha="right" if inwards else "left",
            fontsize=7,
            color="0.2",
        )
    axes.set_xlim(0, 1.08 * right)


def _lowest(dot: Dot) -> float:
    return dot.parts[0][1] if dot.parts else dot.value


def _shift(panel: Panel, which: int) -> float:
    """Where the bars of a series stand beside the middle of their group."""
    return (which - (len(panel.series) - 1) / 2) * 0.8 / max(1, len(panel.series))


def _line(axes: Axes, series: Series, number: int, factor: float) -> None:
    colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
    places, values = [dot.x for dot in series.dots], [dot.value / factor for dot in series.dots]
    if series.look:
        axes.plot(places, values, DASHES[series.look][0], color=colour, linewidth=1.2, label=series.name)
        return
    axes.plot(places, values, marker=marker, color=colour, markersize=4, linewidth=1, label=series.name)
    axes.errorbar(places, values, yerr=_errors(series.dots, factor), fmt="none", ecolor=colour, elinewidth=1, capsize=2)
    unsure = [dot for dot in series.dots if dot.unsure]
    axes.plot(
        [dot.x for dot in unsure],
        [dot.value / factor for dot in unsure],
        marker,
        color=colour,
        markersize=4,
        markerfacecolor="white",
        zorder=3,
    )


def _errors(dots: Sequence[Dot], factor: float) -> list[list[float]]:
    """Distances to the ends of the intervals. Where there is none nothing is drawn: a bar of no length looks like an
    exact value.
    """
    return [
        [math.nan if dot.low is None else max(0.0, dot.value - dot.low) / factor for dot in dots],
        [math.nan if dot.high is None else max(0.0, dot.high - dot.value) / factor for dot in dots],
    ]


# -- text ----------------------------------------------------------------------------------------------------


def _csv(drawing: Drawing, out: Path) -> tuple[Path, ...]:
    with out.open("w", encoding="utf-8", newline="") as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["panel", "series", "x", "value", "low", "high", "n", "parts", "unit"])
        for panel in drawing.panels:
            labels = dict(panel.ticks)
            for series in panel.series:
                for dot in series.dots:
                    parts = "; ".join(f"{name} {value!r}" for name, value in dot.parts)
                    x = labels.get(dot.x, repr(dot.x)).replace("\n", ", ")
                    ends = ["" if end is None else repr(end) for end in (dot.low, dot.high)]
                    unit = panel.y_unit or drawing.y_unit
                    writer.writerow([panel.title, series.name, x, repr(dot.value), *ends, dot.n, parts, unit])
    return (out,)


def _gnuplot(drawing: Drawing, out: Path) -> tuple[Path, ...]:
    """A script and its data beside it: panels in a multiplot, a block of data for each series."""
    data = out.with_suffix(".dat")
    blocks: list[str] = []
    lines = list(_opening(drawing, out, data))
    for panel in drawing.panels:
        _, factor = _scale(drawing, panel)
        lines += _panel_lines(drawing, panel, len(blocks))
        for which, series in enumerate(panel.series):
            rows = [f"# {one_line(panel.title)}: {one_line(series.name)}"]
            shift = _shift(panel, which) if drawing.style == "bars" else 0.0
            for dot in series.dots:
                low, high = (dot.value if end is None else end for end in (dot.low, dot.high))
                figures = (dot.value, low, high, _lowest(dot))
                rows.append(" ".join([f"{dot.x + shift:.9g}", *(f"{value / factor:.9g}" for value in figures)]))
            blocks.append("\n".join(rows))
    data.write_text("\n\n\n".join(blocks) + "\n", encoding="utf-8")
    out.write_text("\n".join([*lines, "unset multiplot", "unset output"]) + "\n", encoding="utf-8")
    return out, data


def _opening(drawing: Drawing, out: Path, data: Path) -> Iterator[str]:
    columns = min(drawing.columns, len(drawing.panels))
    rows = math.ceil(len(drawing.panels) / columns)
    wide = max(640, 420 * columns, round(90 * _width(drawing)) if drawing.style == "bars" else 0)
    yield f"# {one_line(drawing.title)}; columns of {data.name}: x value low high lower-part"
    size = (wide, max(480, 320 * rows)) if drawing.alike or columns > 1 else (760, 460 * rows)
    yield from opening_lines(out.name, data.name, size, 10)
    yield f"set output folder . {gnuplot_text(out.stem)} . '.' . format"
    yield f"set multiplot layout {rows},{columns} title {gnuplot_text(drawing.title)}"
    yield "set grid ytics"
    yield "set key below"


def _panel_lines(drawing: Drawing, panel: Panel, first: int) -> Iterator[str]:
    """first: the place of its first block of data."""
    _, factor = _scale(drawing, panel)
    highest, near = _near(drawing, panel)
    points = drawing.style == "points"
    x_name, y_name = _labels(drawing, panel)
    ticks = ", ".join(f"{gnuplot_text(label)} {x:g}" for x, label in panel.ticks)
    yield "set title " + ' . "\\n" . '.join(gnuplot_text(line) for line in panel.title.split("\n"))
    yield f"set ylabel {gnuplot_text(y_name)}"
    yield f"set xlabel {gnuplot_text(x_name)}"
    if _logarithmic(drawing, panel):
        yield "set logscale y; set yrange [*:*]"
    else:
        yield f"unset logscale y; set yrange [0:{'*' if points else f'{1.06 * highest / factor:.6g}'}]"
    if ticks or points:
        yield f"set xtics rotate by -35{f' ({ticks})' if ticks else ''}"
    if drawing.x_scale == "categories":
        yield f"set xrange [-0.6:{len(panel.ticks) - 0.4}]"
    elif points or not drawing.alike:
        begin, end = (0.0, None) if points else _ends(panel)
        yield f"set xrange [{begin:g}:{'*' if end is None else f'{end:g}'}]"
    yield "unset object; unset arrow; unset label"
    if panel.band:
        left, right = panel.band
        place = f"from first {left:g}, graph 0 to first {right:g}, graph 1"
        yield f"set object 1 rectangle {place} fc rgb '#ededed' fs solid noborder behind"
    for mark in panel.marks:
        if mark.drawn:
            yield f"set arrow from first {mark.value:g}, graph 0 to first {mark.value:g}, graph 1 nohead dt 3"
        yield f"set label {gnuplot_text(mark.name)} at first {mark.value:g}, graph 0.98 right rotate"
    plots = [plot for which in range(len(panel.series)) for plot in _plots(drawing, panel, which, first + which)]
    plots += [
        f"{line.value / factor:.9g} with lines dt 3 lc rgb '{LIMIT}' title {gnuplot_text(line.name)}" for line in near
    ]
    yield "plot " + ", \\\n     ".join(plots)


def _plots(drawing: Drawing, panel: Panel, which: int, index: int) -> Iterator[str]:
    series = panel.series[which]
    width = 0.8 / max(1, len(panel.series))
    source, title = f"data index {index}", f"title {gnuplot_text(series.name)}"
    look = f"lc rgb '{COLOURS[which % len(COLOURS)]}'"
    if drawing.style == "bars":
        box = f"with boxes {look} fs solid"
        if any(dot.parts for dot in series.dots):
            yield f"{source} using 1:2:({width:.4f}) {box} 0.45 notitle"
        yield f"{source} using 1:5:({width:.4f}) {box} 0.9 {title}"
        yield f"{source} using 1:2:3:4 with yerrorbars lc rgb 'black' pt 0 notitle"
    elif series.look:
        yield f"{source} using 1:2 with lines dt {DASHES[series.look][1]} {look} {title}"
    else:
        yield f"{source} using 1:2:3:4 with yerrorlines {look} pt {which + 4} {title}"
