# SPDX-License-Identifier: Apache-2.0
"""Applications: commands that are timed, in random order over works and targets, as often as the interval needs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ioatlas.analysis.wording import plural
from ioatlas.config.spec import CampaignSpec
from ioatlas.fio.executor import Executor
from ioatlas.model.application import work_of
from ioatlas.model.target import Target
from ioatlas.model.units import format_duration
from ioatlas.procedures.application.options import ApplicationOptions
from ioatlas.procedures.application.plan import build_work_plan, works_of
from ioatlas.procedures.application.ready import is_shipped, ready_works
from ioatlas.procedures.application.work import PHASES
from ioatlas.run.plan import Plan
from ioatlas.run.procedure import PlanText, Procedure

if TYPE_CHECKING:
    from ioatlas.results.parts import ResultParts
    from ioatlas.run.runner import Runner
    from ioatlas.run.steps import Steps
    from ioatlas.store.journal import Journal

FEWEST_VISITS = 3


class Application(Procedure):
    """Works on directories."""

    name = "application"
    shown_first = True  # commands are shown before they run

    def claims(self, spec: CampaignSpec, records: Collection[str]) -> bool:  # noqa: ARG002
        return spec.of(ApplicationOptions).brings_load

    def plan(self, spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> Plan:
        return build_work_plan(spec, targets, read_only=read_only)

    def check_start(self, plan: Plan, executor: Executor) -> None:  # noqa: ARG002
        executor.find("python")

    def shrinks_to_fit(self, plan: Plan) -> bool:  # noqa: ARG002
        return False

    def commands(self, spec: CampaignSpec) -> tuple[str, ...]:
        lines: list[str] = []
        for one in spec.of(ApplicationOptions).work:
            if is_shipped(one):
                lines.append(f"{one.name}: ready-made, {ready_works()[one.name].summary}")
                continue
            for phase in PHASES:
                text = "; ".join(line.strip() for line in getattr(one, phase).splitlines() if line.strip())
                if text:
                    lines.append(f"{one.name}: {phase} {_plain(text)}")
        return tuple(lines)

    def seconds(self, plan: Plan) -> float:
        """At what each work usually takes. Visits until it is precise enough are not foretold."""
        works = works_of(plan.spec)
        visits = max(plan.spec.visits, FEWEST_VISITS if plan.spec.precision else 1)
        return visits * sum(works[work_of(cell)].usual_seconds for cell in plan.to_measure)

    def summary(self, plan: Plan) -> dict[str, Any]:
        return {
            **super().summary(plan),
            "prepare": "by command",
            "space_needed_bytes": max((max(one.values(), default=0) for one in plan.files.values()), default=0),
            "prepared_bytes": 0,
            "bytes_written": 0,
            "write_load_seconds": 0,
            "works": list(self.commands(plan.spec)),
        }

    def text(self, plan: Plan, summary: Mapping[str, Any]) -> PlanText:
        precise = f", more until ±{plan.spec.precision:.1%}" if plan.spec.precision else ""
        return PlanText(
            order="in different random orders",
            visits=f"{plural(plan.spec.visits, 'visit')} each{precise},",
            prepare="a new empty folder for every visit; each work sets itself up",
            cost=(
                "written      what the commands write",
                f"time         about {format_duration(summary['seconds'])}, and longer where visits are uneven",
            ),
            budget="what it has no time for is left out",
            loads=False,
        )

    def steps(self, runner: Runner) -> Steps:
        from ioatlas.procedures.application.steps import WorkSteps

        return WorkSteps(runner)

    def result(self, journal: Journal, spec: CampaignSpec) -> ResultParts:
        from ioatlas.procedures.application.result import WorkParts

        return WorkParts(journal, spec)


def _plain(text: str) -> str:
    """Without anything that could steer a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
