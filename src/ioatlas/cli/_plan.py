# SPDX-License-Identifier: Apache-2.0
"""A plan in words and as JSON: what `ioatlas plan`, and every command before it starts a load, shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ioatlas.answer.analysis.wording import plural
from ioatlas.cli._output import folded
from ioatlas.model.units import format_duration, format_rate, format_size, format_size_rounded
from ioatlas.plan.spec import CampaignSpec
from ioatlas.target.opening import NOT_YET
from ioatlas.target.place import KEPT_FREE, UNTOLD_BYTES

if TYPE_CHECKING:
    from ioatlas.measure.run.plan import Plan
    from ioatlas.measure.run.procedure import Procedure

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


def summary_of(plan: Plan, procedure: Procedure | None = None) -> dict[str, Any]:
    """What a plan says as JSON. procedure: where no specification names it."""
    from ioatlas.measure.procedures.registry import procedure_of

    return (procedure or procedure_of(plan.spec)).summary(plan)


def describe(plan: Plan, procedure: Procedure | None = None) -> str:
    """A plan in words. procedure: where no specification names it."""
    from ioatlas.measure.procedures.registry import procedure_of
    from ioatlas.target.preparation import WORDS

    procedure = procedure or procedure_of(plan.spec)
    summary = procedure.summary(plan)
    text = procedure.text(plan, summary)
    lines = [f"target       {t['target']}: {t['kind']} {t['location']}" for t in summary["targets"]]
    lines += [f"factors      {one.name}: {one.words}" for one in plan.spec.configurations if one.factors]
    lines += [f"set up       {line}" for line in commands_of(plan.spec)]
    lines += [f"{name:<12} {_values(name, values)}" for name, values in summary["axes"].items()]
    lines += [f"{name:<12} {_values(name, values)}" for name, values in _untold(plan, summary["axes"]).items()]
    shared = "all jobs share one" if plan.spec.sharing == "shared" else "one for each job"
    lines.append(f"files        {text.files or shared}")
    cells = f"{summary['cells']:,}"
    if summary["cells_not_admissible"]:
        cells += f" (and {summary['cells_not_admissible']} not admissible: shown, never run)"
    visits = text.visits or f"{plural(summary['visits_per_cell'], 'visit')} each"
    lines.append(f"cells        {cells}, {visits} {text.order}".rstrip())
    reasons = Counter(reason for _, reason in plan.cells if reason)
    lines += [f"left out     {count} x {reason}" for reason, count in reasons.most_common(MOST_REASONS)]
    lines += text.extra
    state = next((cell.state for cell in plan.to_measure), plan.spec.prepare)
    lines.append(f"prepare      {text.prepare or f'{state}: {WORDS.get(state, state)}'}")
    lines.append(f"space        {format_size_rounded(summary['space_needed_bytes'])} on the target, removed at the end")
    lines += [f"{'':<12} {line}" for line in short_of_room(plan)]
    lines += _cost_lines(summary) if text.cost is None else text.cost
    if plan.spec.budget_seconds:
        lines.append(f"budget       {format_duration(plan.spec.budget_seconds)}; {text.budget}")
    lines += [f"note         {remark}" for remark in summary["remarks"]]
    return "\n".join(folded(line, 13) for line in lines)


def _untold(plan: Plan, axes: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Modes, block sizes, jobs and depths that are no axis: fixed, or of patterns and streams."""
    found: dict[str, list[Any]] = {}
    for name in ("rw", "bs", "numjobs", "iodepth"):
        if name not in axes:
            members = (one for cell in plan.to_measure for one in cell.members)
            found[name] = list(dict.fromkeys(one.option[name] for one in members if name in one.option))
    return {name: values for name, values in found.items() if values and values != [1]}


def _values(name: str, values: Sequence[Any]) -> str:
    sizes = name in ("bs", "size", "io_size", "offset") and all(isinstance(value, int) for value in values)
    return ", ".join(format_size(value) if sizes else str(value) for value in values)


def _cost_lines(summary: Mapping[str, Any]) -> list[str]:
    """What is written and how long it takes."""
    told = "nothing"
    if summary["bytes_written"]:
        written = format_size_rounded(summary["bytes_written"])
        rate = format_rate(summary["bytes_written_assumes_bw_bytes_per_s"])
        told = f"about {written}: {summary['write_load_seconds']:.0f} s of write load at {rate}"
    return [
        f"written      {told}",
        f"time         about {format_duration(summary['seconds'])} on a fast target; slow targets take longer",
    ]


def short_of_room(plan: Plan) -> list[str]:
    """Where the files would not fit: `map` refuses, or leaves out sizes where it has a budget."""
    lines = []
    for target in plan.targets:
        need, free = sum(plan.files.get(target.name, {}).values()), target.free_bytes
        if target.kind == "directory" and free is None and target.identity != NOT_YET and need > UNTOLD_BYTES:
            lines.append(
                f"NOT KNOWN TO FIT on {target.name}: free space is unknown; name --size {UNTOLD_BYTES >> 20}m or less"
            )
        if target.kind == "directory" and free is not None and need > free * (1 - KEPT_FREE):
            room = format_size_rounded(free * (1 - KEPT_FREE))
            lines.append(
                f"NOT ENOUGH ROOM on {target.name}: {room} may be used, a tenth stays free; name a smaller --size"
            )
    return lines
