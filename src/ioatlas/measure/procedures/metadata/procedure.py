# SPDX-License-Identifier: Apache-2.0
"""Small files and their steps: trees one after another, each operation a process, repeated as replicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ioatlas.load.fio.batch import Batch, Section
from ioatlas.load.fio.collect import SectionResult, names_process
from ioatlas.load.fio.executor import Executor, LoadProcess, limit_seconds
from ioatlas.measure.procedures.metadata.plan import (
    PLANNING_CALLS_PER_S,
    RECORD_BYTES,
    build_tree_plan,
    expected_seconds,
    inodes_at_once,
)
from ioatlas.measure.run.gates import Gates
from ioatlas.measure.run.plan import PLANNING_WRITE_BYTES_PER_S, Plan
from ioatlas.measure.run.procedure import PlanText, Procedure
from ioatlas.measure.run.sequences import SequencedSteps
from ioatlas.measure.run.session import Session
from ioatlas.measure.run.steps import Making, Steps
from ioatlas.model.cell import Cell
from ioatlas.model.options import JobValue
from ioatlas.model.target import Target
from ioatlas.model.tree import BY_NAMES, LIST_PASSES, MOVES_DATA, STATE, Operation, Tree, tree_operation, trees_of
from ioatlas.model.units import format_duration, format_rate, format_size_rounded
from ioatlas.model.verdict import Verdict, VerdictCode
from ioatlas.model.visit import SectionState, Visit
from ioatlas.plan.spec import CampaignSpec
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

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._seconds: dict[tuple[str, Operation], float] = {}
        self.sequences = trees_of(session.plan.to_measure)

    def make(self) -> Making[bool]:
        plan = self.session.plan
        for target in plan.targets:
            mine = [tree for tree in self.sequences if tree.target == target.name]
            files = plan.files.get(target.name, {})
            self.session.sites.open(target.name, files, self.session.target_use, inodes=inodes_at_once(mine))
        yield from self.make_replicates()
        return True

    def sequence_of(self, cell: Cell) -> Tree:
        return Tree.of(cell)

    def make_operations(self, one: Tree, rows: Sequence[PlannedVisit]) -> Making[int]:
        sites = self.session.sites
        sites.check([self.cells[row.cell_key] for row in rows])
        sites.remove_tree(one.target)
        sites.make_tree(one.target, dict.fromkeys(one.folder(job) for job in range(one.jobs)))
        for done, row in enumerate(rows):
            load = self._by_names if tree_operation(self.cells[row.cell_key]) in BY_NAMES else None
            if not (yield from self.make_batch([row], load)):
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
            ("directory", self.session.sites.file_path(cell.target, TREE)),
            ("filename_format", tree.names(renamed=operation is Operation.DELETE)),
            ("allow_file_create", int(operation is not Operation.READ)),
            *((("create_on_open", 1),) if operation is not Operation.READ else ()),
            *(_TIME_OF_CALLS if engine else ()),
        )

    def section(self, visit: PlannedVisit) -> Section:
        cell = self.cells[visit.cell_key]
        calls = Tree.of(cell).calls(tree_operation(cell))
        cap_seconds = max(LEAST_CAP_SECONDS, SLOWEST_CALL_SECONDS * calls)
        return self.bound(visit, round(1000 * cap_seconds), 0)

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
            "top": self.session.sites.file_path(cell.target, TREE),
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


class Metadata(Procedure):
    name = "metadata"

    def plan(self, spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> Plan:
        return build_tree_plan(spec, targets, read_only=read_only)

    def check_start(self, plan: Plan, executor: Executor) -> None:  # noqa: ARG002
        executor.find("names")

    def seconds(self, plan: Plan) -> float:
        return plan.spec.visits * expected_seconds(plan.to_measure)

    def summary(self, plan: Plan) -> dict[str, Any]:
        trees = list(trees_of(plan.to_measure))
        written = plan.spec.visits * sum(tree.bytes for tree in trees)
        return {
            **super().summary(plan),
            "prepare": STATE,
            "prepared_bytes": 0,
            "bytes_written": written,
            "write_load_seconds": round(written / PLANNING_WRITE_BYTES_PER_S, 1),
            "trees": len(trees),
            "files_at_once": max((tree.count for tree in trees), default=0),
            "inodes_at_once": inodes_at_once(trees),
            "memory_bytes": RECORD_BYTES * max((tree.count for tree in trees), default=0),
            "files_made": plan.spec.visits * sum(tree.count for tree in trees),
            "calls_assumed_per_s": PLANNING_CALLS_PER_S,
        }

    def text(self, plan: Plan, summary: Mapping[str, Any]) -> PlanText:
        written = format_size_rounded(summary["bytes_written"]) if summary["bytes_written"] else "no data"
        most = summary["files_at_once"]
        clean = format_duration(most / PLANNING_CALLS_PER_S)
        assumed = f"{PLANNING_CALLS_PER_S:,} calls a second and {format_rate(PLANNING_WRITE_BYTES_PER_S)}"
        shared = plan.spec.sharing == "shared"
        return PlanText(
            files="all jobs make theirs in one directory" if shared else "each job makes its own in its own directory",
            order="in sequences of operations in order, sequences in different random orders",
            prepare="a new tree of files for every sequence",
            extra=(
                f"inodes       {summary['inodes_at_once']:,} at once; {summary['files_made']:,} files are made in all",
                f"memory       {format_size_rounded(summary['memory_bytes'])} at most for fio's records of the files",
            ),
            cost=(
                f"written      {written}, and the names of {summary['files_made']:,} files",
                f"time         about {format_duration(summary['seconds'])}, assuming {assumed}; a NAS may be slower",
                f"cleaning     up to {most:,} files, about {clean} at that rate, also after a kill (`ioatlas resume`)",
            ),
            budget="what is not made by then is left out",
        )

    def steps(self, session: Session) -> Steps:
        return TreeSteps(session)
