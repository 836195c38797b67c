# SPDX-License-Identifier: Apache-2.0
"""The charts that a campaign brings itself (a fixed-work sequence), drawn by matplotlib as one figure of panels."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ioatlas.model.chart import Chart
from ioatlas.model.fixed_work import is_fixed_work
from ioatlas.model.result import CampaignResult
from ioatlas.model.tree import is_tree
from ioatlas.model.units import format_size, format_size_rounded
from ioatlas.report.export.to_figure import METADATA, Kind, drawing_library, plain_logarithmic
from ioatlas.report.redact import redactor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 3
MEGA = 1e6
FAR = 1.6
"""A limit this much above the data is told in words instead of drawn."""
NOTE_CHARACTERS = 76
"""Of a note's line below a panel."""
WIDE = 40
"""Values further apart than this stand on a logarithmic scale."""
STYLES = (("o", "-", "#0b5cad"), ("s", "--", "#1b2126"), ("^", ":", "#0b5cad"), ("D", "-.", "#1b2126"))


def in_order(result: CampaignResult) -> bool:
    """Whether the result is that of operations in sequence, whose charts say more than a map."""
    return bool(result.charts) and any(is_fixed_work(one.cell) or is_tree(one.cell) for one in result.estimates[:1])


def write_charts(result: CampaignResult, out: Path, kind: Kind) -> tuple[Path, ...]:
    """Draw all charts of a result into one figure. Returns the file. Raises IoAtlasError when matplotlib is not
    installed.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    clean = redactor(result.targets)
    with drawing_library():
        from matplotlib.figure import Figure

        columns = min(COLUMNS, len(result.charts))
        rows = math.ceil(len(result.charts) / columns)
        figure = Figure(figsize=(4.6 * columns + (1.5 if columns == 1 else 0), 3.3 * rows + 0.6), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False)
        figure.suptitle(
            clean(result.name) + (": mean and standard deviation, work-bounded" if in_order(result) else ""),
            fontsize=12,
        )
        for panel, chart in zip(panels.flat, result.charts, strict=False):
            _draw(panel, chart, clean(chart.title))
        for panel in list(panels.flat)[len(result.charts) :]:
            panel.set_visible(False)
        figure.savefig(out, format=kind, metadata=METADATA[kind])
    return (out,)


def _draw(panel: Axes, chart: Chart, title: str) -> None:
    """One panel; rates in MB/s, as links are counted."""
    factor = MEGA if chart.y_unit == "bytes/s" else 1.0
    for line, (marker, dash, color) in zip(chart.lines, _styles(len(chart.lines)), strict=True):
        panel.errorbar(
            [point.x for point in line.points],
            [point.mean / factor for point in line.points],
            yerr=[(point.sd or 0.0) / factor for point in line.points],
            fmt=marker,
            linestyle=dash,
            color=color,
            markersize=4,
            markerfacecolor="white" if marker in "sD" else color,
            linewidth=1,
            capsize=2,
            label=line.name,
        )
    xs = sorted({point.x for line in chart.lines for point in line.points})
    top = max(point.mean + (point.sd or 0.0) for line in chart.lines for point in line.points)
    near = [level for level in chart.levels if level.value <= FAR * top]
    for level in near:
        panel.axhline(level.value / factor, color="#8a4b00", linestyle=":", linewidth=1)
        panel.annotate(
            level.name,
            (1, level.value / factor),
            xycoords=("axes fraction", "data"),
            fontsize=6,
            color="#8a4b00",
            ha="right",
            va="bottom",
        )
    for mark in chart.marks:
        if xs[0] <= mark.value <= xs[-1]:
            panel.axvline(mark.value, color="#8a4b00", linestyle=":", linewidth=1)
            panel.annotate(
                mark.name,
                (mark.value, 1),
                xycoords=("data", "axes fraction"),
                fontsize=6,
                color="#8a4b00",
                ha="right",
                va="top",
                rotation=90,
            )
    if xs[0] > 0 and len(xs) > 1:
        panel.set_xscale("log", base=2)
    shown = xs[:: max(1, math.ceil(len(xs) / 7))]
    sizes = chart.x_unit == "bytes"
    panel.set_xticks(
        shown,
        [format_size(int(x)) if sizes else f"{x:g}" for x in shown],
        rotation=45 if sizes else 0,
        ha="right" if sizes else "center",
    )
    panel.minorticks_off()
    high = max([top, *(level.value for level in near)]) / factor * 1.06
    least = (
        min([*(point.mean for line in chart.lines for point in line.points), *(level.value for level in near)]) / factor
    )
    if 0 < WIDE * least < high:
        panel.set_yscale("log")
        plain_logarithmic(panel.yaxis)
        panel.set_ylim(least / 1.5, high)
    else:
        panel.set_ylim(0, high)
    panel.set_title(title, fontsize=9)
    panel.set_xlabel("\n".join([chart.x_name, *textwrap.wrap(chart.note, NOTE_CHARACTERS)]), fontsize=8)
    panel.set_ylabel(f"{chart.y_name} (MB/s)" if factor == MEGA else chart.y_name)
    panel.grid(visible=True, color="0.9", linewidth=0.6)
    beyond = [level for level in chart.levels if level not in near]
    if len(chart.lines) > 1:
        panel.legend(fontsize=7, frameon=False)
    told = [f"{bound.name} {bound.value / factor:,.4g}{' MB/s' if factor == MEGA else ''}" for bound in beyond]
    if told:
        panel.annotate(
            "beyond: " + "; ".join(told), (0.01, 0.01), xycoords="axes fraction", fontsize=5, color="#8a4b00"
        )


def _styles(count: int) -> list[tuple[str, str, str]]:
    return [STYLES[place % len(STYLES)] for place in range(count)]


def chart_rows(chart: Chart) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """A chart as a table of texts: columns, and a row for each x."""
    xs = sorted({point.x for line in chart.lines for point in line.points})
    factor, unit = (MEGA, ", MB/s") if chart.y_unit == "bytes/s" else (1.0, "")
    by_x = [{point.x: point for point in line.points} for line in chart.lines]
    rows = []
    for x in xs:
        texts = []
        for points in by_x:
            point = points.get(x)
            spread = f" ± {point.sd / factor:.3g}" if point is not None and point.sd is not None else ""
            texts.append("–" if point is None else f"{point.mean / factor:.4g}{spread} ({point.n})")
        rows.append((format_size_rounded(int(x)) if chart.x_unit == "bytes" else f"{x:g}", *texts))
    return (chart.x_name, *(f"{line.name}{unit}" for line in chart.lines)), rows
