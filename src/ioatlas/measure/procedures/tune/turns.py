# SPDX-License-Identifier: Apache-2.0
"""An advice and its steps: the smaller changes, what they foretell, then the changes, each turn as the time allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ioatlas.measure.procedures.dense_map.procedure import DenseMap
from ioatlas.measure.procedures.dense_map.steps import MapSteps
from ioatlas.measure.procedures.options import USUAL_BUDGET_SECONDS
from ioatlas.measure.procedures.tune.advice import (
    FEWEST,
    LOOKS,
    LOOKS_END,
    VISITS,
    WINDOW_SECONDS,
    Foretellings,
    foretell,
    loads,
    with_changes,
    with_command,
)
from ioatlas.measure.run.plan import Plan
from ioatlas.measure.run.procedure import PlanText, Procedure
from ioatlas.measure.run.session import Session
from ioatlas.measure.run.steps import Making, Steps
from ioatlas.model.cell import Cell
from ioatlas.model.outcomes import Fitted
from ioatlas.model.visit import Purpose, RemarkKind
from ioatlas.plan.orders import random_replicates
from ioatlas.plan.pace import LEAST_SHARE
from ioatlas.plan.spec import CampaignSpec
from ioatlas.store.journal import Journal, NewVisit
from ioatlas.target.opening import open_target


class AdviceSteps(MapSteps):
    """One session."""

    def sweep(self) -> Making[None]:
        session = self.session
        base, changed = loads(list(session.cells.values()), session.plan.spec.patterns[0])
        session.pace.share = self.journal.kept(Fitted).share
        yield from self.make_planned(Purpose.SWEEP)  # what a session that was stopped had begun
        smaller = [cell for cell in session.cells.values() if cell not in (base, *changed.values())]
        yield from self._turns(base, smaller, range(LOOKS), LOOKS_END)
        if not any(visit.replicate >= LOOKS for visit in self.journal.visits()):
            found = foretell(base, changed, self.journal)
            self.journal.keep(Foretellings(found))
            told = "; ".join(f"{name}={changed[name].option[name]} {one}" for name, one in found.items())
            session.remark(
                RemarkKind.NOTE, f"Times the throughput, by the law of the target, before it is tried: {told}."
            )
        yield from self._turns(base, list(changed.values()), range(LOOKS, LOOKS + VISITS), 1.0)

    def _turns(self, base: Cell, cells: list[Cell], turns: range, end: float) -> Making[None]:
        """A visit of each load in every turn, by `end` of the budget: as short as the turns to come ask for, and where
        there is no time for the fewest turns, without the slowest loads. What nobody knows is looked at shortly.
        """
        pace, budget, made = self.session.pace, self.budget, self.journal.visits()
        for turn in range(max([turns.start, *(1 + visit.replicate for visit in made)]), turns.stop):
            left = max(0.0, end * (budget.total or USUAL_BUDGET_SECONDS) - budget.elapsed - self.reserve_seconds())
            cells = sorted(cells, key=lambda cell: pace.latency_seconds(cell) or 0.0)
            to_come, pace.share = turns.stop - turn, LEAST_SHARE
            while cells and max(1, turns.start + FEWEST - turn) * self._turn_seconds([base, *cells]) > left:
                cells.pop()
            if turn and not cells:
                return
            if pace.latency_seconds(base) is not None:
                pace.share = 1.0
                pace.share = min(1.0, max(LEAST_SHARE, left / 2 / to_come / self._turn_seconds([base, *cells])))
            self.journal.keep(Fitted(pace.share))
            shortest = round(1000 * min(WINDOW_SECONDS, left / 2 / to_come / (1 + len(cells))))
            order = random_replicates([cell.key for cell in (base, *cells)], 1, self._seed + turn)
            self.journal.add_visits(NewVisit(key, turn, seed, runtime_ms=shortest) for key, _, seed in order)
            yield from self.make_planned(Purpose.SWEEP)

    def _turn_seconds(self, cells: Sequence[Cell]) -> float:
        """Of one visit of each, and of what is then in flight, which may take as long as its upper bound."""
        return self._seconds_for(cells, 1) + sum(self.session.pace.latency_seconds(cell) or 0.0 for cell in cells)


class Advise(DenseMap):
    """The loads that teach the law, then the changes in turns with the load as it is."""

    name = "advise"

    def summary(self, plan: Plan) -> dict[str, Any]:
        return Procedure.summary(self, plan)

    def text(self, plan: Plan, summary: Mapping[str, Any]) -> PlanText:  # noqa: ARG002
        return PlanText(order="in turns", budget="a change that takes too long for it is foretold only")

    def begin(self, journal: Journal, plan: Plan) -> None:  # noqa: ARG002
        journal.keep(Foretellings())

    def steps(self, session: Session) -> Steps:
        return AdviceSteps(session)


def advised(spec: CampaignSpec, cure: str | None, undo: str | None) -> tuple[CampaignSpec, Procedure | None]:
    """The campaign that tells what changes of a load gain; or what a command gains, which any procedure can measure."""
    engine = open_target(spec.targets[0][1]).ioengine
    if cure and undo:
        return with_command(spec, engine, cure, undo), None
    return with_changes(spec, engine), Advise()
