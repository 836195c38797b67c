# SPDX-License-Identifier: Apache-2.0
"""A drawing: bars or lines with intervals, in one or more panels; tables of texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

WIDEST = 100
"""Columns of an answer where there is no terminal, and at most where there is one."""
Style = Literal["bars", "lines", "points"]
"""points: each series a place with its name beside it."""
Scale = Literal["linear", "categories", "percentiles"]
Look = Literal["", "dots", "line", "dashed", "dotted"]
"""How a series is drawn: '' a line with a mark at each dot, dots: the marks alone, else a line alone."""


@dataclass(frozen=True)
class Dot:
    """One value. x: in the unit of the panel's axis, or the place of a category. low, high: ends of its bar, its 95%
    interval where nothing else is said; None where it has none. x_low, x_high: likewise of x. parts: what a bar is
    stacked of, (name, value), from the bottom; () for a plain one. unsure: less sure than the others.
    """

    x: float
    value: float
    low: float | None = None
    high: float | None = None
    n: int = 0
    parts: tuple[tuple[str, float], ...] = ()
    unsure: bool = False
    x_low: float | None = None
    x_high: float | None = None


@dataclass(frozen=True)
class Series:
    name: str
    dots: tuple[Dot, ...]
    look: Look = ""


@dataclass(frozen=True)
class Line:
    """A line across a panel: at a value of y, such as a limit, or of x. drawn: else only its name stands there."""

    name: str
    value: float
    drawn: bool = True


@dataclass(frozen=True)
class Panel:
    """ticks: (x, label) of the axis below; () for a plain number line from zero. limits: of y, on a linear scale drawn
    where the values come near them. marks: places of x. path: a thin line behind the points. band: x from and to,
    shaded.

    x_scale: of the ticks, whose values stand at their logarithms. x_name, y_name, y_unit, y_scale: where they are not
    those of the drawing. note: stands below.
    """

    title: str
    series: tuple[Series, ...]
    ticks: tuple[tuple[float, str], ...] = ()
    limits: tuple[Line, ...] = ()
    path: tuple[tuple[float, float], ...] = ()
    marks: tuple[Line, ...] = ()
    band: tuple[float, float] | None = None
    x_name: str = ""
    y_name: str = ""
    y_unit: str = ""
    x_scale: Literal["linear", "log"] = "linear"
    y_scale: Literal["", "linear", "log"] = ""
    note: str = ""


@dataclass(frozen=True)
class Drawing:
    """y_unit: fio's, SI for rates: 'B/s', '1/s', 'ns'. note: what the reader must know; '' for nothing.

    alike: all panels have one scale of y. columns: of panels, at most. graded: the series are steps of a number, in
    order. conditions: under which the values hold.
    """

    title: str
    style: Style
    x_name: str
    y_name: str
    y_unit: str
    panels: tuple[Panel, ...]
    x_scale: Scale = "categories"
    y_scale: Literal["linear", "log"] = "linear"
    note: str = ""
    alike: bool = True
    columns: int = 3
    graded: bool = False
    conditions: str = ""


@dataclass(frozen=True)
class Table:
    """A table of texts."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    after_map: bool = False
    """About how the map was measured, not a result: shown below it."""
    folded: bool = False
    """Opened by who wants its numbers: charts and sentences tell what it says."""
    spare: tuple[str, ...] = ()
    """Columns that a narrow place leaves out."""
