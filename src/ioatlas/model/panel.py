# SPDX-License-Identifier: Apache-2.0
"""A drawing of several sides beside each other: bars or lines with intervals, in one or more panels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Style = Literal["bars", "lines", "points"]
"""points: each series a place with its name beside it."""
Scale = Literal["linear", "log", "categories", "percentiles"]


@dataclass(frozen=True)
class Dot:
    """One value. x: in the unit of the panel's axis, or the place of a category. low, high: its 95% interval, None
    where it has none. parts: what a bar is stacked of, (name, value), from the bottom; () for a plain one.
    """

    x: float
    value: float
    low: float | None = None
    high: float | None = None
    n: int = 0
    parts: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Series:
    name: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class Line:
    """A limit: a value of y that cannot be passed."""

    name: str
    value: float


@dataclass(frozen=True)
class Panel:
    """ticks: (x, label) of the axis below; () for a plain number line. path: a thin line behind the points."""

    title: str
    series: tuple[Series, ...]
    ticks: tuple[tuple[float, str], ...] = ()
    limits: tuple[Line, ...] = ()
    path: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Drawing:
    """y_unit: fio's, SI for rates: 'B/s', '1/s', 'ns'. note: what the reader must know; '' for nothing."""

    title: str
    style: Style
    x_name: str
    y_name: str
    y_unit: str
    panels: tuple[Panel, ...]
    x_scale: Scale = "categories"
    y_scale: Literal["linear", "log"] = "linear"
    note: str = ""
