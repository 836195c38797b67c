# SPDX-License-Identifier: Apache-2.0
"""What searches for products and charts look at, kept in memory. When the audit log or the day changes, what is of the
products that changed is read anew, by the mark that each has.

A shelf holds the rows of `best` for one load as columns: thousands of products are tested and counted at once.
"""

from __future__ import annotations

import gc
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
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

MOST_SHELVES, MOST_NAMED = 24, 500
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


_OF_ROW = ("product_id", *list(Listed.__dataclass_fields__)[1:])
"""Columns of `best`, as shelves hold them."""


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


class Stock:
    """What all may see at one state: products of which there is a result, in the order of their ids; the ways to each,
    which are of a product and a protocol; and shelves by load.

    marks: how often the rows of each product were made anew. ways: {way: its number}, which it keeps. rows: those of
    any load. of: place of each way's product in `products`, -1 for one that is gone. most_room: {use: places of the
    products that fit it, the one with the most room first}.
    """

    def __init__(
        self, marks: Mapping[str, int], known: Mapping[str, Product], rows: Numbers, old: Stock | None
    ) -> None:
        """old: whose facets still hold where only figures changed."""
        self.state, self.marks, self.known, self.rows = "", marks, known, rows
        self.ways: dict[tuple[str, str], int] = old.ways if old else {}
        place = {name: at for at, name in enumerate(sorted(known))}
        self.products = [known[name] for name in place]
        self.names = [of.name.lower() for of in self.products]
        self.told = {of.id: (of.kind, of.media, of.year, *of.fits) for of in self.products}
        if old and old.told == self.told and len(old.of) == len(self.ways):
            self.of: Numbers = old.of
            self.facets: dict[str, Facet] = old.facets
        else:
            self.of = np.array([place.get(of, -1) for of, _ in self.ways], np.int64)
            told = [(known.get(of), protocol) for of, protocol in self.ways]
            self.facets = {name: Facet([_told(name, *way) for way in told], self.of) for name in FACETS}
        self.price = np.array([of.price_per_tib or np.nan for of in self.products], float)
        self.newest = np.array([of.newest for of in self.products], float)
        self.currency = np.array([of.currency for of in self.products], str)
        fits = [
            (use, of.reproduced > 0, room, at) for at, of in enumerate(self.products) for use, room in of.fits.items()
        ]
        self.most_room: dict[str, list[int]] = defaultdict(list)
        for use, _, _, at in sorted(fits, reverse=True):
            self.most_room[use].append(at)
        self.shelves: dict[tuple[str, int], Shelf] = old.shelves if old else {}


def _told(facet: str, of: Product | None, protocol: str) -> tuple[str, ...]:
    """Values of a facet; '' where nothing is told."""
    if of is None:
        return ()
    if facet == "fits":
        return tuple(of.fits) or ("",)
    return (protocol if facet == "protocol" else str(getattr(of, facet) or ""),)


class Shelf:
    """Rows of a load, those of a way in the order in which one of them is shown for all, and after them those for any.

    Numbers that are not there are NaN. of, way: places in `products` and `ways` of the stock that it was filled from.
    some_load: whether the row is of the load, and not the one of the product for any load. charts: by depth.
    """

    def __init__(self, stock: Stock, rows: Numbers) -> None:
        self.stock, self.rows = stock, rows
        every = np.concatenate([rows, stock.rows])
        way = every[:, 0].astype(np.int64)
        here = np.isin(way, np.flatnonzero(stock.of >= 0))
        self._entries, self.way = every[here], way[here]
        self.confirmed, self.in_flight = self._entries[:, 3].astype(bool), self._entries[:, 4].astype(np.int64)
        self.iops, self.low, _, self.late, self.latest = self._entries[:, 5:].astype(float).T
        self.some_load, self.of = self.in_flight > 0, stock.of[self.way]
        self.products, self.facets, self.most_room = stock.products, stock.facets, stock.most_room
        self.price, self.newest, self.currency = (one[self.of] for one in (stock.price, stock.newest, stock.currency))
        self.charts: dict[int, Chart | None] = {}

    def entry(self, row: int) -> Listed:
        """It as it is shown."""
        return Listed(self.products[self.of[row]], *self._entries[row][1:])

    def top(self, rows: Mask, group: Numbers, *worst_last: Numbers) -> Numbers:
        """Of each group the number of one of these rows: the first by these values, of which less is better."""
        here = np.flatnonzero(rows)
        here = here[np.lexsort((*(one[here] for one in reversed(worst_last)), group[here]))]
        return here.compress(np.diff(group[here], prepend=-1) != 0)

    def depths(self) -> dict[int, int]:
        """{I/Os in flight: how often the load was measured so}."""
        found = np.unique(self.in_flight[self.some_load], return_counts=True)
        return dict(zip(*(one.tolist() for one in found), strict=True))


def stock_of(database: Database) -> Stock:
    """Today's: after a change, what is of the changed products is read anew."""
    release(database)
    with database.turn, database.reading() as link:
        state, old = f"{today()} {audit.state(link)}", database.stock or Stock({}, {}, _NO_ROWS, None)
        if old.state != state:
            there = product.c.results > 0
            marks = dict(link.execute(sa.select(product.c.id, product.c.changed).where(there)).all())
            if changed := _changed(old, marks):
                named = _among(product.c.id, changed)
                asked = sa.select(*(product.c[name] for name in _OF_PRODUCT)).where(there, named)
                known = {of: one for of, one in old.known.items() if of not in changed}
                known |= {row[0]: Product(*row) for row in link.execute(asked)}
                old = Stock(marks, known, _renewed(link, old.ways, old.rows, changed, (ANY_RW, ANY_SIZE)), old)
            old.state = state
            database.stock = old
    return old


def shelf_of(database: Database, rw: str, bs_bytes: int) -> Shelf:
    """That of a load, read when it is first asked for."""
    stock, load = stock_of(database), (rw, bs_bytes)
    with database.turn:
        old = stock.shelves.get(load)
        if old is None and len(stock.shelves) >= MOST_SHELVES:
            stock.shelves.pop(next(iter(stock.shelves)))
        if old is None or old.stock is not stock:
            changed, kept = _changed(old.stock if old else None, stock.marks), old.rows if old else _NO_ROWS
            with database.reading() as link:
                stock.shelves[load] = Shelf(stock, _renewed(link, stock.ways, kept, changed, load))
        return stock.shelves[load]


def fill(database: Database) -> None:
    """Read the loads that most products have: at the start of a service, before somebody waits for one."""
    most = sa.select(best.c.rw, best.c.bs_bytes).where(best.c.rw != ANY_RW).group_by(best.c.rw, best.c.bs_bytes)
    with suppress(IoAtlasError), database.reading() as link:
        for rw, bs_bytes in link.execute(most.order_by(sa.func.count().desc()).limit(MOST_SHELVES)).all():
            shelf_of(database, rw, bs_bytes)
            time.sleep(0.01)  # or who asks would wait for all of them: a lock is not given in turns
    gc.freeze()  # what is there now stays: to look for garbage in it would hold up a search each few changes


_NO_ROWS = np.empty((0, len(_OF_ROW)), object)


def _changed(old: Stock | None, marks: Mapping[str, int]) -> set[str]:
    """Products that are gone, or whose rows were made anew since."""
    return {of for of, _ in (old.marks if old else {}).items() ^ marks.items()}


def _among(column: sa.ColumnElement[str], changed: Collection[str]) -> sa.ColumnElement[bool]:
    """Where so many changed that to name each takes longer, all are read."""
    return column.in_(changed) if len(changed) <= MOST_NAMED else sa.true()


def _renewed(
    link: sa.Connection,
    ways: dict[tuple[str, str], int],
    kept: Numbers,
    changed: Collection[str],
    load: tuple[str, int],
) -> Numbers:
    """Rows of a load: those that are kept of it, but for what is of changed products. Of a row its way is the first."""
    order = (best.c.confirmed.desc(), best.c.iops_low.desc().nulls_last(), best.c.iops.desc().nulls_last(), best.c.link)
    asked = sa.select(*(best.c[name] for name in _OF_ROW)).where(best.c.rw == load[0], best.c.bs_bytes == load[1])
    asked = asked.where(_among(best.c.product_id, changed)).order_by(best.c.product_id, best.c.protocol, *order)
    old = np.array([of in changed or len(changed) > MOST_NAMED for of, _ in ways], bool)
    read = [(ways.setdefault((of, told[0]), len(ways)), *told) for of, *told in link.execute(asked)]
    found = np.array(read, object).reshape(-1, len(_OF_ROW))
    return np.concatenate([kept[~old[kept[:, 0].astype(np.int64)]], found])
