# SPDX-License-Identifier: Apache-2.0
"""What stands beside the map: costs, tests in rounds, response time against load."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ioatlas.model.load_curve import Spread, StreamPoint
from ioatlas.model.result import RoundsCell
from ioatlas.report.page_format.parts import Model, Pair


class UnitPriceData(Model):
    """Cost of one unit, such as 'MB/s read', in the product's currency; null where it is not known.

    amount: units that the product gives. per_watt: units for each watt. where: the cell behind it in words.
    row: of `Cells`, null where it is no cell. lower_bound: the client was the limit, so it costs at most that.
    """

    unit: str
    cost: float | None
    low: float | None
    high: float | None
    amount: float
    per_watt: float | None
    where: str
    row: int | None
    lower_bound: bool


class ProductCostData(Model):
    """A product at one target. total: of the purchase. dates: of its prices, or ''."""

    target: str
    product: str
    currency: str
    total: float | None
    dates: str
    usable_bytes: int | None
    units: list[UnitPriceData]
    remarks: list[str] = Field(description="what to know before believing it, in sentences")


class RoundsData(Model):
    """A test that ran in rounds until its tracked value was steady (`ioatlas.model.result`).

    first: number, from 1, of the first round after the last preparation. window: numbers of the measurement
    window's first and last round.
    line: the best-fit line at those two. written_bytes: by the rounds since the last preparation.
    """

    target: str
    title: str
    part: str
    quantity: Literal["iops", "bw_bytes_per_s", "lat_mean_ns"]
    tracked: str
    values: list[float]
    first: int
    met: bool
    claims: bool = Field(description="the test is one of steady state; write saturation is not")
    ended: str
    reason: str
    window: list[int] | None
    average: float | None
    range_share: float | None
    slope_share: float | None
    line: list[float] | None
    cells: list[RoundsCell]
    written_bytes: int
    footprint_bytes: int
    purge: str
    deviations: list[str]
    method: str


class LoadPointData(Model):
    """Several streams together at one load. Latencies are over all I/Os; of an open loop they are lower bounds.

    behind_ios, chance_ios: I/Os that the generator was behind at the end, and what chance explains of it. watts:
    null when not measured.
    """

    name: str
    phase: str
    percent: float | None
    loop: Literal["open", "closed"]
    offered_iops: float | None
    iops: Spread | None
    bw_bytes_per_s: Spread | None
    lat_mean_ns: Spread | None
    lat_p95_ns: Spread | None
    lat_p99_ns: Spread | None
    overloaded: bool
    state: str = Field(description="within, borderline or over the curve's limit; '' where rates are not sized by it")
    behind_ios: float | None
    chance_ios: float | None
    verdict: str
    n_visits: int
    watts: float | None
    iops_per_watt: float | None
    bytes_per_s_per_watt: float | None
    streams: list[StreamPoint]


class LoadCurveData(Model):
    """Response time against load of one target, load points in the order in which they ran. power: how watts were
    read, or 'not measured'; '' where nobody asked. limit_ns: of `quantity`. sizing: which fixed rates are safe, in
    words, or ''.
    """

    target: str
    points: list[LoadPointData]
    limit_ns: float | None
    quantity: Literal["mean", "p99"]
    sizing: str
    highest: list[Pair] = Field(description="I/Os per second of the highest load, by phase")
    power: str
    idle_watts: float | None
    idle_bytes_per_watt: float | None
    latency_note: str
