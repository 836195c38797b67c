# SPDX-License-Identifier: Apache-2.0
"""`ioatlas atlas change`: who may see a result of yours in an atlas, later; `ioatlas atlas reply`: what its product's
vendor or its evaluator says beside a result.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from ioatlas.cli._commands import examples
from ioatlas.model.errors import UsageError
from ioatlas_atlas.cli._token import agree, client_of, plain, state_of, title_of
from ioatlas_atlas.cli.fetch import parts
from ioatlas_atlas.replies import checked


@click.command(name="change", epilog=examples("change", "ioatlas_atlas.cli"))
@click.argument("address", metavar="ADDRESS")
@click.option("--permission", metavar="TEXT", help="Who allowed to publish it, and when.")
@click.option("--embargo", metavar="DATE", help="Nobody else sees it before this date; `none` ends it.")
@click.option("--private/--public", "private", default=None, help="For yourself, or for all where the licence allows.")
@click.option("--withdraw", metavar="REASON", help="Stop showing its data; title, reason and trace stay.")
@click.option("--delete", is_flag=True, help="Remove it for good, with its bundle.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask whether to go on.")
def command(
    address: str,
    permission: str | None,
    embargo: str | None,
    private: bool | None,
    withdraw: str | None,
    delete: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Change who sees the result at ADDRESS. A published result cannot be made private: it is withdrawn or deleted."""
    url, number = parts(address, "")
    said = _said(permission, embargo, private)
    if sum(map(bool, (said, withdraw, delete))) != 1:
        raise UsageError(
            "one change at a time", where="change", remedy="name what is to change, or --withdraw, or --delete"
        )
    client, place = client_of(url), f"/api/v1/results/{number}"
    if said:
        would = client.ask("PATCH", f"{place}?dry_run=true", said)
        click.echo(f"{address} {'would be' if dry_run else 'will be'} {state_of(would)}", err=True)
    else:
        title = title_of(client, number)
        what = "deleted for good, with its bundle" if delete else "withdrawn; title, reason and trace stay"
        click.echo(f"{title}: {'would be' if dry_run else 'will be'} {what}", err=True)
    if dry_run:
        return
    agree("it", "Go on?", where="change", yes=yes)
    if delete:
        client.ask("DELETE", place)
        click.echo("deleted")
    elif withdraw:
        client.ask("POST", f"{place}/withdraw", {"reason": withdraw})
        click.echo("withdrawn")
    else:
        click.echo(state_of(client.ask("PATCH", place, said)))


def _said(permission: str | None, embargo: str | None, private: bool | None) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if permission:
        said["permission"] = permission
    if embargo is not None:
        said |= {"no_embargo": True} if embargo == "none" else {"embargo": embargo}
    if private is not None:
        said["private"] = private
    return said


@click.command(name="reply", epilog=examples("reply", "ioatlas_atlas.cli"))
@click.argument("address", metavar="ADDRESS")
@click.argument("text", metavar="TEXT")
@click.option("--dry-run", is_flag=True, help="Show the reply, and send nothing.")
@click.option("--yes", is_flag=True, help="Do not ask whether to go on.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def reply_command(address: str, text: str, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Reply to the result at ADDRESS: as the vendor of its product, or as its evaluator.

    TEXT is the whole reply; - reads it from standard input.
    """
    said = checked(sys.stdin.read() if text == "-" else text)
    url, number = parts(address, "")
    client = client_of(url)
    title = title_of(client, number)
    click.echo(f"Beside {title}, {'would stand' if dry_run else 'will stand'}:\n{said}", err=True)
    if dry_run:
        click.echo("nothing was sent", err=True)
        return
    agree("send it", "Send it?", where="reply", yes=yes)
    version = client.ask("POST", f"/api/v1/results/{number}/replies", {"text": said}).get("version")
    place = f"{client.url}/r/{number}#replies"
    click.echo(json.dumps({"address": place, "version": version}) if as_json else f"{place}  version {plain(version)}")
