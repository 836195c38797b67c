# SPDX-License-Identifier: Apache-2.0
"""What a product.toml is checked against: pydantic models, from which its JSON Schema is made too."""

from __future__ import annotations

from datetime import date as Date  # noqa: N812 - fields are called date
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ioatlas.product.layout import LayoutKind
from ioatlas.product.sheet import DriveRole, Per, Period, Permission, RateOf, Tax

FORMAT = 1
"""Of product.toml. Keys are only added within a version, never renamed or given another meaning."""

STRICT = ConfigDict(extra="forbid", strict=True)
DAY = r"^\d{4}(-\d{2}){0,2}$"
Value = TypeVar("Value")


def _day(given: Any) -> Any:
    """TOML has dates; a month or a year is a text."""
    return given.isoformat()[:10] if isinstance(given, Date) else given


Day = Annotated[str, BeforeValidator(_day), Field(pattern=DAY)]
Words = Annotated[str, Field(min_length=1, max_length=4096)]
Amount = Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=100_000)]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]


class Sourced(BaseModel):
    """A table whose facts come from one place."""

    model_config = STRICT
    source: Words | None = Field(None, description="Where it is from; that of [source] when left out.")
    date: Day | None = Field(None, description="When it held: 2020-06-18, or '2020-06', or '2020'.")
    note: Words | None = Field(None, description="Anything a reader should know.")


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


class AnyFact(Stated[int | float | str | bool]):
    """A fact that is a number, a text, or true or false."""


class SourceTable(BaseModel):
    """`[source]`: where facts are from that name no source of their own."""

    model_config = STRICT
    name: Words = Field(description="Author, title, year; or the data sheet.")
    url: Words | None = Field(None, description="Where it can be read.")
    date: Day | None = Field(None, description="When its facts held.")


class ProductTable(BaseModel):
    """`[product]`: what it is. Every key is a fact: a plain value, or a table with value, source and date."""

    model_config = STRICT
    vendor: Text = Field(description="Who makes it.")
    model: Text = Field(description="What it is called.")
    kind: Text | None = Field(None, description="Such as 'NAS', 'all-flash array' or 'volume'.")
    cpu: Text | None = Field(None, description="Processor.")
    cpu_cores: Whole | None = Field(None, description="Cores of all processors.")
    cpu_clock: Text | None = Field(None, description="Such as '2.1-3.0 GHz'.")
    memory: Text | None = Field(None, description="Such as '4 GB'.")
    ports: Text | None = Field(None, description="Such as '2 x 1GbE, 2 x 10GbE'.")
    protocols: Text | None = Field(None, description="Such as 'SMB, NFS, iSCSI'.")
    file_system: Text | None = Field(None, description="Such as 'btrfs'.")
    firmware: Text | None = Field(None, description="Its version.")
    size: Text | None = Field(None, description="Height x width x depth.")
    expansion: Text | None = Field(None, description="Expansion units that capacity and price include.")
    released: DayFact | None = Field(None, description="When it came onto the market.")
    end_of_sale: DayFact | None = Field(None, description="When it went off sale.")
    note: Text | None = Field(None, description="Anything a reader should know.")


class DrivesTable(Sourced):
    """One of `[[drives]]`: drives of one model."""

    count: Count = Field(description="How many.")
    model: Words = Field("", validate_default=False, description="The maker's name of the model.")
    kind: Words = Field("", validate_default=False, description="Such as 'SATA SSD' or '7,200 rpm SATA'.")
    capacity: Words | None = Field(None, description="Of one, in the maker's unit: '4 TB'. Left out: unknown.")
    read: Words | None = Field(None, description="What one reads in order at most: '210 MB/s'.")
    write: Words | None = Field(None, description="What one writes in order at most: '210 MB/s'.")
    read_iops: Amount | None = Field(None, description="Small random reads a second of one, at most.")
    write_iops: Amount | None = Field(None, description="Small random writes a second of one, at most.")
    role: Literal[tuple(one.value for one in DriveRole)] = Field(  # type: ignore[valid-type]
        "data", description="Only data drives count for the capacity."
    )


class LayoutTable(Sourced):
    """`[layout]`: how the data drives are laid out. Without it usable capacity is unknown."""

    type: Literal[tuple(one.value for one in LayoutKind)] = Field(description="Kind of redundancy.")  # type: ignore[valid-type]
    groups: Count | list[Count] | None = Field(
        None, description="Groups of equal size, or the drives of each group. Default: one; of mirrors all pairs."
    )
    hot_spares: Annotated[int, Field(ge=0)] = Field(
        0, description="Among the drives; of dRAID its distributed spares, in each group."
    )
    data: Count | None = Field(None, description="k of an erasure code; data drives of a dRAID redundancy group.")
    parity: Annotated[int, Field(ge=0, le=1000)] | None = Field(None, description="m of an erasure code.")
    copies: Annotated[int, Field(ge=2, le=100)] | None = Field(
        None, description="Of mirrors, RAID 10 and replicas. Default: 2; of replicas 3."
    )
    nodes: Count | None = Field(
        None, description="Failure domains of erasure code and replicas. Default: each drive is one."
    )
    stripe_unit: Words | None = Field(None, description="Bytes on one drive before the next, such as '64k'.")
    recordsize: Words | None = Field(None, description="Of ZFS. Default: 128k.")
    ashift: Annotated[int, Field(ge=9, le=16)] | None = Field(None, description="Of ZFS. Default: 12.")
    reserve: Words | None = Field(None, description="Kept free: '10%' of what is left, or '500 GB'.")
    file_system_overhead: Words | None = Field(None, description="What the file system takes: '2%'.")


class PriceTable(Sourced):
    """One of `[[price]]`: a line of the bill."""

    what: Words = Field(description="Such as 'chassis' or 'drive'.")
    count: Count = Field(1, description="How many.")
    each: Amount = Field(description="Amount for one.")
    currency: Currency = Field(description="Three letters, such as USD.")
    per: Literal[tuple(one.value for one in Per)] = Field(  # type: ignore[valid-type]
        "item", description="'TB' or 'TiB': the amount is for that much capacity."
    )
    tax: Literal[tuple(one.value for one in Tax)] = Field("unknown", description="Whether tax is in it.")  # type: ignore[valid-type]
    tax_rate: Words | None = Field(None, description="Such as '10%'.")


class ExchangeTable(Sourced):
    """One of `[[exchange]]`: an exchange rate that was used."""

    currency: Currency = Field(description="What was paid in.")
    for_one: Currency = Field(description="What it buys.")
    rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        description="How much of `currency` for one of `for_one`: 106.9 JPY for one USD."
    )


class PowerTable(Sourced):
    """`[power]`: typed in; a measured one comes from a campaign."""

    idle: Words | None = Field(None, description="Such as '45 W'.")
    loaded: Words | None = Field(None, description="Such as '265 W'.")


class PublishingTable(Sourced):
    """`[publishing]`: whether results may be published."""

    licence: Literal[tuple(one.value for one in Permission)] = Field(  # type: ignore[valid-type]
        "unknown", description="What the licence says about publishing results."
    )
    says: Words | None = Field(None, description="The clause in its own words.")
    permission: Words | None = Field(None, description="Who allowed it, and when.")


class VolumeTable(Sourced):
    """`[volume]`: what was provisioned of a service."""

    size: Words = Field(description="Such as '1 TiB'.")
    iops: Amount | None = Field(None, description="Provisioned I/Os a second.")
    throughput: Words | None = Field(None, description="Provisioned, such as '250 MiB/s'.")


class RateTable(Sourced):
    """One of `[[rate]]`: what a service charges for a time."""

    of: Literal[tuple(one.value for one in RateOf)] = Field(description="What is charged for.")  # type: ignore[valid-type]
    amount: Amount = Field(description="For each unit and period.")
    unit: Words | None = Field(None, description="Such as 'GiB' of capacity, 'MiB/s' of throughput; one of others.")
    period: Literal[tuple(one.value for one in Period)] = Field("month", description="A month has 730 hours.")  # type: ignore[valid-type]
    currency: Currency = Field(description="Three letters, such as USD.")
    included: Amount = Field(0, description="Units that cost nothing, or that a lower step holds.")
    up_to: Amount | None = Field(None, description="Units at which the next step begins.")


class ClaimTable(Sourced):
    """One of `[[claim]]`: what the maker claims."""

    what: Words = Field(description="Such as 'sequential read'.")
    value: Words = Field(description="Such as '2,500 MB/s', '200,000 IOPS' or '1 ms'; or words.")
    cell: dict[str, str | int] = Field(
        default_factory=dict, description="fio options of the cell it is compared with: {rw = 'read', bs = '1m'}."
    )


class PrintedTable(Sourced):
    """`[printed]`: totals as a maker or a paper prints them; shown beside ours."""

    capacity: Words | None = Field(None, description="Such as '27 TiB'.")
    price_total: Amount | None = Field(None, description="In `currency`.")
    price_per_tib: Amount | None = Field(None, description="In `currency`.")
    currency: Currency | None = Field(None, description="That of the prices when left out.")


class FunctionTable(Sourced):
    """One of `[[function]]`: a function that is listed, and whether it works."""

    name: Words = Field(description="Such as 'LUN snapshots'.")
    listed: bool | None = Field(None, description="Whether the maker lists it.")
    works: Literal["yes", "no", "partly", "not tried"] = Field("not tried", description="What was found.")
    evidence: Words | None = Field(None, description="How that was found.")
    vendor_answer: Words | None = Field(None, description="What the vendor said to it.")


class ProductFile(BaseModel):
    """A product.toml."""

    model_config = STRICT
    format: Literal[1] = Field(description="Version of the format.")
    source: SourceTable | None = Field(None, description="Where facts are from that name no source of their own.")
    product: ProductTable = Field(description="What it is.")
    facts: dict[str, AnyFact] = Field(
        default_factory=dict, description="Further facts under names of your own, for tables."
    )
    currency: Currency | None = Field(None, description="Of totals; needed where prices are in several.")
    drives: list[DrivesTable] = Field(default_factory=list, description="Drives, by model.")
    layout: LayoutTable | None = Field(None, description="How the data drives are laid out.")
    price: list[PriceTable] = Field(default_factory=list, description="Lines of the bill.")
    exchange: list[ExchangeTable] = Field(default_factory=list, description="Exchange rates that were used.")
    power: PowerTable | None = Field(None, description="Power as typed in.")
    publishing: PublishingTable | None = Field(None, description="Whether results may be published.")
    volume: VolumeTable | None = Field(None, description="What was provisioned of a service.")
    rate: list[RateTable] = Field(default_factory=list, description="What a service charges for a time.")
    claim: list[ClaimTable] = Field(default_factory=list, description="What the maker claims.")
    printed: PrintedTable | None = Field(None, description="Totals as printed by a maker or a paper.")
    function: list[FunctionTable] = Field(default_factory=list, description="Listed functions, and whether they work.")


def schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a product.toml."""
    made = ProductFile.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ioatlas product sheet",
        **{key: value for key, value in made.items() if key != "title"},
    }
