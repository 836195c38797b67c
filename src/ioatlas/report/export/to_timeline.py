# SPDX-License-Identifier: Apache-2.0
"""A target's history as a figure: the level of each campaign with its interval, and the steps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ioatlas.analysis.timeline import SUBJECTS, Timeline
from ioatlas.report.export.to_figure import METADATA, Kind, drawing_library

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 8.0, 2.7
"""Inches of a panel."""
LINE, STEP = "#0b5cad", "#b3261e"


def write_timelines(title: str, quantity: str, timelines: Sequence[Timeline], out: Path, kind: Kind) -> Path:
    """A panel for each part, one below the other. Raises IoAtlasError when matplotlib is not installed."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with drawing_library():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH, HEIGHT * len(timelines)), layout="constrained")
        figure.suptitle(f"{title}: {quantity} over time")
        panels = figure.subplots(len(timelines), 1, squeeze=False, sharex=True).flat
        for panel, timeline in zip(panels, timelines, strict=True):
            _draw(panel, timeline)
        figure.savefig(out, format=kind, metadata=METADATA[kind])
    return out


def _draw(panel: Axes, timeline: Timeline) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num

    points = timeline.points
    times = [float(date2num(datetime.fromtimestamp(point.time, UTC))) for point in points]  # type: ignore[no-untyped-call]
    levels = [point.ratio for point in points]
    # A level may lie outside of its own interval by rounding alone.
    below = [max(0.0, point.ratio - point.low) for point in points]
    above = [max(0.0, point.high - point.ratio) for point in points]
    panel.errorbar(times, levels, yerr=[below, above], fmt="o-", color=LINE, capsize=3, linewidth=1, markersize=4)
    for change in timeline.changes:
        panel.axvline(times[change.at], color=STEP, linewidth=1, linestyle="--")
        panel.annotate(
            f"{change.ratio - 1:+.0%}",
            (times[change.at], 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(3, -3),
            textcoords="offset points",
            va="top",
            color=STEP,
        )
    panel.axhline(1.0, color="#8a8f94", linewidth=0.8)
    panel.set_title(SUBJECTS[timeline.part], loc="left", fontsize=10)
    panel.set_ylabel("over the first campaign")
    panel.margins(y=0.25)
    low, high = panel.get_ylim()
    panel.set_ylim(min(low, 0.9), max(high, 1.1))
    locator = AutoDateLocator()  # type: ignore[no-untyped-call]
    panel.xaxis.set_major_locator(locator)
    panel.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
