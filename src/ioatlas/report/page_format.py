# SPDX-License-Identifier: Apache-2.0
"""The format of the data inside a report page, as commented types. Written here, read by `web/src/lib`.

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
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from ioatlas.model.finding import FindingCode
from ioatlas.model.reason import UnmeasuredCode
from ioatlas.model.summary import DoubtCode, Trust
from ioatlas.model.verdict import VerdictCode

FORMAT: Final = "ioatlas-report"
VERSION: Final = 1

AxisRole = Literal["option", "target", "direction", "sharing", "state"]
AxisUnit = Literal["bytes", "bytes/s", "percent", "none"]
Encoding = Literal["u8", "u16", "u32", "f32", "log16", "quotient", "width8"]


def _strict_schema(schema: dict[str, Any]) -> None:
    """Every field is written, defaults too: the TypeScript types need no optional members."""
    properties = schema.get("properties", {})
    schema["required"] = sorted(properties)
    for field in properties.values():
        field.pop("title", None)
        field.pop("default", None)


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=_strict_schema)


class Pair(_Model):
    """A name and its value, in the order to show them."""

    name: str
    value: str
    unit: AxisUnit = "none"


class Constant(_Model):
    """An option that every cell shares. Sizes are bytes."""

    name: str
    value: str
    unit: AxisUnit


class Axis(_Model):
    """One dimension of the sweep. Cells refer to levels by position."""

    name: str = Field(description="fio's option name, or target, direction, sharing, state")
    role: AxisRole
    unit: AxisUnit
    numeric: bool = Field(description="levels are numbers in ascending order")
    derived: bool = Field(
        description="follows from the other axes (an engine that depends on the depth): shown, never navigated"
    )
    levels: list[int | float | str | None] = Field(description="null: the option is not set in these cells")


class Column(_Model):
    """One value per row of a table, packed. `data` is base64 of gzip of the bytes described by `encoding`;
    little-endian throughout.

    u8, u16, u32  plain integers. f32           IEEE floats; NaN is unknown. log16         codes c of 16 bits,
    written as all low bytes and then all high bytes; 0 is unknown, else exp(base + (c - 1) * step).
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


class Dictionary(_Model):
    """A column of positions in a list of texts. Many texts are packed: base64 of gzip of their JSON array, and
    `texts` is empty.
    """

    texts: list[str]
    packed_texts: str
    codes: Column


class VerdictData(_Model):
    """A verdict's word, and how the page marks it."""

    word: str
    mark: Literal["steady", "unstable", "suspect", "minimum"] = Field(
        description="`VerdictClass`; 'minimum' where the client was the limit: the target does at least that"
    )


class Cells(_Model):
    """The rows of the result: one for each cell, direction and kind that has an estimate, in grid order.

    axes: one column of level positions for each axis, in the order of `ReportData.axes`.
    values: columns by name, NaN where unknown: bw_bytes_per_s, bw_low, bw_high, iops, iops_low, iops_high,
    lat_mean_ns, lat_mean_low_ns,
        lat_mean_high_ns, lat_p99_ns, lat_p99_low_ns, lat_p99_high_ns, window_seconds, cut_seconds,
        ceiling_bytes_per_s, watts, ratio, ratio_low, ratio_high. A name is left out when no row has a value.
    resolution: largest relative rounding of a value in this page; 0 where single-precision floats are kept.
    loop: 'closed' or 'open'; empty for what was imported. seeds: of the visits, as text; empty in pages of many
    rows, an export has them.
    notes_left_out: the notes were too many for a page and are all empty here; an export has them.
    """

    n_rows: int
    axes: list[Column]
    kind: Dictionary
    verdict: Dictionary
    method: Dictionary
    lat_kind: Dictionary
    loop: Dictionary
    seeds: Dictionary
    note: Dictionary
    limit: Dictionary = Field(
        description="what limits the cell, 'undetermined', or empty where that was not worked out"
    )
    limit_why: Dictionary = Field(
        description="margin to the next resource and evidence; empty like notes where there are too many"
    )
    ceiling: Dictionary = Field(
        description="name of the tightest bound of the path, whose value is `ceiling_bytes_per_s`; empty without one"
    )
    n_visits: Column
    n_discarded: Column
    values: dict[str, Column]
    resolution: float
    notes_left_out: bool


class UnmeasuredCells(_Model):
    """Cells of the sweep without an estimate: level positions as in `Cells.axes`, and why."""

    n_rows: int
    axes: list[Column]
    reason: Dictionary
    code: Dictionary = Field(description="of each reason: `UnmeasuredCode`")


class FindingData(_Model):
    """A sentence with the rows of `Cells` that are its evidence."""

    code: str
    title: str
    sentence: str
    rows: list[int]
    place: str = Field(description="id of the page's section that holds the evidence where no row does; empty for none")
    target: str = Field(default="", description="target of its evidence; empty for several, or none")
    direction: str = Field(default="", description="direction of its evidence; empty for several, or none")


class FreshEstimate(_Model):
    """A cell named because it is extreme, measured again: only visits made after it was named."""

    row: int | None = Field(description="the cell's row in `Cells`; null when it has none")
    label: str
    direction: str
    n_visits: int
    bw_bytes_per_s: float | None
    bw_low: float | None
    bw_high: float | None
    iops: float | None
    lat_mean_ns: float | None
    lat_p99_ns: float | None
    verdict: str
    method: str


class TargetData(_Model):
    """A target as a report may show it: its name and kind, never where it is."""

    name: str
    kind: Literal["directory", "file", "block", "uri", "imported"]
    placeholder: str = Field(description="stands in job texts where the path or URI belongs")
    facts: list[Pair]


class ImportedMethod(_Model):
    """How the figures of an imported target came about, as far as their sources tell."""

    target: str
    facts: list[Pair]


class SpreadData(_Model):
    """A value over visits with its 95% interval; null where there are too few visits for one."""

    value: float
    low: float | None
    high: float | None


class StreamRow(_Model):
    """One stream and direction at one load point. share: of all I/Os, 0 to 1. offered_iops: null in a closed loop."""

    stream: str
    direction: str
    offered_iops: float | None
    iops: float
    bw_bytes_per_s: float
    share: float
    lat_mean_ns: float | None
    lat_p95_ns: float | None
    lat_p99_ns: float | None


class LoadPointData(_Model):
    """Several streams together at one load. Latencies are over all I/Os; of an open loop they are lower bounds.

    behind_ios, chance_ios: I/Os that the generator was behind at the end, and what chance explains of it. watts:
    null when not measured.
    """

    name: str
    phase: str
    percent: float | None
    loop: Literal["open", "closed"]
    offered_iops: float | None
    iops: SpreadData | None
    bw_bytes_per_s: SpreadData | None
    lat_mean_ns: SpreadData | None
    lat_p95_ns: SpreadData | None
    lat_p99_ns: SpreadData | None
    overloaded: bool
    state: str = Field(description="within, borderline or over the curve's limit; '' where rates are not sized by it")
    behind_ios: float | None
    chance_ios: float | None
    verdict: str
    n_visits: int
    watts: float | None
    iops_per_watt: float | None
    bytes_per_s_per_watt: float | None
    streams: list[StreamRow]


class LoadCurveData(_Model):
    """Response time against load of one target, load points in the order in which they ran. power: how watts were
    read, or 'not measured'; '' where nobody asked. limit_ns: of `quantity`. sizing: which fixed rates are safe, in
    words, or ''.
    """

    target: str
    points: list[LoadPointData]
    limit_ns: float | None
    quantity: Literal["mean", "p99"]
    sizing: str
    highest: list[Pair] = Field(description="I/Os per second of the highest load, by phase")
    power: str
    idle_watts: float | None
    idle_bytes_per_watt: float | None
    latency_note: str


class LatencyCurves(_Model):
    """Latency percentiles of rows of `Cells`, over all I/Os of their visits.

    row, n_ios: one for each curve. latencies: those of a curve one after the other, one for each of `percents`; NaN
    where too few I/Os lie beyond. left_out: they were too many for a page; the campaign has them.
    """

    percents: list[float]
    n: int
    row: Column
    n_ios: Column
    latencies: Column
    fewest_beyond: int = Field(description="I/Os that must lie beyond a percentile for it to be told")
    left_out: bool


class TimeCourses(_Model):
    """Visits over time, in the order in which they ran; a visit of two directions is there twice.

    row, purpose, verdict, discarded, started_seconds, cut_ms, n_points: one for each visit. discarded: why it does not
    count, empty when it does. started_seconds: since the first one. cut_ms: end of the warm-up that was cut.
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


class ComparisonData(_Model):
    """Two campaigns side by side: their targets' names are levels of the axis `target`.

    quantity: what was compared, in words. sentences: what the comparison says. first, second: the targets' names.
    The columns `ratio`, `ratio_low` and `ratio_high` of `Cells` stand at the rows of the second campaign.
    """

    quantity: str
    first: list[str]
    second: list[str]
    sentences: list[str]


class Session(_Model):
    """The testbed of one run of the campaign. `n_withheld` entries that name the site (host, user, serial, path)
    are left out.
    """

    entries: list[Pair]
    n_withheld: int


class JobRecipe(_Model):
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
    sharing: str = Field(description="of every cell; empty when it is an axis")
    default_window_seconds: float


class ChartPointData(_Model):
    """Visits at one x: arithmetic mean, standard deviation between visits (null for a single one), and how many
    there were.
    """

    x: float
    mean: float
    sd: float | None
    n: int


class ChartLineData(_Model):
    """One line of a chart."""

    name: str
    points: list[ChartPointData]


class ChartBoundData(_Model):
    """A line across a chart, at a value of y or of x."""

    name: str
    value: float


class ChartData(_Model):
    """A line chart beside the map."""

    title: str
    x_name: str
    x_unit: AxisUnit
    y_name: str
    y_unit: AxisUnit
    lines: list[ChartLineData]
    levels: list[ChartBoundData] = Field(description="limits, across at a value of y")
    marks: list[ChartBoundData] = Field(description="places, upright at a value of x")
    note: str
    after_map: bool = Field(description="about how the map was measured: shown below it")


class TableData(_Model):
    """A table of texts."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    note: str
    after_map: bool


class RoundsCellData(_Model):
    """One cell of a round. read_percent: share of its I/Os that are reads; value: average over the measurement
    window, in the test's quantity.
    """

    rw: str
    bs_bytes: int
    read_percent: int
    value: float | None
    tracked: bool


class RoundsData(_Model):
    """A test that ran in rounds until its tracked value was steady (`ioatlas.model.rounds`).

    first: number, from 1, of the first round after the last preparation. window: numbers of the measurement
    window's first and last round.
    line: the best-fit line at those two. written_bytes: by the rounds since the last preparation.
    """

    target: str
    title: str
    part: str
    quantity: Literal["iops", "bw_bytes_per_s", "lat_mean_ns"]
    tracked: str
    values: list[float]
    first: int
    met: bool
    claims: bool = Field(description="the test is one of steady state; write saturation is not")
    ended: str
    reason: str
    window: list[int] | None
    average: float | None
    range_share: float | None
    slope_share: float | None
    line: list[float] | None
    cells: list[RoundsCellData]
    written_bytes: int
    footprint_bytes: int
    purge: str
    deviations: list[str]
    method: str


class Campaign(_Model):
    """The campaign as a whole."""

    id: str
    name: str
    created: str = Field(description="RFC 3339, UTC; empty when unknown")
    tool_version: str
    seconds: float
    complete: bool
    n_visits: int
    n_discarded: int


class DoubtData(_Model):
    """One reason why the badge is not good. rows: of `Cells`, its evidence."""

    code: str = Field(description="`DoubtCode`")
    level: Trust
    sentence: str
    advice: str
    rows: list[int]


class HeadlineData(_Model):
    """The best value of one target and direction, or the answer of a test of another kind (`ioatlas.model.summary`).

    value, low, high, first: of `quantity`. uncertainty: half the 95% interval, a share of the value; null unknown.
    row: in `Cells`, whose value it is; null where it is no cell. ties: rows of cells that are as fast.
    first, moved: what the sweep gave before the cell was measured again, and the change since, a share.
    """

    label: str
    target: str
    direction: str
    quantity: Literal["bw_bytes_per_s", "iops", "lat_mean_ns"]
    value: float
    low: float | None
    high: float | None
    uncertainty: float | None
    where: str
    row: int | None
    n_visits: int
    lower_bound: bool
    estimated: bool
    first: float | None
    moved: float | None
    tie: str
    ties: list[int]
    limit: str


class LoadReadingData(_Model):
    """What one load gave. in_flight: I/Os."""

    row: int | None
    in_flight: int
    iops: float
    lat_mean_ns: float | None
    lat_p99_ns: float | None
    estimated: bool


class SmallIoData(_Model):
    """Small blocks at the lightest load and at the one with most IOPS."""

    label: str
    target: str
    direction: str
    rw: str
    bs_bytes: int
    lightest: LoadReadingData
    best: LoadReadingData


class CountData(_Model):
    """How often something was found."""

    name: str
    count: int


class WorstCellData(_Model):
    """A cell whose value is worth least. uncertainty: a share; null where its runs disagree too far to say."""

    row: int | None
    label: str
    uncertainty: float | None


class SummaryData(_Model):
    """The first screen: how fast, whether to believe it, what limits it, what to do next. doubts: worst first."""

    name: str
    profile: str
    seconds: float
    n_cells: int
    n_measured: int
    n_estimated: int
    n_imported: int
    n_visits: int
    complete: bool
    trust: Trust
    doubts: list[DoubtData]
    headlines: list[HeadlineData]
    small: list[SmallIoData]
    bottlenecks: list[CountData] = Field(description="of measured values; 'undetermined' last")
    typical_uncertainty: float | None
    worst: list[WorstCellData]
    next_step: str


class ReportData(_Model):
    """Everything a report page shows."""

    format: Literal["ioatlas-report"]
    version: Literal[1]
    campaign: Campaign
    summary: SummaryData
    targets: list[TargetData]
    axes: list[Axis]
    constants: list[Constant]
    cells: Cells
    verdicts: list[VerdictData]
    unmeasured: UnmeasuredCells
    fresh: list[FreshEstimate]
    findings: list[FindingData] = Field(description="in the order to read them")
    top_findings: int = Field(description="how many of them stand at the head; the rest is folded")
    settings: list[Pair]
    sessions: list[Session]
    discard_reasons: list[Pair]
    job: JobRecipe
    rounds: list[RoundsData] = Field(
        description="of a test in rounds, one for each target and pass; empty for other campaigns"
    )
    load_curves: list[LoadCurveData] = Field(
        description="of several streams at once, one for each target; empty for other campaigns"
    )
    comparison: ComparisonData | None = Field(description="null for a single campaign")
    latency_curves: LatencyCurves
    time_courses: TimeCourses
    imported_methods: list[ImportedMethod] = Field(
        description="one for each imported target; empty when nothing was imported"
    )
    charts: list[ChartData] = Field(description="line charts beside the map, in the order to show them")
    tables: list[TableData] = Field(description="tables beside the map")


def schema() -> dict[str, Any]:
    """JSON Schema 2020-12 of `ReportData`, with the texts of the enumerations that the page tells apart."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **ReportData.model_json_schema(),
        "x-enumerations": {
            each.__name__: {one.name: one.value for one in each}
            for each in (FindingCode, UnmeasuredCode, VerdictCode, DoubtCode)
        },
    }


def schema_text() -> str:
    """The schema as it is checked in."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
