# SPDX-License-Identifier: Apache-2.0
"""`ioatlas atlas reply`: what a product's vendor or its evaluator says beside a result of an atlas."""

from __future__ import annotations

import json
import sys

import click

from ioatlas.cli._commands import examples
from ioatlas_atlas.cli._token import agree, client_of, plain
from ioatlas_atlas.cli.fetch import parts
from ioatlas_atlas.replies import checked


@click.command(name="reply", epilog=examples("reply", "ioatlas_atlas.cli"))
@click.argument("address", metavar="ADDRESS")
@click.argument("text", metavar="TEXT")
@click.option("--dry-run", is_flag=True, help="Show the reply, and send nothing.")
@click.option("--yes", is_flag=True, help="Do not ask whether to go on.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(address: str, text: str, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Reply to the result at ADDRESS: as the vendor of its product, or as its evaluator.

    TEXT is the whole reply; - reads it from standard input.
    """
    said = checked(sys.stdin.read() if text == "-" else text)
    url, number = parts(address, "")
    client = client_of(url)
    title = plain((client.result(number).get("result") or {}).get("title"))
    click.echo(f"Beside {title}, {'would stand' if dry_run else 'will stand'}:\n{said}", err=True)
    if dry_run:
        click.echo("nothing was sent", err=True)
        return
    agree("send it", "Send it?", where="reply", yes=yes)
    version = client.ask("POST", f"/api/v1/results/{number}/replies", {"text": said}).get("version")
    place = f"{client.url}/r/{number}#replies"
    click.echo(json.dumps({"address": place, "version": version}) if as_json else f"{place}  version {plain(version)}")
