# SPDX-License-Identifier: Apache-2.0
"""A plan in words: what `ioatlas plan`, and every command before it starts a load, shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ioatlas.answer.analysis.wording import plural
from ioatlas.model.units import format_duration, format_rate, format_size, format_size_rounded
from ioatlas.plan.spec import CampaignSpec
from ioatlas.target.opening import NOT_YET
from ioatlas.target.place import KEPT_FREE, UNTOLD_BYTES

if TYPE_CHECKING:
    from ioatlas.measure.run.plan import Plan
    from ioatlas.measure.run.procedure import PlanText

MOST_REASONS = 5
"""Why cells are left out, told one by one."""


def commands_of(spec: CampaignSpec) -> list[str]:
    """What a session of the campaign will run and ask for, a line each."""
    return [
        f"{one.name}: {what} {'; '.join(line.strip() for line in text.splitlines() if line.strip())}"
        for one in spec.configurations
        for what, text in (("ask   ", one.ask), ("before", one.before), ("after ", one.after))
        if text
    ]


def summary_of(plan: Plan) -> dict[str, Any]:
    """What a plan says as JSON."""
    from ioatlas.measure.procedures.registry import procedure_of_plan

    return procedure_of_plan(plan).summary(plan)


def described(plan: Plan) -> list[str]:
    """A line for each fact, under its label."""
    from ioatlas.measure.procedures.registry import procedure_of_plan

    procedure = procedure_of_plan(plan)
    summary = procedure.summary(plan)
    text = procedure.text(plan, summary)
    shared = "all jobs share one" if plan.spec.sharing == "shared" else "one for each job"
    return [
        *(f"target       {t['target']}: {t['kind']} {t['location']}" for t in summary["targets"]),
        *(f"factors      {one.name}: {one.words}" for one in plan.spec.configurations if one.factors),
        *(f"set up       {line}" for line in commands_of(plan.spec)),
        *(f"{name:<12} {_values(name, values)}" for name, values in _loads(plan, summary["axes"]).items()),
        f"files        {text.files or shared}",
        *_cells(plan, summary, text),
        *_cost(plan, summary, text),
        *(f"note         {remark}" for remark in summary["remarks"]),
    ]


def _cells(plan: Plan, summary: Mapping[str, Any], text: PlanText) -> list[str]:
    """What is measured, and why what is not."""
    refused = summary["cells_not_admissible"]
    cells = f"{summary['cells']:,}" + (f" (and {refused} not admissible: shown, never run)" if refused else "")
    visits = text.visits or f"{plural(summary['visits_per_cell'], 'visit')} each"
    reasons = Counter(reason for _, reason in plan.cells if reason).most_common(MOST_REASONS)
    left_out = (f"left out     {count} x {reason}" for reason, count in reasons)
    return [f"cells        {cells}, {visits} {text.order}".rstrip(), *left_out, *text.extra]


def _cost(plan: Plan, summary: Mapping[str, Any], text: PlanText) -> list[str]:
    """Space, what is written, and how long it takes."""
    from ioatlas.target.preparation import WORDS

    state, budget = next((cell.state for cell in plan.to_measure), plan.spec.prepare), plan.spec.budget_seconds
    told = "nothing"
    if summary["bytes_written"]:
        written = format_size_rounded(summary["bytes_written"])
        rate = format_rate(summary["bytes_written_assumes_bw_bytes_per_s"])
        told = f"about {written}: {summary['write_load_seconds']:.0f} s of write load at {rate}"
    time = f"about {format_duration(summary['seconds'])} on a fast target; slow targets take longer"
    return [
        f"prepare      {text.prepare or f'{state}: {WORDS.get(state, state)}'}",
        f"space        {format_size_rounded(summary['space_needed_bytes'])} on the target, removed at the end",
        *(f"{'':<12} {line}" for line in short_of_room(plan)),
        *((f"written      {told}", f"time         {time}") if text.cost is None else text.cost),
        *([f"budget       {format_duration(budget)}; {text.budget}"] if budget else []),
    ]


def _loads(plan: Plan, axes: Mapping[str, Any]) -> dict[str, Any]:
    """The axes; and modes, block sizes, jobs and depths that are none: fixed, or of patterns and streams."""
    loads = [one.option for cell in plan.to_measure for one in cell.members]
    others = (name for name in ("rw", "bs", "numjobs", "iodepth") if name not in axes)
    fixed = {name: list(dict.fromkeys(one[name] for one in loads if name in one)) for name in others}
    return {**axes, **{name: values for name, values in fixed.items() if values not in ([], [1])}}


def _values(name: str, values: Sequence[Any]) -> str:
    sizes = name in ("bs", "size", "io_size", "offset") and all(isinstance(value, int) for value in values)
    return ", ".join(format_size(value) if sizes else str(value) for value in values)


def short_of_room(plan: Plan) -> list[str]:
    """Where the files would not fit: `map` refuses, or leaves out sizes where it has a budget."""
    lines = []
    for target in plan.targets:
        need, free = sum(plan.files.get(target.name, {}).values()), target.free_bytes
        if target.kind != "directory" or (free is None and (target.identity == NOT_YET or need <= UNTOLD_BYTES)):
            continue
        if free is None:
            why = f"NOT KNOWN TO FIT on {target.name}: free space is unknown; name --size {UNTOLD_BYTES >> 20}m or less"
            lines.append(why)
        elif need > (room := free * (1 - KEPT_FREE)):
            used = f"{format_size_rounded(room)} may be used, a tenth stays free"
            lines.append(f"NOT ENOUGH ROOM on {target.name}: {used}; name a smaller --size")
    return lines
