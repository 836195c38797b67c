# SPDX-License-Identifier: Apache-2.0
"""Products: found by what they are, cost and do for a load; counted by facet; drawn as price against speed.

All of it is of what all may see, and read from shelves: a search asks the database for no more than its state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import sqlalchemy as sa

from ioatlas_atlas.best import ANY_RW
from ioatlas_atlas.database import Database
from ioatlas_atlas.pareto import Offered
from ioatlas_atlas.records import Product
from ioatlas_atlas.shelf import FACETS, Listed, Mask, Numbers, Shelf, shelf_of, stock_of
from ioatlas_atlas.tables import best

A_PAGE, MOST_PAGES = 20, 1000


class Sort(StrEnum):
    """In which order products are listed."""

    SPEED = "speed"
    VALUE = "value"
    P99 = "p99"
    PRICE = "price"
    NEWEST = "newest"


@dataclass(frozen=True)
class Sought:
    """What products are searched for; None and '' ask for nothing.

    rw, bs_bytes, in_flight: the load, which is shown in any case. asks: whether a product has to have it. min_iops is
    held against the lower bound of the interval, max_p99_ns against the upper one, both of one cell.
    """

    words: str = ""
    kind: str = ""
    protocol: str = ""
    media: str = ""
    year: str = ""
    fits: str = ""
    max_price_per_tib: float | None = None
    currency: str = "USD"
    rw: str = "randread"
    bs_bytes: int = 4096
    in_flight: int | None = None
    min_iops: float | None = None
    max_p99_ns: float | None = None
    asks: bool = False
    sort: Sort = Sort.NEWEST
    page: int = 1


@dataclass(frozen=True)
class Found:
    """A page of those that fit, and of what the rest lacks.

    facets: {facet: {value: products}}, each as if nothing was asked of that facet. lacking: products that would fit
    and have no interval. dearer: those that fit but for the price, from `dearer_from` on. most_room: {use: the one
    of those that fit it which does most beyond what it needs}; those that others reproduced come before the rest.
    """

    entries: tuple[Listed, ...]
    total: int
    facets: Mapping[str, Mapping[str, int]]
    lacking: int
    dearer: int
    dearer_from: float | None
    most_room: Mapping[str, Product]


def search(database: Database, sought: Sought) -> Found:
    """Products that fit; a product that several ways lead to is listed once, by its best."""
    shelf = shelf_of(database, sought.rw, sought.bs_bytes)
    able, tests = np.zeros(len(shelf.of), bool), _tests(shelf, sought)
    able[shelf.top(_able(shelf, sought), shelf.way)] = True
    lacks = sum((~test for test in tests.values()), np.zeros(len(able), np.int64))
    fit = able & (lacks == 0)
    alone = {name: able & (lacks == 1) & ~test for name, test in tests.items()}
    chosen = shelf.top(fit, shelf.of, ~shelf.confirmed, -np.nan_to_num(shelf.low))
    waits = ~shelf.confirmed[chosen] & (sought.sort in (Sort.SPEED, Sort.VALUE, Sort.P99))
    place = np.where(waits, -shelf.newest[chosen], _order(shelf, sought.sort)[chosen])
    first = (min(sought.page, MOST_PAGES) - 1) * A_PAGE
    shown = chosen[np.lexsort((place, waits))][first : first + A_PAGE]
    others = ~np.isin(shelf.of, shelf.of[chosen])
    dearer = shelf.price[shelf.top(alone["price"] & others & ~np.isnan(shelf.price), shelf.of)]
    here = {*shelf.of[chosen].tolist()}
    most_room = {use: next((at for at in order if at in here), None) for use, order in shelf.most_room.items()}
    return Found(
        tuple(shelf.entry(row) for row in shown),
        len(chosen),
        {name: facet.counted(shelf.way[fit | alone.get(name, fit)]) for name, facet in shelf.facets.items()},
        len(shelf.top(alone["interval"] & others, shelf.of)),
        len(dearer),
        min(dearer.tolist(), default=None),
        {use: shelf.products[at] for use, at in sorted(most_room.items()) if at is not None},
    )


def _able(shelf: Shelf, sought: Sought) -> Mask:
    """Rows that may do what is asked for, whatever their kind and price are."""
    able = shelf.some_load | (not sought.asks)
    if sought.in_flight is not None:
        able &= shelf.in_flight == sought.in_flight
    if sought.min_iops is not None:
        able &= np.where(np.isnan(shelf.low), shelf.iops, shelf.low) >= sought.min_iops
    if sought.max_p99_ns is not None:
        able &= np.where(np.isnan(shelf.latest), shelf.late, shelf.latest) <= sought.max_p99_ns
    if sought.max_price_per_tib is not None:
        able &= shelf.currency == sought.currency
    for word in sought.words.lower().split()[:10]:
        able &= np.array([word in name for name in shelf.stock.names], bool)[shelf.of]
    return able


def _tests(shelf: Shelf, sought: Sought) -> dict[str, Mask]:
    """Which rows pass, by what is looked at."""
    wanted = {name: getattr(sought, name) for name in FACETS}
    made = {name: np.isin(shelf.way, shelf.facets[name].having(value)) for name, value in wanted.items() if value}
    most, low, high = sought.max_price_per_tib, sought.min_iops is None, sought.max_p99_ns is None
    made["price"] = np.nan_to_num(shelf.price, nan=np.inf) <= (np.inf if most is None else most)
    made["interval"] = (low | ~np.isnan(shelf.low)) & (high | ~np.isnan(shelf.latest))
    return made


def _order(shelf: Shelf, sort: Sort) -> Numbers:
    """What is less stands before."""
    by = {Sort.SPEED: -shelf.low, Sort.VALUE: -shelf.low / shelf.price, Sort.P99: shelf.latest, Sort.PRICE: shelf.price}
    values = by.get(sort, -shelf.newest)
    return np.where(np.isnan(values), np.inf, values)


def offers(shelf: Shelf, in_flight: int) -> tuple[str, list[Offered]]:
    """(currency, every product that has a price in it and an interval at this one load and depth)."""
    rows = (shelf.in_flight == in_flight) & ~np.isnan(shelf.low) & (shelf.price > 0)
    found = [shelf.entry(row) for row in shelf.top(rows, shelf.of, ~shelf.confirmed, -shelf.iops)]
    currency = next((text for text, _ in Counter(one.product.currency for one in found).most_common(1)), "")
    return currency, [
        Offered(of.name, f"/products/{of.id}", of.price_per_tib, one.iops, one.iops_low, one.iops_high, one.confirmed)
        for one in found
        for of in (one.product,)
        if of.currency == currency and of.price_per_tib and one.iops
    ]


# -- one product ---------------------------------------------------------------------------------------------


def product_of(database: Database, number: str) -> Product | None:
    """A product of which all may see a result."""
    return stock_of(database).known.get(number)


def loads_of(database: Database, number: str) -> list[Mapping[str, Any]]:
    """Rows of `best`: what it does, by conditions and load."""
    order = (best.c.protocol, best.c.link, best.c.rw, best.c.direction, best.c.bs_bytes, best.c.in_flight)
    asked = sa.select(best).where(best.c.product_id == number, best.c.rw != ANY_RW).order_by(*order)
    return [dict(row) for row in database.rows(asked)]
