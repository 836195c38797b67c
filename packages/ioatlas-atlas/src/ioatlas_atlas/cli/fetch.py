# SPDX-License-Identifier: Apache-2.0
"""`ioatlas atlas fetch`: bring a bundle from an atlas, and check it."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import urlsplit

import click

from ioatlas.bundle.pack import check_free
from ioatlas.bundle.statement import ENDING
from ioatlas.bundle.verify import verify
from ioatlas.cli._commands import examples
from ioatlas.cli._output import say_json, says_what_does_not_fit
from ioatlas.model.errors import GateError, UsageError
from ioatlas_atlas.cli._token import token_of
from ioatlas_atlas.client import Client


@click.command(name="fetch", epilog=examples("fetch", "ioatlas_atlas.cli"))
@click.argument("result", metavar="RESULT")
@click.option("--from", "url", metavar="URL", default="", help="The atlas, where RESULT is only its id.")
@click.option(
    "-o", "output", metavar="FILE", type=click.Path(path_type=Path), help="The bundle. Default: ID.ioatlas.zip."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@says_what_does_not_fit
def command(result: str, url: str, output: Path | None, as_json: bool) -> None:
    """Fetch the bundle of RESULT, its address or its id, and verify it here."""
    place, number = parts(result, url)
    path = output or Path(f"{number}{ENDING}")
    check_free(path)
    client = Client(place, token_of(place))
    with click.progressbar(label="Fetching", file=sys.stderr, length=0) as bar:
        size = client.fetch(number, path, lambda count: bar.update(count - bar.pos))
    found = verify(path)
    if as_json:
        told = {"bundle": str(path), "bytes": size, "verified": found.verified, "signature": found.signature}
        say_json({**told, "fingerprint": found.fingerprint or None})
    else:
        said = "verified" if found.verified else "NOT verified" if found.refused else "not verified in full"
        click.echo(f"{path}  {size:,} bytes, {said}")
    if not found.verified:
        raise GateError("it does not verify here", where=str(path), remedy=f"ioatlas verify {path}")


def parts(result: str, url: str) -> tuple[str, str]:
    """(address of the atlas, id). Raises UsageError."""
    number = result.rstrip("/")
    if "://" in result:
        parts = urlsplit(number)
        head, _, number = parts.path.rpartition("/r/")
        url = f"{parts.scheme}://{parts.netloc}{head}"
    if not url:
        raise UsageError("which atlas is not said", where=result[:80], remedy="name it with --from, or give an address")
    if not number.isascii() or not number.isalnum() or len(number) > 20:
        raise UsageError("this is no id of a result", where=result[:80], remedy="take it from `ioatlas atlas search`")
    return url, number
