# SPDX-License-Identifier: Apache-2.0
"""The search for the best numjobs x iodepth under a limit on latency: trials, the best afresh, the load-latency
curve.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ioatlas.measure.procedures.dense_map.plan import build_plan
from ioatlas.measure.procedures.tune.result import TuneGoal
from ioatlas.measure.procedures.tune.steps import TuneSteps
from ioatlas.measure.run.plan import PLANNING_WRITE_BYTES_PER_S, Plan
from ioatlas.measure.run.procedure import PlanText, Procedure
from ioatlas.model.errors import UsageError
from ioatlas.model.target import Target
from ioatlas.model.units import words
from ioatlas.plan.spec import CampaignSpec

if TYPE_CHECKING:
    from ioatlas.measure.run.runner import Runner
    from ioatlas.measure.run.steps import Steps
    from ioatlas.plan.latency_search import Goal
    from ioatlas.store.journal import Journal

_DECIDED = frozenset(words("numjobs iodepth rate_iops rate rate_process thinktime io_size number_ios loops runtime"))
"""Options that the search decides on."""


USUAL_SECONDS = 60.0


@dataclass(frozen=True)
class Tune(Procedure):
    """goal: of a new search; one that was begun has it in its journal."""

    name = "tune"
    goal: Goal | None = None

    def plan(self, spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> Plan:
        """Raises UsageError for what the search itself decides on."""
        taken = sorted(_DECIDED & {*spec.constants, *spec.axes})
        if taken:
            raise UsageError(f"{taken[0]} is what the search decides on", where="--set", remedy=f"leave {taken[0]} out")
        constants = {**spec.constants, "numjobs": 1, "iodepth": 1}
        return build_plan(replace(spec, constants=constants), targets, read_only=read_only)

    def seconds(self, plan: Plan) -> float:
        """What follows from what its trials give."""
        return min(USUAL_SECONDS, plan.spec.budget_seconds or USUAL_SECONDS)

    def summary(self, plan: Plan) -> dict[str, Any]:
        told = super().summary(plan)
        seconds = told["seconds"] * any(cell.writes for cell in plan.to_measure)
        told["bytes_written"] = plan.layout_bytes + int(seconds * PLANNING_WRITE_BYTES_PER_S)
        return told | {"write_load_seconds": seconds}

    def text(self, plan: Plan, summary: Mapping[str, Any]) -> PlanText:  # noqa: ARG002
        visits = "about 30 trials of its jobs and depth, 5 visits of the best, 10 to 12 fixed rates"
        return PlanText(order="", visits=visits, budget="the search ends with what it has found")

    def begin(self, journal: Journal, plan: Plan) -> None:  # noqa: ARG002
        if self.goal is None:
            raise UsageError("a search needs a goal", where="tune", remedy="write for example --p99 5ms")
        journal.keep(TuneGoal(self.goal))

    def steps(self, runner: Runner) -> Steps:

        return TuneSteps(runner)
