# SPDX-License-Identifier: Apache-2.0
"""The format of the data inside a report page, as commented types. Read by `web/src/lib`.

The JSON Schema of these models is checked in as `web/schema/report-data.schema.json`, the TypeScript types made
from it as `web/src/lib/report-data.gen.ts`; a test fails when either drifts.

History
  1  first version.

Reading rules. A reader refuses a `version` it does not know. Fields are only added within a version, never renamed
or given another meaning. Rates are bytes per second, latencies nanoseconds, times seconds or RFC 3339 UTC.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, Final, Literal, Self, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model

from ioatlas.model.panel import Panel, Table
from ioatlas.model.result import CampaignResult, ProductCost, UnitPrice
from ioatlas.model.summary import Headline, LoadReading, SmallIo, Summary
from ioatlas.model.units import UNITS, RateSystem
from ioatlas.model.verdict import UnmeasuredCode
from ioatlas.plan.faults import describe
from ioatlas.report.findings import ToldDoubt, Worded

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


@as_record(Worded, without="cells in_order")
class FindingData(Model):
    """A sentence, the values that it tells, and the rows of `Cells` that are its evidence."""

    code: str
    values: dict[str, Any]
    rows: list[int]


@as_record(ToldDoubt, without="cells")
class DoubtData(Model):
    """One reason why the badge is not good. rows: of `Cells`, its evidence."""

    code: str
    """`DoubtCode`"""
    rows: list[int]


@as_record(Headline, without="cell")
class HeadlineData(Model):
    """The best value of one target and direction, or the answer of a test of another kind (`ioatlas.model.summary`).

    value, low, high, first: of `quantity`. uncertainty: half the 95% interval, a share of the value; null unknown.
    lopsided: the interval is told by its ends.
    row: in `Cells`, whose value it is; null where it is no cell. ties: rows of cells that are as fast.
    first, moved: what the sweep gave before the cell was measured again, and the change since, a share.
    """

    row: int | None
    ties: list[int]
    uncertainty: float | None
    lopsided: bool
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
    next_step: str


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


AxisRole = Literal["option", "target", "direction", "sharing", "state", "factor"]
Encoding = Literal["u8", "u16", "u32", "f32", "log16", "quotient", "width8"]


class Constant(Model):
    """An option that every cell shares. Sizes are bytes."""

    name: str
    value: str
    unit: AxisUnit


class Axis(Model):
    """One dimension of the sweep. Cells refer to levels by position."""

    name: str
    """fio's option name, or target, direction, sharing, state, or factor_NAME"""
    role: AxisRole
    unit: AxisUnit
    numeric: bool
    """levels are numbers in ascending order"""
    derived: bool
    """follows from the other axes (an engine that depends on the depth): shown, never navigated"""
    levels: list[int | float | str | None]
    """null: the option is not set in these cells"""
    label: str = ""
    """what people read, where neither fio's name nor ours tells it"""


class Column(Model):
    """One value per row of a table, packed. `data` is base64 of gzip of the bytes described by `encoding`;
    little-endian throughout.

    u8, u16, u32  plain integers; where `step` is 1, each is the sum of those up to it. f32           IEEE floats;
    NaN is unknown. log16         codes c of 16 bits, written as all low bytes and then all high bytes; 0 is
    unknown, else exp(base + (c - 1) * step).
    quotient      no data: the column `of` divided by the level of the numeric axis `by`. width8        a bound
    beside the column `of`: codes c of 8 bits; 0 is withheld, 1 is no width, else the width in logarithms is
                  w = exp(base + (c - 2) * step) and the bound is of * exp(sign * w). With `mirror` the stored byte
                  is c minus the code of that column, modulo 256.
    """

    encoding: Encoding
    data: str = ""
    base: float = 0.0
    step: float = 0.0
    sign: int = 0
    of: str = ""
    by: str = ""
    mirror: str = ""


class Dictionary(Model):
    """A column of positions in a list of texts. Many texts are packed: base64 of gzip of their JSON array, and
    `texts` is empty.
    """

    texts: list[str]
    packed_texts: str
    codes: Column


class Cells(Model):
    """The rows of the result: one for each cell, direction and kind that has an estimate, in grid order.

    axes: one column of level positions for each axis, in the order of `ReportData.axes`.
    values: columns by name, NaN where unknown: bw_bytes_per_s, bw_low, bw_high, iops, iops_low, iops_high,
    lat_mean_ns, lat_mean_low_ns,
        lat_mean_high_ns, lat_p99_ns, lat_p99_low_ns, lat_p99_high_ns, window_seconds, cut_seconds,
        ceiling_bytes_per_s, limit_probability, watts, ratio, ratio_low, ratio_high,
        ratio_told (0: undecided, 1: a difference, 2: the same within the tolerance, 3: predicted). A
        name is left out when no row has a value.
    resolution: largest relative rounding of a value in this page; 0 where single-precision floats are kept.
    loop: 'closed' or 'open'; empty for what was imported. seeds: of the visits, as text; empty in pages of many
    rows, an export has them.
    notes_left_out: the notes were too many for a page and are all empty here; an export has them.
    """

    n_rows: int
    axes: list[Column]
    kind: Dictionary
    mark: Dictionary
    verdict: Dictionary
    method: Dictionary
    lat_kind: Dictionary
    loop: Dictionary
    seeds: Dictionary
    note: Dictionary
    limit: Dictionary
    """what limits the cell, 'undetermined', or empty where that was not worked out"""
    limit_why: Dictionary
    """margin to the next resource and evidence; empty like notes where there are too many"""
    ceiling: Dictionary
    """name of the tightest bound of the path, whose value is `ceiling_bytes_per_s`; empty without one"""
    grade: Dictionary
    """how far a value is to be believed, and why no further; empty when unknown"""
    n_visits: Column
    n_discarded: Column
    values: dict[str, Column]
    resolution: float
    notes_left_out: bool


class UnmeasuredCells(Model):
    """Cells of the sweep without an estimate: level positions as in `Cells.axes`, and why."""

    n_rows: int
    axes: list[Column]
    reason: Dictionary
    code: Dictionary
    """of each reason: `UnmeasuredCode`"""


class JobRecipe(Model):
    """What the page needs to write a cell's fio job: these lines, then one line for each option axis.

    A null level writes no line. Where `has_engine` is false no option sets an engine: it is the target's own from
    `target_engine`, else the first of `engine_from_depth` at iodepth 1 and the second above. `work_bounded` names
    options that end the load by work: with one of them in a cell, or `constant_work_bounded`, no runtime is
    written.
    """

    global_lines: list[str]
    engine_from_depth: list[str]
    target_engine: dict[str, str]
    has_engine: bool
    work_bounded: list[str]
    constant_work_bounded: bool
    sharing: str
    """of every cell; empty when it is an axis"""
    default_window_seconds: float


class LatencyCurves(Model):
    """Latency percentiles of rows of `Cells`, over all I/Os of their visits.

    row, n_ios: one for each curve. latencies: those of a curve one after the other, one for each of `percents`; NaN
    where too few I/Os lie beyond. left_out: they were too many for a page; the campaign has them.
    """

    percents: list[float]
    n: int
    row: Column
    n_ios: Column
    latencies: Column
    fewest_beyond: int
    """I/Os that must lie beyond a percentile for it to be told"""
    left_out: bool


class TimeCourses(Model):
    """Visits over time, in the order in which they ran; a visit of two directions is there twice.

    row, purpose, verdict, discarded, started_seconds, cut_ms, n_points: one for each visit. discarded: why it does not
    count, empty when it does. started_seconds: since the first one, whole. cut_ms: end of the warm-up that was cut.
    end_ms, bw_bytes_per_s, lat_mean_ns: those of all visits one after the other, `n_points` for each; 0 where nothing
    completed. left_out: they were too many for a page; the campaign has them.
    """

    n: int
    row: Column
    purpose: Dictionary
    verdict: Dictionary
    discarded: Dictionary
    started_seconds: Column
    cut_ms: Column
    n_points: Column
    end_ms: Column
    bw_bytes_per_s: Column
    lat_mean_ns: Column
    left_out: bool


FORMAT: Final = "ioatlas-report"
VERSION: Final = 1


class ReportData(Model):
    """Everything a report page shows."""

    format: Literal["ioatlas-report"]
    version: Literal[1]
    campaign: Campaign
    summary: SummaryData
    units: RateSystem
    """of throughput, as the report was asked for"""
    targets: list[TargetData]
    axes: list[Axis]
    constants: list[Constant]
    cells: Cells
    unmeasured: UnmeasuredCells
    findings: list[FindingData]
    """in the order to read them"""
    settings: list[Pair]
    sessions: list[Session]
    discard_reasons: list[Pair]
    job: JobRecipe
    costs: list[ProductCostData]
    """of each target whose product is known; empty where the campaign names none"""
    comparison: ComparisonData | None
    """null for a single campaign"""
    latency_curves: LatencyCurves
    time_courses: TimeCourses
    imported_methods: list[ImportedMethod]
    """one for each imported target; empty when nothing was imported"""
    charts: list[Panel]
    """beside the map, in the order to show them"""
    tables: list[Table]
    """tables beside the map"""
    thumbnail: str
    """the small map in letters, for lists: `ioatlas.report.small_map`"""


def schema() -> dict[str, Any]:
    """JSON Schema 2020-12 of `ReportData`, with the texts of the enumeration that the page tells apart, and units."""
    found = ReportData.model_json_schema()
    for part in found["$defs"].values():
        if "properties" in part:  # records of the result among them, which stand there as they are
            strict_schema(part)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **found,
        "x-values": {UnmeasuredCode.__name__: {one.name: one.value for one in UnmeasuredCode}, "Units": UNITS},
    }


def schema_text() -> str:
    """The schema as it is checked in."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
