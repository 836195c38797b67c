# SPDX-License-Identifier: Apache-2.0
"""Files that a slow target cannot hold in time: they are made smaller, or the largest of several sizes are left out."""

from __future__ import annotations

from dataclasses import replace

from ioatlas.config.spec import CampaignSpec
from ioatlas.model.units import format_duration, format_rate, format_size
from ioatlas.procedures.dense_map.plan import build_plan
from ioatlas.run.plan import Plan, leave_out

MIB = 1 << 20
FEWEST_BLOCKS = 2
"""Of the largest size in a file."""


def may_shrink(plan: Plan) -> bool:
    """Whether less may be laid out: files, or ranges that are only to hold data, whose size nobody named for one load
    apart, and no fixed amount of work.
    """
    cells = plan.to_measure
    shrinks = all(target.kind == "directory" for target in plan.targets) or plan.spec.prepare == "laid-out"
    named_apart = any("size" in pattern for pattern in plan.spec.patterns)
    return shrinks and not named_apart and not any(cell.work_bounded or cell.streams for cell in cells)


def with_less_to_write(plan: Plan, able_bytes: float, bytes_per_s: float) -> Plan:
    """The plan with no more to write than `able_bytes`, as far as its blocks allow. A remark says why: the target is
    written at `bytes_per_s`.
    """
    sizes = sorted({cell.size_bytes for cell in plan.to_measure})
    part, kept = plan, list(sizes)
    while len(kept) > 1 and part.prepared_bytes > able_bytes:
        kept.pop()
        part = leave_out(plan, {"size": tuple(kept)}, "left out: writing its file would take too much of the budget")
    slow = f"at {format_rate(bytes_per_s)} writing more takes too much of the budget"
    if plan.spec.budget_seconds is not None:
        slow += f" of {format_duration(plan.spec.budget_seconds)}"
    if len(kept) < len(sizes):
        gone = ", ".join(format_size(size) for size in sizes if size not in kept)
        return replace(part, remarks=(*plan.remarks, f"Sizes {gone} are left out: {slow}."))
    least = FEWEST_BLOCKS * max(cell.bs_bytes for cell in plan.to_measure)
    share = able_bytes / max(1, plan.prepared_bytes)
    smaller = max(MIB, -(-least // MIB) * MIB, int(sizes[0] * share) // MIB * MIB)
    if smaller >= sizes[0]:
        return plan
    what = "Files" if all(target.kind == "directory" for target in plan.targets) else "A range"
    remark = (
        f"{what} of {format_size(smaller)} instead of {format_size(sizes[0])}: {slow}. "
        "A cache of the target may hold that; a longer --budget has more."
    )
    return replace(_of_size(plan, smaller), remarks=(*plan.remarks, remark))


def _of_size(plan: Plan, size_bytes: int) -> Plan:
    spec: CampaignSpec = replace(
        plan.spec,
        axes={name: values for name, values in plan.spec.axes.items() if name != "size"},
        constants={**plan.spec.constants, "size": size_bytes},
    )
    return build_plan(spec, plan.targets)
