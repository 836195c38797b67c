# SPDX-License-Identifier: Apache-2.0
"""The first screen of a page, and its findings."""

from __future__ import annotations

from pydantic import Field

from ioatlas.model.finding import Finding
from ioatlas.model.summary import Doubt, Headline, LoadReading, SmallIo, Summary
from ioatlas.report.page_format.parts import Model, Pair, as_record


@as_record(Finding, without="cells in_order")
class FindingData(Model):
    """A sentence with the rows of `Cells` that are its evidence."""

    code: str
    rows: list[int]


@as_record(Doubt, without="cells")
class DoubtData(Model):
    """One reason why the badge is not good. rows: of `Cells`, its evidence."""

    code: str = Field(description="`DoubtCode`")
    rows: list[int]


@as_record(Headline, without="cell")
class HeadlineData(Model):
    """The best value of one target and direction, or the answer of a test of another kind (`ioatlas.model.summary`).

    value, low, high, first: of `quantity`. uncertainty: half the 95% interval, a share of the value; null unknown.
    row: in `Cells`, whose value it is; null where it is no cell. ties: rows of cells that are as fast.
    first, moved: what the sweep gave before the cell was measured again, and the change since, a share.
    """

    row: int | None
    ties: list[int]
    uncertainty: float | None
    moved: float | None


@as_record(LoadReading, without="cell")
class LoadReadingData(Model):
    """What one load gave. in_flight: I/Os."""

    row: int | None


@as_record(SmallIo)
class SmallIoData(Model):
    """Small blocks at the lightest load and at the one with most IOPS."""

    lightest: LoadReadingData
    best: LoadReadingData


@as_record(Summary)
class SummaryData(Model):
    """The first screen: how fast, whether to believe it, what limits it, what to do next. doubts: worst first."""

    doubts: list[DoubtData]
    headlines: list[HeadlineData]
    small: list[SmallIoData]
    beside: list[Pair] = Field(description="what was measured beside the map, in words")
