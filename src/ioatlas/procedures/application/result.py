# SPDX-License-Identifier: Apache-2.0
"""The result of works: each work's figure in its own unit, and what the command cost beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from ioatlas.analysis.wording import plural
from ioatlas.model.application import WORK, WorkFigure, work_of
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.panel import Table
from ioatlas.model.result import CampaignResult
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


def figure_of(estimate: Estimate, work: Work) -> WorkFigure | None:
    """A work's value in its own unit; None where nothing came to an end."""
    rate, low, high = estimate.iops, estimate.iops_low, estimate.iops_high
    if not rate:
        return None

    def turned(value: float | None) -> float | None:
        return 1 / value / work.unit_seconds if value else None

    less = work.figure.better is Better.LESS
    values = (1 / rate / work.unit_seconds, turned(high), turned(low)) if less else (rate, low, high)
    cell = estimate.cell
    unit = work.figure.unit
    return WorkFigure(work.name, cell.target, cell.key, *values, unit, less, estimate.n_visits, estimate.verdict)


class WorkParts(ResultParts):
    """Figures in their own units; nothing of fio's is told of commands."""

    attributed = False
    claims_bytes = False

    def axes(self, cells: Mapping[str, Cell]) -> Axes:
        return {WORK: tuple(dict.fromkeys(work_of(cell) for cell in cells.values()))}

    def estimates(self, cells: Mapping[str, Cell], visits: Sequence[Visit]) -> tuple[Estimate, ...]:
        found = super().estimates(cells, visits)
        return tuple(replace(one, bw_bytes_per_s=None, bw_low=None, bw_high=None, bw_first=None) for one in found)

    def findings(self, result: CampaignResult) -> tuple[Finding, ...]:
        found: dict[str, list[WorkFigure]] = {}
        for one in self._figures(result):
            found.setdefault(one.work, []).append(one)
        return tuple(_finding(work, figures) for work, figures in found.items())

    def finish(self, result: CampaignResult, visits: Sequence[Visit]) -> CampaignResult:
        figures = self._figures(result)
        table = works_table(figures, visits, records_by_visit(self.journal.usages()))
        return replace(result, works=figures, tables=(table, *result.tables)) if figures else result

    def _figures(self, result: CampaignResult) -> tuple[WorkFigure, ...]:
        works = works_of(self.spec)
        each = (figure_of(one, works[work_of(one.cell)]) for one in result.estimates if work_of(one.cell) in works)
        return tuple(one for one in each if one is not None)


def _finding(work: str, figures: Sequence[WorkFigure]) -> Finding:
    """What a work gave on every target, in a sentence."""
    told = []
    for one in figures:
        place = f" on {one.target}" if len(figures) > 1 else ""
        sure = f" ({one.interval})" if one.low is not None else ""
        doubt = "" if one.verdict is VerdictCode.STEADY else f", {one.verdict}"
        told.append(f"{one.text}{place}{sure}{doubt}")
    visits = plural(min(one.n_visits for one in figures), "visit")
    sentence = f"{'; '.join(told)}. {visits}{' or more' if len(figures) > 1 else ''}."
    return Finding(FindingCode.WORK, sentence, tuple(one.cell for one in figures), title=work)


def works_table(
    figures: Sequence[WorkFigure], visits: Sequence[Visit], records: Mapping[int, Mapping[str, Any]]
) -> Table:
    """A row for each work on each target. records: what was counted beside each visit."""
    rows = []
    for one in figures:
        mine = [visit for visit in visits if visit.cell_key == one.cell and not visit.discarded]
        counted = [records[visit.visit_id] for visit in mine if visit.visit_id in records]
        said = (one.work, one.target, one.text, one.interval, str(one.n_visits), str(one.verdict))
        rows.append((*said, *_means(counted)))
    return Table("Works", COLUMNS, tuple(rows), NOTE)


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
