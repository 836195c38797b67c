# SPDX-License-Identifier: Apache-2.0
"""The best of each product, by conditions and load: what search, charts and product pages read instead of all cells.

A value is confirmed where its result was reproduced, or another evaluator, with another key and from another client,
came to at least 1 / ALIKE of it. It stands before all others: what one alone tells gains nothing by being high.
It holds what all may see: it is written with every change of that, for the products that the change touches.
"""

from __future__ import annotations

import math
import time
from typing import Any

import sqlalchemy as sa

from ioatlas_atlas.database import Database
from ioatlas_atlas.fairness import State
from ioatlas_atlas.queries import NOBODY, current, public, today
from ioatlas_atlas.tables import BEST_VALUES, best, cell, product, result

ANY_RW, ANY_SIZE = "", 0
"""The row of a product and its conditions for any load: it has no values."""
ALIKE = 1.25
_CONDITIONS = ("product_id", "protocol", "link")
LOAD = ("rw", "direction", "bs_bytes", "in_flight")
_WHO = ("owner_id", "signer", "testbed")


def refresh(link: sa.Connection, *products: str | None) -> None:
    """Of these products, one after another; of all where none is named."""
    number: Any = sa.bindparam("number")
    shown = (result.c.product_id == number, public(), current(NOBODY))
    alone = sa.select(product.c.id).where(product.c.id == number).with_for_update(key_share=True)
    names = [*_CONDITIONS, *LOAD, "result_id", "confirmed", "evaluators", "least", "most", *BEST_VALUES]
    conditions = [result.c[name] for name in _CONDITIONS]
    no_load = (sa.literal(ANY_RW), sa.literal(""), sa.literal(ANY_SIZE), sa.literal(0))
    counted = (sa.func.max(result.c.id), sa.false(), sa.func.count(sa.distinct(result.c.owner_id)))
    some = sa.select(*conditions, *no_load, *counted).where(*shown, result.c.verified).group_by(*conditions)
    made = [sa.insert(best).from_select(names, _best_cells(shown)), sa.insert(best).from_select(names[:10], some)]
    orders = [alone, sa.delete(best).where(best.c.product_id == number), *made]
    for one in sorted({*filter(None, products or link.execute(sa.select(product.c.id)).scalars())}):
        for order in orders:
            link.execute(order, {"number": one})
        _count(link, one, shown)


def _best_cells(shown: Any) -> sa.Select[Any]:
    """The cell whose interval begins highest, confirmed ones first, with the range of what each evaluator reached."""
    alike = (cell.c.usable, cell.c.streams == "", cell.c.loop == "closed", cell.c.iops > 0, cell.c.bs_bytes > 0)
    in_flight = (cell.c.iodepth * cell.c.numjobs).label("in_flight")
    load = (cell.c.rw, cell.c.direction, cell.c.bs_bytes, in_flight)
    fit = (
        sa.select(*(result.c[name] for name in (*_CONDITIONS, *_WHO, "reproduced")), *load)
        .add_columns(cell.c.result_id, cell.c.number)
        .add_columns(*(cell.c[name] for name in BEST_VALUES))
        .join(result, result.c.id == cell.c.result_id)
        .where(*shown, result.c.verified, *alike)
        .cte("fit")
    )
    keys = [fit.c[name] for name in (*_CONDITIONS, *LOAD)]
    who = [fit.c[name] for name in _WHO]
    each = sa.select(*keys, *who, sa.func.max(fit.c.iops).label("top")).group_by(*keys, *who).cte()
    another = [each.c[name] == fit.c[name] for name in (*_CONDITIONS, *LOAD)]
    another += [test for name in _WHO for test in (each.c[name] != fit.c[name], each.c[name] != "")]
    another += [fit.c.signer != "", fit.c.testbed != "", each.c.top * ALIKE >= fit.c.iops]
    confirmed = (fit.c.reproduced > 0) | sa.exists().where(*another)
    told = sa.select(fit, confirmed.label("confirmed")).cte("told")
    first = (
        told.c.confirmed.desc(),
        told.c.iops_low.desc().nulls_last(),
        told.c.iops.desc(),
        told.c.result_id,
        told.c.number,
    )
    place = sa.func.row_number().over(partition_by=[told.c[one.name] for one in keys], order_by=first).label("place")
    ranked = sa.select(told, place).cte("ranked")
    same = [each.c[name] for name in (*_CONDITIONS, *LOAD)]
    count, least, most = sa.func.count(sa.distinct(each.c.owner_id)), sa.func.min(each.c.top), sa.func.max(each.c.top)
    spread = sa.select(*same, count.label("evaluators"), least.label("least"), most.label("most")).group_by(*same).cte()
    joined = sa.and_(*(ranked.c[name] == spread.c[name] for name in (*_CONDITIONS, *LOAD)))
    return (
        sa.select(*(ranked.c[name] for name in (*_CONDITIONS, *LOAD)), ranked.c.result_id, ranked.c.confirmed)
        .add_columns(spread.c.evaluators, spread.c.least, spread.c.most, *(ranked.c[name] for name in BEST_VALUES))
        .join(spread, joined)
        .where(ranked.c.place == 1)
    )


def _count(link: sa.Connection, number: str, shown: Any) -> None:
    """What is told of a product as a whole; its price is that of its newest result that has one."""
    here = {"number": number}
    most = (sa.func.max(result.c.reproduced), sa.func.max(result.c.uploaded_at))
    counted = sa.select(sa.func.count(), sa.func.count(sa.distinct(result.c.owner_id)), *most).where(*shown)
    results, evaluators, reproduced, newest = link.execute(counted, here).one()
    priced = sa.select(result.c.price_per_tib, result.c.currency).where(*shown, result.c.price_per_tib.is_not(None))
    row = link.execute(priced.order_by(result.c.uploaded_at.desc(), result.c.id).limit(1), here).first()
    fits: dict[str, float] = {}
    for some in link.execute(sa.select(result.c.fits).where(*shown, result.c.verified), here).scalars():
        for one in some or ():
            if one["answer"] == "pass":
                fits[one["use"]] = min(one["margin"] or 1.0, fits.get(one["use"], math.inf))
    told = {"results": results, "evaluators": evaluators, "reproduced": reproduced or 0, "newest": newest or 0.0}
    price, currency = row or (None, "")
    told |= {"price_per_tib": price, "currency": currency or "", "fits": fits}
    link.execute(sa.update(product).where(product.c.id == number).values(told))


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
    with database.reading() as link:
        ids = list(link.execute(sa.select(result.c.id).where(over)).scalars())
    if ids:
        with database.writing() as link:
            shown = {"state": str(State.PUBLIC), "reason": "anybody may read it", "published_at": time.time()}
            link.execute(sa.update(result).where(over).values(**shown))
            for number in ids:
                refresh_of(link, number)
    database.released, database.stock = day, None
