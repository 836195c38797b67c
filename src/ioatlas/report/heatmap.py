# SPDX-License-Identifier: Apache-2.0
"""The small heat map of a result, in the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from ioatlas.report.small_map import LEGEND, SmallMap, Value, thinned

if TYPE_CHECKING:
    from rich.text import Text

    from ioatlas.report.export.grid import Level

MOST_NAMED = 3
"""Kinds of load that are named of those that are not shown."""
GAP = 2
"""Blanks between two kinds of load."""


def draw(
    found: SmallMap, *, width: int, style: Callable[[float | None], str], lines: int | None = None, more: str = ""
) -> list[Text]:
    """At most `lines` lines of `width`; what does not fit is named, and `more` says where all of it is. Without `lines`
    all of it, columns in strips.
    """
    left: list[str] = []
    rows = list(reversed(found.y.levels))
    bands = _strips(found, width) if lines is None else _bands(found, width, left)
    lines = lines or len(bands) * (len(rows) + 2) + 2
    note = bool(found.folded)
    room = max(1, (lines - 1 - note) // len(bands) - 2)
    while room < min(2, len(rows)) and len(bands) > 1:
        bands.pop()
        room = max(1, (lines - 1 - note) // len(bands) - 2)
    shown = [load for band, _ in bands for load in band]
    if len(shown) < len(found.loads):
        names = [str(load) for load in found.loads if load not in shown]
        left.append(
            ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" * (len(names) > MOST_NAMED))
        )
    if room < len(rows):
        rows = thinned(rows, room)
        left.append(f"{len(found.y.levels) - len(rows)} of {len(found.y.levels)} {found.y.name} values")
    drawn: list[Text] = []
    for band, columns in bands:
        drawn += _band(found, band, columns, rows, style)
    if found.folded:
        drawn.append(Text(found.folded, style="italic"))
    legend = "  ".join(f"{mark} {LEGEND[mark]}" for mark in found.marks)
    rest = f"Not shown: {'; '.join(left)} ({more})" if left else ""
    together = "  ".join(filter(None, (legend, rest)))
    notes = [together] if len(together) <= width else [legend, rest]
    return [*drawn, *(Text(line) for one in notes for line in textwrap.wrap(one, width))]


def _bands(found: SmallMap, width: int, left: list[str]) -> list[tuple[list[Level], list[Level]]]:
    """Kinds of load that stand side by side, and the columns that fit; all bands have the same columns."""
    side = _side(found)
    columns = list(found.x.levels)
    while len(columns) > 2 and side + _width(found, found.loads[0], columns) > width:
        columns = thinned(columns, len(columns) - 1)
    if len(columns) < len(found.x.levels):
        left.append(f"{len(found.x.levels) - len(columns)} of {len(found.x.levels)} {found.x.name} values")
    bands: list[tuple[list[Level], list[Level]]] = []
    for load in found.loads:
        used = side + sum(_width(found, one, columns) for one in bands[-1][0]) if bands else width + 1
        if bands and used + _width(found, load, columns) <= width:
            bands[-1][0].append(load)
        else:
            bands.append(([load], columns))
    return bands


def _strips(found: SmallMap, width: int) -> list[tuple[list[Level], list[Level]]]:
    """As `_bands` with all columns: where a kind of load is too wide, it has several."""
    step = len(found.x.levels)
    while step > 1 and _side(found) + max(_width(found, load, found.x.levels[:step]) for load in found.loads) > width:
        step -= 1
    if step == len(found.x.levels):
        return _bands(found, width, [])
    parts = [list(found.x.levels[at : at + step]) for at in range(0, len(found.x.levels), step)]
    return [([load], part) for load in found.loads for part in parts]


def _side(found: SmallMap) -> int:
    return max(len(found.unit), len(found.name_across), *(len(found.upwards(level)) for level in found.y.levels))


def _column(found: SmallMap, load: Level, level: Level) -> int:
    """Width of one column without its mark."""
    texts = [found.values[load, level, j].text for j in found.y.levels if (load, level, j) in found.values]
    return max(len(found.across(level)), *(len(text) for text in texts), 2)


def _width(found: SmallMap, load: Level, columns: Sequence[Level]) -> int:
    """Of a kind of load: each column with a blank before and a mark after it."""
    return GAP + max(len(str(load)), sum(_column(found, load, level) + 2 for level in columns))


def _band(
    found: SmallMap,
    loads: Sequence[Level],
    columns: Sequence[Level],
    rows: Sequence[Level],
    style: Callable[[float | None], str],
) -> list[Text]:

    side = _side(found)
    head = Text(found.unit.ljust(side), style="bold")
    under = Text(found.name_across.ljust(side), style="bold")
    lines = [Text(found.upwards(j).rjust(side)) for j in rows]
    for load in loads:
        width = _width(found, load, columns)
        spare = width - GAP - sum(_column(found, load, level) + 2 for level in columns)
        head.append(" " * GAP + f" {load}".ljust(width - GAP))
        under.append(" " * GAP)
        for line in lines:
            line.append(" " * GAP)
        for level in columns:
            room = _column(found, load, level) + 1
            under.append(found.across(level).rjust(room) + " ")
            for line, j in zip(lines, rows, strict=True):
                value = found.values.get((load, level, j), Value(""))
                line.append(f"{value.text.rjust(room)}{value.mark or ' '}", style=style(value.share))
        for line in (under, *lines):
            line.append(" " * spare)
    return [head, *([under] if any(found.across(level) for level in columns) else []), *lines]
