# SPDX-License-Identifier: Apache-2.0
"""`ioatlas resume`: go on with a campaign that was stopped or interrupted."""

from __future__ import annotations

from pathlib import Path

import click

from ioatlas.cli._campaigns import campaign_argument
from ioatlas.cli._faults import says_what_does_not_fit


@click.command(
    name="resume",
    epilog="""\b
Examples:
  ioatlas resume nas1
  ioatlas resume /dev-maps/sdx --destroy S3Z9NB0K123456
  ioatlas resume from-elsewhere --trust /mnt/nas        after it was shown what it would do""",
)
@campaign_argument
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line while it works.")
@click.option("-v", "--verbose", is_flag=True, help="At the end every finding, not only the answer.")
@click.option(
    "--destroy", metavar="SERIAL-OR-SIZE", help="As for `map`: writing to a block device is confirmed each time."
)
@click.option(
    "--overwrite", metavar="'NAME SIZE'", help="As for `map`: writing to a file or URI is confirmed each time."
)
@click.option(
    "--trust",
    metavar="TARGET",
    help="Go on with a plan that was not made here by you, or was changed since: what it works on, typed in full after "
    "it was shown.",
)
@says_what_does_not_fit
def command(
    directory: Path, as_json: bool, verbose: bool, destroy: str | None, overwrite: str | None, trust: str | None
) -> None:
    """Go on with the campaign in DIR: the same plan, the visits that are still to be made."""
    from ioatlas.campaign import reopen
    from ioatlas.cli._session import run_session
    from ioatlas.cli.tune import finish
    from ioatlas.procedures.registry import procedure_of_journal
    from ioatlas.procedures.tune.procedure import Tune
    from ioatlas.run.foreign import ForeignError

    try:
        journal = reopen(directory, destroy=destroy, overwrite=overwrite, trust=trust)
    except ForeignError as error:
        for line in error.shown:
            click.echo(line, err=True)
        raise
    if procedure_of_journal(journal).name == Tune.name:  # it ends with an answer of its own
        finish(journal, as_json=as_json)
    else:
        run_session(journal, as_json=as_json, verbose=verbose)
