# SPDX-License-Identifier: Apache-2.0
"""Metadata and small files: trees that are made, looked at, renamed and deleted, each operation in a process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ioatlas.config.spec import CampaignSpec
from ioatlas.fio.executor import Executor
from ioatlas.model.target import Target
from ioatlas.model.tree import STATE, trees_of
from ioatlas.model.units import format_duration, format_rate, format_size_rounded
from ioatlas.procedures.metadata.plan import (
    PLANNING_CALLS_PER_S,
    RECORD_BYTES,
    build_tree_plan,
    expected_seconds,
    inodes_at_once,
)
from ioatlas.run.plan import PLANNING_WRITE_BYTES_PER_S, Plan
from ioatlas.run.procedure import PlanText, Procedure

if TYPE_CHECKING:
    from ioatlas.run.runner import Runner
    from ioatlas.run.steps import Steps


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

    def steps(self, runner: Runner) -> Steps:
        from ioatlas.procedures.metadata.steps import TreeSteps

        return TreeSteps(runner)
