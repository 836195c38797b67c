# SPDX-License-Identifier: Apache-2.0
"""What of a map's plan is likely to run within its budget, or with a limit on cells: reckoned at the planning rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ioatlas.model.cell import Cell
from ioatlas.procedures.options import AdaptiveOptions
from ioatlas.run.plan import PLANNING_WRITE_BYTES_PER_S, Plan, leave_out
from ioatlas.run.procedure import PlanText

LAYOUT_SHARE = 0.25
"""Share of a budget that writing the files may take, at the planning rate."""
AGAIN_SHARE = 1.4
"""Time of a cell in an adaptive map over that of one visit: repeats, visits made again, more starts of fio."""
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


def expected_summary(plan: Plan) -> dict[str, Any]:
    """The summary of a plan with what is likely to run of it; `cells_expected` where that is less than all."""
    full = plan.summary(plan.seconds())
    budget, limit = plan.spec.budget_seconds, plan.spec.of(AdaptiveOptions).cells
    part = plan
    if budget is not None:
        kept = sizes_within(plan, budget)
        part = leave_out(plan, {"size": tuple(kept)}, "left out")
    count, visits = _count(part, budget, limit)
    if count >= len(plan.to_measure) and visits >= full["visits"]:
        return full
    load = part.seconds() - part.preparation_seconds
    each = load / max(1, len(part.to_measure) * plan.spec.visits)
    seconds = part.preparation_seconds + each * visits
    return (
        full
        | _written(part, visits)
        | {
            "cells_expected": count,
            "visits": visits,
            "space_needed_bytes": part.layout_bytes,
            "layout_bytes": part.layout_bytes,
            "prepared_bytes": part.prepared_bytes,
            "seconds": round(min(seconds, budget) if budget is not None else seconds, 1),
        }
    )


def expected_text(summary: Mapping[str, Any]) -> PlanText:
    """The lines of a plan that a budget or a limit on cells changes."""
    budget = "windows shrink first, then cells are left out"
    if "cells_expected" not in summary:
        return PlanText(budget=budget)
    visits = f"of which about {summary['cells_expected']:,} are measured, in about {summary['visits']:,} visits"
    return PlanText(visits=visits, order="", budget=budget)


def _count(plan: Plan, budget: float | None, limit: int | None) -> tuple[int, int]:
    """(cells, visits) that are likely to be made."""
    cells = plan.to_measure
    load = plan.seconds() - plan.preparation_seconds
    each = load / max(1, len(cells) * plan.spec.visits)
    count, visits = len(cells), len(cells) * plan.spec.visits
    if limit is not None:
        count = min(limit, count)
        visits = round(AGAIN_SHARE * count)
    if budget is not None:
        room = max(each, KEPT_SHARE * budget - plan.preparation_seconds)
        if each * visits > room:
            able = _by_model(cells, room / each)
            visits = max(1, int(room / each if able else room / (SHRUNK_SHARE * each)))
            count = min(count, max(1, int(visits / AGAIN_SHARE) if able else visits))
    return count, min(visits, len(cells) * max(plan.spec.visits, 2))


def _by_model(cells: tuple[Cell, ...], visits: float) -> bool:
    """Whether the adaptive design will choose the cells."""
    from ioatlas.procedures.adaptive_map.sweep import FEWEST_MEASURED, can_be_adaptive

    return can_be_adaptive(cells) and visits / AGAIN_SHARE >= FEWEST_MEASURED


def _written(plan: Plan, visits: int) -> dict[str, Any]:
    """Write load of so many visits, spread evenly over the cells."""
    cells = plan.to_measure
    share = sum(cell.writes for cell in cells) / max(1, len(cells))
    seconds = share * visits * plan.spec.window_seconds
    return {
        "write_load_seconds": round(seconds, 1),
        "bytes_written": plan.prepared_bytes + int(seconds * PLANNING_WRITE_BYTES_PER_S),
    }
