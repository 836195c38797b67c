# SPDX-License-Identifier: Apache-2.0
"""A target's history as a figure: the level of each campaign with its interval, and the steps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from ioatlas.analysis.timeline import SUBJECTS, Timeline
from ioatlas.model.panel import Dot, Drawing, Line, Panel, Series

DAY = 86400.0
MOST_DATES = 12


def timeline_drawing(title: str, quantity: str, timelines: Sequence[Timeline]) -> Drawing:
    """A panel for each part, one below the other."""
    panels = tuple(map(_panel, timelines))
    name = "over the first campaign"
    return Drawing(
        f"{title}: {quantity} over time", "lines", "", name, "", panels, "linear", columns=1, from_zero=False
    )


def _panel(timeline: Timeline) -> Panel:
    points = timeline.points
    dots = tuple(Dot(p.time / DAY, p.ratio, min(p.low, p.ratio), max(p.high, p.ratio)) for p in points)
    steps = (Line(f"{change.ratio - 1:+.0%}", points[change.at].time / DAY) for change in timeline.changes)
    dated = points[:: -(-len(points) // MOST_DATES)]
    ticks = tuple((p.time / DAY, f"{datetime.fromtimestamp(p.time, UTC):%-d %b %Y}") for p in dated)
    return Panel(
        SUBJECTS[timeline.part], (Series("", dots),), ticks, limits=(Line("as at first", 1.0),), marks=tuple(steps)
    )
