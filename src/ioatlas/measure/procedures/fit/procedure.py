# SPDX-License-Identifier: Apache-2.0
"""Does a target fit a use? Its loads in short windows, until an anytime-valid test has decided each requirement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ioatlas.measure.procedures.fit.plan import asked, build_fit_plan, scaled
from ioatlas.measure.procedures.fit.read import read_ladder, read_uses
from ioatlas.measure.procedures.fit.steps import FitSteps
from ioatlas.measure.procedures.fit.use import Use, Uses
from ioatlas.measure.procedures.fit.verdict import WINDOW_SECONDS
from ioatlas.measure.procedures.options import FitOptions
from ioatlas.measure.run.plan import FIO_SECONDS, PLANNING_WRITE_BYTES_PER_S, Plan
from ioatlas.measure.run.procedure import PlanText, Procedure
from ioatlas.model.target import Target
from ioatlas.model.units import format_rate, format_size_rounded
from ioatlas.plan.spec import CampaignSpec

if TYPE_CHECKING:
    from ioatlas.measure.run.runner import Runner
    from ioatlas.measure.run.steps import Steps
    from ioatlas.store.journal import Journal

USUAL_WINDOWS = 30
SURE_OF_IT = 0.6
"""Of what could be written in its time at the rate that was seen, what is: on a disk that others use too that rate
does not hold, and files that took too long are begun anew.
"""


def _uses(spec: CampaignSpec) -> tuple[Use, ...]:
    asked = spec.of(FitOptions)
    uses = (read_ladder if asked.fit_max else read_uses)(asked.fit, "--for")
    return uses if asked.fit_share == 1 else tuple(scaled(use, asked.fit_share) for use in uses)


class FitUses(Procedure):
    """Uses on targets."""

    name = "fit"

    def plan(self, spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> Plan:
        return build_fit_plan(spec, _uses(spec), targets, read_only=read_only)

    def seconds(self, plan: Plan) -> float:
        each = USUAL_WINDOWS * len(plan.to_measure) * (WINDOW_SECONDS + FIO_SECONDS / 4) + plan.preparation_seconds
        return min(each, plan.spec.budget_seconds or each)

    def summary(self, plan: Plan) -> dict[str, Any]:
        told = super().summary(plan)
        seconds = min(USUAL_WINDOWS * sum(cell.writes for cell in plan.to_measure), told["seconds"])
        uses = _uses(plan.spec)
        return {
            **told,
            "uses": [
                {"use": use.name, "title": use.title, "requires": [one.words for one in use.requires]} for use in uses
            ],
            "visits": USUAL_WINDOWS * told["cells"],
            "write_load_seconds": seconds,
            "bytes_written": plan.layout_bytes + int(seconds * PLANNING_WRITE_BYTES_PER_S),
        }

    def text(self, plan: Plan, summary: Mapping[str, Any]) -> PlanText:
        first, *others = uses = summary["uses"]
        ladder = plan.spec.of(FitOptions).fit_max
        lines = [
            f"{'' if number else 'requires':<12} {use['use']}: {words}"
            for use in ([first] if ladder else uses)
            for number, words in enumerate(use["requires"])
        ]
        lines += [f"{'':<12} and so on, to {others[-1]['use']}"] if ladder and others else []
        return PlanText(
            order="in turns",
            visits="measured until every requirement is decided,",
            extra=tuple(lines),
            budget="what is open then is undecided",
        )

    def may_shrink(self, plan: Plan) -> bool:
        return bool(plan.layout_bytes)

    def with_less_to_write(self, plan: Plan, able_bytes: float, bytes_per_s: float) -> Plan:
        asked = plan.spec.of(FitOptions)
        share = asked.fit_share * SURE_OF_IT * able_bytes / max(1, plan.prepared_bytes)
        spec = plan.spec.having(replace(asked, fit_share=share))
        made = build_fit_plan(spec, _uses(spec), plan.targets, read_only=False)
        if made.prepared_bytes >= plan.prepared_bytes:
            return plan
        sizes = f"{format_size_rounded(made.layout_bytes)} instead of {format_size_rounded(plan.layout_bytes)}"
        remark = (
            f"The uses work on {sizes}: at {format_rate(bytes_per_s)} writing more takes too much of the budget. "
            "A cache of the target may hold that; a longer --budget has more."
        )
        return replace(made, remarks=(*plan.remarks, remark))

    def begin(self, journal: Journal, plan: Plan) -> None:
        uses = _uses(plan.spec)
        journal.keep(Uses(tuple(asked(use, target, plan.spec.constants) for target in plan.targets for use in uses)))

    def steps(self, runner: Runner) -> Steps:

        return FitSteps(runner)
