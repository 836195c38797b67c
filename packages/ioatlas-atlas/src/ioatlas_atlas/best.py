# SPDX-License-Identifier: Apache-2.0
"""The best of each product, by conditions and load: what search, charts and product pages read instead of all cells.

A value is confirmed where its result was reproduced, or another evaluator, with another key and from another client,
came to at least 1 / ALIKE of it. It stands before all others: what one alone tells gains nothing by being high.
It holds what all may see: it is written with every change of that, for the products that the change touches.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

import sqlalchemy as sa

from ioatlas.model.units import words
from ioatlas_atlas import audit
from ioatlas_atlas.database import Database
from ioatlas_atlas.fairness import State
from ioatlas_atlas.queries import NOBODY, current, public, today
from ioatlas_atlas.tables import BEST_VALUES, best, cell, product, result

ANY_RW, ANY_SIZE = "", 0
"""The row of a product and its conditions for any load: it has no values."""
ALIKE = 1.25
LOAD = ("rw", "direction", "bs_bytes", "in_flight")
_OF_RESULT = words("""
    id owner_id signer testbed protocol link verified reproduced uploaded_at price_per_tib currency fits
""")
_KEYS, _OF_CELL = ("protocol", "link", *LOAD), ("result_id", *BEST_VALUES)
_NAMES = (*_KEYS, *_OF_CELL, "confirmed", "evaluators", "least", "most")
_IN_FLIGHT = (cell.c.iodepth * cell.c.numjobs).label("in_flight")


def refresh(link: sa.Connection, *products: str | None) -> None:
    """Of these products, one after another; of all where none is named."""
    fit = (cell.c.usable, cell.c.streams == "", cell.c.loop == "closed", cell.c.iops > 0, cell.c.bs_bytes > 0)
    load = (cell.c.rw, cell.c.direction, cell.c.bs_bytes, _IN_FLIGHT)
    measured = sa.select(cell.c.result_id, cell.c.number, *load, *(cell.c[name] for name in BEST_VALUES)).where(*fit)
    for one in sorted({*filter(None, products or link.execute(sa.select(product.c.id)).scalars())}):
        shown = (result.c.product_id == one, public(), current(NOBODY))
        link.execute(sa.select(product.c.id).where(product.c.id == one).with_for_update(key_share=True))
        link.execute(sa.delete(best).where(best.c.product_id == one))
        results = link.execute(sa.select(*(result.c[name] for name in _OF_RESULT)).where(*shown)).all()
        of = {each.id: each for each in results if each.verified}
        cells = link.execute(measured.join(result, result.c.id == cell.c.result_id).where(*shown, result.c.verified))
        if rows := [*_any_load(of.values()), *_each_load(cells, of)]:
            link.execute(sa.insert(best), [{"product_id": one, **row} for row in rows])
        link.execute(
            sa.update(product).where(product.c.id == one).values(changed=product.c.changed + 1, **_told(results))
        )


def _any_load(results: Collection[Any]) -> Iterator[dict[str, Any]]:
    for way in {(one.protocol, one.link) for one in results}:
        owners = {one.id: one.owner_id for one in results if (one.protocol, one.link) == way}
        row = dict.fromkeys(_NAMES) | dict(zip(_KEYS, (*way, ANY_RW, "", ANY_SIZE, 0), strict=True))
        yield row | {"result_id": max(owners), "confirmed": False, "evaluators": len({*owners.values()})}


def _each_load(cells: Iterable[Any], of: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The cell whose interval begins highest, confirmed ones first, with the range of what each evaluator reached."""
    loads = defaultdict(list)
    for one in cells:
        told = of[one.result_id]
        loads[told.protocol, told.link, one.rw, one.direction, one.bs_bytes, one.in_flight].append(one)
    for load, some in loads.items():
        tops = {_who(of[one.result_id]): one.iops for one in sorted(some, key=attrgetter("iops"))}
        some.sort(key=lambda one: (one.iops_low is None, -(one.iops_low or 0), -one.iops, one.result_id, one.number))
        sure = next((one for one in some if _confirmed(of[one.result_id], one.iops, tops)), None)
        row = dict(zip(_KEYS, load, strict=True)) | {name: getattr(sure or some[0], name) for name in _OF_CELL}
        told = {"confirmed": sure is not None, "evaluators": len({owner for owner, *_ in tops})}
        yield row | told | {"least": min(tops.values()), "most": max(tops.values())}


def _who(told: Any) -> tuple[str, ...]:
    return told.owner_id, told.signer, told.testbed


def _confirmed(told: Any, iops: float, tops: Mapping[tuple[str, ...], float]) -> bool:
    """tops: what each evaluator reached, by account, key and client."""
    who = _who(told)
    return told.reproduced > 0 or any(
        top * ALIKE >= iops and all(mine and its and mine != its for mine, its in zip(who, other, strict=True))
        for other, top in tops.items()
    )


def _told(results: Sequence[Any]) -> dict[str, Any]:
    """What is told of a product as a whole; its price is that of its newest result that has one."""
    priced = [one for one in results if one.price_per_tib is not None]
    newest = max(priced, key=lambda one: one.uploaded_at, default=None)
    fits: dict[str, float] = {}
    for one in (fit for told in results if told.verified for fit in told.fits or ()):
        if one["answer"] == "pass":
            fits[one["use"]] = min(one["margin"] or 1.0, fits.get(one["use"], math.inf))
    return {
        "results": len(results),
        "evaluators": len({one.owner_id for one in results}),
        "reproduced": max((one.reproduced for one in results), default=0),
        "newest": max((one.uploaded_at for one in results), default=0.0),
        "price_per_tib": newest and newest.price_per_tib,
        "currency": newest.currency if newest else "",
        "fits": fits,
    }


def refresh_of(link: sa.Connection, number: str) -> None:
    """After a change of a result: its product, and that of the result which it corrects."""
    refresh(link, "", *touched(link, number))


def touched(link: sa.Connection, number: str) -> list[str | None]:
    """Products that a result speaks for."""
    older = sa.select(result.c.replaces).where(result.c.id == number).scalar_subquery()
    both = (result.c.id == number) | (result.c.id == older)
    return list(link.execute(sa.select(result.c.product_id).where(both)).scalars())


def release(database: Database) -> None:
    """What an embargo held until today is shown: asked before what all may see is read, once a day."""
    day = today()
    if database.released == day:
        return
    over = (result.c.state == State.EMBARGOED) & (result.c.embargo <= day)
    if ids := database.values(sa.select(result.c.id).where(over)):
        with database.writing() as link:
            shown = {"state": str(State.PUBLIC), "reason": "anybody may read it", "published_at": time.time()}
            link.execute(sa.update(result).where(over).values(**shown))
            for number in ids:
                refresh_of(link, number)
                audit.note(link, "", "embargo ended", number)
    database.released = day
