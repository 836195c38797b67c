# SPDX-License-Identifier: Apache-2.0
"""The result of small files: operations per second as charts and a table, and what the cache did to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ioatlas.answer.analysis.small_files import TreeReading, charts, rates_table, tree_findings
from ioatlas.answer.results.parts import Axes, ResultParts
from ioatlas.model.cell import Cell
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.result import CampaignResult
from ioatlas.model.visit import Purpose, Visit


class TreeParts(ResultParts):
    """Charts, a table and findings of its own: a map's are of bytes."""

    attributed = False

    def axes(self, cells: Mapping[str, Cell]) -> Axes:  # noqa: ARG002
        return dict(self.spec.axes)

    def findings(self, result: CampaignResult) -> tuple[Finding, ...]:
        return tree_findings(result.estimates)

    def finish(self, result: CampaignResult, visits: Sequence[Visit]) -> CampaignResult:
        cells = {one.cell.key: one.cell for one in result.estimates}
        found = [
            TreeReading(cells[visit.cell_key], part.total_ios * 1000 / part.runtime_ms)
            for visit in visits
            if visit.cell_key in cells and not visit.discarded and visit.purpose is Purpose.SWEEP
            for part in visit.parts
            if part.runtime_ms
        ]
        # Names cost a file system journals and inodes: what the device wrote besides is no other load.
        kept = tuple(one for one in result.findings if one.code is not FindingCode.COUNTERS)
        tables = (rates_table(result.estimates),)
        return replace(result, findings=kept, other_traffic=(), charts=tuple(charts(found)), tables=tables)
