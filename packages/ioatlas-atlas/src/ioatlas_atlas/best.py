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
    """Of these products; of all where none is named."""
    ids = [one for one in products if one]
    if products and not ids:
        return
    here: list[sa.ColumnElement[bool]] = [result.c.product_id.in_(ids)] if ids else [result.c.product_id.is_not(None)]
    shown = (*here, public(), current(NOBODY))
    link.execute(sa.delete(best).where(*([best.c.product_id.in_(ids)] if ids else [])))
    names = [*_CONDITIONS, *LOAD, "result_id", "confirmed", "evaluators", "least", "most", *BEST_VALUES]
    link.execute(sa.insert(best).from_select(names, _best_cells(shown)))
    conditions = [result.c[name] for name in _CONDITIONS]
    no_load = (sa.literal(ANY_RW), sa.literal(""), sa.literal(ANY_SIZE), sa.literal(0))
    counted = (sa.func.max(result.c.id), sa.false(), sa.func.count(sa.distinct(result.c.owner_id)))
    some = sa.select(*conditions, *no_load, *counted).where(*shown, result.c.verified).group_by(*conditions)
    link.execute(sa.insert(best).from_select(names[:10], some))
    _count(link, ids)


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


def _count(link: sa.Connection, ids: list[str]) -> None:
    """What is told of a product as a whole; its price is that of its newest result that has one."""
    here = (result.c.product_id == product.c.id, public(), current(NOBODY))

    def of(value: Any) -> Any:
        return sa.select(value).where(*here).correlate(product).scalar_subquery()

    priced = sa.select(result.c.id).where(*here, result.c.price_per_tib.is_not(None)).correlate(product)
    newest = priced.order_by(result.c.uploaded_at.desc(), result.c.id).limit(1).scalar_subquery()
    price, currency = (
        sa.select(one).where(result.c.id == newest).scalar_subquery()
        for one in (result.c.price_per_tib, result.c.currency)
    )
    link.execute(
        sa.update(product)
        .where(*([product.c.id.in_(ids)] if ids else []))
        .values(
            results=of(sa.func.count()),
            evaluators=of(sa.func.count(sa.distinct(result.c.owner_id))),
            reproduced=of(sa.func.coalesce(sa.func.max(result.c.reproduced), 0)),
            newest=of(sa.func.coalesce(sa.func.max(result.c.uploaded_at), 0.0)),
            price_per_tib=price,
            currency=sa.func.coalesce(currency, ""),
            fits={},
        )
    )
    fits: dict[str, dict[str, float]] = {}
    shown = (result.c.product_id.in_(ids) if ids else result.c.product_id.is_not(None), *here[1:], result.c.verified)
    for number, told in link.execute(sa.select(result.c.product_id, result.c.fits).where(*shown)):
        kept = fits.setdefault(number, {})
        for one in told or ():
            if one["answer"] == "pass":
                kept[one["use"]] = min(one["margin"] or 1.0, kept.get(one["use"], math.inf))
    for number, kept in fits.items():
        link.execute(sa.update(product).where(product.c.id == number).values(fits=kept))


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
    database.released = day
