# SPDX-License-Identifier: Apache-2.0
"""Fixed-work sequences: operations on one new file, in order, never bounded by time; by fio, by IOzone or by both in
turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ioatlas.config.spec import CampaignSpec
from ioatlas.fio.executor import Executor
from ioatlas.model.fixed_work import IOZONE, STATE
from ioatlas.model.target import Target
from ioatlas.model.testbed import Fact
from ioatlas.procedures.fixed_work.options import FixedWorkOptions
from ioatlas.procedures.fixed_work.plan import build_sequence_plan, work_bytes
from ioatlas.run.plan import FIO_SECONDS, PLANNING_WRITE_BYTES_PER_S, Plan
from ioatlas.run.procedure import PlanText, Procedure
from ioatlas.testbed.typed_in import read_facts

if TYPE_CHECKING:
    from ioatlas.run.runner import Runner
    from ioatlas.run.steps import Steps


@dataclass(frozen=True)
class FixedWork(Procedure):
    """typed: facts that a person typed in, such as the memory of the server."""

    name = "fixed_work"
    typed: tuple[Fact, ...] = ()

    def informed(self, facts: Path | None) -> FixedWork:
        return replace(self, typed=read_facts(facts)) if facts is not None else self

    def plan(self, spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> Plan:
        return build_sequence_plan(spec, targets, read_only=read_only, facts=self.typed)

    def check_start(self, plan: Plan, executor: Executor) -> None:
        if IOZONE in plan.spec.of(FixedWorkOptions).engines:
            executor.find("iozone")

    def seconds(self, plan: Plan) -> float:
        """All operations at the planning rate, and a start of fio for each. Nothing is laid out, nothing lasts a given
        time.
        """
        cells = plan.to_measure
        return plan.spec.visits * (work_bytes(cells) / PLANNING_WRITE_BYTES_PER_S + len(cells) * FIO_SECONDS)

    def summary(self, plan: Plan) -> dict[str, Any]:
        written = plan.spec.visits * work_bytes([cell for cell in plan.to_measure if cell.writes])
        return {
            **super().summary(plan),
            "prepare": STATE,
            "prepared_bytes": 0,
            "bytes_written": written,
            "write_load_seconds": round(written / PLANNING_WRITE_BYTES_PER_S, 1),
        }

    def text(self, plan: Plan, summary: Mapping[str, Any]) -> PlanText:  # noqa: ARG002
        return PlanText(
            order="in sequences of operations in order, sequences in different random orders",
            prepare="a new file for every sequence",
        )

    def shrinks_to_fit(self, plan: Plan) -> bool:  # noqa: ARG002
        return True

    def steps(self, runner: Runner) -> Steps:
        from ioatlas.procedures.fixed_work.steps import SequenceSteps

        return SequenceSteps(runner)
