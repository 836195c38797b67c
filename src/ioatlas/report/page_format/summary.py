# SPDX-License-Identifier: Apache-2.0
"""The first screen of a page, and its findings."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ioatlas.model.summary import Count, Trust
from ioatlas.report.page_format.parts import Model, Pair


class FindingData(Model):
    """A sentence with the rows of `Cells` that are its evidence."""

    code: str
    title: str
    sentence: str
    rows: list[int]
    place: str = Field(description="id of the page's section that holds the evidence where no row does; empty for none")
    target: str = Field(default="", description="target of its evidence; empty for several, or none")
    direction: str = Field(default="", description="direction of its evidence; empty for several, or none")


class DoubtData(Model):
    """One reason why the badge is not good. rows: of `Cells`, its evidence."""

    code: str = Field(description="`DoubtCode`")
    level: Trust
    sentence: str
    advice: str
    rows: list[int]


class HeadlineData(Model):
    """The best value of one target and direction, or the answer of a test of another kind (`ioatlas.model.summary`).

    value, low, high, first: of `quantity`. uncertainty: half the 95% interval, a share of the value; null unknown.
    row: in `Cells`, whose value it is; null where it is no cell. ties: rows of cells that are as fast.
    first, moved: what the sweep gave before the cell was measured again, and the change since, a share.
    """

    label: str
    target: str
    direction: str
    quantity: Literal["bw_bytes_per_s", "iops", "lat_mean_ns", "figure"]
    unit: str = Field(default="", description="of a figure, and of what is counted but is no I/O")
    value: float
    low: float | None
    high: float | None
    uncertainty: float | None
    where: str
    row: int | None
    n_visits: int
    lower_bound: bool
    estimated: bool
    first: float | None
    moved: float | None
    tie: str
    ties: list[int]
    limit: str
    limit_probability: float | None
    grade: Trust | None = Field(default=None, description="how far this number is to be believed")


class LoadReadingData(Model):
    """What one load gave. in_flight: I/Os."""

    row: int | None
    in_flight: int
    iops: float
    lat_mean_ns: float | None
    lat_p99_ns: float | None
    estimated: bool
    grade: Trust | None = None


class SmallIoData(Model):
    """Small blocks at the lightest load and at the one with most IOPS."""

    label: str
    target: str
    direction: str
    rw: str
    bs_bytes: int
    lightest: LoadReadingData
    best: LoadReadingData


class WorstCellData(Model):
    """A cell whose value is worth least. uncertainty: a share; null where its runs disagree too far to say."""

    row: int | None
    label: str
    uncertainty: float | None


class SummaryData(Model):
    """The first screen: how fast, whether to believe it, what limits it, what to do next. doubts: worst first."""

    name: str
    profile: str
    seconds: float
    n_cells: int
    n_measured: int
    n_estimated: int
    n_imported: int
    n_visits: int
    complete: bool
    trust: Trust
    doubts: list[DoubtData]
    headlines: list[HeadlineData]
    small: list[SmallIoData]
    bottlenecks: list[Count] = Field(description="of measured values; 'undetermined' last")
    typical_uncertainty: float | None
    worst: list[WorstCellData]
    next_step: str
    beside: list[Pair] = Field(default=[], description="what was measured beside the map, in words")
