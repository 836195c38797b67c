# SPDX-License-Identifier: Apache-2.0
"""`ioatlas atlas serve tidy`: retention."""

from __future__ import annotations

import click

from ioatlas.cli._commands import examples
from ioatlas.cli._output import say_json
from ioatlas_atlas.cli._serve_place import Place, blobs_of, opened, place_options
from ioatlas_atlas.tidy import Kept
from ioatlas_atlas.tidy import tidy as clean


@click.command(epilog=examples("serve tidy", "ioatlas_atlas.cli"))
@place_options
@click.option("--audit-days", type=click.IntRange(2), default=400, show_default=True, help="Audit log, dead tokens.")
@click.option("--keys-days", type=click.IntRange(1), default=30, show_default=True, help="Keys of uploads sent again.")
@click.option("--drafts-days", type=click.IntRange(1), help="Private results older than this. Default: kept.")
@click.option("--dry-run", is_flag=True, help="Count, and remove nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def tidy(place: Place, audit_days: int, keys_days: int, drafts_days: int | None, dry_run: bool, as_json: bool) -> None:
    """Remove what is kept for a time only. Nothing that a public result rests on is touched."""
    with opened(place) as held:
        done = clean(held, blobs_of(place), Kept(audit_days, keys_days, drafts_days), dry_run=dry_run)
    if as_json:
        say_json(done, line=True)
        return
    names = {
        "audit": "lines of the audit log",
        "keys": "keys of uploads",
        "browsers": "browsers that are signed out",
        "tokens": "tokens that are good for nothing",
        "drafts": "private results",
        "leftovers": "leftovers of uploads",
    }
    for name, what in names.items():
        click.echo(f"{done[name]:>8,}  {what} {'would go' if dry_run else 'removed'}")
