# SPDX-License-Identifier: Apache-2.0
"""The result of small files: operations per second as charts and a table, and what the cache did to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ioatlas.answer.analysis.charts import chart, mean_dots
from ioatlas.answer.analysis.small_files import rates_table, tree_findings, tree_headlines, unit_of
from ioatlas.answer.analysis.wording import Namer, plural
from ioatlas.answer.results.parts import Axes, ResultParts
from ioatlas.model.cell import Cell
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.panel import Panel, Series
from ioatlas.model.result import CampaignResult
from ioatlas.model.tree import MOVES_DATA, Operation, Tree, tree_operation
from ioatlas.model.units import format_size, grouped
from ioatlas.model.visit import Purpose, Visit

_NAMES = {"size": "File size", "nrfiles": "Files of each job", "numjobs": "Jobs", "depth": "Levels of directories"}


@dataclass(frozen=True)
class TreeReading:
    """One visit of one operation: calls or files a second."""

    cell: Cell
    per_s: float


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
        namer = Namer(cells.values(), [target.name for target in result.targets])
        numbers, tables = tuple(tree_headlines(result.estimates, namer)), (rates_table(result.estimates),)
        told = replace(result, findings=kept, other_traffic=(), charts=tuple(charts(found)), tables=tables)
        return replace(told, headlines=numbers, shown_as="charts", is_map=False)


def charts(found: Sequence[TreeReading]) -> Iterator[Panel]:
    """For each target and operation its rate over what was varied most."""
    along = _along([reading.cell for reading in found])
    if along is None:
        return
    panels = grouped(((reading.cell.target, tree_operation(reading.cell)), reading) for reading in found)
    several = len({target for target, _ in panels}) > 1
    order = list(Operation)
    for (target, operation), mine in sorted(panels.items(), key=lambda item: (item[0][0], order.index(item[0][1]))):
        where = f", {target}" if several else ""
        what = unit_of(operation)
        note = "Work-bounded; mean and standard deviation of the visits."
        title = f"{operation.capitalize()}{where}"
        sizes = along == "size"
        yield chart(title, _NAMES[along], f"Rate, {what}", "", _lines(mine, along), sizes=sizes, note=note)


def _along(cells: Iterable[Cell]) -> str | None:
    """What most values were asked of; None where nothing was varied."""
    values = {name: {cell.option[name] for cell in cells} for cells in [list(cells)] for name in _NAMES}
    name = max(values, key=lambda each: len(values[each]))
    return name if len(values[name]) > 1 else None


def _lines(mine: Sequence[TreeReading], along: str) -> tuple[Series, ...]:
    lines: dict[str, dict[float, list[float]]] = {}
    for reading in mine:
        tree = Tree.of(reading.cell)
        share = (
            tree.count / tree.calls(tree_operation(reading.cell)) if tree_operation(reading.cell) in MOVES_DATA else 1
        )
        points = lines.setdefault(_line_name(reading.cell, along), {})
        points.setdefault(float(reading.cell.option[along]), []).append(reading.per_s * share)
    return tuple(Series(name, mean_dots(points)) for name, points in sorted(lines.items()))


def _line_name(cell: Cell, along: str) -> str:
    tree = Tree.of(cell)
    words = {
        "numjobs": plural(tree.jobs, "job"),
        "nrfiles": f"{tree.files:,} files",
        "size": format_size(tree.size_bytes) if tree.size_bytes else "empty",
        "depth": plural(tree.depth, "level"),
    }
    told = [word for name, word in words.items() if name != along]
    return ", ".join([*told, *(["flushed"] if tree.flushed else [])])
