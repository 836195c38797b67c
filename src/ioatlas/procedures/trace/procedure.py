# SPDX-License-Identifier: Apache-2.0
"""The replay of a timed trace: a map whose load is the trace's own."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from ioatlas.config.spec import CampaignSpec
from ioatlas.model.target import Target
from ioatlas.procedures.dense_map.plan import build_plan
from ioatlas.procedures.dense_map.procedure import plan_replicates
from ioatlas.procedures.trace.options import TraceOptions
from ioatlas.procedures.trace.plan import keep_trace, restore_trace, summed_up
from ioatlas.run.plan import Plan
from ioatlas.run.procedure import Procedure

if TYPE_CHECKING:
    from ioatlas.run.runner import Runner
    from ioatlas.run.steps import Steps
    from ioatlas.store.journal import Journal


class TraceReplay(Procedure):
    name = "trace"

    def claims(self, spec: CampaignSpec, records: Collection[str]) -> bool:  # noqa: ARG002
        return bool(spec.of(TraceOptions).trace)

    def plan(self, spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> Plan:
        return build_plan(summed_up(spec, targets), targets, read_only=read_only)

    def keep(self, plan: Plan, directory: Path) -> None:
        keep_trace(plan, directory)

    def restore(self, plan: Plan, directory: Path) -> None:
        restore_trace(plan, directory)

    def begin(self, journal: Journal, plan: Plan) -> None:
        plan_replicates(journal, plan)

    def steps(self, runner: Runner) -> Steps:
        from ioatlas.procedures.dense_map.steps import MapSteps

        return MapSteps(runner)
