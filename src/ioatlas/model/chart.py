# SPDX-License-Identifier: Apache-2.0
"""Line charts and tables that a campaign brings beside its map: what a report draws and an export writes."""

from __future__ import annotations

from dataclasses import dataclass

ChartUnit = str
"""'bytes', 'bytes/s', 'none'."""


@dataclass(frozen=True)
class ChartPoint:
    """Visits at one x: arithmetic mean, standard deviation between visits (None for a single one), and how many there
    were.
    """

    x: float
    mean: float
    sd: float | None
    n: int


@dataclass(frozen=True)
class ChartLine:
    name: str
    points: tuple[ChartPoint, ...]


@dataclass(frozen=True)
class ChartBound:
    """A line across the chart: at a value of y (a limit) or of x (a size of memory)."""

    name: str
    value: float


@dataclass(frozen=True)
class Chart:
    """Lines over x, with limits (`levels`, of y) and places (`marks`, of x). `note` says what the reader must know."""

    title: str
    x_name: str
    x_unit: ChartUnit
    y_name: str
    y_unit: ChartUnit
    lines: tuple[ChartLine, ...]
    levels: tuple[ChartBound, ...] = ()
    marks: tuple[ChartBound, ...] = ()
    note: str = ""
    after_map: bool = False
    """About how the map was measured, not a result: shown below it."""


@dataclass(frozen=True)
class Table:
    """A table of texts."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    after_map: bool = False
    folded: bool = False
    """Opened by who wants its numbers: charts and sentences tell what it says."""
