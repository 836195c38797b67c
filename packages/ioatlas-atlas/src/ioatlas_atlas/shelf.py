# SPDX-License-Identifier: Apache-2.0
"""What searches for products and charts look at, kept in memory until the audit log or the day changes.

A shelf holds the rows of `best` for one load as columns: thousands of products are tested and counted at once.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from ioatlas.model.errors import IoAtlasError
from ioatlas_atlas import audit
from ioatlas_atlas.best import ANY_RW, ANY_SIZE, release
from ioatlas_atlas.database import Database
from ioatlas_atlas.pareto import Chart
from ioatlas_atlas.queries import today
from ioatlas_atlas.records import Product
from ioatlas_atlas.tables import best, product

MOST_SHELVES = 24
FACETS = ("kind", "protocol", "media", "year", "fits")
Mask = NDArray[np.bool_]
Numbers = NDArray[Any]
_OF_PRODUCT = tuple(Product.__dataclass_fields__)


@dataclass(frozen=True)
class Listed:
    """A product with the best that it does for the load. result_id: whose cell that is. iops: None without the load.

    confirmed: as in `best`. What is not takes no place by what it does.
    """

    product: Product
    protocol: str
    result_id: str
    confirmed: bool
    in_flight: int
    iops: float | None
    iops_low: float | None
    iops_high: float | None
    lat_p99_ns: float | None
    lat_p99_high_ns: float | None

    @property
    def per_price(self) -> float | None:
        """I/Os a second, at least, for one unit of the price per TiB."""
        price = self.product.price_per_tib
        return self.iops_low / price if self.iops_low is not None and price else None

    def facet(self, name: str) -> tuple[str, ...]:
        """Its values; '' where nothing is told."""
        if name == "fits":
            return tuple(self.product.fits) or ("",)
        return (self.protocol if name == "protocol" else str(getattr(self.product, name) or ""),)


_OF_LOAD = tuple(Listed.__dataclass_fields__)[1:]


class Facet:
    """Pairs of a way and a value that it has, '' where nothing is told; a way may have several."""

    def __init__(self, told: Sequence[Iterable[str]], of: Numbers) -> None:
        """of: the product of each way."""
        self.values = sorted({one for some in told for one in some})
        code = {one: at for at, one in enumerate(self.values)}
        pairs = [(way, code[one]) for way, some in enumerate(told) for one in some]
        self.ways, self.codes = np.array(pairs, np.int64).reshape(-1, 2).T
        self.of = of[self.ways]

    def having(self, wanted: str) -> Numbers:
        """Ways that have a value, in whatever case."""
        alike = np.array([one.lower() == wanted.lower() for one in self.values], bool)
        found: Numbers = self.ways[alike[self.codes]]
        return found

    def counted(self, ways: Numbers) -> dict[str, int]:
        """{value: products that have it in one of these ways}, the most frequent first."""
        here = np.isin(self.ways, ways)
        seen = np.zeros((self.of.max(initial=0) + 1, len(self.values)), bool)
        seen[self.of[here], self.codes[here]] = True
        counts = seen.sum(axis=0)
        return {self.values[at]: int(counts[at]) for at in np.argsort(-counts, kind="stable") if counts[at]}


class Shelf:
    """Rows of a load, those of a product and protocol together, in the order in which one of them is shown for all.

    Numbers that are not there are NaN. of: number of the product in `products`, which stand in the order of ids; way:
    of product and protocol. some_load: whether the row is of the load, and not the one of the product for any load.
    most_room: {use: numbers of the products that fit it, the one with the most room first}. charts: by depth.
    """

    def __init__(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """rows: fields of `Listed`."""
        self._rows = rows
        columns = {name: [row[at] for row in rows] for at, name in enumerate(Listed.__dataclass_fields__)}
        self.confirmed, self.in_flight = np.array(columns["confirmed"], bool), np.array(columns["in_flight"], np.int64)
        numbers = [np.array(columns[name], float) for name in _OF_LOAD[-5:]]
        self.iops, self.low, _, self.late, self.latest = numbers
        self.some_load = self.in_flight > 0
        known = {of.id: of for of in columns["product"]}
        self.products = [known[name] for name in sorted(known)]
        self.of = _numbered((of.id for of in columns["product"]), sorted(known))
        ways = [*zip(self.of.tolist(), columns["protocol"], strict=True)]
        self.way = _numbered(ways, dict.fromkeys(ways))
        self.price = np.array([of.price_per_tib or np.nan for of in self.products], float)[self.of]
        self.newest = np.array([of.newest for of in self.products], float)[self.of]
        self.currency = np.array([of.currency for of in self.products], str)[self.of]
        first = np.unique(self.way, return_index=True)[1]
        some = [self.entry(row) for row in first]
        self.facets = {name: Facet([one.facet(name) for one in some], self.of[first]) for name in FACETS}
        fits = [
            (use, of.reproduced > 0, room, at) for at, of in enumerate(self.products) for use, room in of.fits.items()
        ]
        self.most_room: dict[str, list[int]] = defaultdict(list)
        for use, _, _, at in sorted(fits, reverse=True):
            self.most_room[use].append(at)
        self.charts: dict[int, Chart | None] = {}

    def entry(self, row: int) -> Listed:
        """It as it is shown."""
        return Listed(*self._rows[row])

    def top(self, rows: Mask, group: Numbers, *worst_last: Numbers) -> Numbers:
        """Of each group the number of one of these rows: the first by these values, of which less is better."""
        here = np.flatnonzero(rows)
        here = here[np.lexsort((*(one[here] for one in reversed(worst_last)), group[here]))]
        return here.compress(np.diff(group[here], prepend=-1) != 0)

    def depths(self) -> dict[int, int]:
        """{I/Os in flight: how often the load was measured so}."""
        found = np.unique(self.in_flight[self.some_load], return_counts=True)
        return dict(zip(*(one.tolist() for one in found), strict=True))


def _numbered(values: Iterable[Any], known: Iterable[Any]) -> Numbers:
    """The place of each among those that are known."""
    places = {one: at for at, one in enumerate(known)}
    return np.array([places[one] for one in values], np.int64)


@dataclass
class Stock:
    """What all may see at one state: products of which there is a result, and shelves by load."""

    state: str
    products: dict[str, Product]
    shelves: dict[tuple[str, int], Shelf] = field(default_factory=dict)


def stock_of(database: Database) -> Stock:
    """Today's: read anew after each change."""
    release(database)
    with database.turn, database.reading() as link:
        state = f"{today()} {audit.state(link)}"
        if database.stock is None or database.stock.state != state:
            asked = sa.select(*(product.c[name] for name in _OF_PRODUCT)).where(product.c.results > 0)
            database.stock = Stock(state, {row[0]: Product(*row) for row in link.execute(asked)})
        stock: Stock = database.stock
    return stock


def shelf_of(database: Database, rw: str, bs_bytes: int) -> Shelf:
    """That of a load, read when it is first asked for."""
    stock, load = stock_of(database), (rw, bs_bytes)
    with database.turn:
        if load not in stock.shelves:
            if len(stock.shelves) >= MOST_SHELVES:
                stock.shelves.pop(next(iter(stock.shelves)))
            known = stock.products
            with database.reading() as link:
                rows = [(known[of], *row) for of, *row in link.execute(_rows(rw, bs_bytes)) if of in known]
            stock.shelves[load] = Shelf(rows)
        return stock.shelves[load]


def fill(database: Database) -> None:
    """Read the loads that most products have: at the start of a service, before somebody waits for one."""
    most = sa.select(best.c.rw, best.c.bs_bytes).where(best.c.rw != ANY_RW).group_by(best.c.rw, best.c.bs_bytes)
    with suppress(IoAtlasError), database.reading() as link:
        for rw, bs_bytes in link.execute(most.order_by(sa.func.count().desc()).limit(MOST_SHELVES)).all():
            shelf_of(database, rw, bs_bytes)
            time.sleep(0.01)  # or who asks would wait for all of them: a lock is not given in turns


def _rows(rw: str, bs_bytes: int) -> sa.Select[Any]:
    """Those of a load, and that of each product and protocol for any load."""
    here = (best.c.rw == rw) & (best.c.bs_bytes == bs_bytes) | (best.c.rw == ANY_RW) & (best.c.bs_bytes == ANY_SIZE)
    order = (best.c.confirmed.desc(), best.c.iops_low.desc().nulls_last(), best.c.iops.desc().nulls_last(), best.c.link)
    asked = sa.select(best.c.product_id, *(best.c[name] for name in _OF_LOAD)).where(here)
    return asked.order_by(best.c.product_id, best.c.protocol, *order)
