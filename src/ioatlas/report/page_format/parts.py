# SPDX-License-Identifier: Apache-2.0
"""What every part of a page is made of; the first screen, findings and costs; and what a page says about its campaign:
targets, testbed, imported figures, what it is compared with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model

from ioatlas.config.faults import describe
from ioatlas.model.finding import Finding
from ioatlas.model.result import CampaignResult, ProductCost, UnitPrice
from ioatlas.model.summary import Doubt, Headline, LoadReading, SmallIo, Summary

AxisUnit = Literal["bytes", "bytes/s", "percent", "none"]


def strict_schema(schema: dict[str, Any]) -> None:
    """Every field is written, defaults too: the TypeScript types need no optional members."""
    properties = schema.get("properties", {})
    schema |= {"required": sorted(properties), "additionalProperties": False}
    for field in properties.values():
        field.pop("title", None)
        field.pop("default", None)


def _described(schema: dict[str, Any], model: type[BaseModel]) -> None:
    describe(schema, model)
    strict_schema(schema)


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=_described)

    @classmethod
    def from_record(cls, record: object, **own: Any) -> Self:
        """As a record of ours tells it: each field is its attribute of that name, but for those given."""
        taken = {name: getattr(record, name) for name in cls.model_fields if name not in own}
        return cls.model_validate({**taken, **own}, from_attributes=True)


Made = TypeVar("Made", bound=Model)


def as_record(record: type[Any], only: str = "", *, without: str = "") -> Callable[[type[Made]], type[Made]]:
    """A model with the fields of a record of ours, all or `only` these, beside those it declares itself, which go
    before the record's.
    """

    def made(model: type[Made]) -> type[Made]:
        hints = get_type_hints(record)
        names = [name for name in only.split() or hints if name not in {*model.model_fields, *without.split()}]
        fields: dict[str, Any] = {name: (hints[name], ...) for name in names}
        return create_model(model.__name__, __base__=model, __doc__=model.__doc__, **fields)

    return made


class Pair(Model):
    """A name and its value, in the order to show them."""

    name: str
    value: str
    unit: AxisUnit = "none"


@as_record(CampaignResult, "tool_version seconds complete n_visits n_discarded")
class Campaign(Model):
    """The campaign as a whole."""

    id: str
    name: str
    created: str
    """RFC 3339, UTC; empty when unknown"""


class Session(Model):
    """The testbed of one run of the campaign. `n_withheld` entries that name the site (host, user, serial, path)
    are left out.
    """

    entries: list[Pair]
    n_withheld: int


class TargetData(Model):
    """A target as a report may show it: its name and kind, never where it is."""

    name: str
    kind: Literal["directory", "file", "block", "uri", "imported", "together"]
    placeholder: str
    """stands in job texts where the path or URI belongs"""
    facts: list[Pair]


class ImportedMethod(Model):
    """How the figures of an imported target came about, as far as their sources tell."""

    target: str
    facts: list[Pair]


class ComparisonData(Model):
    """Two campaigns side by side: their targets' names are levels of the axis `target`.

    quantity: what was compared, in words. sentences: what the comparison says. first, second: the targets' names.
    The columns `ratio`, `ratio_low`, `ratio_high` and `ratio_told` of `Cells` stand at the rows of the others.
    """

    quantity: str
    first: list[str]
    second: list[str]
    sentences: list[str]


@as_record(Finding, without="cells in_order")
class FindingData(Model):
    """A sentence with the rows of `Cells` that are its evidence."""

    code: str
    rows: list[int]


@as_record(Doubt, without="cells")
class DoubtData(Model):
    """One reason why the badge is not good. rows: of `Cells`, its evidence."""

    code: str
    """`DoubtCode`"""
    rows: list[int]


@as_record(Headline, without="cell")
class HeadlineData(Model):
    """The best value of one target and direction, or the answer of a test of another kind (`ioatlas.model.summary`).

    value, low, high, first: of `quantity`. uncertainty: half the 95% interval, a share of the value; null unknown.
    row: in `Cells`, whose value it is; null where it is no cell. ties: rows of cells that are as fast.
    first, moved: what the sweep gave before the cell was measured again, and the change since, a share.
    """

    row: int | None
    ties: list[int]
    uncertainty: float | None
    moved: float | None


@as_record(LoadReading, without="cell")
class LoadReadingData(Model):
    """What one load gave. in_flight: I/Os."""

    row: int | None


@as_record(SmallIo)
class SmallIoData(Model):
    """Small blocks at the lightest load and at the one with most IOPS."""

    lightest: LoadReadingData
    best: LoadReadingData


@as_record(Summary)
class SummaryData(Model):
    """The first screen: how fast, whether to believe it, what limits it, what to do next. doubts: worst first."""

    doubts: list[DoubtData]
    headlines: list[HeadlineData]
    small: list[SmallIoData]
    beside: list[Pair]
    """what was measured beside the map, in words"""


@as_record(UnitPrice, without="cell direction")
class UnitPriceData(Model):
    """Cost of one unit, such as 'MB/s read', in the product's currency; null where it is not known.

    amount: units that the product gives. per_watt: units for each watt. where: the cell behind it in words.
    row: of `Cells`, null where it is no cell. lower_bound: the client was the limit, so it costs at most that.
    """

    row: int | None


@as_record(ProductCost)
class ProductCostData(Model):
    """A product at one target. total: of the purchase. dates: of its prices, or ''."""

    units: list[UnitPriceData]
