# SPDX-License-Identifier: Apache-2.0
"""Files that a slow target cannot hold in time: how fast it is written is tried first, and the files are made smaller.

Sizes of a sweep are dropped instead where there are several (`Fitting.fit_layout`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ioatlas.config.spec import CampaignSpec
from ioatlas.model.units import format_duration, format_rate, format_size
from ioatlas.procedures.dense_map.expected import LAYOUT_SHARE
from ioatlas.procedures.dense_map.plan import build_plan
from ioatlas.run.budget import USUAL_START_SECONDS
from ioatlas.run.plan import Plan

MIB = 1 << 20
TRIALS_BYTES = (4 * MIB, 64 * MIB)
"""What is written to learn the rate: more only where less was over at once."""
AT_ONCE_SECONDS = 0.3
SURELY_BYTES_PER_S = 20e6
"""A target is taken to be written at least so fast: where that is enough nothing is tried."""
FEWEST_BLOCKS = 4
"""Of the largest size in a file."""

Trial = Callable[[Plan], float]
"""Lays out what a plan asks for, removes it, and says how many seconds writing took, a process and all."""


def with_files_in_time(plan: Plan, trial: Trial) -> Plan:
    """The plan, with smaller files where writing them takes too much of its budget. A remark says so."""
    budget, wanted = plan.spec.budget_seconds, plan.prepared_bytes
    if budget is None or not _one_size(plan) or wanted <= LAYOUT_SHARE * budget * SURELY_BYTES_PER_S:
        return plan
    (size,) = {cell.size_bytes for cell in plan.to_measure}
    rate = _write_rate(plan, size, trial)
    able = LAYOUT_SHARE * budget * rate
    if wanted <= able:
        return plan
    least = FEWEST_BLOCKS * max(cell.bs_bytes for cell in plan.to_measure)
    smaller = max(MIB, -(-least // MIB) * MIB, int(size * able / wanted) // MIB * MIB)
    if smaller >= size:
        return plan
    what = "Files" if all(target.kind == "directory" for target in plan.targets) else "A range"
    remark = (
        f"{what} of {format_size(smaller)} instead of {format_size(size)}: at {format_rate(rate)} writing more takes "
        f"too much of the budget of {format_duration(budget)}. A cache of the target may hold that; "
        "a longer --budget has more."
    )
    return replace(_of_size(plan, smaller), remarks=(*plan.remarks, remark))


def _one_size(plan: Plan) -> bool:
    """Whether all that is laid out are files of one size, or ranges of exports, files and devices that are only to hold
    data, and none is a fixed amount of work.
    """
    cells = plan.to_measure
    may_shrink = all(target.kind == "directory" for target in plan.targets) or plan.spec.prepare == "laid-out"
    named_apart = any("size" in pattern for pattern in plan.spec.patterns)
    work = any(cell.work_bounded or cell.streams for cell in cells)
    return may_shrink and not named_apart and not work and len({cell.size_bytes for cell in cells}) == 1


def _of_size(plan: Plan, size_bytes: int) -> Plan:
    spec: CampaignSpec = replace(
        plan.spec,
        axes={name: values for name, values in plan.spec.axes.items() if name != "size"},
        constants={**plan.spec.constants, "size": size_bytes},
    )
    return build_plan(spec, plan.targets)


def _write_rate(plan: Plan, size: int, trial: Trial) -> float:
    """Bytes per second, the start of a process left out."""
    rate = 0.0
    for wanted in TRIALS_BYTES:
        part = _of_size(plan, max(MIB, min(size, size * wanted // plan.layout_bytes // MIB * MIB)))
        seconds = trial(part) - USUAL_START_SECONDS
        rate = part.prepared_bytes / max(seconds, 0.01)
        if seconds >= AT_ONCE_SECONDS:
            break
    return rate
