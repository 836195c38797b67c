# SPDX-License-Identifier: Apache-2.0
"""What a campaign's product costs for what it gives: part of the result where the campaign names its product."""

from __future__ import annotations

from dataclasses import dataclass

SHEET, SHEETS = "product.toml", "products"
"""In a campaign's directory: its product's sheet, and those of configurations that have one of their own."""


@dataclass(frozen=True)
class UnitPrice:
    """Cost of one unit, such as 'MB/s read', with the interval of what was measured; None where there is none.

    amount: how many units the product gives. cell: key of the cell behind it; '' of capacity. where: it in words.
    lower_bound: the client was the limit, so it costs at most that.
    """

    unit: str
    cost: float | None
    low: float | None
    high: float | None
    amount: float
    per_watt: float | None
    where: str
    cell: str
    direction: str
    lower_bound: bool


@dataclass(frozen=True)
class ProductCost:
    """A product at one target. target: '' for all. total: of the purchase; None unknown. dates: of its prices."""

    target: str
    product: str
    currency: str
    total: float | None
    dates: str
    usable_bytes: int | None
    units: tuple[UnitPrice, ...]
    remarks: tuple[str, ...] = ()
