# SPDX-License-Identifier: Apache-2.0
"""`ioatlas atlas serve decide`: for those who moderate."""

from __future__ import annotations

from pathlib import Path

import click

from ioatlas.cli._examples import examples
from ioatlas_atlas.cli._serve_place import opened, place_of, place_options


@click.command(epilog=examples("serve decide", "ioatlas_atlas.cli"))
@click.argument("result")
@click.argument("decision", type=click.Choice(["release", "flag"]))
@place_options
@click.option("--reason", required=True, help="One line, shown with the result.")
@click.pass_context
def decide(
    context: click.Context,
    result: str,
    decision: str,
    folder: Path | None,
    database: str | None,
    blobs: Path | None,
    reason: str,
) -> None:
    """Flag RESULT, so that only its owner and moderators see it, or release it."""
    from ioatlas_atlas.changes import Decision
    from ioatlas_atlas.changes import decide as settle

    with opened(place_of(context, folder, database, blobs)) as held:
        after = settle(held, result, Decision(decision), reason, None)
    click.echo(f"{after.state}: {after.reason}")
