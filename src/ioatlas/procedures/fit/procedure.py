# SPDX-License-Identifier: Apache-2.0
"""Does a target fit a use? Its loads in short windows, until an anytime-valid test has decided each requirement."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ioatlas.config.spec import CampaignSpec
from ioatlas.model.target import Target
from ioatlas.procedures.fit.options import FitOptions
from ioatlas.procedures.fit.plan import asked, build_fit_plan
from ioatlas.procedures.fit.read import read_ladder, read_uses
from ioatlas.procedures.fit.use import Use, Uses
from ioatlas.procedures.fit.verdict import WINDOW_SECONDS
from ioatlas.run.plan import FIO_SECONDS, PLANNING_WRITE_BYTES_PER_S, Plan
from ioatlas.run.procedure import PlanText, Procedure

if TYPE_CHECKING:
    from ioatlas.results.parts import ResultParts
    from ioatlas.run.runner import Runner
    from ioatlas.run.steps import Steps
    from ioatlas.store.journal import Journal

USUAL_WINDOWS = 30


def _uses(spec: CampaignSpec) -> tuple[Use, ...]:
    asked = spec.of(FitOptions)
    return (read_ladder if asked.fit_max else read_uses)(asked.fit, "fit")


class FitUses(Procedure):
    """Uses on targets."""

    name = "fit"

    def claims(self, spec: CampaignSpec, records: Collection[str]) -> bool:
        return Uses.NAME in records or bool(spec.of(FitOptions).fit)

    def plan(self, spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> Plan:
        uses = _uses(spec)
        return build_fit_plan(spec, uses, targets, read_only=read_only)

    def seconds(self, plan: Plan) -> float:
        each = USUAL_WINDOWS * len(plan.to_measure) * (WINDOW_SECONDS + FIO_SECONDS / 4) + plan.preparation_seconds
        return min(each, plan.spec.budget_seconds or each)

    def summary(self, plan: Plan) -> dict[str, Any]:
        told = super().summary(plan)
        seconds = USUAL_WINDOWS * sum(cell.writes for cell in plan.to_measure)
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

    def text(self, plan: Plan, summary: Mapping[str, Any]) -> PlanText:  # noqa: ARG002
        lines = [
            f"{'requires' if first else '':<12} {use['use']}: {words}"
            for use in summary["uses"]
            for first, words in ((not number, words) for number, words in enumerate(use["requires"]))
        ]
        return PlanText(
            order="in turns",
            visits="windows until every requirement is decided,",
            extra=tuple(lines),
            budget="what is not decided then is told as undecided",
        )

    def begin(self, journal: Journal, plan: Plan) -> None:
        uses = _uses(plan.spec)
        journal.keep(Uses(tuple(asked(use, target) for target in plan.targets for use in uses)))

    def steps(self, runner: Runner) -> Steps:
        from ioatlas.procedures.fit.steps import FitSteps

        return FitSteps(runner)

    def result(self, journal: Journal, spec: CampaignSpec) -> ResultParts:
        from ioatlas.procedures.fit.result import FitParts

        return FitParts(journal, spec)
