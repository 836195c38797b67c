# SPDX-License-Identifier: Apache-2.0
"""`ioatlas map`: plan, measure, report."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from ioatlas.cli._arguments import units_option
from ioatlas.cli._examples import examples
from ioatlas.cli._groups import GroupedCommand
from ioatlas.cli._metrics import metrics_option
from ioatlas.cli._options import (
    Asked,
    answer_option,
    check_read_only,
    destroy_options,
    directory_option,
    dry_run_option,
    facts_option,
    open_option,
    overwrite_options,
    quiet_option,
    sweep_options,
    verbose_option,
    yes_option,
)
from ioatlas.cli._output import say_json
from ioatlas.results.library import REPORT


@click.command(
    name="map",
    cls=GroupedCommand,
    epilog=examples("map"),
)
@sweep_options
@directory_option(help="Directory of the campaign. Default: a new one (see `ioatlas list`).")
@facts_option
@click.option("--iperf", metavar="HOST[:PORT]", help="Measure the path first: a host that runs `iperf3 -s`.")
@click.option(
    "--drive",
    metavar="PATH",
    help="Read a drive below the target alone first, as a ceiling.",
)
@open_option
@verbose_option
@quiet_option
@dry_run_option
@yes_option
@destroy_options
@overwrite_options
@metrics_option
@units_option
@answer_option
def command(
    asked: Asked,
    read_only: bool,
    as_json: bool,
    output: Path | None,
    verbose: bool,
    quiet: bool,
    dry_run: bool,
    yes: bool,
    destroy: tuple[str, ...],
    overwrite: tuple[str, ...],
    answers: tuple[str, ...],
    facts: Path | None,
    iperf: str | None,
    drive: str | None,
    open_report: bool,
) -> None:
    """Measure a performance map of TARGET: a directory, a file, a block device or a URI. Several with --together.
    In a directory everything is written inside one marked subdirectory, which is removed at the end.
    """
    from ioatlas.campaign import default_directory, open_plan, start
    from ioatlas.cli._answers import consent_of
    from ioatlas.cli._session import run_session
    from ioatlas.cli.plan import describe, summary_of
    from ioatlas.procedures.registry import procedure_of

    plan = open_plan(asked.spec(), read_only=read_only, facts=facts)
    if read_only:
        check_read_only(plan)
    if dry_run:
        click.echo(json.dumps(summary_of(plan), indent=2) if as_json else describe(plan))
        return
    consent = consent_of(plan.spec, destroy, overwrite, answers)
    directory = output or default_directory(plan)
    shown_first = procedure_of(plan.spec).shown_first
    if as_json and shown_first:
        say_json({"event": "plan", **summary_of(plan)}, line=True)
    elif not as_json and (sys.stderr.isatty() or shown_first):
        # A test in rounds can take a day: it is shown first, whoever reads it.
        click.echo(describe(plan), err=True)
        if not yes and sys.stdin.isatty() and sys.stderr.isatty():
            click.confirm("Go on?", default=True, abort=True, err=True)
    journal = start(
        plan, directory, destroy=destroy, overwrite=overwrite, facts=facts, measure={"iperf": iperf, "drive": drive}
    )
    run_session(journal, as_json=as_json, verbose=verbose, quiet=quiet, consent=consent)
    if open_report:
        from ioatlas.cli.open import open_report as show

        show(directory / REPORT)
