# SPDX-License-Identifier: Apache-2.0
"""`ioatlas atlas serve queue` and `decide`: what checks doubt, for those who moderate."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ioatlas.cli._serve_place import opened, place_of, place_options
from ioatlas.cli._token import plain


@click.command(epilog="\b\nExample:\n  ioatlas atlas serve queue --json")
@place_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one result a line.")
@click.pass_context
def queue(context: click.Context, folder: Path | None, database: str | None, blobs: Path | None, as_json: bool) -> None:
    """Results that a check doubts and nobody decided on."""
    from ioatlas.atlas.queries import doubted

    with opened(place_of(context, folder, database, blobs)) as held:
        cursor = ""
        while True:
            page = doubted(held, cursor=cursor, limit=100)
            for one in page.entries:
                told = {"id": one.id, "title": one.title, "owner": one.owner, "reason": one.flag}
                line = f"{one.id}  {plain(one.title)}, by {one.owner}: {plain(one.flag)}"
                click.echo(json.dumps(told) if as_json else line)
            cursor = page.next
            if not cursor:
                break


@click.command(
    epilog="""\b
Examples:
  ioatlas atlas serve decide 4x7k2m9qpt release --reason "the drives are new, the figures fit their data sheet"
  ioatlas atlas serve decide 4x7k2m9qpt keep --reason "no 1 Gb/s link carries this"
  ioatlas atlas serve decide 4x7k2m9qpt flag --reason "the testbed is told wrong" """
)
@click.argument("result")
@click.argument("decision", type=click.Choice(["release", "keep", "flag"]))
@place_options
@click.option("--reason", required=True, help="One line; who sees the result reads it.")
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
    """Release RESULT, keep it back, or flag one that no check doubts."""
    from ioatlas.atlas.changes import Decision
    from ioatlas.atlas.changes import decide as settle

    with opened(place_of(context, folder, database, blobs)) as held:
        after = settle(held, result, Decision(decision), reason, None)
    click.echo(f"{after.state}: {after.reason}")
