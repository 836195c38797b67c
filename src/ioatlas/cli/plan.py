# SPDX-License-Identifier: Apache-2.0
"""`ioatlas plan`: what `ioatlas map` with the same arguments would do."""

from __future__ import annotations

import json

import click

from ioatlas.campaign.plan import Plan
from ioatlas.campaign.start import open_plan
from ioatlas.cli._options import Asked, sweep_options
from ioatlas.model.units import format_duration, format_rate, format_size, format_size_rounded


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
    plan = open_plan(asked.spec(), read_only=read_only)
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
    order = "in different random orders" if plan.spec.streams is None else "in their order, the whole of it repeated"
    lines.append(f"cells        {cells}, {summary['visits_per_cell']} visits each {order}")
    if summary.get("searches"):
        lines.append(f"search       for the highest load, {summary['searches']} time{'s' if summary['searches'] > 1 else ''}, before the load points")
    lines.append(f"space        {format_size_rounded(summary['space_needed_bytes'])} on the target, removed at the end")
    if summary["bytes_written"]:
        written = format_size_rounded(summary["bytes_written"])
        rate = format_rate(summary["bytes_written_assumes_bw_bytes_per_s"])
        lines.append(f"written      about {written}: {summary['write_load_seconds']:.0f} s of write load, reckoned at {rate}")
    else:
        lines.append("written      nothing")
    expected = format_duration(summary["seconds"])
    lines.append(f"time         about {expected} on a fast target; slow ones take longer windows")
    if plan.spec.budget_seconds:
        lines.append(f"budget       {format_duration(plan.spec.budget_seconds)}; the plan is coarsened if it does not fit")
    lines += [f"note         {remark}" for remark in summary["remarks"]]
    return "\n".join(lines)
