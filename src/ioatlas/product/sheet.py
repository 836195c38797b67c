# SPDX-License-Identifier: Apache-2.0
"""A product's sheet: what is known of it, each fact with its source and date. Frozen; `sheet_file` reads one."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from ioatlas.product.layout import Layout

FactValue = int | float | str | bool


@dataclass(frozen=True)
class Origin:
    """Where a fact is from. date: 2020, 2020-06 or 2020-06-18: when it held; '' unknown."""

    source: str = ""
    date: str = ""
    note: str = ""


@dataclass(frozen=True)
class Fact:
    """One thing that is known of a product."""

    name: str
    value: FactValue
    origin: Origin


class DriveRole(StrEnum):
    """What drives are for. Only data drives count for the capacity."""

    DATA = "data"
    CACHE = "cache"
    BOOT = "boot"


@dataclass(frozen=True)
class DriveSet:
    """Drives of one model. capacity: in the maker's unit, '' unknown.

    read_bytes_per_s, write_bytes_per_s, read_iops, write_iops: what one drive does at most; None unknown.
    """

    count: int
    model: str
    kind: str
    role: DriveRole
    capacity: str
    capacity_bytes: int | None
    origin: Origin
    read_bytes_per_s: float | None = None
    write_bytes_per_s: float | None = None
    read_iops: float | None = None
    write_iops: float | None = None


class Tax(StrEnum):
    """Whether a price holds tax."""

    INCLUDED = "included"
    EXCLUDED = "excluded"
    UNKNOWN = "unknown"


class Per(StrEnum):
    """What a price is for: the item, or a unit of raw or usable capacity."""

    ITEM = "item"
    TB = "TB"
    TIB = "TiB"


@dataclass(frozen=True)
class PriceItem:
    """One line of the bill. each: amount for one, or for a unit of capacity. tax_rate: a share, None unknown."""

    what: str
    count: int
    each: float
    currency: str
    per: Per
    tax: Tax
    tax_rate: float | None
    origin: Origin


@dataclass(frozen=True)
class Exchange:
    """rate: how much `currency` is paid for one `for_one`: 106.9 JPY for one USD."""

    currency: str
    for_one: str
    rate: float
    origin: Origin


@dataclass(frozen=True)
class Power:
    """Watts, None unknown."""

    idle_watts: float | None
    loaded_watts: float | None
    origin: Origin


class Permission(StrEnum):
    """What the licence says about publishing results."""

    YES = "yes"
    NO = "no"
    ASK = "ask first"
    SILENT = "says nothing"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Publishing:
    """says: the clause in its own words. permission: who allowed it when, where one had to ask."""

    licence: Permission = Permission.UNKNOWN
    says: str = ""
    permission: str = ""
    origin: Origin = field(default_factory=Origin)


@dataclass(frozen=True)
class Volume:
    """What was provisioned of a service. None where that is not said."""

    size_bytes: int
    iops: float | None
    throughput_bytes_per_s: float | None
    origin: Origin


class RateOf(StrEnum):
    """What a service charges for."""

    CAPACITY = "capacity"
    IOPS = "iops"
    THROUGHPUT = "throughput"
    VOLUME = "volume"


class Period(StrEnum):
    """For how long a rate holds."""

    HOUR = "hour"
    MONTH = "month"
    YEAR = "year"


@dataclass(frozen=True)
class Rate:
    """A price for a time: `amount` for each `unit` of what lies above `included` and up to `up_to`, both in units.

    unit: 1 I/O per second or volume; bytes of capacity; bytes a second of throughput.
    """

    of: RateOf
    amount: float
    unit: float
    period: Period
    currency: str
    included: float
    up_to: float | None
    origin: Origin


@dataclass(frozen=True)
class Claim:
    """What the maker claims, as printed. cell: options of the cell it can be held against, such as rw and bs.

    value: in bytes a second, I/Os a second or seconds, by `quantity`; None where it is only words.
    """

    what: str
    text: str
    quantity: str
    value: float | None
    cell: tuple[tuple[str, str], ...]
    direction: str
    origin: Origin


@dataclass(frozen=True)
class Printed:
    """Figures as a maker or a paper prints them; kept beside ours, never mixed with them."""

    capacity: str
    capacity_bytes: int | None
    price_total: float | None
    price_per_tib: float | None
    currency: str
    origin: Origin


@dataclass(frozen=True)
class Function:
    """A function of the product. works: 'yes', 'no', 'partly' or 'not tried'."""

    name: str
    listed: bool | None
    works: str
    evidence: str
    vendor_answer: str
    origin: Origin


@dataclass(frozen=True)
class Sheet:
    """Everything a sheet says. place: the file it was read from. currency: of totals, '' where prices decide."""

    place: str
    vendor: str
    model: str
    facts: tuple[Fact, ...]
    source: Origin
    currency: str = ""
    drives: tuple[DriveSet, ...] = ()
    layout: Layout | None = None
    layout_origin: Origin = field(default_factory=Origin)
    prices: tuple[PriceItem, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    power: Power | None = None
    publishing: Publishing = field(default_factory=Publishing)
    volume: Volume | None = None
    rates: tuple[Rate, ...] = ()
    claims: tuple[Claim, ...] = ()
    printed: Printed | None = None
    functions: tuple[Function, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.vendor} {self.model}".strip()

    def fact(self, name: str) -> FactValue | None:
        return next((one.value for one in self.facts if one.name == name), None)
