# SPDX-License-Identifier: Apache-2.0
"""An upload from its last byte to its result: read under limits, kept, then noted in one transaction.

What is told to have been taken in is on disk before: first the bundle, then the rows. A service that dies between the
two leaves a bundle that no result has; nobody sees it, and `tidy` removes it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from dataclasses import asdict, dataclass, replace

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from ioatlas.model.errors import RefusedError, UsageError
from ioatlas_atlas import accounts, admission, audit, changes, spread
from ioatlas_atlas.admission import Limits, NotAdmittedError, Turns
from ioatlas_atlas.best import refresh_of
from ioatlas_atlas.blobs import Blobs, Incoming
from ioatlas_atlas.database import Database, insert_new
from ioatlas_atlas.extracted import Found
from ioatlas_atlas.fairness import Declaration, State
from ioatlas_atlas.queries import public
from ioatlas_atlas.records import Account
from ioatlas_atlas.tables import cell, once, product, result

LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
ID_LENGTH = 10
READ_AT_ONCE, WAITING = 2, 8
A_DAY_SECONDS = 86_400.0
TAKEN, REFUSED = "upload", "upload refused"
"""Of the audit log. Both count for the quota: what is refused, or deleted again, was work too."""
_BATCH = 1000


@dataclass(frozen=True)
class Wish:
    """What the publisher asks for beside the bundle. key: the same request sent again has the same one.

    replaces: one's own result that this one corrects.
    """

    declared: Declaration
    private: bool = False
    key: str = ""
    replaces: str = ""

    def digest(self, sha256: str) -> str:
        """Of the whole request."""
        text = json.dumps([sha256, asdict(self.declared), self.private, *filter(None, [self.replaces])])
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Taken:
    """result_id: of the upload. new: False where it was there already."""

    result_id: str
    new: bool


class OtherRequestError(UsageError):
    """The key was used for another request."""


class QuotaError(RefusedError):
    """The account sent as many as it may for now."""


class Desk:
    """Takes uploads in."""

    def __init__(self, database: Database, blobs: Blobs, limits: Limits) -> None:
        self.database, self.blobs, self.limits = database, blobs, limits
        self.turn = Turns(READ_AT_ONCE, WAITING, "too many uploads are being read")

    def check_quota(self, of: Account) -> None:
        """Raises QuotaError when the account sent as many as it may in a day."""
        with self.database.reading() as link:
            sent = audit.count(link, of.id, time.time() - A_DAY_SECONDS, TAKEN, REFUSED)
        if sent >= self.limits.uploads_a_day:
            raise QuotaError(f"{sent} bundles were sent in a day", where=of.name, remedy="wait a day")

    def take(self, upload: Incoming, of: Account, wish: Wish) -> Taken:
        """A whole upload. Raises NotAdmittedError, OtherRequestError, QuotaError, BusyError."""
        if known := self._known(upload.sha256, of, wish):
            return known
        self.check_quota(of)
        self._check_replaced(of, wish)
        upload.finish()
        with self.turn:
            try:
                found = admission.read(upload.path, wish.declared, self.limits)
            except NotAdmittedError:
                with self.database.writing() as link:
                    audit.note(link, of.id, REFUSED, upload.sha256)
                raise
        self._check_anothers(of, found)
        found = spread.marked(self.database, found, product_number(found))
        self.blobs.keep(upload)
        try:
            return self._note(upload, of, wish, found)
        except IntegrityError:  # the same was sent twice at once, and the other was first
            if known := self._known(upload.sha256, of, wish):
                return known
            raise

    def _known(self, sha256: str, of: Account, wish: Wish) -> Taken | None:
        with self.database.reading() as link:
            if wish.key:
                same = (once.c.account_id == of.id) & (once.c.key == wish.key)
                row = link.execute(sa.select(once.c.request_sha256, once.c.result_id).where(same)).first()
                if row and row[0] != wish.digest(sha256):
                    raise OtherRequestError(
                        "the key was used for another request", where="Idempotency-Key", remedy="use a new key"
                    )
                if row:
                    return Taken(row[1], new=False)
            mine = (result.c.owner_id == of.id) & (result.c.bundle_sha256 == sha256)
            row = link.execute(sa.select(result.c.id).where(mine)).first()
        return Taken(row[0], new=False) if row else None

    def _check_replaced(self, of: Account, wish: Wish) -> None:
        """Raises RefusedError for another's result, and for one that is corrected already."""
        if not wish.replaces:
            return
        with self.database.reading() as link:
            asked = sa.select(result.c.owner_id, result.c.state).where(result.c.id == wish.replaces)
            old = link.execute(asked).first()
            newer = link.execute(sa.select(result.c.id).where(result.c.replaces == wish.replaces)).scalar()
        if old is None or old.owner_id != of.id:
            raise RefusedError("you have no such result to correct", where=wish.replaces, remedy="name one of yours")
        if newer or old.state == State.WITHDRAWN:
            what = f"it is corrected by {newer} already" if newer else "it was withdrawn"
            raise RefusedError(what, where=wish.replaces, remedy="correct the newest version, or publish without it")

    def _check_anothers(self, of: Account, found: Found) -> None:
        """Raises RefusedError for a campaign that another account showed to all: its bundle is there for everybody."""
        shown = (result.c.campaign_id == found.campaign_id) & (public() | result.c.published_at.is_not(None))
        if theirs := self.database.values(sa.select(result.c.id).where(shown, result.c.owner_id != of.id).limit(1)):
            raise RefusedError("another account published this campaign", where=theirs[0], remedy=changes.NOT_YOURS)

    def _check_private(self, link: sa.Connection, of: Account) -> None:
        most = self.limits.private
        kept = (result.c.owner_id == of.id) & (result.c.state == State.PRIVATE)
        if link.execute(sa.select(sa.func.count()).where(kept)).scalar_one() >= most:
            raise QuotaError(f"it has {most} private results", where=of.name, remedy="delete some, or publish")

    def _note(self, upload: Incoming, of: Account, wish: Wish, found: Found) -> Taken:
        number, now = new_id(), time.time()
        declared = replace(wish.declared, permission=wish.declared.permission or found.licence_permission)
        told = (found.licence_says, declared.permission, declared.embargo)
        published = changes.publication_of(*told, private=wish.private)
        with self.database.writing() as link:
            if published.state is State.PRIVATE:
                self._check_private(link, of)
            product_id = _product(link, found, now) if found.has_sheet else None
            link.execute(
                sa.insert(result).values(
                    id=number,
                    bundle_sha256=upload.sha256,
                    bundle_bytes=upload.size_bytes,
                    owner_id=of.id,
                    product_id=product_id,
                    words=_words(found),
                    state=str(published.state),
                    reason=published.reason,
                    wants_private=wish.private,
                    flag="",
                    reproduced=0,
                    replaces=wish.replaces or None,
                    published_at=now if published.state is State.PUBLIC else None,
                    uploaded_at=now,
                    **vars(declared),
                    checks=[one.model_dump() for one in found.checks],
                    **found.model_dump(exclude=_NOT_OF_RESULT),
                )
            )
            rows = [{"result_id": number, "number": n, **one.model_dump()} for n, one in enumerate(found.cells)]
            for begin in range(0, len(rows), _BATCH):
                link.execute(sa.insert(cell), rows[begin : begin + _BATCH])
            refresh_of(link, number)
            if wish.key:
                request = wish.digest(upload.sha256)
                values = {"account_id": of.id, "key": wish.key, "request_sha256": request, "result_id": number}
                link.execute(sa.insert(once).values(**values, at=now))
            changes.settle_publisher(link, found.campaign_id, of.id)
            changes.tell(link, number, "taken in", published.reason)
            if wish.replaces:
                changes.tell(link, wish.replaces, "corrected", f"replaced by {number}", number)
            audit.note(link, of.id, TAKEN, number, sha256=upload.sha256, state=published.state)
        return Taken(number, new=True)


_OF_PRODUCT = ("kind", "media", "year")
_NOT_OF_RESULT = {"cells", "checks", "has_sheet", "vendor", "model", "licence_permission", *_OF_PRODUCT}


def new_id() -> str:
    """A short name for good: 50 random bits, no letters that look like digits."""
    return "".join(secrets.choice(LETTERS) for _ in range(ID_LENGTH))


def _words(found: Found) -> str:
    parts = (found.title, found.vendor, found.model, found.drive, found.protocol, found.link, found.procedure)
    return " ".join(part for part in parts if part).lower()


def product_number(found: Found) -> str:
    """Of the product that an upload names; '' for none."""
    named = f"{found.vendor} {found.model}".strip()
    known = accounts.slug(named) or f"product-{hashlib.sha256(named.encode()).hexdigest()[:12]}"
    return known if found.has_sheet else ""


def _product(link: sa.Connection, found: Found, now: float) -> str:
    """The product's id; its row is made when it is the first of its kind."""
    number = product_number(found)
    values = {"id": number, "vendor": found.vendor, "model": found.model, "added_at": now}
    told = {name: getattr(found, name) for name in _OF_PRODUCT}
    if not insert_new(link, product, {**values, **told, "vendor_slug": accounts.slug(found.vendor)}):
        for name, value in told.items():  # what the first sheet left out
            unknown = (product.c.id == number) & (product.c[name].is_(None) | (sa.cast(product.c[name], sa.Text) == ""))
            link.execute(sa.update(product).where(unknown).values({name: value}))
    return number
