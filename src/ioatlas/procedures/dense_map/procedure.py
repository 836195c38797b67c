# SPDX-License-Identifier: Apache-2.0
"""A map of which every cell is visited, in as many random orders as asked for or until each is precise enough."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ioatlas.analysis.wording import size_text
from ioatlas.config.spec import CampaignSpec
from ioatlas.design.exhaustive import random_replicates
from ioatlas.model.cell import Cell
from ioatlas.model.target import Target
from ioatlas.procedures.dense_map.expected import expected_summary, expected_text
from ioatlas.procedures.dense_map.plan import build_plan
from ioatlas.run.plan import Plan
from ioatlas.run.procedure import PlanText, Procedure

if TYPE_CHECKING:
    from ioatlas.run.runner import Runner
    from ioatlas.run.steps import Steps
    from ioatlas.store.journal import Journal


class DenseMap(Procedure):
    name = "dense_map"
    in_set_ups = True

    def plan(self, spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> Plan:
        return build_plan(spec, targets, read_only=read_only)

    def summary(self, plan: Plan) -> dict[str, Any]:
        from ioatlas.law.beside import SHARE, planned_beside
        from ioatlas.procedures.dense_map.by_law import chooses

        told, total = expected_summary(plan), plan.spec.budget_seconds or 0.0
        if not (chooses(plan) and (found := planned_beside(plan.to_measure, {}, total))):
            return told
        seconds = round(told["write_load_seconds"] + SHARE * total * len(found), 1)
        return told | {"beside": [_words(cell) for cell in found], "write_load_seconds": seconds}

    def text(self, plan: Plan, summary: Mapping[str, Any]) -> PlanText:
        from ioatlas.procedures.dense_map.by_law import chooses

        if chooses(plan):
            return PlanText(
                order="",
                visits="of which the most informative are measured",
                budget="the most informative load comes next",
                extra=(f"also         {'; '.join(beside)}",) if (beside := summary.get("beside")) else (),
            )
        return expected_text(summary)

    def begin(self, journal: Journal, plan: Plan) -> None:
        from ioatlas.procedures.dense_map.by_law import chooses

        if not chooses(plan):
            plan_replicates(journal, plan)

    def may_shrink(self, plan: Plan) -> bool:
        from ioatlas.procedures.dense_map.plan import may_shrink

        return may_shrink(plan)

    def with_less_to_write(self, plan: Plan, able_bytes: float, bytes_per_s: float) -> Plan:
        from ioatlas.procedures.dense_map.plan import with_less_to_write

        return with_less_to_write(plan, able_bytes, bytes_per_s)

    def steps(self, runner: Runner) -> Steps:
        from ioatlas.procedures.dense_map.by_law import LawSteps, chooses
        from ioatlas.procedures.dense_map.steps import MapSteps

        return LawSteps(runner) if chooses(runner.plan) else MapSteps(runner)


def _words(cell: Cell) -> str:
    small = size_text(cell.members[0].bs_bytes)
    return f"{small} reads under writes" if cell.streams else f"{small} writes, each with its flush"


def plan_replicates(journal: Journal, plan: Plan) -> None:
    """Plan every cell as often as asked for, each time in another random order."""
    from ioatlas.store.journal import NewVisit

    keys = [cell.key for cell in plan.to_measure]
    order = random_replicates(keys, plan.spec.visits, plan.spec.order_seed)
    journal.add_visits(NewVisit(key, block, seed) for key, block, seed in order)
