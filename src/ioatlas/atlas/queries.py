# SPDX-License-Identifier: Apache-2.0
"""What pages and the API ask. Every value is bound; every answer holds only what the viewer may see."""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from ioatlas.atlas.best import ANY_SIZE, BITS
from ioatlas.atlas.database import Database
from ioatlas.atlas.fairness import State
from ioatlas.atlas.records import (
    LIKENESS,
    NOT_CHECKED,
    OPERATOR,
    Cell,
    Hit,
    Page,
    Product,
    Reply,
    Reproduction,
    Result,
    Trace,
    Viewer,
    Wanted,
)
from ioatlas.atlas.tables import account, best, cell, product, reply, reproduction, result, trace
from ioatlas.errors import UsageError

MOST_ENTRIES, MOST_SIDES = 100, 12
LOOKED_INTO = (100, 400, 1500)
"""Results by one search, until its page is full: a bound on what anybody can make the database do."""
NOBODY = Viewer()
_ESCAPE = "\\"
_TOO_LARGE = 1 << 62


class Order(StrEnum):
    """How hits are ordered."""

    NEWEST = "newest"
    PRICE = "price"


_CELL = tuple(column.name for column in cell.columns)
_HIDDEN = ("words", "wants_private", "licence_says", "testbed", "replaces")
_RESULT = tuple(column for column in result.columns if column.name not in _HIDDEN)


def today() -> str:
    """In UTC, ISO."""
    return datetime.now(UTC).date().isoformat()


def public(of: Any = result) -> sa.ColumnElement[bool]:
    """Which results anybody may see: public ones, and those whose embargo ended. of: the table, or an alias of it."""
    return sa.or_(of.c.state == State.PUBLIC, (of.c.state == State.EMBARGOED) & (of.c.embargo <= today()))


def seen_by(viewer: Viewer, of: Any = result) -> sa.ColumnElement[bool]:
    """Which results a viewer may see: what anybody may, and one's own."""
    if viewer.moderates:
        return sa.true()
    shown = public(of)
    if not viewer.account_id:
        return shown
    return sa.or_(shown, of.c.owner_id == viewer.account_id)


def told_to(viewer: Viewer, of: Any = result) -> sa.ColumnElement[bool]:
    """Of which results a viewer may know that they are there: what it may see, and what was public before."""
    return sa.or_(seen_by(viewer, of), (of.c.state == State.WITHDRAWN) & of.c.published_at.is_not(None))


def _results(viewer: Viewer) -> sa.Select[Any]:
    """Columns of results. The one that a result corrects is named to who may know of it."""
    older = result.alias("older")
    replaces = sa.select(older.c.id).where(older.c.id == result.c.replaces, told_to(viewer, older)).scalar_subquery()
    columns = (account.c.name.label("owner"), product.c.vendor, product.c.model, product.c.vendor_slug)
    return (
        sa.select(*_RESULT, replaces.label("replaces"), *columns)
        .join(account, account.c.id == result.c.owner_id)
        .outerjoin(product, product.c.id == result.c.product_id)
    )


def current(viewer: Viewer) -> sa.ColumnElement[bool]:
    """Which results are neither withdrawn nor corrected by one that the viewer may see."""
    newer = result.alias("newer")
    corrected = sa.select(sa.literal(1)).where(
        newer.c.replaces == result.c.id, newer.c.state != State.WITHDRAWN, seen_by(viewer, newer)
    )
    return (result.c.state != State.WITHDRAWN) & ~corrected.exists()


# -- search --------------------------------------------------------------------------------------------------


def search(
    database: Database,
    wanted: Wanted,
    viewer: Viewer = NOBODY,
    *,
    order: Order = Order.NEWEST,
    cursor: str = "",
    limit: int = 20,
) -> Page[Hit]:
    """Results that fit, each with the cell that fits; fewer than `limit` do not tell that there are no more behind
    `next`. Raises UsageError for a cursor that is none.
    """
    limit = max(1, min(limit, MOST_ENTRIES))
    with database.reading() as link:
        if not wanted.asks_for_performance:
            asked = _behind(_results(viewer).where(*_of_result(wanted, viewer)), order, cursor).limit(limit + 1)
            rows = link.execute(asked).mappings().all()
            following = _cursor(order, rows[limit - 1]) if len(rows) > limit else ""
            return Page(tuple(Hit(_result(row)) for row in rows[:limit]), following)
        found, following = _able(link, wanted, viewer, order, cursor, limit)
        rows = link.execute(_results(viewer).where(result.c.id.in_(found))).mappings().all()
        cells = _best_cells(link, found, wanted)
    shown = {row["id"]: Hit(_result(row), cells.get(row["id"])) for row in rows}
    return Page(tuple(shown[number] for number in found if number in shown), following)


def _able(
    link: sa.Connection, wanted: Wanted, viewer: Viewer, order: Order, cursor: str, limit: int
) -> tuple[list[str], str]:
    """(ids of results that can do what is wanted, cursor of those behind).

    The best of each is read in order. One bound is decided by that alone. Where there are more, one cell has to keep
    them all: so many results that may have one are looked into, and the cursor tells where to go on.
    """
    fits = _of_cell(wanted)
    here = (cell.c.result_id == result.c.id) & cell.c.usable & _of_load(wanted)
    one = sa.select(sa.literal(1)).select_from(cell).where(here, *fits).exists() if len(fits) > 1 else sa.true()
    asked = (
        sa.select(result.c.id, result.c.uploaded_at, result.c.price_per_tib, one.label("fits"))
        .join(best, best.c.result_id == result.c.id)
        .outerjoin(product, product.c.id == result.c.product_id)
        .where(result.c.verified, *_of_result(wanted, viewer), *_of_best(wanted))
    )
    found: list[sa.RowMapping] = []
    for most in LOOKED_INTO if len(fits) > 1 else (limit,):
        rows = link.execute(_behind(asked, order, cursor, of=best).limit(most + 1)).mappings().all()
        found += [row for row in rows[:most] if row["fits"]]
        cursor = _cursor(order, rows[most - 1]) if len(rows) > most else ""
        if len(found) > limit or not cursor:
            break
    if len(found) > limit:
        found, cursor = found[:limit], _cursor(order, found[limit - 1])
    return [row["id"] for row in found], cursor


def _of_best(wanted: Wanted) -> list[sa.ColumnElement[bool]]:
    """What the best of a result with a cell that fits has to keep."""
    found = [best.c.rw == wanted.rw, best.c.bs_bytes == (wanted.bs_bytes or ANY_SIZE)]
    if wanted.direction:
        found.append(best.c.directions.bitwise_and(BITS[wanted.direction]) != 0)
    least = {best.c.iops: wanted.min_iops, best.c.bw_bytes_per_s: wanted.min_bw_bytes_per_s}
    most = {best.c.p99_ns: wanted.max_p99_ns, best.c.mean_ns: wanted.max_mean_ns}
    found += [column >= value for column, value in least.items() if value is not None]
    return found + [column <= value for column, value in most.items() if value is not None]


def _of_result(wanted: Wanted, viewer: Viewer) -> list[sa.ColumnElement[bool]]:
    found = [seen_by(viewer), current(viewer), *(_like(result.c.words, word) for word in wanted.words.split()[:10])]
    exact = {
        result.c.product_id: wanted.product_id,
        product.c.vendor_slug: wanted.vendor_slug,
        result.c.owner_id: wanted.owner_id,
        result.c.currency: wanted.currency,
    }
    found += [column == value for column, value in exact.items() if value]
    if wanted.protocol:
        found.append(sa.func.lower(result.c.protocol) == wanted.protocol.lower())
    parts = {result.c.drive: wanted.drive, result.c.link: wanted.link}
    found += [_like(sa.func.lower(column), value) for column, value in parts.items() if value]
    if wanted.max_price_per_tib is not None:
        found.append(result.c.price_per_tib <= wanted.max_price_per_tib)
    return found


def _of_load(wanted: Wanted) -> sa.ColumnElement[bool]:
    """Of which cells it is asked."""
    exact = {cell.c.rw: wanted.rw, cell.c.bs_bytes: wanted.bs_bytes}
    return sa.and_(sa.true(), *(column == value for column, value in exact.items() if value))


def _of_cell(wanted: Wanted) -> list[sa.ColumnElement[bool]]:
    """What one cell has to keep: the side of an interval that speaks against the product decides."""
    found = [cell.c.direction == wanted.direction] if wanted.direction else []
    least = {cell.c.iops_low: wanted.min_iops, cell.c.bw_low: wanted.min_bw_bytes_per_s}
    found += [column >= value for column, value in least.items() if value is not None]
    most = {cell.c.lat_p99_high_ns: wanted.max_p99_ns, cell.c.lat_mean_high_ns: wanted.max_mean_ns}
    return found + [column <= value for column, value in most.items() if value is not None]


def _like(column: sa.ColumnElement[str], word: str) -> sa.ColumnElement[bool]:
    plain = word.lower()
    for mark in (_ESCAPE, "%", "_"):
        plain = plain.replace(mark, _ESCAPE + mark)
    return column.like(f"%{plain}%", escape=_ESCAPE)


def _best_cells(link: sa.Connection, ids: Sequence[str], wanted: Wanted) -> dict[str, Cell]:
    """Of each result the fitting cell with the most of what was asked for."""
    if wanted.min_iops is None and wanted.min_bw_bytes_per_s is not None:
        first = cell.c.bw_low.desc()
    elif wanted.min_iops is None and wanted.max_p99_ns is not None:
        first = cell.c.lat_p99_high_ns.asc()
    else:
        first = cell.c.iops_low.desc()
    place = sa.func.row_number().over(partition_by=cell.c.result_id, order_by=(first.nulls_last(), cell.c.number))
    fits = (cell.c.result_id.in_(ids), cell.c.usable, _of_load(wanted), *_of_cell(wanted))
    ranked = sa.select(cell, place.label("place")).where(*fits).subquery()
    rows = link.execute(sa.select(ranked).where(ranked.c.place == 1)).mappings()
    return {row["result_id"]: _cell(row) for row in rows}


# -- order and cursors ---------------------------------------------------------------------------------------


def _behind(asked: sa.Select[Any], order: Order, cursor: str, of: Any = result) -> sa.Select[Any]:
    """In order, those behind a cursor. of: the table in whose order."""
    number = of.c.id if of is result else of.c.result_id
    first = of.c.price_per_tib if order is Order.PRICE else of.c.uploaded_at
    key, after = sa.tuple_(first, number), sa.tuple_(*_read_cursor(order, cursor)) if cursor else None
    if order is Order.PRICE:
        asked = asked.where(first.is_not(None), *([key > after] if after is not None else []))
        return asked.order_by(first, number)
    return asked.where(*([key < after] if after is not None else [])).order_by(first.desc(), number.desc())


def _cursor(order: Order, row: sa.RowMapping) -> str:
    value = row["price_per_tib"] if order is Order.PRICE else row["uploaded_at"]
    return encode_cursor([str(order), value, row["id"]])


def encode_cursor(values: Sequence[object]) -> str:
    """An opaque text for an address."""
    return base64.urlsafe_b64encode(json.dumps(list(values)).encode()).decode().rstrip("=")


def decode_cursor(text: str, kinds: Sequence[type]) -> list[Any]:
    """What `encode_cursor` was given. Raises UsageError for anything else."""
    values: list[Any] | None = None
    with contextlib.suppress(ValueError, binascii.Error, RecursionError):
        values = json.loads(base64.urlsafe_b64decode(text[:500] + "=" * (-len(text) % 4)))
    fits = isinstance(values, list) and [type(value) for value in values] == list(kinds)
    if values is None or not fits or any(type(value) is int and abs(value) >= _TOO_LARGE for value in values):
        raise UsageError("this is no cursor of such a list", where="cursor", remedy="take it from `next` of a page")
    return values


def _read_cursor(order: Order, text: str) -> tuple[float, str]:
    named, value, last = decode_cursor(text, (str, float, str))
    if named != str(order):
        raise UsageError("the cursor is of a list in another order", where="cursor", remedy="begin without a cursor")
    return value, last


# -- one result ----------------------------------------------------------------------------------------------


def result_of(database: Database, result_id: str, viewer: Viewer = NOBODY) -> Result | None:
    """A result that the viewer may see; one that was withdrawn is told if it was public. None for no such."""
    asked = _results(viewer).where(result.c.id == result_id, told_to(viewer))
    with database.reading() as link:
        row = link.execute(asked).mappings().first()
    return _result(row) if row else None


def owned(database: Database, viewer: Viewer, *, cursor: str = "", limit: int = 50) -> Page[Result]:
    """One's own results in every state, newest first."""
    asked = _results(viewer).where(result.c.owner_id == viewer.account_id)
    with database.reading() as link:
        rows = link.execute(_behind(asked, Order.NEWEST, cursor).limit(limit + 1)).mappings().all()
    following = _cursor(Order.NEWEST, rows[limit - 1]) if len(rows) > limit else ""
    return Page(tuple(_result(row) for row in rows[:limit]), following)


def doubted(database: Database, *, cursor: str = "", limit: int = 20) -> Page[Result]:
    """For moderators: results that a check doubts and nobody decided on, newest first."""
    asked = _results(OPERATOR).where(result.c.state == State.FLAGGED, result.c.decision == "")
    with database.reading() as link:
        rows = link.execute(_behind(asked, Order.NEWEST, cursor).limit(limit + 1)).mappings().all()
    following = _cursor(Order.NEWEST, rows[limit - 1]) if len(rows) > limit else ""
    return Page(tuple(_result(row) for row in rows[:limit]), following)


def may_read_data(found: Result, viewer: Viewer) -> bool:
    """Whether cells and bundle are handed out: of a withdrawn result only to its owner and moderators."""
    own = bool(viewer.account_id) and found.owner_id == viewer.account_id
    return found.state != State.WITHDRAWN or own or viewer.moderates


def cell_page(database: Database, result_id: str, *, cursor: str = "", limit: int = 200) -> Page[Cell]:
    """Some of them."""
    asked = sa.select(cell).where(cell.c.result_id == result_id)
    if cursor:
        asked = asked.where(cell.c.number > decode_cursor(cursor, (int,))[0])
    with database.reading() as link:
        rows = link.execute(asked.order_by(cell.c.number).limit(limit + 1)).mappings().all()
    following = encode_cursor([rows[limit - 1]["number"]]) if len(rows) > limit else ""
    return Page(tuple(_cell(row) for row in rows[:limit]), following)


def replies_of(database: Database, result_id: str) -> tuple[Reply, ...]:
    """The newest version of each account's reply, with its older ones."""
    asked = (
        sa.select(reply, account.c.name.label("account"))
        .join(account, account.c.id == reply.c.account_id)
        .where(reply.c.result_id == result_id)
        .order_by(reply.c.version.desc())
    )
    with database.reading() as link:
        rows = [Reply(**row) for row in link.execute(asked).mappings()]
    by_account: dict[str, list[Reply]] = {}
    for one in rows:
        by_account.setdefault(one.account_id, []).append(one)
    newest = [Reply(**{**vars(versions[0]), "older": tuple(versions[1:])}) for versions in by_account.values()]
    return tuple(sorted(newest, key=lambda one: one.written_at))


def reproductions_of(database: Database, result_id: str, viewer: Viewer = NOBODY) -> tuple[Reproduction, ...]:
    """Who measured the same again, and what came of it, where the viewer may see that result too."""
    asked = (
        sa.select(reproduction, account.c.name.label("account"))
        .join(account, account.c.id == reproduction.c.account_id)
        .join(result, result.c.id == reproduction.c.by_result_id)
        .where(reproduction.c.result_id == result_id, seen_by(viewer))
        .order_by(reproduction.c.at)
    )
    with database.reading() as link:
        return tuple(Reproduction(**row) for row in link.execute(asked).mappings())


def corrected_by(database: Database, result_id: str, viewer: Viewer = NOBODY) -> str:
    """Id of the result that replaces one, where the viewer may see it; '' for none."""
    found = (result.c.replaces == result_id) & (result.c.state != State.WITHDRAWN)
    with database.reading() as link:
        return link.execute(sa.select(result.c.id).where(found, seen_by(viewer))).scalar() or ""


def traces_of(database: Database, result_id: str, viewer: Viewer = NOBODY) -> tuple[Trace, ...]:
    """What happened to a result: there too when it was deleted. What tells of another one: where that may be seen."""
    other = result.alias("other")
    asked = sa.select(trace.c.at, trace.c.what, trace.c.text).outerjoin(other, other.c.id == trace.c.about_id)
    asked = asked.where(trace.c.result_id == result_id, trace.c.about_id.is_(None) | told_to(viewer, other))
    asked = asked.order_by(trace.c.id)
    with database.reading() as link:
        return tuple(Trace(**row) for row in link.execute(asked).mappings())


# -- products ------------------------------------------------------------------------------------------------


def products(
    database: Database, words: str = "", viewer: Viewer = NOBODY, *, cursor: str = "", limit: int = 20
) -> Page[Product]:
    """Products of which the viewer may see a result, by name."""
    limit = max(1, min(limit, MOST_ENTRIES))
    asked = _products(viewer).where(*(_like(product.c.words, word) for word in words.split()[:10]))
    if cursor:
        asked = asked.where(product.c.id > decode_cursor(cursor, (str,))[0])
    with database.reading() as link:
        rows = link.execute(asked.order_by(product.c.id).limit(limit + 1)).mappings().all()
    following = encode_cursor([rows[limit - 1]["id"]]) if len(rows) > limit else ""
    return Page(tuple(Product(**row) for row in rows[:limit]), following)


def product_of(database: Database, product_id: str, viewer: Viewer = NOBODY) -> Product | None:
    """A product of which the viewer may see a result."""
    with database.reading() as link:
        row = link.execute(_products(viewer).where(product.c.id == product_id)).mappings().first()
    return Product(**row) if row else None


def _products(viewer: Viewer) -> sa.Select[Any]:
    """Counted for each product by itself: a page has few of them."""
    of = (result.c.product_id == product.c.id) & seen_by(viewer) & current(viewer)
    counted = sa.select(sa.func.count()).select_from(result).where(of).correlate(product).scalar_subquery()
    some = sa.select(sa.literal(1)).select_from(result).where(of).correlate(product).limit(1).scalar_subquery()
    columns = (product.c.id, product.c.vendor, product.c.model, product.c.vendor_slug)
    return sa.select(*columns, counted.label("results")).where(some.is_not(None))


# -- rows ----------------------------------------------------------------------------------------------------


def _result(row: sa.RowMapping) -> Result:
    values = {name: value for name, value in row.items() if name not in ("vendor", "model", "vendor_slug")}
    named = f"{row['vendor'] or ''} {row['model'] or ''}".strip()
    values |= {"product": named, "vendor_slug": row["vendor_slug"] or ""}
    values |= {name: tuple(row[name]) for name in ("conditions", "checks")}
    values["badge"] = _badge(row["verified"], row["reproduced"])
    values["identity"] = "product as told" if row["product_id"] else "no product named"
    values["likeness"] = _likeness(row["checks"])
    if row["state"] == State.EMBARGOED and row["embargo"] <= today():
        values |= {"state": str(State.PUBLIC), "reason": "anybody may read it"}
    return Result(**values)


def _badge(verified: bool, reproduced: int) -> str:
    if not verified:
        return "unchecked"
    return f"reproduced by {reproduced}" if reproduced else "recomputed"


def _likeness(checks: Sequence[Mapping[str, Any]]) -> str:
    """What came of holding it against its peers."""
    one = next((each for each in checks if each["name"] == LIKENESS), {"state": "note", "text": ""})
    said = str(one["text"]).partition(":")[0] if one["state"] == "failed" else str(one["text"])
    if one["state"] == "note":
        return f"likeness {said if said.startswith(NOT_CHECKED) else NOT_CHECKED}"
    return said


def _cell(row: sa.RowMapping) -> Cell:
    return Cell(**{name: row[name] for name in _CELL})
