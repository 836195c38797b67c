# SPDX-License-Identifier: Apache-2.0
"""A map of which few cells are visited, those the adaptive design asks for; the rest is predicted, with the error
stated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ioatlas.errors import UsageError
from ioatlas.fio.executor import Executor
from ioatlas.procedures.dense_map.expected import expected_summary, expected_text
from ioatlas.procedures.dense_map.procedure import DenseMap
from ioatlas.run.plan import Plan
from ioatlas.run.procedure import PlanText

if TYPE_CHECKING:
    from ioatlas.run.runner import Runner
    from ioatlas.run.steps import Steps
    from ioatlas.store.journal import Journal


class AdaptiveMap(DenseMap):
    name = "adaptive_map"
    in_set_ups = False

    def begin(self, journal: Journal, plan: Plan) -> None:
        """What is visited first is the design's."""

    def summary(self, plan: Plan) -> dict[str, Any]:
        return expected_summary(plan)

    def text(self, plan: Plan, summary: Mapping[str, Any]) -> PlanText:  # noqa: ARG002
        return expected_text(summary)

    def check_start(self, plan: Plan, executor: Executor) -> None:  # noqa: ARG002
        from ioatlas.procedures.adaptive_map.sweep import FEWEST_CELLS, can_be_adaptive

        if not can_be_adaptive(plan.to_measure):
            raise UsageError(
                f"the adaptive design needs {FEWEST_CELLS} cells or more along an axis of numbers, "
                f"this sweep has {len(plan.to_measure)}",
                where="--cells, --error",
                remedy="leave them out: a small sweep is measured whole",
            )
        if plan.spec.wanted.precision is not None:
            raise UsageError(
                "a precision for every cell and a map from a few cells exclude each other",
                where="--precision",
                remedy="use --error for the map's own error, or leave out --cells and --error",
            )

    def steps(self, runner: Runner) -> Steps:
        from ioatlas.procedures.adaptive_map.sweep import adaptive_sweep
        from ioatlas.procedures.dense_map.steps import MapSteps

        return MapSteps(runner, adaptive_sweep)
