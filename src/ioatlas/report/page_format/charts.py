# SPDX-License-Identifier: Apache-2.0
"""What stands beside the map: costs."""

from __future__ import annotations

from ioatlas.model.result import ProductCost, UnitPrice
from ioatlas.report.page_format.parts import Model, as_record


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
