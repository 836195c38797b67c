# SPDX-License-Identifier: Apache-2.0
"""Charts and tables below the map."""

from __future__ import annotations

from pydantic import Field

from ioatlas.report.page_format.parts import AxisUnit, Model


class ChartPointData(Model):
    """Visits at one x: arithmetic mean, standard deviation between visits (null for a single one), and how many
    there were.
    """

    x: float
    mean: float
    sd: float | None
    n: int


class ChartLineData(Model):
    """One line of a chart."""

    name: str
    points: list[ChartPointData]


class ChartBoundData(Model):
    """A line across a chart, at a value of y or of x."""

    name: str
    value: float


class ChartData(Model):
    """A line chart beside the map."""

    title: str
    x_name: str
    x_unit: AxisUnit
    y_name: str
    y_unit: AxisUnit
    lines: list[ChartLineData]
    levels: list[ChartBoundData] = Field(description="limits, across at a value of y")
    marks: list[ChartBoundData] = Field(description="places, upright at a value of x")
    note: str
    after_map: bool = Field(description="about how the map was measured: shown below it")


class TableData(Model):
    """A table of texts."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    note: str
    after_map: bool
    folded: bool = Field(default=False, description="opened by who wants its numbers")
