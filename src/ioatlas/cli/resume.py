# SPDX-License-Identifier: Apache-2.0
"""`ioatlas resume`: go on with a campaign that was stopped or interrupted."""

from __future__ import annotations

from pathlib import Path

import click

from ioatlas.cli._arguments import units_option
from ioatlas.cli._campaigns import campaign_argument
from ioatlas.cli._commands import examples
from ioatlas.cli._faults import says_what_does_not_fit
from ioatlas.cli._options import Measuring, answer_option, how_options, metrics_option
from ioatlas.results.library import REPORT


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
def command(how: Measuring, directory: Path, answers: tuple[str, ...], clients: str, trust: str | None) -> None:
    """Continue the campaign in DIR: the same plan, the visits that are still missing."""
    from ioatlas.campaign import reopen
    from ioatlas.cli import fit, tune
    from ioatlas.cli._options import commands_of, consent_of
    from ioatlas.cli._session import run_session
    from ioatlas.config.recorded import recorded_spec
    from ioatlas.procedures.fit.procedure import FitUses
    from ioatlas.procedures.options import CAMPAIGN
    from ioatlas.procedures.registry import procedure_of_journal
    from ioatlas.procedures.tune.advice import Advise
    from ioatlas.procedures.tune.procedure import Tune
    from ioatlas.run.foreign import ForeignError

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
