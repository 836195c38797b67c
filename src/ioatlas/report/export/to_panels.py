# SPDX-License-Identifier: Apache-2.0
"""Drawings of several sides: PNG, SVG, PDF by matplotlib, a gnuplot script with its data, CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ioatlas.errors import IoAtlasError, UsageError
from ioatlas.model.panel import Dot, Drawing, Panel, Series
from ioatlas.report.export.to_figure import METADATA, Kind, drawing_library, plain_logarithmic
from ioatlas.report.export.to_gnuplot import gnuplot_text, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 3
COLOURS = ("#0b5cad", "#d9822b", "#4d4d4d", "#7fb3e0", "#7a4b94", "#3f8f5b", "#b3261e", "#a59c74")
"""Told apart also in grey and with colour blindness, beside hatches and markers."""
HATCHES = ("", "///", "...", "\\\\\\", "xx", "++", "oo", "--")
MARKERS = "osD^vP*X"
LIMIT = "#8a4b00"
FAR = 1.6
SUFFIXES = (".png", ".svg", ".pdf", ".gp", ".csv")
_SCALES = {
    "B/s": (("KB/s", 1e3), ("MB/s", 1e6), ("GB/s", 1e9)),
    "1/s": (("IOPS", 1.0), ("kIOPS", 1e3), ("MIOPS", 1e6)),
    "ns": (("µs", 1e3), ("ms", 1e6), ("s", 1e9)),
}


def unit_of(drawing: Drawing) -> tuple[str, float]:
    """The unit of the y axis and its factor: the largest in which the largest value is at least 10."""
    values = [dot.value for panel in drawing.panels for series in panel.series for dot in series.dots]
    scales = _SCALES.get(drawing.y_unit, ((drawing.y_unit, 1.0),))
    fitting = [scale for scale in scales if max(values, default=0.0) / scale[1] >= 10]
    return fitting[-1] if fitting else scales[0]


def write_drawing(drawing: Drawing, out: Path) -> tuple[Path, ...]:
    """Write it as the suffix says. Raises UsageError for another suffix, IoAtlasError when it cannot be written."""
    suffix = out.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{out.name} is no drawing", where="-o", remedy=f"end its name in {', '.join(SUFFIXES)}")
    write: Callable[[Drawing, Path], tuple[Path, ...]] = {".gp": _gnuplot, ".csv": _csv}.get(suffix, _figure)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        return write(drawing, out)
    except OSError as error:
        raise IoAtlasError(
            f"cannot be written: {error.strerror}", where=str(error.filename or out), remedy="name another place"
        ) from error


# -- matplotlib ----------------------------------------------------------------------------------------------


def _figure(drawing: Drawing, out: Path) -> tuple[Path, ...]:
    kind: Kind = out.suffix.lower().lstrip(".")  # type: ignore[assignment]
    with drawing_library():
        from matplotlib.figure import Figure

        count = len(drawing.panels)
        columns = min(COLUMNS, count)
        rows = math.ceil(count / columns)
        size = (_width(drawing), 4.2) if count == 1 else (4.0 * columns, 2.9 * rows + 0.8)
        figure = Figure(figsize=size, layout="constrained")
        figure.suptitle(drawing.title, fontsize=12)
        grid = list(figure.subplots(rows, columns, squeeze=False).flat)
        for unused in grid[count:]:
            unused.remove()
        handles: dict[str, Any] = {}
        named = drawing.style != "points"  # points have their names beside them
        for panel, axes in zip(drawing.panels, grid, strict=False):
            _draw(axes, panel, drawing)
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        _align(grid[:count], drawing)
        if named:
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


def _width(drawing: Drawing) -> float:
    if drawing.style != "bars":
        return 6.4
    panel = drawing.panels[0]
    return min(16.0, 2.5 + 0.28 * len(panel.series) * len(panel.ticks) + 0.3 * len(panel.ticks))


def _draw(axes: Axes, panel: Panel, drawing: Drawing) -> None:
    name, factor = unit_of(drawing)
    if drawing.style == "bars":
        _bars(axes, panel, factor)
    elif drawing.style == "points":
        _points(axes, panel, factor)
    else:
        for number, series in enumerate(panel.series):
            _line(axes, series, number, factor)
    axes.set_title("" if drawing.style == "points" else panel.title, fontsize=9)
    axes.set_ylabel(panel.title if drawing.style == "points" else f"{drawing.y_name} ({name})", fontsize=8)
    axes.set_xlabel(drawing.x_name, fontsize=8)
    if panel.ticks:
        crowded = drawing.style == "lines" and len(panel.ticks) > 6
        axes.set_xticks(
            [x for x, _ in panel.ticks],
            [label for _, label in panel.ticks],
            fontsize=7,
            rotation=45 if crowded else 0,
            ha="right" if crowded else "center",
        )
    elif drawing.x_scale == "log":
        axes.set_xscale("log")
    axes.tick_params(axis="y", labelsize=7)
    axes.grid(visible=True, axis="y", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)


def _align(grid: Sequence[Axes], drawing: Drawing) -> None:
    """One scale for all panels, from zero; limits are drawn where the values come near them."""
    _, factor = unit_of(drawing)
    if drawing.style == "points":  # each panel has a unit of its own
        for axes in grid:
            axes.set_ylim(0, 1.15 * axes.get_ylim()[1])
        return
    for axes in grid:
        if drawing.y_scale == "log":
            axes.set_yscale("log")
            plain_logarithmic(axes.yaxis)
    top = max(axes.get_ylim()[1] for axes in grid)
    low = min(axes.get_ylim()[0] for axes in grid) if drawing.y_scale == "log" else 0.0
    near = [line for panel in drawing.panels for line in panel.limits if line.value / factor <= FAR * top]
    top = max([top, *(1.06 * line.value / factor for line in near)])
    for panel, axes in zip(drawing.panels, grid, strict=True):
        for line in panel.limits:
            if line in near:
                axes.axhline(line.value / factor, color=LIMIT, linestyle=":", linewidth=1)
                axes.annotate(
                    line.name,
                    (1, line.value / factor),
                    xycoords=("axes fraction", "data"),
                    fontsize=6,
                    color=LIMIT,
                    ha="right",
                    va="bottom",
                )
        axes.set_ylim(low, top)


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
    axes.errorbar(
        [dot.x for dot in series.dots],
        [dot.value / factor for dot in series.dots],
        yerr=_errors(series.dots, factor),
        marker=MARKERS[number % len(MARKERS)],
        color=COLOURS[number % len(COLOURS)],
        markersize=4,
        linewidth=1,
        capsize=2,
        label=series.name,
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


def _top(drawing: Drawing) -> float:
    """The largest value to show: ends of intervals, and limits that the values come near."""
    dots = [dot for panel in drawing.panels for series in panel.series for dot in series.dots]
    top = max((dot.value if dot.high is None else dot.high for dot in dots), default=1.0)
    near = [line.value for panel in drawing.panels for line in panel.limits if line.value <= FAR * top]
    return max([top, *near])


def _pixels(drawing: Drawing, columns: int) -> int:
    return max(640, 420 * columns, round(90 * _width(drawing)) if drawing.style == "bars" else 0)


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
                    writer.writerow([panel.title, series.name, x, repr(dot.value), *ends, dot.n, parts, drawing.y_unit])
    return (out,)


def _gnuplot(drawing: Drawing, out: Path) -> tuple[Path, ...]:
    """A script and its data beside it: panels in a multiplot, a block of data for each series."""
    data = out.with_suffix(".dat")
    name, factor = unit_of(drawing)
    blocks: list[str] = []
    places: dict[tuple[int, int], int] = {}
    for number, panel in enumerate(drawing.panels):
        for which, series in enumerate(panel.series):
            places[number, which] = len(blocks)
            rows = [f"# {one_line(panel.title)}: {one_line(series.name)}"]
            shift = _shift(panel, which) if drawing.style == "bars" else 0.0
            for dot in series.dots:
                low, high = (dot.value if end is None else end for end in (dot.low, dot.high))
                figures = (dot.value, low, high, _lowest(dot))
                rows.append(" ".join([f"{dot.x + shift:.6g}", *(f"{value / factor:.9g}" for value in figures)]))
            blocks.append("\n".join(rows))
    data.write_text("\n\n\n".join(blocks) + "\n", encoding="utf-8")
    out.write_text("\n".join(_script(drawing, name, factor, data.name, places)) + "\n", encoding="utf-8")
    return out, data


def _script(drawing: Drawing, unit: str, factor: float, data: str, places: dict[tuple[int, int], int]) -> list[str]:
    count = len(drawing.panels)
    columns = min(COLUMNS, count)
    rows = math.ceil(count / columns)
    lines = [
        f"# {one_line(drawing.title)}; columns of {data}: x value low high lower-part",
        f"set terminal pngcairo size {_pixels(drawing, columns)},{max(480, 320 * rows)} noenhanced",
        f"set output '{Path(data).stem}.png'",
        f"set multiplot layout {rows},{columns} title {gnuplot_text(drawing.title)}",
        "set grid ytics",
        "set key below",
    ]
    if drawing.y_scale == "log":
        lines.append("set logscale y")
    elif drawing.style == "points":
        lines += ["set yrange [0:*]", "set xtics rotate by -35"]
    else:
        lines.append(f"set yrange [0:{1.06 * _top(drawing) / factor:.6g}]")
    for number, panel in enumerate(drawing.panels):
        ticks = ", ".join(f"{gnuplot_text(label)} {x:g}" for x, label in panel.ticks)
        lines += [
            f"set title {gnuplot_text(panel.title)}",
            f"set ylabel {gnuplot_text(panel.title if drawing.style == 'points' else f'{drawing.y_name} ({unit})')}",
            f"set xlabel {gnuplot_text(drawing.x_name)}",
            *([f"set xtics rotate by -35 ({ticks})"] if ticks else []),
            *([f"set xrange [-0.6:{len(panel.ticks) - 0.4}]"] if drawing.x_scale == "categories" else []),
            *(["set xrange [0:*]"] if drawing.style == "points" else []),
        ]
        plots = []
        width = 0.8 / max(1, len(panel.series))
        for which, series in enumerate(panel.series):
            source = f"'{data}' index {places[number, which]}"
            look = f"lc rgb '{COLOURS[which % len(COLOURS)]}'"
            title = f"title {gnuplot_text(series.name)}"
            if drawing.style == "bars":
                box = f"with boxes {look} fs solid"
                if any(dot.parts for dot in series.dots):
                    plots.append(f"{source} using 1:2:({width:.4f}) {box} 0.45 notitle")
                plots.append(f"{source} using 1:5:({width:.4f}) {box} 0.9 {title}")
                plots.append(f"{source} using 1:2:3:4 with yerrorbars lc rgb 'black' pt 0 notitle")
            else:
                plots.append(f"{source} using 1:2:3:4 with yerrorlines {look} pt {which + 4} {title}")
        plots += [
            f"{line.value / factor:.9g} with lines dt 3 lc rgb '{LIMIT}' title {gnuplot_text(line.name)}"
            for line in panel.limits
        ]
        lines.append("plot " + ", \\\n     ".join(plots))
    return [*lines, "unset multiplot"]
