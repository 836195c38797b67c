# SPDX-License-Identifier: Apache-2.0
"""The result of works: each work's figure in its own unit, and what the command cost beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from ioatlas.analysis.wording import plural
from ioatlas.model.application import WORK, figure_text, work_of
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding
from ioatlas.model.panel import Table
from ioatlas.model.result import CampaignResult
from ioatlas.model.summary import Headline
from ioatlas.model.units import format_duration, format_size_rounded
from ioatlas.model.verdict import VerdictCode
from ioatlas.model.visit import Visit
from ioatlas.procedures.application.options import Better, Work, works_of
from ioatlas.results.parts import Axes, ResultParts
from ioatlas.testbed.visit_usage import records_by_visit

COLUMNS = (
    "work",
    "target",
    "figure",
    "95% interval",
    "visits",
    "verdict",
    "wall time",
    "CPU time",
    "disk read",
    "disk written",
    "received",
    "sent",
)
NOTE = (
    "Times and counters are means over visits, of the timed command alone. CPU time is that of the command and of what "
    "it waited for, not of servers that setup had started. Disks and interfaces are those on the way to the target."
)


@dataclass(frozen=True)
class Figure:
    """What a work gave, in its own unit, with its 95% interval."""

    estimate: Estimate
    unit: str
    value: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, estimate: Estimate, work: Work) -> Figure | None:
        """None where nothing came to an end."""
        rate, low, high = estimate.iops, estimate.iops_low, estimate.iops_high
        if not rate:
            return None

        def turned(value: float | None) -> float | None:
            return 1 / value / work.unit_seconds if value else None

        less = work.figure.better is Better.LESS
        ends = (1 / rate / work.unit_seconds, turned(high), turned(low)) if less else (rate, low, high)
        return cls(estimate, work.figure.unit, *ends)

    def headline(self, *, several: bool) -> Headline:
        """several: whether works ran on more than one target."""
        e, target = self.estimate, self.estimate.cell.target
        doubt = "" if e.verdict is VerdictCode.STEADY else f", {e.verdict}"
        label = f"{work_of(e.cell)}{f' on {target}' if several else ''}"
        where, key = f"{plural(e.n_visits, 'visit')}{doubt}", e.cell.key
        ends = (self.value, self.low, self.high)
        return Headline(label, target, "", "figure", *ends, where, key, e.n_visits, unit=self.unit)


class WorkParts(ResultParts):
    """Figures in their own units; nothing of fio's is told of commands."""

    attributed = False
    claims_bytes = False

    def axes(self, cells: Mapping[str, Cell]) -> Axes:
        return {WORK: tuple(dict.fromkeys(work_of(cell) for cell in cells.values()))}

    def estimates(self, cells: Mapping[str, Cell], visits: Sequence[Visit]) -> tuple[Estimate, ...]:
        found = super().estimates(cells, visits)
        return tuple(replace(one, bw_bytes_per_s=None, bw_low=None, bw_high=None, bw_first=None) for one in found)

    def findings(self, result: CampaignResult) -> tuple[Finding, ...]:  # noqa: ARG002
        """All is in the headlines and in the table."""
        return ()

    def finish(self, result: CampaignResult, visits: Sequence[Visit]) -> CampaignResult:
        works = works_of(self.spec)
        each = (Figure.of(one, works[work_of(one.cell)]) for one in result.estimates if work_of(one.cell) in works)
        figures = [one for one in each if one is not None]
        if not figures:
            return result
        table = works_table(figures, visits, records_by_visit(self.journal.usages()))
        headlines = tuple(one.headline(several=len(result.targets) > 1) for one in figures)
        return replace(result, headlines=headlines, tables=(table, *result.tables))


def works_table(figures: Sequence[Figure], visits: Sequence[Visit], records: Mapping[int, Mapping[str, Any]]) -> Table:
    """A row for each work on each target. records: what was counted beside each visit."""
    rows = []
    for one in figures:
        e = one.estimate
        mine = [visit for visit in visits if visit.cell_key == e.cell.key and not visit.discarded]
        counted = [records[visit.visit_id] for visit in mine if visit.visit_id in records]
        ends = "not given"
        if one.low is not None and one.high is not None:
            ends = f"{figure_text(one.low)} to {figure_text(one.high)}"
        figure = f"{figure_text(one.value)} {one.unit}"
        said = (work_of(e.cell), e.cell.target, figure, ends, str(e.n_visits), str(e.verdict))
        rows.append((*said, *_means(counted)))
    return Table("Works", COLUMNS, tuple(rows), NOTE, folded=True)


def _means(records: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Times of the command and counters, means over visits."""
    times = [record["work"] for record in records if "work" in record]
    told = [
        format_duration(fmean(float(one[name]) for one in times)) if times else ""
        for name in ("wall_seconds", "cpu_seconds")
    ]
    for group, name in (("disks", "read_bytes"), ("disks", "write_bytes"), ("nics", "rx_bytes"), ("nics", "tx_bytes")):
        sums = [sum(int(one[name]) for one in record[group].values()) for record in records if group in record]
        told.append(format_size_rounded(fmean(sums)) if sums else "")
    return tuple(told)
