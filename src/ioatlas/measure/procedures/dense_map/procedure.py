# SPDX-License-Identifier: Apache-2.0
"""A map: every cell is visited, in as many random orders as asked for or until each is precise enough; or those that
teach most, and the law foretells the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ioatlas.answer.analysis.wording import size_text
from ioatlas.answer.law.choose import BESIDE_SHARE, OTHER_SECONDS, START_SECONDS, planned_beside
from ioatlas.load.fio.executor import Executor
from ioatlas.measure.procedures.dense_map.by_law import LawSteps, chooses, most_cells, total_seconds, why_not_chosen
from ioatlas.measure.procedures.dense_map.plan import (
    build_plan,
    expected_summary,
    expected_text,
    may_shrink,
    with_less_to_write,
)
from ioatlas.measure.procedures.dense_map.steps import MapSteps
from ioatlas.measure.procedures.options import MapOptions
from ioatlas.measure.run.plan import Plan
from ioatlas.measure.run.procedure import PlanText, Procedure
from ioatlas.model.cell import Cell
from ioatlas.model.errors import UsageError
from ioatlas.model.outcomes import Chosen, KeptLaw
from ioatlas.model.target import Target
from ioatlas.plan.orders import random_replicates
from ioatlas.plan.spec import CampaignSpec
from ioatlas.store.journal import NewVisit

if TYPE_CHECKING:
    from ioatlas.measure.run.session import Session
    from ioatlas.measure.run.steps import Steps
    from ioatlas.store.journal import Journal


class DenseMap(Procedure):
    name = "dense_map"
    in_set_ups = True

    def plan(self, spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> Plan:
        return build_plan(spec, targets, read_only=read_only)

    def summary(self, plan: Plan) -> dict[str, Any]:

        if not chooses(plan):
            return expected_summary(plan)
        total = total_seconds(plan)
        each, most = OTHER_SECONDS + START_SECONDS, most_cells(plan)
        told = expected_summary(plan, None if most is None else (total, most, each))
        if not (found := planned_beside(plan.to_measure, {}, total)):
            return told
        seconds = round(told["write_load_seconds"] + BESIDE_SHARE * total * len(found), 1)
        return told | {"beside": [_words(cell) for cell in found], "write_load_seconds": seconds}

    def text(self, plan: Plan, summary: Mapping[str, Any]) -> PlanText:

        if chooses(plan):
            expected = summary.get("cells_expected", 0) if most_cells(plan) is not None else 0
            told = (
                f"{'about' if plan.spec.of(MapOptions).cells is None else 'at most'} {expected:,}, " if expected else ""
            )
            return PlanText(
                order="",
                visits=f"of which {told}the most informative{',' if told else ''} are measured",
                budget="the most informative load comes next",
                extra=(f"also         {'; '.join(beside)}",) if (beside := summary.get("beside")) else (),
            )
        return expected_text(summary)

    def begin(self, journal: Journal, plan: Plan) -> None:

        if chooses(plan):
            journal.keep(Chosen(most_cells(plan)))
            journal.keep(KeptLaw())
        else:
            plan_replicates(journal, plan)

    def check_start(self, plan: Plan, executor: Executor) -> None:  # noqa: ARG002

        if plan.spec.of(MapOptions).cells is not None and (why := why_not_chosen(plan)):
            what = f"the law of a target cannot choose among these cells: {why}"
            raise UsageError(what, where="--cells", remedy="leave it out: all cells are measured then")

    def may_shrink(self, plan: Plan) -> bool:

        return may_shrink(plan)

    def with_less_to_write(self, plan: Plan, able_bytes: float, bytes_per_s: float) -> Plan:

        return with_less_to_write(plan, able_bytes, bytes_per_s)

    def steps(self, session: Session) -> Steps:

        few = session.plan.spec.of(MapOptions).cells is not None and chooses(session.plan)
        if few and not session.journal.is_kept(Chosen) and not session.journal.campaign().complete:
            self.begin(session.journal, session.plan)  # version 0.3 did not
        return LawSteps(session) if session.journal.is_kept(Chosen) else MapSteps(session)


def _words(cell: Cell) -> str:
    small = size_text(cell.members[0].bs_bytes)
    return f"{small} reads under writes" if cell.streams else f"{small} writes, each with its flush"


def plan_replicates(journal: Journal, plan: Plan) -> None:
    """Plan every cell as often as asked for, each time in another random order."""
    keys = [cell.key for cell in plan.to_measure]
    order = random_replicates(keys, plan.spec.visits, plan.spec.order_seed)
    journal.add_visits(NewVisit(key, block, seed) for key, block, seed in order)
