# SPDX-License-Identifier: Apache-2.0
"""What pages and the API ask. Every value is bound; every answer holds only what the viewer may see."""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from ioatlas.model.errors import UsageError
from ioatlas.model.units import grouped
from ioatlas_atlas.database import Database
from ioatlas_atlas.extracted import FitFound
from ioatlas_atlas.fairness import State
from ioatlas_atlas.records import LIKENESS, NOT_CHECKED, Cell, Page, Reply, Reproduction, Result, Trace, Viewer, Wanted
from ioatlas_atlas.tables import account, cell, product, reply, reproduction, result, trace

MOST_ENTRIES, MOST_SIDES = 100, 12
NOBODY = Viewer()
_ESCAPE = "\\"
_TOO_LARGE = 1 << 62


_HIDDEN = ("words", "wants_private", "licence_says", "testbed", "replaces")
_OLDER, _NEWER, _SHOWN, _LAST = result.alias("older"), result.alias("newer"), result.alias("shown"), reply.alias("last")
"""Made once: an alias takes longer than most queries."""
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


def _results(viewer: Viewer, without: str = "") -> sa.Select[Any]:
    """Columns of results but one. The result that one corrects is named to who may know of it."""
    named = (_OLDER.c.id == result.c.replaces, told_to(viewer, _OLDER))
    replaces = sa.select(_OLDER.c.id).where(*named).scalar_subquery()
    columns = (account.c.name.label("owner"), product.c.vendor, product.c.model, product.c.vendor_slug)
    return (
        sa.select(*(one for one in _RESULT if one.name != without), replaces.label("replaces"), *columns)
        .join(account, account.c.id == result.c.owner_id)
        .outerjoin(product, product.c.id == result.c.product_id)
    )


def current(viewer: Viewer) -> sa.ColumnElement[bool]:
    """Which results are neither withdrawn nor corrected by one that the viewer may see."""
    corrected = sa.select(sa.literal(1)).where(
        _NEWER.c.replaces == result.c.id, _NEWER.c.state != State.WITHDRAWN, seen_by(viewer, _NEWER)
    )
    return (result.c.state != State.WITHDRAWN) & ~corrected.exists()


# -- search --------------------------------------------------------------------------------------------------


def search(
    database: Database, wanted: Wanted, viewer: Viewer = NOBODY, *, cursor: str = "", limit: int = 20, without: str = ""
) -> Page[Result]:
    """Results that fit. without: a column that is not read. Raises UsageError for a cursor that is none."""
    limit = max(1, min(limit, MOST_ENTRIES))
    return _page(database, _results(viewer, without).where(*_of_result(wanted, viewer)), cursor, limit)


def _of_result(wanted: Wanted, viewer: Viewer) -> list[sa.ColumnElement[bool]]:
    found = [seen_by(viewer), current(viewer), *(like(result.c.words, word) for word in wanted.words.split()[:10])]
    exact = {
        result.c.product_id: wanted.product_id,
        product.c.vendor_slug: wanted.vendor_slug,
        result.c.owner_id: wanted.owner_id,
    }
    return [*found, *(column == value for column, value in exact.items() if value)]


def like(column: sa.ColumnElement[str], word: str) -> sa.ColumnElement[bool]:
    plain = word.lower()
    for mark in (_ESCAPE, "%", "_"):
        plain = plain.replace(mark, _ESCAPE + mark)
    return column.like(f"%{plain}%", escape=_ESCAPE)


# -- order and cursors ---------------------------------------------------------------------------------------


def _page(database: Database, asked: sa.Select[Any], cursor: str, limit: int) -> Page[Result]:
    """The newest first, those behind a cursor."""
    if cursor:
        key = sa.tuple_(result.c.uploaded_at, result.c.id)
        asked = asked.where(key < sa.tuple_(*decode_cursor(cursor, (float, str))))
    asked = asked.order_by(result.c.uploaded_at.desc(), result.c.id.desc()).limit(limit + 1)
    rows = database.rows(asked)
    last = rows[limit - 1] if len(rows) > limit else None
    following = encode_cursor([last["uploaded_at"], last["id"]]) if last else ""
    return Page(tuple(_result(row) for row in rows[:limit]), following)


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


# -- one result ----------------------------------------------------------------------------------------------


def result_of(database: Database, result_id: str, viewer: Viewer = NOBODY) -> Result | None:
    """A result that the viewer may see; one that was withdrawn is told if it was public. None for no such."""
    asked = _results(viewer).where(result.c.id == result_id, told_to(viewer))
    row = database.first(asked)
    return _result(row) if row else None


def owned(database: Database, viewer: Viewer, cursor: str) -> Page[Result]:
    """One's own results in every state, newest first."""
    return _page(database, _results(viewer).where(result.c.owner_id == viewer.account_id), cursor, 50)


def may_read_data(found: Result, viewer: Viewer) -> bool:
    """Whether cells and bundle are handed out: of a withdrawn result only to its owner and moderators."""
    return found.state != State.WITHDRAWN or viewer.owns(found) or viewer.moderates


def cell_page(database: Database, result_id: str, *, cursor: str = "", limit: int = 200) -> Page[Cell]:
    """Some of them."""
    asked = sa.select(cell).where(cell.c.result_id == result_id)
    if cursor:
        asked = asked.where(cell.c.number > decode_cursor(cursor, (int,))[0])
    rows = database.rows(asked.order_by(cell.c.number).limit(limit + 1))
    following = encode_cursor([rows[limit - 1]["number"]]) if len(rows) > limit else ""
    return Page(tuple(Cell.model_construct(**row) for row in rows[:limit]), following)


def replies_of(database: Database, result_id: str) -> tuple[Reply, ...]:
    """The newest version of each account's reply, with its older ones."""
    asked = (
        sa.select(reply, account.c.name.label("account"))
        .join(account, account.c.id == reply.c.account_id)
        .where(reply.c.result_id == result_id)
        .order_by(reply.c.version.desc())
    )
    by_account = grouped((one.account_id, one) for one in (Reply(**row) for row in database.rows(asked)))
    newest = [Reply(**{**vars(versions[0]), "older": tuple(versions[1:])}) for versions in by_account.values()]
    return tuple(sorted(newest, key=lambda one: one.written_at))


def said_of(database: Database, ids: Sequence[str]) -> tuple[list[Reply], list[tuple[str, str, float, str]]]:
    """Of results that all may see, of all of these where none is named: the newest replies, and (result, who measured
    it again, when, the outcome).
    """

    def here(told: Any) -> sa.ColumnElement[bool]:  # by key: replies are fewer than results
        return told.in_(ids) if ids else sa.select(sa.literal(1)).where(_SHOWN.c.id == told, public(_SHOWN)).exists()

    newer = (_LAST.c.result_id == reply.c.result_id) & (_LAST.c.account_id == reply.c.account_id)
    newest = ~sa.select(sa.literal(1)).where(newer, _LAST.c.version > reply.c.version).exists()
    named = account.c.name.label("account")
    said = sa.select(reply, named).join(account, account.c.id == reply.c.account_id).where(here(reply.c.result_id))
    again = (
        sa.select(reproduction.c.result_id, named, reproduction.c.at, reproduction.c.outcome)
        .join(account, account.c.id == reproduction.c.account_id)
        .join(result, result.c.id == reproduction.c.by_result_id)
        .where(here(reproduction.c.result_id), reproduction.c.counted, public())
        .order_by(reproduction.c.at.desc())
        .limit(MOST_ENTRIES)
    )
    said = said.where(newest).order_by(reply.c.written_at.desc()).limit(MOST_ENTRIES)
    with database.reading() as link:
        replies = [Reply(**row) for row in link.execute(said).mappings()]
        return replies, [(row[0], row[1], row[2], row[3]) for row in link.execute(again)]


def reproductions_of(database: Database, result_id: str, viewer: Viewer = NOBODY) -> tuple[Reproduction, ...]:
    """Who measured the same again, and what came of it, where the viewer may see that result too."""
    asked = (
        sa.select(reproduction, account.c.name.label("account"), result.c.title)
        .join(account, account.c.id == reproduction.c.account_id)
        .join(result, result.c.id == reproduction.c.by_result_id)
        .where(reproduction.c.result_id == result_id, seen_by(viewer))
        .order_by(reproduction.c.at)
    )
    return tuple(Reproduction(**row) for row in database.rows(asked))


def corrected_by(database: Database, result_id: str, viewer: Viewer = NOBODY) -> str:
    """Id of the result that replaces one, where the viewer may see it; '' for none."""
    found = (result.c.replaces == result_id) & (result.c.state != State.WITHDRAWN)
    return next(iter(database.values(sa.select(result.c.id).where(found, seen_by(viewer)))), "")


def traces_of(database: Database, result_id: str, viewer: Viewer = NOBODY) -> tuple[Trace, ...]:
    """What happened to a result: there too when it was deleted. What tells of another one: where that may be seen."""
    other = result.alias("other")
    asked = sa.select(trace.c.at, trace.c.what, trace.c.text).outerjoin(other, other.c.id == trace.c.about_id)
    asked = asked.where(trace.c.result_id == result_id, trace.c.about_id.is_(None) | told_to(viewer, other))
    asked = asked.order_by(trace.c.id)
    return tuple(Trace(**row) for row in database.rows(asked))


def doubts_of(database: Database, sha256: str) -> dict[tuple[str, str], str]:
    """{(cell, direction): what speaks against it} of a bundle's loads."""
    asked = sa.select(cell.c.cell_key, cell.c.direction, cell.c.doubt).where(cell.c.doubt != "")
    asked = asked.join(result, result.c.id == cell.c.result_id).where(result.c.bundle_sha256 == sha256)
    return {(row["cell_key"], row["direction"]): row["doubt"] for row in database.rows(asked)}


def public_bundles(database: Database) -> list[str]:
    """SHA-256 of those of all results that anybody may see, and that none replaced."""
    return database.values(sa.select(result.c.bundle_sha256).where(public(), current(NOBODY)))


def addresses(database: Database, most: int) -> list[str]:
    """Of the pages of products and of results that anybody may see, the newest first."""
    asked = sa.select(result.c.id).where(public(), current(NOBODY)).order_by(result.c.uploaded_at.desc()).limit(most)
    products = sa.select(product.c.id).where(product.c.results > 0).order_by(product.c.newest.desc()).limit(most)
    with database.reading() as link:
        found = [f"/products/{one}" for one in link.execute(products).scalars()]
        return [*found, *(f"/r/{one}" for one in link.execute(asked).scalars())][:most]


# -- rows ----------------------------------------------------------------------------------------------------


def _result(row: sa.RowMapping) -> Result:
    values = {name: value for name, value in row.items() if name not in ("vendor", "model", "vendor_slug")}
    named = f"{row['vendor'] or ''} {row['model'] or ''}".strip()
    values |= {"product": named, "vendor_slug": row["vendor_slug"] or ""}
    values["fits"] = row["fits"] and [FitFound.model_construct(**one) for one in row["fits"]]
    values["badge"] = _badge(row["verified"], row["reproduced"])
    values["identity"] = "product as told" if row["product_id"] else "no product named"
    values["likeness"] = _likeness(row["checks"])
    if row["state"] == State.EMBARGOED and row["embargo"] <= today():
        values |= {"state": str(State.PUBLIC), "reason": "anybody may read it"}
    return Result.model_construct(**values)


def _badge(verified: bool, reproduced: int) -> str:
    if not verified:
        return "unchecked"
    return f"reproduced by {reproduced}" if reproduced else "recomputed"


def _likeness(checks: Sequence[Mapping[str, Any]]) -> str:
    """What came of holding it against its peers."""
    one = next((each for each in checks if each["name"] == LIKENESS), {"state": "note", "text": ""})
    said = str(one["text"])
    if one["state"] == "note":
        return f"likeness {said if said.startswith(NOT_CHECKED) else NOT_CHECKED}"
    return said
