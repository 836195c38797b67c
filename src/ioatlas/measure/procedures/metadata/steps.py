# SPDX-License-Identifier: Apache-2.0
"""The steps of small files: trees one after another, each operation a process, repeated as replicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ioatlas.load.fio.batch import Batch, Section
from ioatlas.load.fio.collect import SectionResult, names_process
from ioatlas.load.fio.executor import LoadProcess, limit_seconds
from ioatlas.measure.procedures.metadata.procedure import expected_seconds, inodes_at_once
from ioatlas.measure.run.gates import Gates
from ioatlas.measure.run.runner import Runner
from ioatlas.measure.run.sequences import SequencedSteps
from ioatlas.model.cell import Cell
from ioatlas.model.options import JobValue
from ioatlas.model.tree import BY_NAMES, LIST_PASSES, MOVES_DATA, Operation, Tree, tree_operation, trees_of
from ioatlas.model.verdict import Verdict, VerdictCode
from ioatlas.model.visit import SectionState, Visit
from ioatlas.store.journal import PlannedVisit
from ioatlas.target.tree import TREE

LEAST_CAP_SECONDS, SLOWEST_CALL_SECONDS = 600, 0.2
"""An operation may take so long, or so long for each call, before its target is taken to hang."""
ROUNDED_UP_MS = 0.5
"""Run times are whole milliseconds, rounded up: half of one too long in the mean."""
ENGINES = {Operation.CREATE: "filecreate", Operation.STAT: "filestat", Operation.DELETE: "filedelete"}
"""fio's engines that time the call itself and move no data."""
_TIME_OF_CALLS: tuple[tuple[str, JobValue], ...] = (
    ("disable_clat", 0),
    ("clat_percentiles", 1),
    ("lat_percentiles", 0),
)


class TreeSteps(SequencedSteps[Tree]):
    """One session of trees."""

    def __init__(self, runner: Runner) -> None:
        super().__init__(runner)
        self._seconds: dict[tuple[str, Operation], float] = {}
        self.sequences = trees_of(runner.plan.to_measure)

    def make(self) -> bool:
        plan = self.runner.plan
        for target in plan.targets:
            mine = [tree for tree in self.sequences if tree.target == target.name]
            files = plan.files.get(target.name, {})
            self.runner.sites.open(target.name, files, self.runner.target_use, inodes=inodes_at_once(mine))
        self.make_replicates()
        return True

    def sequence_of(self, cell: Cell) -> Tree:
        return Tree.of(cell)

    def make_operations(self, one: Tree, rows: Sequence[PlannedVisit]) -> int:
        sites = self.runner.sites
        sites.check([self.cells[row.cell_key] for row in rows])
        sites.remove_tree(one.target)
        sites.make_tree(one.target, dict.fromkeys(one.folder(job) for job in range(one.jobs)))
        waiting = {row.visit_id: row for row in rows}
        for done, row in enumerate(rows):
            load = self._by_names if tree_operation(self.cells[row.cell_key]) in BY_NAMES else None
            if not self.runner.batch((self.section(row),), waiting, load):
                return done
        sites.remove_tree(one.target)
        return len(rows)

    # -- one operation ---------------------------------------------------------------------------------------

    def location(self, cell: Cell) -> tuple[tuple[str, JobValue], ...]:
        tree, operation = Tree.of(cell), tree_operation(cell)
        engine = ENGINES.get(operation)
        # Without create_on_open fio would write files that it finds too short before it looks at or deletes them.
        return (
            ("ioengine", engine or "psync"),
            ("directory", self.runner.sites.file_path(cell.target, TREE)),
            ("filename_format", tree.names(renamed=operation is Operation.DELETE)),
            ("allow_file_create", int(operation is not Operation.READ)),
            *((("create_on_open", 1),) if operation is not Operation.READ else ()),
            *(_TIME_OF_CALLS if engine else ()),
        )

    def section(self, visit: PlannedVisit) -> Section:
        cell = self.cells[visit.cell_key]
        calls = Tree.of(cell).calls(tree_operation(cell))
        cap_seconds = max(LEAST_CAP_SECONDS, SLOWEST_CALL_SECONDS * calls)
        return self.runner.section(visit, round(1000 * cap_seconds), 0)

    def _by_names(self, batch: Batch) -> LoadProcess:
        """What opens, lists or renames the files of a tree."""
        (section,) = batch.sections
        cell = section.cell
        tree, ((name, _, _),) = Tree.of(cell), section.jobs
        told: dict[str, Any] = {
            "name": name,
            "operation": str(tree_operation(cell)),
            "direction": cell.directions[0],
            "jobs": tree.jobs,
            "files": tree.files,
            "passes": LIST_PASSES,
            "top": self.runner.sites.file_path(cell.target, TREE),
            "folder": tree.folder("$jobnum"),
            "names": tree.names(),
            "renamed": tree.names(renamed=True),
        }
        return names_process(told, batch.directory, limit_seconds=limit_seconds(section.runtime_ms / 1000))

    def read(self, batch: Batch, planned: Mapping[int, PlannedVisit]) -> list[SectionResult]:
        return [_timed(result) for result in super().read(batch, planned)]

    def gated(self, results: Sequence[SectionResult]) -> bool:  # noqa: ARG002
        """Neither Little's law nor the device's counters bound a load that moves no data."""
        return False

    def judge(self, section: Section, visit: Visit, gates: Gates | None) -> tuple[Visit, bool]:  # noqa: ARG002
        return replace(visit, verdict=Verdict(VerdictCode.WORK_BOUNDED), window_start_ms=0), False

    # -- time ------------------------------------------------------------------------------------------------

    def learn(self, visit: Visit, asked_ms: int | None = None) -> None:  # noqa: ARG002
        cell = self.cells[visit.cell_key]
        calls = sum(part.total_ios for part in visit.parts)
        if calls and not visit.discarded:
            seconds = sum(part.runtime_ms for part in visit.parts) / 1000
            self._seconds[cell.target, tree_operation(cell)] = seconds / calls

    def seconds_of(self, one: Tree, cells: Sequence[Cell]) -> float | None:
        seconds = 0.0
        for cell in cells:
            each = self._seconds.get((one.target, tree_operation(cell)))
            if each is None:
                return None
            seconds += each * one.calls(tree_operation(cell))
        return seconds + self.budget.process_seconds(0.0) * len(cells)

    def usual_seconds(self, cell: Cell) -> float:
        return expected_seconds([cell])


def _timed(result: SectionResult) -> SectionResult:
    """The result with its time, or what of it was not done. Calls that move no data count one byte each."""
    visit, cell = result.visit, result.section.cell
    if visit is None or not visit.parts:
        return result
    (part,) = visit.parts
    wanted = Tree.of(cell).calls(tree_operation(cell))
    if part.total_ios < wanted:
        done = f"{part.total_ios} of {wanted} calls done"
        return replace(result, state=SectionState.CUT_SHORT, reason=done)
    # The true time lies within the last millisecond of the run time, and above that of the calls of one job.
    calls_ms = (part.lat_mean_ns or 0.0) * part.total_ios / cell.numjobs / 1e6
    part = replace(part, runtime_ms=max(calls_ms, part.runtime_ms - ROUNDED_UP_MS))
    if tree_operation(cell) not in MOVES_DATA:
        part = replace(part, io_bytes=part.total_ios)
    return replace(result, visit=replace(visit, parts=(part,)))
