# SPDX-License-Identifier: Apache-2.0
"""What products cost for what they give."""

from __future__ import annotations

from pydantic import Field

from ioatlas.report.page_format.parts import Model


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
