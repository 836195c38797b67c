# SPDX-License-Identifier: Apache-2.0
"""Several streams at once, at load points in a given order; the highest load is searched for first where it was asked
for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ioatlas.config.spec import CampaignSpec
from ioatlas.model.target import Target
from ioatlas.procedures.load_points.plan import build_streams_plan
from ioatlas.run.plan import PLANNING_WRITE_BYTES_PER_S, Plan
from ioatlas.run.procedure import PlanText, Procedure

if TYPE_CHECKING:
    from ioatlas.run.runner import Runner
    from ioatlas.run.steps import Steps


class LoadPoints(Procedure):
    name = "load_points"

    def plan(self, spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> Plan:
        return build_streams_plan(spec, targets, read_only=read_only)

    def seconds(self, plan: Plan) -> float:
        # Visits last as long as the window says. A plan read back from a journal has no outline.
        return float(plan.outline.get("seconds", plan.seconds()))

    def summary(self, plan: Plan) -> dict[str, Any]:
        told = super().summary(plan)
        written = int(told["write_load_seconds"] * PLANNING_WRITE_BYTES_PER_S)
        return {**told, "bytes_written": plan.layout_bytes + written}

    def text(self, plan: Plan, summary: Mapping[str, Any]) -> PlanText:  # noqa: ARG002
        times = summary.get("searches", 0)
        search = f"search       for the highest load, {times} time{'s' if times > 1 else ''}, before the load points"
        return PlanText(order="in their order, the whole of it repeated", extra=(search,) if times else ())

    def steps(self, runner: Runner) -> Steps:
        from ioatlas.procedures.load_points.steps import LoadPointSteps

        return LoadPointSteps(runner)
