# SPDX-License-Identifier: Apache-2.0
"""A product's sheet: what is known of it, each fact with its source and date.

The one definition of a product.toml: what a file is checked against, its JSON Schema, and what the figures are made of.
Keys of the file that hold a text with a unit stand here in base units. `sheet_file` reads one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date as Date  # noqa: N812 - fields are called date
from enum import StrEnum
from functools import cached_property, partial
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PrivateAttr,
    ValidationInfo,
    WithJsonSchema,
    computed_field,
    field_validator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError

from ioatlas.answer.product.layout import DRAID, RULES, LayoutKind, Rule
from ioatlas.answer.product.quantity import capacity_bytes, rate_bytes_per_s, watts
from ioatlas.load.machine.typed_in import quantity
from ioatlas.model.errors import UsageError
from ioatlas.model.options import read_option
from ioatlas.model.units import parse_percent, parse_size_bytes
from ioatlas.plan.faults import describe

FORMAT = 1
"""Of product.toml. Keys are only added within a version, never renamed or given another meaning."""

STRICT = ConfigDict(extra="forbid", strict=True, json_schema_extra=describe)
DAY = r"^\d{4}(-\d{2}){0,2}$"
FactValue = int | float | str | bool
Value = TypeVar("Value")


def fault(what: str, remedy: str) -> PydanticCustomError:
    """A fault in our own words. `{key}` in them is the key at fault."""
    return PydanticCustomError("told", "{what}", {"what": what, "remedy": remedy})


def _read(read: Callable[..., Any]) -> Callable[[Any], Any]:
    """A reader of texts as a validator. What is no text is a fault; a number has been read already."""

    def validate(given: Any) -> Any:
        if not isinstance(given, str):
            raise PydanticKnownError("string_type")
        if not given:
            raise PydanticKnownError("string_too_short", {"min_length": 1})
        return _checked(lambda: read(given, where=""))

    return validate


def _checked(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except UsageError as error:
        raise fault(error.what, error.remedy) from error


def _share(text: str, *, where: str) -> float:
    share = parse_percent(text)
    if not 0 <= share < 1:
        raise UsageError(f"{text!r} is not between 0% and 100%", where=where, remedy="write a share such as 5%")
    return share


def _capacity(text: str) -> str:
    _read(capacity_bytes)(text)
    return text


def _reserve(given: Any) -> Any:
    """(a share, bytes)."""
    if isinstance(given, str) and given.strip().endswith("%"):
        return _read(_share)(given), 0
    return 0.0, _read(capacity_bytes)(given)


def _day(given: Any) -> Any:
    """TOML has dates; a month or a year is a text."""
    return given.isoformat()[:10] if isinstance(given, Date) else given


_TEXT = WithJsonSchema({"type": "string", "minLength": 1})
Day = Annotated[str, BeforeValidator(_day), Field(pattern=DAY)]
Words = Annotated[str, Field(min_length=1, max_length=4096)]
Amount = Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=100_000)]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
Capacity = Annotated[Words, AfterValidator(_capacity)]
"""As written; `capacity_bytes` beside it."""
CapacityBytes = Annotated[int, BeforeValidator(_read(capacity_bytes)), _TEXT]
SizeBytes = Annotated[int, BeforeValidator(_read(parse_size_bytes)), _TEXT]
Throughput = Annotated[float, BeforeValidator(_read(rate_bytes_per_s)), _TEXT]
Watts = Annotated[float, BeforeValidator(_read(watts)), _TEXT]
Share = Annotated[float, BeforeValidator(_read(_share)), _TEXT]
Reserve = Annotated[tuple[float, int], BeforeValidator(_reserve), _TEXT]


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


class Sourced(BaseModel):
    """A table whose facts come from one place. The context of reading is the sheet's [source] and its place."""

    model_config = STRICT
    source: Words = ""
    """Where it is from; that of [source] when left out."""
    date: Day = ""
    """When it held: 2020-06-18, or '2020-06', or '2020'."""
    note: Words = ""
    """Anything a reader should know."""

    @property
    def origin(self) -> Origin:
        return Origin(self.source, self.date, self.note)

    @model_validator(mode="after")
    def _from_somewhere(self, info: ValidationInfo) -> Self:
        if not self.source and info.context is not None:
            self.source = info.context.get("name", "")
            self.date = self.date or _day(info.context.get("date", ""))
            if not self.source:
                raise fault(
                    "{key} has no source",
                    "write source = beside it, {value = ..., source = ..., date = ...}, or a [source] for all",
                )
        return self


class Stated(Sourced, Generic[Value]):
    """A fact: a plain value, or {value = ..., source = ..., date = ...}."""

    value: Value

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, given: Any) -> Any:
        return given if isinstance(given, dict) else {"value": given}

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        made = handler(core_schema)
        whole = handler.resolve_ref_schema(made)
        table = dict(whole)
        whole.clear()
        whole["anyOf"] = [table["properties"]["value"], table]
        return made


class Text(Stated[Words]):
    """A fact in words."""


class Whole(Stated[Annotated[int, Field(ge=0)]]):
    """A fact that is a whole number."""


class DayFact(Stated[Day]):
    """A fact that is a day, a month or a year."""


class AnyFact(Stated[FactValue]):
    """A fact that is a number, a text, or true or false."""


class Source(BaseModel):
    """`[source]`: where facts are from that name no source of their own."""

    model_config = STRICT
    name: Words
    """Author, title, year; or the data sheet."""
    url: Words | None = None
    """Where it can be read."""
    date: Day | None = None
    """When its facts held."""


class Product(BaseModel):
    """`[product]`: what it is. Every key is a fact: a plain value, or a table with value, source and date."""

    model_config = STRICT
    vendor: Text
    """Who makes it."""
    model: Text
    """What it is called."""
    kind: Text | None = None
    """Such as 'NAS', 'all-flash array' or 'volume'."""
    cpu: Text | None = None
    """Processor."""
    cpu_cores: Whole | None = None
    """Cores of all processors."""
    cpu_clock: Text | None = None
    """Such as '2.1-3.0 GHz'."""
    memory: Text | None = None
    """Such as '4 GB'."""
    ports: Text | None = None
    """Such as '2 x 1GbE, 2 x 10GbE'."""
    protocols: Text | None = None
    """Such as 'SMB, NFS, iSCSI'."""
    file_system: Text | None = None
    """Such as 'btrfs'."""
    firmware: Text | None = None
    """Its version."""
    size: Text | None = None
    """Height x width x depth."""
    expansion: Text | None = None
    """Expansion units that capacity and price include."""
    released: DayFact | None = None
    """When it came onto the market."""
    end_of_sale: DayFact | None = None
    """When it went off sale."""
    note: Text | None = None
    """Anything a reader should know."""


class DriveRole(StrEnum):
    """What drives are for. Only data drives count for the capacity."""

    DATA = "data"
    CACHE = "cache"
    BOOT = "boot"


class DriveSet(Sourced):
    """One of `[[drives]]`: drives of one model."""

    count: Count
    """How many."""
    model: Words = ""
    """The maker's name of the model."""
    kind: Words = ""
    """Such as 'SATA SSD' or '7,200 rpm SATA'."""
    capacity: Capacity = ""
    """Of one, in the maker's unit: '4 TB'. Left out: unknown."""
    read_bytes_per_s: Throughput | None = Field(None, alias="read")
    """What one reads in order at most: '210 MB/s'."""
    write_bytes_per_s: Throughput | None = Field(None, alias="write")
    """What one writes in order at most: '210 MB/s'."""
    read_iops: Amount | None = None
    """Small random reads a second of one, at most."""
    write_iops: Amount | None = None
    """Small random writes a second of one, at most."""
    role: DriveRole = Field(DriveRole.DATA, strict=False)
    """Only data drives count for the capacity."""

    @property
    def capacity_bytes(self) -> int | None:
        return capacity_bytes(self.capacity, where="") if self.capacity else None


class Layout(Sourced):
    """`[layout]`: how the data drives are laid out. Without it usable capacity is unknown."""

    kind: LayoutKind = Field(alias="type", strict=False)
    """Kind of redundancy."""
    groups: Count | list[Count] | None = None
    """Groups of equal size, or the drives of each group. Default: one; of mirrors all pairs."""
    hot_spares: Annotated[int, Field(ge=0)] = 0
    """Among the drives; of dRAID its distributed spares, in each group."""
    data: Annotated[int, Field(ge=0, le=100_000)] = 0
    """k of an erasure code; data drives of a dRAID redundancy group."""
    parity: Annotated[int, Field(ge=0, le=1000)] = 0
    """m of an erasure code."""
    copies: Annotated[int, Field(ge=2, le=100)] = 2
    """Of mirrors, RAID 10 and replicas; of replicas 3 when left out."""
    nodes: Annotated[int, Field(ge=0, le=100_000)] = 0
    """Failure domains of erasure code and replicas; 0: each drive is one."""
    stripe_unit: SizeBytes | None = None
    """Bytes on one drive before the next, such as '64k'."""
    recordsize_bytes: SizeBytes = Field("128k", alias="recordsize", validate_default=True)
    """Of ZFS."""
    ashift: Annotated[int, Field(ge=9, le=16)] = 12
    """Of ZFS."""
    reserve: Reserve | None = None
    """Kept free: '10%' of what is left, or '500 GB'."""
    file_system_overhead: Share = 0.0
    """What the file system takes: '2%'."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.kind is LayoutKind.ERASURE and not (self.data and "parity" in self.model_fields_set):
            raise fault("an erasure code needs data and parity", "write data = 8 and parity = 3")
        if self.kind in DRAID and not self.data:
            raise fault("dRAID needs the data drives of a redundancy group", "write data = 8")
        if self.kind is LayoutKind.REPLICA and "copies" not in self.model_fields_set:
            self.copies = 3
        return self

    @property
    def rule(self) -> Rule:
        return RULES[self.kind]

    @property
    def name(self) -> str:
        """'RAID 6', 'erasure code 8+3', '3 replicas', 'dRAID2 with 8 data drives'."""
        if self.kind is LayoutKind.ERASURE:
            return f"erasure code {self.data}+{self.parity}"
        if self.kind is LayoutKind.REPLICA:
            return f"{self.copies} replicas"
        if self.kind in DRAID:
            return f"{self.rule.name} with {self.data} data drives"
        if self.kind is LayoutKind.MIRROR and self.copies != 2:
            return f"{self.copies}-way mirrors"
        return self.rule.name


class Per(StrEnum):
    """What a price is for: the item, or a unit of raw or usable capacity."""

    ITEM = "item"
    TB = "TB"
    TIB = "TiB"


class Tax(StrEnum):
    """Whether a price holds tax."""

    INCLUDED = "included"
    EXCLUDED = "excluded"
    UNKNOWN = "unknown"


class PriceItem(Sourced):
    """One of `[[price]]`: a line of the bill."""

    what: Words
    """Such as 'chassis' or 'drive'."""
    count: Count = 1
    """How many."""
    each: Amount
    """Amount for one."""
    currency: Currency
    """Three letters, such as USD."""
    per: Per = Field(Per.ITEM, strict=False)
    """'TB' or 'TiB': the amount is for that much capacity."""
    tax: Tax = Field(Tax.UNKNOWN, strict=False)
    """Whether tax is in it."""
    tax_rate: Share | None = None
    """Such as '10%'."""


class Exchange(Sourced):
    """One of `[[exchange]]`: an exchange rate that was used."""

    currency: Currency
    """What was paid in."""
    for_one: Currency
    """What it buys."""
    rate: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    """How much of `currency` for one of `for_one`: 106.9 JPY for one USD."""


class Power(Sourced):
    """`[power]`: typed in; a measured one comes from a campaign."""

    idle_watts: Watts | None = Field(None, alias="idle")
    """Such as '45 W'."""
    loaded_watts: Watts | None = Field(None, alias="loaded")
    """Such as '265 W'."""

    @property
    def text(self) -> str:
        """'45 W idle, 265 W under load'."""
        known = ((self.idle_watts, "idle"), (self.loaded_watts, "under load"))
        return ", ".join(f"{value:g} W {name}" for value, name in known if value is not None)


class Permission(StrEnum):
    """What the licence says about publishing results."""

    YES = "yes"
    NO = "no"
    ASK = "ask first"
    SILENT = "says nothing"
    UNKNOWN = "unknown"


class Publishing(Sourced):
    """`[publishing]`: whether results may be published."""

    licence: Permission = Field(default=Permission.UNKNOWN, strict=False)
    """Whether the licence lets results be published."""
    says: Words = ""
    """The clause in its own words."""
    permission: Words = ""
    """Who allowed it, and when."""


class Volume(Sourced):
    """`[volume]`: what was provisioned of a service."""

    size_bytes: CapacityBytes = Field(alias="size")
    """Such as '1 TiB'."""
    iops: Amount | None = None
    """Provisioned I/Os a second."""
    throughput_bytes_per_s: Throughput | None = Field(None, alias="throughput")
    """Provisioned, such as '250 MiB/s'."""


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


class Rate(Sourced):
    """One of `[[rate]]`: what a service charges for a time, for each unit above `included` and up to `up_to`."""

    of: RateOf = Field(strict=False)
    """What is charged for."""
    amount: Amount
    """For each unit and period."""
    unit: Words = ""
    """Such as 'GiB' of capacity, 'MiB/s' of throughput; one of others."""
    period: Period = Field(Period.MONTH, strict=False)
    """A month has 730 hours."""
    currency: Currency
    """Three letters, such as USD."""
    included: Amount = 0
    """Units that cost nothing, or that a lower step holds."""
    up_to: Amount | None = None
    """Units at which the next step begins."""

    @field_validator("unit")
    @classmethod
    def _fitting(cls, unit: str, info: ValidationInfo) -> str:
        if (of := info.data.get("of")) is not None:
            _checked(lambda: _unit_of(of, unit))
        return unit

    @field_validator("up_to")
    @classmethod
    def _above(cls, up_to: float | None, info: ValidationInfo) -> float | None:
        if up_to is not None and up_to <= info.data.get("included", 0):
            raise fault("up_to lies below included", "correct one of them")
        return up_to

    @property
    def unit_size(self) -> float:
        """Bytes of capacity, bytes a second of throughput; 1 of what is counted."""
        return _unit_of(self.of, self.unit)


def _unit_of(of: RateOf, unit: str) -> float:
    if of is RateOf.CAPACITY:
        return float(capacity_bytes(f"1 {unit or 'GiB'}", where=""))
    if of is RateOf.THROUGHPUT:
        return rate_bytes_per_s(f"1 {unit or 'MiB/s'}", where="")
    if unit:
        raise UsageError(f"a rate of {of.value} has no unit of its own", remedy="leave unit out: it is for one")
    return 1.0


class Claim(Sourced):
    """One of `[[claim]]`: what the maker claims."""

    what: Words
    """Such as 'sequential read'."""
    text: Words = Field(alias="value")
    """Such as '2,500 MB/s', '200,000 IOPS' or '1 ms'; or words."""
    cell: dict[str, str | int] = Field(default_factory=dict)
    """fio options of the cell it is compared with: {rw = 'read', bs = '1m'}."""

    @field_validator("cell")
    @classmethod
    def _known(cls, cell: dict[str, str | int]) -> dict[str, str | int]:
        read = {name: value for name, value in cell.items() if name == "direction"}
        for name in cell.keys() - read:
            read[name] = str(_checked(partial(read_option, name, str(cell[name])))[1])
        return read

    @property
    def options(self) -> dict[str, str]:
        """Of the cell it can be held against."""
        return {name: str(value) for name, value in self.cell.items() if name != "direction"}

    @property
    def direction(self) -> str:
        return str(self.cell.get("direction", ""))

    @property
    def quantity(self) -> str:
        return self._claimed[1]

    @property
    def value(self) -> float | None:
        """Bytes a second, I/Os a second or seconds, by `quantity`; None where it is only words."""
        return self._claimed[0]

    @cached_property
    def _claimed(self) -> tuple[float | None, str]:
        thousands = re.fullmatch(r"\s*([\d.,]+)\s*([kM])\s*IOPS\s*", self.text)
        found = quantity(f"{thousands[1]} IOPS" if thousands else self.text)
        name = _QUANTITIES.get(found[1], "") if found else ""
        if found is None or not name:
            return None, ""
        return found[0] * ({"k": 1e3, "M": 1e6}[thousands[2]] if thousands else 1.0), name


_QUANTITIES = {"B/s": "bw_bytes_per_s", "1/s": "iops", "s": "lat_mean_seconds"}


class Printed(Sourced):
    """`[printed]`: totals as a maker or a paper prints them; shown beside ours, never mixed with them."""

    capacity: Capacity = ""
    """Such as '27 TiB'."""
    price_total: Amount | None = None
    """In `currency`."""
    price_per_tib: Amount | None = None
    """In `currency`."""
    currency: Currency = ""
    """That of the prices when left out."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def capacity_bytes(self) -> int | None:
        return capacity_bytes(self.capacity, where="") if self.capacity else None


class Function(Sourced):
    """One of `[[function]]`: a function that is listed, and whether it works."""

    name: Words
    """Such as 'LUN snapshots'."""
    listed: bool | None = None
    """Whether the maker lists it."""
    works: Literal["yes", "no", "partly", "not tried"] = "not tried"
    """What was found."""
    evidence: Words = ""
    """How that was found."""
    vendor_answer: Words = ""
    """What the vendor said to it."""


class Sheet(BaseModel):
    """A product.toml."""

    model_config = STRICT
    format: Literal[1]
    """Version of the format."""
    source: Source | None = None
    """Where facts are from that name no source of their own."""
    product: Product
    """What it is."""
    further: dict[str, AnyFact] = Field(default_factory=dict, alias="facts")
    """Further facts under names of your own, for tables."""
    currency: Currency = ""
    """Of totals; needed where prices are in several."""
    drives: list[DriveSet] = Field(default_factory=list)
    """Drives, by model."""
    layout: Layout | None = None
    """How the data drives are laid out."""
    prices: list[PriceItem] = Field(default_factory=list, alias="price")
    """Lines of the bill."""
    exchanges: list[Exchange] = Field(default_factory=list, alias="exchange")
    """Exchange rates that were used."""
    power: Power | None = None
    """Power as typed in."""
    publishing: Publishing = Field(default_factory=Publishing)
    """Whether results may be published."""
    volume: Volume | None = None
    """What was provisioned of a service."""
    rates: list[Rate] = Field(default_factory=list, alias="rate")
    """What a service charges for a time."""
    claims: list[Claim] = Field(default_factory=list, alias="claim")
    """What the maker claims."""
    printed: Printed | None = None
    """Totals as printed by a maker or a paper."""
    functions: list[Function] = Field(default_factory=list, alias="function")
    """Listed functions, and whether they work."""
    _place: str = PrivateAttr("product.toml")

    def model_post_init(self, context: Any) -> None:
        self._place = (context or {}).get("place", self._place)

    @property
    def place(self) -> str:
        """The file it was read from."""
        return self._place

    @property
    def vendor(self) -> str:
        return self.product.vendor.value

    @property
    def model(self) -> str:
        return self.product.model.value

    @property
    def name(self) -> str:
        return f"{self.vendor} {self.model}".strip()

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        """Those of [product], then those under names of the user's own."""
        known: list[tuple[str, Any]] = [(name, getattr(self.product, name)) for name in Product.model_fields]
        found = [*known, *self.further.items()]
        return tuple(Fact(name, one.value, one.origin) for name, one in found if one is not None)

    def origins(self) -> dict[tuple[str, str], list[str]]:
        """What each source and date vouches for, in the order of the sheet: for a list of sources."""
        found: dict[tuple[str, str], list[str]] = {}
        for name, one in self._vouched():
            if one.source and name not in found.setdefault((one.source, one.date), []):
                found[one.source, one.date].append(name)
        return found

    def _vouched(self) -> Iterator[tuple[str, Origin]]:
        yield from ((fact.name, fact.origin) for fact in self.facts)
        named: dict[str, Sequence[Sourced]] = {"drives": self.drives, "price": self.prices}
        named |= {"exchange rate": self.exchanges, "rates": self.rates}
        for name, tables in {**named, "claims": self.claims, "functions": self.functions}.items():
            yield from ((name, one.origin) for one in tables)
        single = {"layout": self.layout, "publishing": self.publishing, "power": self.power}
        for name, table in {**single, "volume": self.volume, "printed": self.printed}.items():
            if isinstance(table, Sourced):
                yield name, table.origin


def schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a product.toml."""
    made = Sheet.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ioatlas product sheet",
        **{key: value for key, value in made.items() if key != "title"},
    }
