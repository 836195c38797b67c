# SPDX-License-Identifier: Apache-2.0
"""The format of the data inside a report page, as commented types: a module for each part. Read by `web/src/lib`.

The JSON Schema of these models is checked in as `web/schema/report-data.schema.json`, the TypeScript types made
from it as `web/src/lib/report-data.gen.ts`; a test fails when either drifts.

History
  1  first version.

Reading rules. A reader refuses a `version` it does not know. Fields are only added within a version, never renamed
or given another meaning. Rates are bytes per second, latencies nanoseconds, times seconds or RFC 3339 UTC.
"""

from __future__ import annotations

import json
from typing import Any, Final, Literal

from ioatlas.model.finding import FindingCode
from ioatlas.model.panel import Panel, Table
from ioatlas.model.reason import UnmeasuredCode
from ioatlas.model.summary import DoubtCode
from ioatlas.model.units import RateSystem
from ioatlas.model.verdict import VerdictCode
from ioatlas.report.page_format.cells import (
    Axis,
    Cells,
    Constant,
    JobRecipe,
    LatencyCurves,
    TimeCourses,
    UnmeasuredCells,
)
from ioatlas.report.page_format.parts import (
    Campaign,
    ComparisonData,
    FindingData,
    ImportedMethod,
    Model,
    Pair,
    ProductCostData,
    Session,
    SummaryData,
    TargetData,
    strict_schema,
)

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
    """JSON Schema 2020-12 of `ReportData`, with the texts of the enumerations that the page tells apart."""
    found = ReportData.model_json_schema()
    for part in found["$defs"].values():
        if "properties" in part:  # records of the result among them, which stand there as they are
            strict_schema(part)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **found,
        "x-enumerations": {
            each.__name__: {one.name: one.value for one in each}
            for each in (FindingCode, UnmeasuredCode, VerdictCode, DoubtCode)
        },
    }


def schema_text() -> str:
    """The schema as it is checked in."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
