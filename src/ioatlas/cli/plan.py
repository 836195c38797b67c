# SPDX-License-Identifier: Apache-2.0
"""`ioatlas plan`: what `ioatlas map` with the same arguments would do."""

from __future__ import annotations

import json

import click

from ioatlas.campaign.plan import PLANNING_RANDOM_WRITE_BYTES_PER_S, PLANNING_WRITE_BYTES_PER_S, Plan
from ioatlas.campaign.preparation import WORDS
from ioatlas.cli._options import Asked, check_read_only, sweep_options
from ioatlas.design.snia import PROCEDURES
from ioatlas.model.units import format_duration, format_rate, format_size, format_size_rounded
from ioatlas.target.place import KEPT_FREE


@click.command(
    name="plan",
    epilog="""\b
Examples:
  ioatlas plan /mnt/nas                        what the quick profile would do there
  ioatlas plan /mnt/nas --profile seed2021     the 1,920 cells of the 2021 study
  ioatlas plan --campaign nas.toml --json      the same as JSON
  ioatlas plan --schema                        JSON Schema of the campaign file""",
)
@sweep_options
@click.option("-o", "output", metavar="DIR", help="Taken for the sake of `map`; nothing is written.")
@click.option("--yes", is_flag=True, help="Taken for the sake of `map`.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of the campaign file.")
def command(
    asked: Asked,
    read_only: bool,
    as_json: bool,
    output: str | None,  # noqa: ARG001
    yes: bool,  # noqa: ARG001
    schema: bool,
) -> None:
    """Show what would run: cells, bytes written, space needed, time expected. Writes nothing and starts no load."""
    if schema:
        from ioatlas.campaign.spec import campaign_schema

        click.echo(json.dumps(campaign_schema(), indent=2))
        return
    from ioatlas.campaign.start import open_plan

    plan = open_plan(asked.spec(), read_only=read_only)
    if read_only:
        check_read_only(plan)
    if as_json:
        click.echo(json.dumps(plan.summary(), indent=2))
    else:
        click.echo(describe(plan))


def describe(plan: Plan) -> str:
    """A plan in words."""
    summary = plan.summary()
    lines = [f"target       {t['target']}: {t['kind']} {t['location']}" for t in summary["targets"]]
    for name, values in summary["axes"].items():
        sizes = name in ("bs", "size", "io_size", "offset") and all(isinstance(v, int) for v in values)
        shown = ", ".join(format_size(v) if sizes else str(v) for v in values)
        lines.append(f"{name:<12} {shown}")
    lines.append(f"files        {'all jobs share one' if plan.spec.sharing == 'shared' else 'one for each job'}")
    cells = f"{summary['cells']:,}"
    if summary["cells_not_admissible"]:
        cells += f" (and {summary['cells_not_admissible']} not admissible: shown, never run)"
    order = "in a fixed order" if plan.spec.snia else "in different random orders" if plan.spec.streams is None else "in their order, the whole of it repeated"
    order = "in rounds of operations in order, rounds in different random orders" if plan.spec.ordered else order
    visits = "one visit a round" if plan.spec.snia else f"{summary['visits_per_cell']} visits each"
    lines.append(f"cells        {cells}, {visits} {order}")
    if summary.get("searches"):
        lines.append(f"search       for the highest load, {summary['searches']} time{'s' if summary['searches'] > 1 else ''}, before the load points")
    state = next((cell.state for cell in plan.to_measure), plan.spec.prepare)
    lines.append("prepare      a new file for every round" if plan.spec.ordered else f"prepare      {state}: {WORDS.get(state, state)}")
    lines.append(f"space        {format_size_rounded(summary['space_needed_bytes'])} on the target, removed at the end")
    lines += _short_of_room(plan)
    if plan.spec.snia:
        lines += _snia_lines(plan)
    elif summary["bytes_written"]:
        written = format_size_rounded(summary["bytes_written"])
        rate = format_rate(summary["bytes_written_assumes_bw_bytes_per_s"])
        lines.append(f"written      about {written}: {summary['write_load_seconds']:.0f} s of write load, reckoned at {rate}")
    else:
        lines.append("written      nothing")
    if not plan.spec.snia:
        lines.append(f"time         about {format_duration(summary['seconds'])} on a fast target; slow ones take longer windows")
    if plan.spec.budget_seconds:
        what = "the test ends with it, met or not" if plan.spec.snia else "the plan is coarsened if it does not fit"
        lines.append(f"budget       {format_duration(plan.spec.budget_seconds)}; {what}")
    lines += [f"note         {remark}" for remark in summary["remarks"]]
    return "\n".join(lines)


def _short_of_room(plan: Plan) -> list[str]:
    """Where the files would not fit: `map` refuses, or leaves out sizes where it has a budget."""
    lines = []
    for target in plan.targets:
        need, free = sum(plan.files.get(target.name, {}).values()), target.free_bytes
        if target.kind == "directory" and free is not None and need > free * (1 - KEPT_FREE):
            room = format_size_rounded(free * (1 - KEPT_FREE))
            lines.append(f"             NOT ENOUGH ROOM on {target.name}: {room} may be used, for a tenth of what is free stays free; name a smaller --size")
    return lines


def _snia_lines(plan: Plan) -> list[str]:
    """A test in rounds: what happens before the first, and how long it can take."""
    lines = []
    for target in plan.targets:
        test = plan.rounds(target.name)
        if test is None or plan.spec.snia is None:
            continue
        purge = {"auto": "discard" if target.kind == "block" else "not possible here, and recorded as such"}.get(plan.spec.purge, plan.spec.purge)
        first = f"purge ({purge}), fill of {format_size_rounded(test.fill_bytes)}" if test.fill_bytes else f"purge ({purge})"
        first = f"{test.passes} times: {first}" if test.passes > 1 else first
        rate, random = (format_rate(value) for value in (PLANNING_WRITE_BYTES_PER_S, PLANNING_RANDOM_WRITE_BYTES_PER_S))
        lines += [
            f"test         SNIA {PROCEDURES[plan.spec.snia].title} on {target.name}; {first}",
            f"rounds       {test.least_rounds} to {test.most_rounds} of {format_duration(test.round_seconds)}: {test.cells_per_round} cells, {plan.spec.window_seconds:g} s each",
            f"written      {format_size_rounded(test.least_bytes)} to {format_size_rounded(test.most_bytes)}, reckoned at {rate}, at random {random}",
            f"time         {format_duration(test.least_seconds)} to {format_duration(test.most_seconds)}: it ends when the steady state is met",
        ]
    return lines
