# SPDX-License-Identifier: Apache-2.0
"""Products: found by what they are, cost and do for a load; counted by facet; drawn as price against speed.

All of it is read from `best` and `product`, which hold what all may see.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

import sqlalchemy as sa

from ioatlas_atlas.best import ANY_RW, ANY_SIZE, release
from ioatlas_atlas.database import Database
from ioatlas_atlas.pareto import Offered
from ioatlas_atlas.queries import like
from ioatlas_atlas.records import Product
from ioatlas_atlas.tables import best, product

A_PAGE, MOST_PAGES = 20, 1000
FACETS = ("kind", "protocol", "media", "year", "fits")


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
    release(database)
    with database.reading() as link:
        rows = [_listed(row) for row in link.execute(_asked(sought))]
    tests = _tests(sought)
    counted: dict[str, dict[str, set[str]]] = {name: {} for name in FACETS}
    fits: dict[str, Listed] = {}
    missed: dict[str, dict[str, Listed]] = {"interval": {}, "price": {}}
    for one in rows:
        lacks = [name for name, test in tests.items() if not test(one)]
        if not lacks:
            known = fits.get(one.product.id)
            if known is None or (one.confirmed, one.iops_low or 0) > (known.confirmed, known.iops_low or 0):
                fits[one.product.id] = one
        if len(lacks) > 1:
            continue
        for name in lacks or FACETS:
            if name in missed:
                missed[name][one.product.id] = one
            else:
                for value in one.facet(name):
                    counted[name].setdefault(value, set()).add(one.product.id)
    ordered = sorted(fits.values(), key=lambda one: (*_place(sought.sort, one), one.product.id))
    first = (min(sought.page, MOST_PAGES) - 1) * A_PAGE
    prices = [one.product.price_per_tib for key, one in missed["price"].items() if key not in fits]
    most_room: dict[str, tuple[bool, float, str, Product]] = {}
    for entry in fits.values():
        of = entry.product
        for use, room in of.fits.items():
            most_room[use] = max(most_room.get(use, (False, 0.0, "", of)), (of.reproduced > 0, room, of.id, of))
    dearer = [price for price in prices if price is not None]
    return Found(
        tuple(ordered[first : first + A_PAGE]),
        len(fits),
        {
            name: {value: len(ids) for value, ids in sorted(values.items(), key=lambda pair: (-len(pair[1]), pair[0]))}
            for name, values in counted.items()
        },
        len(missed["interval"].keys() - fits.keys()),
        len(dearer),
        min(dearer, default=None),
        {use: of for use, (*_, of) in sorted(most_room.items())},
    )


_ORDERS: Mapping[Sort, Callable[[Listed], float]] = {
    Sort.SPEED: lambda one: -(one.iops_low or 0),
    Sort.VALUE: lambda one: -(one.per_price or 0),
    Sort.P99: lambda one: one.lat_p99_high_ns or float("inf"),
    Sort.PRICE: lambda one: one.product.price_per_tib or float("inf"),
    Sort.NEWEST: lambda one: -one.product.newest,
}


def _place(sort: Sort, one: Listed) -> tuple[bool, float]:
    by_load = sort in (Sort.SPEED, Sort.VALUE, Sort.P99)
    waits = by_load and not one.confirmed
    return waits, _ORDERS[Sort.NEWEST if waits else sort](one)


def _tests(sought: Sought) -> dict[str, Callable[[Listed], bool]]:
    """By what they look at. What may fit was chosen by the database."""
    made: dict[str, Callable[[Listed], bool]] = {}
    for name in FACETS:
        if wanted := getattr(sought, name):
            made[name] = partial(_is, name, wanted.lower())
    most = sought.max_price_per_tib
    if most is not None:
        made["price"] = lambda one: (one.product.price_per_tib or float("inf")) <= most
    if sought.min_iops is not None or sought.max_p99_ns is not None:
        low, high = sought.min_iops is None, sought.max_p99_ns is None
        made["interval"] = lambda one: (low or one.iops_low is not None) and (high or one.lat_p99_high_ns is not None)
    return made


def _is(name: str, wanted: str, one: Listed) -> bool:
    return wanted in map(str.lower, one.facet(name))


_OF_PRODUCT = tuple(Product.__dataclass_fields__)
_OF_LOAD = ("result_id", "confirmed", "in_flight", "iops", "iops_low", "iops_high", "lat_p99_ns", "lat_p99_high_ns")


def _asked(sought: Sought) -> sa.Select[Any]:
    """Of each product and protocol the best that may do what is asked for, whatever its kind and price are."""
    here = [best.c.rw == sought.rw, best.c.bs_bytes == sought.bs_bytes]
    if sought.in_flight is not None:
        here.append(best.c.in_flight == sought.in_flight)
    if sought.min_iops is not None:
        here += [best.c.iops >= sought.min_iops, sa.func.coalesce(best.c.iops_low, best.c.iops) >= sought.min_iops]
    if sought.max_p99_ns is not None:
        here.append(sa.func.coalesce(best.c.lat_p99_high_ns, best.c.lat_p99_ns) <= sought.max_p99_ns)
    asked_for = sa.and_(*here)
    if not sought.asks:
        asked_for |= (best.c.rw == ANY_RW) & (best.c.bs_bytes == ANY_SIZE)
    order = (best.c.confirmed.desc(), best.c.iops_low.desc().nulls_last(), best.c.iops.desc().nulls_last(), best.c.link)
    place = sa.func.row_number().over(partition_by=(best.c.product_id, best.c.protocol), order_by=order).label("place")
    values = [best.c[name] for name in ("protocol", *_OF_LOAD)]
    able = sa.select(best.c.product_id, *values, place).where(asked_for).subquery()
    asked = sa.select(*(product.c[name] for name in _OF_PRODUCT), *(able.c[one.name] for one in values))
    asked = asked.join(able, able.c.product_id == product.c.id).where(able.c.place == 1, product.c.results > 0)
    asked = asked.where(*(like(product.c.words, word) for word in sought.words.split()[:10]))
    return asked if sought.max_price_per_tib is None else asked.where(product.c.currency == sought.currency)


def _listed(row: sa.Row[Any]) -> Listed:
    last = len(_OF_PRODUCT)
    return Listed(Product(*row[:last]), *row[last:])


# -- charts --------------------------------------------------------------------------------------------------


def depths(database: Database, rw: str, bs_bytes: int) -> dict[int, int]:
    """{I/Os in flight: how often the load was measured so}."""
    asked = sa.select(best.c.in_flight, sa.func.count()).where(best.c.rw == rw, best.c.bs_bytes == bs_bytes)
    with database.reading() as link:
        rows = link.execute(asked.group_by(best.c.in_flight).order_by(best.c.in_flight))
        return {depth: count for depth, count in rows}  # noqa: C416 - rows are no pairs for mypy


def offers(database: Database, rw: str, bs_bytes: int, in_flight: int) -> tuple[str, list[Offered]]:
    """(currency, every product that has a price in it and an interval at this one load and depth)."""
    release(database)
    place = sa.func.row_number().over(
        partition_by=best.c.product_id, order_by=(best.c.confirmed.desc(), best.c.iops.desc())
    )
    values = (best.c.confirmed, best.c.iops, best.c.iops_low, best.c.iops_high)
    load = (best.c.rw == rw, best.c.bs_bytes == bs_bytes, best.c.in_flight == in_flight, best.c.iops_low.is_not(None))
    top = sa.select(best.c.product_id, *values, place.label("place")).where(*load).subquery()
    named = (product.c.id, product.c.vendor, product.c.model, product.c.currency, product.c.price_per_tib)
    asked = sa.select(*named, top.c.iops, top.c.iops_low, top.c.iops_high, top.c.confirmed)
    asked = asked.join(top, top.c.product_id == product.c.id).where(top.c.place == 1, product.c.price_per_tib > 0)
    with database.reading() as link:
        rows = link.execute(asked).all()
    currency = next((text for text, _ in Counter(row.currency for row in rows).most_common(1)), "")
    return currency, [
        Offered(f"{row.vendor} {row.model}".strip(), f"/products/{row.id}", *row[len(named) - 1 :])
        for row in rows
        if row.currency == currency
    ]


# -- one product ---------------------------------------------------------------------------------------------


def product_of(database: Database, number: str) -> Product | None:
    """A product of which all may see a result."""
    release(database)
    known = [product.c[name] for name in _OF_PRODUCT]
    with database.reading() as link:
        row = link.execute(sa.select(*known).where(product.c.id == number, product.c.results > 0)).first()
    return Product(*row) if row else None


def loads_of(database: Database, number: str) -> list[Mapping[str, Any]]:
    """Rows of `best`: what it does, by conditions and load."""
    order = (best.c.protocol, best.c.link, best.c.rw, best.c.direction, best.c.bs_bytes, best.c.in_flight)
    asked = sa.select(best).where(best.c.product_id == number, best.c.rw != ANY_RW).order_by(*order)
    with database.reading() as link:
        return [dict(row) for row in link.execute(asked).mappings()]
