# SPDX-License-Identifier: Apache-2.0
"""What the products of a campaign cost, as the page carries it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict

from ioatlas.model.cost import ProductCost, UnitPrice
from ioatlas.report.page_format.costs import ProductCostData, UnitPriceData


def cost_data(cost: ProductCost, places: Mapping[tuple[str, str], int], clean: Callable[[str], str]) -> ProductCostData:
    """places: rows of the page's table by cell key and direction. clean: takes what names a site out of a text."""
    told = {name: value for name, value in asdict(cost).items() if name not in ("units", "remarks")}
    return ProductCostData(
        **told,
        units=[_unit(one, places) for one in cost.units],
        remarks=[clean(text) for text in cost.remarks],
    )


def _unit(one: UnitPrice, places: Mapping[tuple[str, str], int]) -> UnitPriceData:
    told = {name: value for name, value in asdict(one).items() if name not in ("cell", "direction")}
    return UnitPriceData(**told, row=places.get((one.cell, one.direction)))
