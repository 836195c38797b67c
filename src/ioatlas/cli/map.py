# SPDX-License-Identifier: Apache-2.0
"""`ioatlas map`: plan, measure, report; `ioatlas plan`: what it would do; `ioatlas resume`: continue what was
interrupted.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ioatlas.cli._arguments import GroupedCommand, campaign_argument, units_option
from ioatlas.cli._commands import examples
from ioatlas.cli._options import (
    Asked,
    Measuring,
    answer_option,
    consent_of,
    directory_option,
    how_options,
    metrics_option,
    plan_text,
    sweep_options,
    taken_for_map,
)
from ioatlas.cli._output import say_json, says_what_does_not_fit
from ioatlas.measure.procedures.options import CAMPAIGN
from ioatlas.plan.spec import recorded_spec
from ioatlas.report.plan import commands_of, short_of_room, summary_of


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
    from ioatlas.measure.procedures.registry import procedure_of_plan

    plan = how.plan(asked.spec())
    if how.only_shows(plan):
        return
    consent = consent_of(plan.spec, how.destroy, how.overwrite, answers)
    shown_first = procedure_of_plan(plan).shown_first
    if how.as_json and shown_first:
        say_json({"event": "plan", **summary_of(plan)}, line=True)
    elif not how.as_json and (sys.stderr.isatty() or shown_first):
        # A test in rounds can take a day: it is shown first, whoever reads it.
        how.agree(plan)
    journal = how.start(plan, output, measure={"iperf": iperf, "drive": drive})
    run_session(journal, how, consent=consent)
    how.show(journal.directory)


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
    if how.as_json:
        say_json({**summary_of(plan), "warnings": short_of_room(plan), "text": plan_text(plan)})
        return
    click.echo(plan_text(plan))


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
    from ioatlas.cli._session import go_on
    from ioatlas.measure.campaign import reopen
    from ioatlas.measure.run.foreign import ForeignError

    try:
        journal = reopen(directory, destroy=how.destroy, overwrite=how.overwrite, trust=trust)
    except ForeignError as error:
        for line in error.shown:
            click.echo(line, err=True)
        raise
    spec = recorded_spec(journal, CAMPAIGN.tables)
    consent = None
    if not journal.campaign().complete:
        consent = consent_of(spec, how.destroy, how.overwrite, answers)
        for line in commands_of(spec):
            click.echo(line, err=True)
    go_on(journal, how, consent=consent, clients=clients)
