# SPDX-License-Identifier: Apache-2.0
"""`ioatlas map`: plan, measure, report; `ioatlas plan`: what it would do; `ioatlas resume`: continue what was
interrupted.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ioatlas.answer.analysis.wording import plural
from ioatlas.answer.results.library import REPORT
from ioatlas.cli._arguments import GroupedCommand, campaign_argument, units_option
from ioatlas.cli._commands import examples
from ioatlas.cli._options import (
    Asked,
    Measuring,
    answer_option,
    commands_of,
    consent_of,
    directory_option,
    how_options,
    metrics_option,
    sweep_options,
    taken_for_map,
)
from ioatlas.cli._output import folded, say_json, says_what_does_not_fit
from ioatlas.measure.procedures.options import CAMPAIGN
from ioatlas.model.units import format_duration, format_rate, format_size, format_size_rounded
from ioatlas.plan.spec import recorded_spec
from ioatlas.target.opening import NOT_YET
from ioatlas.target.place import KEPT_FREE, UNTOLD_BYTES

if TYPE_CHECKING:
    from ioatlas.measure.run.plan import Plan
    from ioatlas.measure.run.procedure import Procedure


@click.command(name="map", cls=GroupedCommand, epilog=examples("map"))
@sweep_options
@directory_option(help="Directory of the campaign. Default: a new one (see `ioatlas list`).")
@click.option("--iperf", metavar="HOST[:PORT]", help="Measure the path first: a host that runs `iperf3 -s`.")
@click.option("--drive", metavar="PATH", help="Read a drive below the target alone first, as a ceiling.")
@how_options()
@metrics_option
@units_option
@answer_option
def command(
    how: Measuring, asked: Asked, output: Path | None, answers: tuple[str, ...], iperf: str | None, drive: str | None
) -> None:
    """Measure a performance map of TARGET: a directory, a file, a block device or a URI. Several with --together.
    In a directory everything is written inside one marked subdirectory, which is removed at the end.
    """
    from ioatlas.cli._session import run_session
    from ioatlas.measure.campaign import default_directory
    from ioatlas.measure.procedures.registry import procedure_of

    plan = how.plan(asked.spec())
    if how.only_shows(plan):
        return
    consent = consent_of(plan.spec, how.destroy, how.overwrite, answers)
    directory = output or default_directory(plan)
    shown_first = procedure_of(plan.spec).shown_first
    if how.as_json and shown_first:
        say_json({"event": "plan", **summary_of(plan)}, line=True)
    elif not how.as_json and (sys.stderr.isatty() or shown_first):
        # A test in rounds can take a day: it is shown first, whoever reads it.
        how.agree(plan)
    journal = how.start(plan, directory, measure={"iperf": iperf, "drive": drive})
    run_session(journal, how, consent=consent)
    how.show(directory / REPORT)


MOST_REASONS = 5
"""Why cells are left out, told one by one."""


@click.command(name="plan", cls=GroupedCommand, epilog=examples("plan"))
@sweep_options
@how_options("facts read_only as_json")
@click.option("-o", "output", metavar="DIR", help="Accepted so that a line of `map` can be used; nothing is written.")
@taken_for_map
@click.option("--schema", is_flag=True, help="Print the JSON Schema of the campaign file.")
def plan_command(
    how: Measuring,
    asked: Asked,
    output: str | None,  # noqa: ARG001
    schema: bool,
) -> None:
    """Show what would run: cells, bytes written, space needed, time expected. Writes nothing and starts no load."""
    if schema:
        say_json(CAMPAIGN.schema())
        return
    plan = how.plan(asked.spec())
    summary = summary_of(plan)
    if how.as_json:
        say_json({**summary, "warnings": _short_of_room(plan), "text": describe(plan)})
        return
    click.echo(describe(plan))


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
    lines += [f"{'':<12} {line}" for line in _short_of_room(plan)]
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


def _short_of_room(plan: Plan) -> list[str]:
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


@click.command(name="resume", epilog=examples("resume"))
@campaign_argument
@how_options("destroy overwrite open_report verbose quiet yes as_json")
@answer_option
@click.option("--clients", metavar="HOSTS", default="", help="Other hosts than the campaign names.")
@click.option(
    "--trust",
    metavar="TARGET",
    help="Continue a plan that was made elsewhere or changed since: type the target that it shows, in full.",
)
@metrics_option
@units_option
@says_what_does_not_fit
def resume_command(how: Measuring, directory: Path, answers: tuple[str, ...], clients: str, trust: str | None) -> None:
    """Continue the campaign in DIR: the same plan, the visits that are still missing."""
    from ioatlas.cli import fit, tune
    from ioatlas.cli._session import run_session
    from ioatlas.measure.campaign import reopen
    from ioatlas.measure.procedures.fit.procedure import FitUses
    from ioatlas.measure.procedures.registry import procedure_of_journal
    from ioatlas.measure.procedures.tune.advice import Advise
    from ioatlas.measure.procedures.tune.procedure import Tune
    from ioatlas.measure.run.foreign import ForeignError

    try:
        journal = reopen(directory, destroy=how.destroy, overwrite=how.overwrite, trust=trust)
    except ForeignError as error:
        for line in error.shown:
            click.echo(line, err=True)
        raise
    own = {Tune.name: tune.finish, Advise.name: tune.tell_gains, FitUses.name: fit.finish}
    finish = own.get(procedure_of_journal(journal).name)
    if finish is not None:  # it ends with an answer of its own
        finish(journal, how)
        return
    spec = recorded_spec(journal, CAMPAIGN.tables)
    consent = None
    if not journal.campaign().complete:
        consent = consent_of(spec, how.destroy, how.overwrite, answers)
        for line in commands_of(spec):
            click.echo(line, err=True)
    run_session(journal, how, consent=consent, clients=clients)
    how.show(directory / REPORT)
