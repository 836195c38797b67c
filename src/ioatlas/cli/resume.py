# SPDX-License-Identifier: Apache-2.0
"""`ioatlas resume`: go on with a campaign that was stopped or interrupted."""

from __future__ import annotations

from pathlib import Path

import click

from ioatlas.cli._arguments import units_option
from ioatlas.cli._campaigns import campaign_argument
from ioatlas.cli._examples import examples
from ioatlas.cli._faults import says_what_does_not_fit
from ioatlas.cli._metrics import metrics_option
from ioatlas.cli._options import answer_option, open_option, quiet_option, verbose_option, yes_option


@click.command(
    name="resume",
    epilog=examples("resume"),
)
@campaign_argument
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object per line.")
@verbose_option
@quiet_option
@open_option
@yes_option
@click.option(
    "--destroy",
    multiple=True,
    metavar="SERIAL-OR-SIZE",
    help="Write to a block device: type its serial number or size in bytes, for each device.",
)
@click.option(
    "--overwrite",
    multiple=True,
    metavar="'NAME SIZE'",
    help="Write to a file or a URI: type its full name and size in bytes, for each of them.",
)
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
def command(
    directory: Path,
    as_json: bool,
    verbose: bool,
    quiet: bool,
    open_report: bool,
    yes: bool,  # noqa: ARG001 - nothing is asked; taken as by the others
    destroy: tuple[str, ...],
    overwrite: tuple[str, ...],
    answers: tuple[str, ...],
    clients: str,
    trust: str | None,
) -> None:
    """Continue the campaign in DIR: the same plan, the visits that are still missing."""
    from ioatlas.campaign import reopen
    from ioatlas.cli import fit, tune
    from ioatlas.cli._answers import commands_of, consent_of
    from ioatlas.cli._session import run_session
    from ioatlas.procedures.fit.procedure import FitUses
    from ioatlas.procedures.options import CAMPAIGN
    from ioatlas.procedures.registry import procedure_of_journal
    from ioatlas.procedures.tune.procedure import Tune
    from ioatlas.run.foreign import ForeignError
    from ioatlas.run.plan import recorded_spec

    try:
        journal = reopen(directory, destroy=destroy, overwrite=overwrite, trust=trust)
    except ForeignError as error:
        for line in error.shown:
            click.echo(line, err=True)
        raise
    finish = {Tune.name: tune.finish, FitUses.name: fit.finish}.get(procedure_of_journal(journal).name)
    if finish is not None:  # it ends with an answer of its own
        finish(journal, as_json=as_json, verbose=verbose, quiet=quiet, open_report=open_report)
        return
    spec = recorded_spec(journal, CAMPAIGN.tables)
    consent = None
    if not journal.campaign().complete:
        consent = consent_of(spec, destroy, overwrite, answers)
        for line in (*commands_of(spec), *procedure_of_journal(journal).commands(spec)):
            click.echo(line, err=True)
    run_session(journal, as_json=as_json, verbose=verbose, quiet=quiet, consent=consent, clients=clients)
    if open_report:
        from ioatlas.cli.open import open_report as show
        from ioatlas.results.library import REPORT

        show(directory / REPORT)
