# SPDX-License-Identifier: Apache-2.0
"""SNIA rounds: purge, fill, then rounds in a fixed order until the tracked value is steady."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ioatlas.config.spec import CampaignSpec
from ioatlas.design.snia import PROCEDURES
from ioatlas.model.target import Target
from ioatlas.model.units import format_duration, format_rate, format_size_rounded
from ioatlas.procedures.options import SniaOptions
from ioatlas.procedures.snia.plan import build_rounds_plan, rounds_plan
from ioatlas.run.plan import PLANNING_RANDOM_WRITE_BYTES_PER_S, PLANNING_WRITE_BYTES_PER_S, Plan
from ioatlas.run.procedure import PlanText, Procedure

if TYPE_CHECKING:
    from ioatlas.run.runner import Runner
    from ioatlas.run.steps import Steps


class SniaRounds(Procedure):
    name = "snia"
    shown_first = True
    odd_sizes = "leave out"  # the grid begins at 512 B whatever the file system takes

    def plan(self, spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> Plan:
        return build_rounds_plan(spec, targets, read_only=read_only)

    def seconds(self, plan: Plan) -> float:
        """The shortest time that the test can take."""
        tests = [test for target in plan.targets if (test := rounds_plan(plan, target.name))]
        return sum(test.least_seconds for test in tests)

    def summary(self, plan: Plan) -> dict[str, Any]:
        tests = {target.name: test for target in plan.targets if (test := rounds_plan(plan, target.name))}
        spec = plan.spec
        rounds = [
            {"target": name, "purge": spec.of(SniaOptions).purge, "window_seconds": spec.window_seconds, **asdict(test)}
            for name, test in tests.items()
        ]
        return {**super().summary(plan), "snia": rounds}

    def text(self, plan: Plan, summary: Mapping[str, Any]) -> PlanText:  # noqa: ARG002
        return PlanText(
            order="in a fixed order",
            visits="one visit a round",
            cost=tuple(line for target in plan.targets for line in _rounds_lines(plan, target)),
            budget="the test ends with it, met or not",
        )

    def steps(self, runner: Runner) -> Steps:
        from ioatlas.procedures.snia.steps import RoundsSteps

        return RoundsSteps(runner)


def _rounds_lines(plan: Plan, target: Target) -> tuple[str, ...]:
    """What happens before the first round, and how long the test can take."""
    test = rounds_plan(plan, target.name)
    if test is None:
        return ()
    purge = str(plan.spec.of(SniaOptions).purge)
    if purge == "auto":
        purge = "discard" if target.kind == "block" else "not possible here, and recorded as such"
    fill = f", fill of {format_size_rounded(test.fill_bytes)}" if test.fill_bytes else ""
    first = f"purge ({purge}){fill}"
    first = f"{test.passes} times: {first}" if test.passes > 1 else first
    rate, random = (format_rate(value) for value in (PLANNING_WRITE_BYTES_PER_S, PLANNING_RANDOM_WRITE_BYTES_PER_S))
    least, most = format_size_rounded(test.least_bytes), format_size_rounded(test.most_bytes)
    shortest, longest = format_duration(test.least_seconds), format_duration(test.most_seconds)
    rounds = f"{test.least_rounds} to {test.most_rounds} of {format_duration(test.round_seconds)}"
    each = f"{test.cells_per_round} cells, {plan.spec.window_seconds:g} s each"
    return (
        f"test         SNIA {PROCEDURES[plan.spec.of(SniaOptions).test].title} on {target.name}; {first}",
        f"rounds       {rounds}: {each}",
        f"written      {least} to {most}, assuming {rate}, at random {random}",
        f"time         {shortest} to {longest}: it ends when the steady state is met",
    )
