# SPDX-License-Identifier: Apache-2.0
"""`ioatlas bundle`: pack a campaign into one signed file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ioatlas.cli._arguments import path_option
from ioatlas.cli._campaigns import campaign_argument
from ioatlas.cli._commands import examples
from ioatlas.cli._faults import says_what_does_not_fit
from ioatlas.cli._output import say, say_json
from ioatlas.errors import written

if TYPE_CHECKING:
    from ioatlas.bundle.keys import SigningKey
    from ioatlas.bundle.pack import Packed

MOST_SHOWN = 40


@click.command(name="bundle", epilog=examples("bundle"))
@campaign_argument
@path_option("-o", "output", metavar="FILE", help="The bundle. Default: DIR.ioatlas.zip.")
@click.option("--redact", metavar="PLAN", help="What to replace: a TOML file, `default` or `none`.")
@path_option("--key", metavar="FILE", help="Private key to sign with. Default: yours.")
@click.option("--unsigned", is_flag=True, help="Do not sign.")
@click.option("--license", "licence", metavar="SPDX", default="", help="Licence of the data, such as CC-BY-4.0.")
@click.option("--dry-run", is_flag=True, help="Show what would be replaced, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@says_what_does_not_fit
def command(
    directory: Path,
    output: Path | None,
    redact: str | None,
    key: Path | None,
    unsigned: bool,
    licence: str,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Pack the campaign in DIR into one file that anybody can check: raw output, journal, values, hashes, signature."""
    from ioatlas.bundle import statement
    from ioatlas.bundle.pack import check_free, pack
    from ioatlas.bundle.redaction import read_plan
    from ioatlas.report.page import put_whole
    from ioatlas.results.library import check_not_opened

    check_not_opened(directory)
    path = output or Path(f"{directory.resolve().name}{statement.ENDING}")
    if not dry_run:
        check_free(path)
    signing = None if unsigned else _signing_key(key)
    packed = pack(directory, plan=read_plan(redact), key=signing, licence=licence)
    data = packed.data()
    if not dry_run:
        with written(path, "name another place with -o"):
            put_whole(data, path)
    signer = signing.public.fingerprint if signing else ""
    if as_json:
        told = {"bundle": None if dry_run else str(path), "bytes": len(data), "signed_by": signer or None}
        replaced = [{"kind": kind, "name": name, "by": by} for kind, name, by in packed.redactor.table()]
        kept = sorted(packed.redactor.ordinary)
        say_json({**told, **packed.index, "replaced": replaced, "not_replaced": kept})
        return
    _preview(packed, verbose=dry_run)
    if dry_run:
        say(f"nothing was written; {path} would have {len(data):,} bytes", err=True)
        return
    signed = f"signed by {signer}" if signer else "not signed: `ioatlas atlas key new` makes a key"
    say(f"{path}  {len(data):,} bytes, {len(packed.members)} files, {signed}")
    say(f"Next: ioatlas verify {path}", err=True)


def _signing_key(path: Path | None) -> SigningKey | None:
    from ioatlas.bundle import keys

    if path is None and not keys.own_path().exists():
        return None

    def ask() -> str:
        return str(click.prompt("Passphrase of the key", hide_input=True, err=True)) if sys.stdin.isatty() else ""

    return keys.load_key(path or keys.own_path(), ask)


def _preview(packed: Packed, *, verbose: bool) -> None:
    """What was replaced; on standard error, since it names the site."""
    redactor = packed.redactor
    table = redactor.table()
    for kind, name, by in table[:MOST_SHOWN] if verbose else ():
        say(f"  {kind:<10} {name}  →  {by}", err=True)
    if verbose and len(table) > MOST_SHOWN:
        say(f"  and {len(table) - MOST_SHOWN} more: see --json", err=True)
    places = sum(redactor.counts.values())
    say(f"replaced: {len(table)} names in {places:,} places; private facts are left out", err=True)
    if redactor.plan.keep:
        say(f"kept by your plan: {', '.join(sorted(redactor.plan.keep))}", err=True)
    if redactor.ordinary:
        names = ", ".join(sorted(redactor.ordinary))
        say(f"too short or too common to be replaced in texts: {names}", err=True)
    targets = ", ".join(packed.index["campaign"]["targets"])
    say(f"names that stay: campaign {packed.index['campaign']['name']!r}, targets {targets}", err=True)
