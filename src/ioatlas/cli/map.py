# SPDX-License-Identifier: Apache-2.0
"""`ioatlas map`: plan, measure, report."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ioatlas.cli._arguments import units_option
from ioatlas.cli._commands import examples
from ioatlas.cli._groups import GroupedCommand
from ioatlas.cli._options import (
    Asked,
    Measuring,
    answer_option,
    directory_option,
    how_options,
    metrics_option,
    sweep_options,
)
from ioatlas.cli._output import say_json
from ioatlas.results.library import REPORT


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
    from ioatlas.campaign import default_directory
    from ioatlas.cli._options import consent_of
    from ioatlas.cli._session import run_session
    from ioatlas.cli.plan import summary_of
    from ioatlas.procedures.registry import procedure_of

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
