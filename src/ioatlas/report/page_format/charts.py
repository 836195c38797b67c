# SPDX-License-Identifier: Apache-2.0
"""What stands beside the map: costs, response time against load."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ioatlas.model.load_curve import LoadPoint
from ioatlas.model.result import ProductCost, UnitPrice
from ioatlas.report.page_format.parts import Model, Pair, as_record


@as_record(UnitPrice, without="cell direction")
class UnitPriceData(Model):
    """Cost of one unit, such as 'MB/s read', in the product's currency; null where it is not known.

    amount: units that the product gives. per_watt: units for each watt. where: the cell behind it in words.
    row: of `Cells`, null where it is no cell. lower_bound: the client was the limit, so it costs at most that.
    """

    row: int | None


@as_record(ProductCost)
class ProductCostData(Model):
    """A product at one target. total: of the purchase. dates: of its prices, or ''."""

    units: list[UnitPriceData]


@as_record(LoadPoint, without="asked_iops n_discarded seconds notes")
class LoadPointData(Model):
    """Several streams together at one load. Latencies are over all I/Os; of an open loop they are lower bounds.

    behind_ios, chance_ios: I/Os that the generator was behind at the end, and what chance explains of it. watts:
    null when not measured.
    """

    name: str
    loop: Literal["open", "closed"]
    verdict: str
    watts: float | None
    iops_per_watt: float | None
    bytes_per_s_per_watt: float | None


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
