# SPDX-License-Identifier: Apache-2.0
"""What of a map's plan is likely to run within its budget, or with a limit on cells: reckoned at the planning rates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ioatlas.run.plan import PLANNING_WRITE_BYTES_PER_S, Plan, leave_out
from ioatlas.run.procedure import PlanText

LAYOUT_SHARE = 0.25
"""Share of a budget that writing the files may take, at the planning rate."""
KEPT_SHARE = 0.8
"""Of a budget, what probes, fresh visits and the report leave for the sweep."""
SHRUNK_SHARE = 0.6
"""Time of a visit with the shortest window over that of a usual one."""


def sizes_within(plan: Plan, budget_seconds: float) -> list[int]:
    """The sizes whose files leave enough of a budget, the smallest at least."""
    kept = sorted({cell.size_bytes for cell in plan.to_measure})
    part = plan
    while len(kept) > 1 and part.preparation_seconds > budget_seconds * LAYOUT_SHARE:
        kept.pop()
        part = leave_out(plan, {"size": tuple(kept)}, "left out")
    return kept


def expected_summary(plan: Plan, chosen: tuple[float, int, float] | None = None) -> dict[str, Any]:
    """The summary of a plan with what is likely to run of it; `cells_expected` where that is less than all.

    chosen: where loads are chosen one after another, seconds that they may take, how many cells of each target they may
    measure, and what most of them take each.
    """
    full = plan.summary(plan.seconds())
    budget, cells = plan.spec.budget_seconds, len(plan.to_measure)
    part = plan
    if budget is not None:
        kept = sizes_within(plan, budget)
        part = leave_out(plan, {"size": tuple(kept)}, "left out")
    load = part.seconds() - part.preparation_seconds
    each = load / max(1, len(part.to_measure) * plan.spec.visits)
    count, visits = len(part.to_measure), len(part.to_measure) * plan.spec.visits
    room = math.inf if budget is None else max(each, KEPT_SHARE * budget - part.preparation_seconds)
    if chosen is not None:
        seconds, most, each = chosen
        visits = max(1, int(min(room, seconds) / each))
        count = min(count, visits, most * len({cell.target for cell in part.to_measure}))
    elif each * visits > room:
        visits = max(1, int(room / (SHRUNK_SHARE * each)))
        count = min(count, visits)
    if count >= cells and visits >= full["visits"]:
        return full
    took = part.preparation_seconds + each * visits
    return (
        full
        | _written(part, visits)
        | {
            "cells_expected": count,
            "visits": visits,
            "space_needed_bytes": part.layout_bytes,
            "layout_bytes": part.layout_bytes,
            "prepared_bytes": part.prepared_bytes,
            "seconds": round(min(took, budget) if budget is not None else took, 1),
        }
    )


def expected_text(summary: Mapping[str, Any]) -> PlanText:
    """The lines of a plan that a budget or a limit on cells changes."""
    budget = "windows shrink first, then cells are left out"
    if "cells_expected" not in summary:
        return PlanText(budget=budget)
    visits = f"of which about {summary['cells_expected']:,} are measured, in about {summary['visits']:,} visits"
    return PlanText(visits=visits, order="", budget=budget)


def _written(plan: Plan, visits: int) -> dict[str, Any]:
    """Write load of so many visits, spread evenly over the cells."""
    cells = plan.to_measure
    share = sum(cell.writes for cell in cells) / max(1, len(cells))
    seconds = share * visits * plan.spec.window_seconds
    return {
        "write_load_seconds": round(seconds, 1),
        "bytes_written": plan.prepared_bytes + int(seconds * PLANNING_WRITE_BYTES_PER_S),
    }
