# SPDX-License-Identifier: Apache-2.0
"""What the atlas holds, as pages and the API read it. Times are seconds since the epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeVar

from ioatlas_atlas.extracted import Bundle, CellFound

Entry = TypeVar("Entry")
LIKENESS = "like systems"
"""The check that holds a result against its peers."""
NOT_CHECKED, DOUBTED = "not checked", "doubted loads"


class AccountKind(StrEnum):
    """What an account may be. The texts stand in databases."""

    MEMBER = "member"
    VENDOR = "vendor"
    MODERATOR = "moderator"


class Scope(StrEnum):
    """What a token allows. Reading what is public needs none."""

    READ = "read"
    PUBLISH = "publish"
    REPLY = "reply"
    MODERATE = "moderate"


@dataclass(frozen=True)
class Account:
    """vendor: slug of the vendor that it speaks for; '' for others."""

    id: str
    name: str
    kind: AccountKind
    vendor: str = ""
    created_at: float = 0.0


@dataclass(frozen=True)
class Viewer:
    """Who asks, and what the token allows. Nobody in particular by default. token_id: '' where a provider vouches."""

    account: Account | None = None
    scopes: frozenset[Scope] = frozenset()
    token_id: str = ""

    @property
    def account_id(self) -> str:
        return self.account.id if self.account and Scope.READ in self.scopes else ""

    def owns(self, found: Result) -> bool:
        return bool(self.account_id) and found.owner_id == self.account_id

    @property
    def moderates(self) -> bool:
        return bool(self.account and self.account.kind is AccountKind.MODERATOR and Scope.MODERATE in self.scopes)


OPERATOR = Viewer(Account("", "operator", AccountKind.MODERATOR), frozenset(Scope))
"""Who runs the service."""


@dataclass(frozen=True)
class Page(Generic[Entry]):
    """Some entries in order. next: what to ask for as `cursor` to get the ones behind them; '' at the end."""

    entries: tuple[Entry, ...]
    next: str = ""


@dataclass(frozen=True)
class Product:
    """What its sheets say, and what is told over the results that all may see; see the table `product`.

    fits: {use: how many times as good as needed, by the least of the results that say so; 1 where that is not known}.
    """

    id: str
    vendor: str
    model: str
    vendor_slug: str
    kind: str
    media: str
    year: int | None
    results: int
    evaluators: int
    reproduced: int
    newest: float
    price_per_tib: float | None
    currency: str
    fits: Mapping[str, float]

    @property
    def name(self) -> str:
        return f"{self.vendor} {self.model}".strip()


class Result(Bundle):
    """One bundle as it was taken in: what it says of itself, and what follows from it.

    id: permanent. bundle_sha256: None once it was deleted. reason: why it has that state, in one sentence.
    sponsor, conflict: None where the publisher did not say; '' for none. reproduced: by how many others.
    badge: 'unchecked', 'recomputed' or 'reproduced by n'. identity, likeness: what is known of product and peers.
    published_at: when all could see it first. replaces: the result that it corrects. decision: of a moderator on its
    flag: kept, released or ''.
    """

    id: str
    state: str
    reason: str
    owner_id: str
    owner: str
    product_id: str | None
    product: str
    vendor_slug: str
    bundle_sha256: str | None
    bundle_bytes: int
    checks: list[dict[str, Any]]
    sponsor: str | None
    conflict: str | None
    permission: str
    embargo: str
    flag: str
    uploaded_at: float
    reproduced: int
    badge: str
    identity: str
    likeness: str
    published_at: float | None = None
    replaces: str | None = None
    decision: str = ""


class Cell(CellFound):
    """One cell and direction with its measured values; bounds are None where the interval is withheld.

    rw: of the whole load. streams: names of the streams of a load of several, else ''. options: swept ones.
    usable: a value of the target itself: neither cached, withheld nor doubted. Only these are found and ranked.
    doubt: what speaks against it; '' for nothing.
    """

    result_id: str
    number: int


@dataclass(frozen=True)
class Wanted:
    """Of which results a list is; '' asks for nothing. words: each is in title, product, drive, protocol or link."""

    words: str = ""
    product_id: str = ""
    vendor_slug: str = ""
    owner_id: str = ""


@dataclass(frozen=True)
class Reply:
    """What a vendor or the evaluator says beside a result. older: its earlier versions, newest first."""

    id: str
    result_id: str
    account_id: str
    account: str
    kind: str
    version: int
    text: str
    written_at: float
    older: tuple[Reply, ...] = field(default=())


@dataclass(frozen=True)
class Reproduction:
    """by_result_id, title: of the other evaluator's result. outcome: reproduced, differs or not comparable.

    counted: both are signed, with two keys, and measured from two clients.
    """

    result_id: str
    by_result_id: str
    account_id: str
    account: str
    outcome: str
    text: str
    at: float
    counted: bool = True
    title: str = ""


@dataclass(frozen=True)
class Trace:
    """What happened to a result since it was taken in: it stays when the result goes."""

    at: float
    what: str
    text: str
