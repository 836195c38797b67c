# SPDX-License-Identifier: Apache-2.0
"""`ioatlas atlas search`: find results of an atlas by what they are, cost and can do."""

from __future__ import annotations

from typing import Any

import click

from ioatlas.cli._faults import says_what_does_not_fit
from ioatlas.cli._output import say_json


@click.command(
    name="search",
    epilog="""\b
Examples:
  ioatlas atlas search --at https://atlas.example nas
  ioatlas atlas search --at https://atlas.example --rw randread --bs 4k --iops 20k --p99 5ms --price 150
  ioatlas atlas search --at https://atlas.example --protocol NFS --json | jq -r '.entries[].result.id'

\b
The low end of a rate's interval and the high end of a latency's count. Cells that a cache served do not.
Exit status: 0 something was found, 1 not reached, 2 wrong usage, 3 nothing fits.""",
)
@click.argument("words", metavar="[WORDS]...", nargs=-1)
@click.option("--at", "url", metavar="URL", required=True, help="The atlas.")
@click.option("--drive", default="", help="Such as SSD.")
@click.option("--protocol", default="", help="Such as NFS.")
@click.option("--link", default="", help="Such as 10000 Mb/s.")
@click.option("--price", default="", metavar="AMOUNT", help="For a usable TiB, at most.")
@click.option("--currency", default="", metavar="USD", help="Of the price.")
@click.option("--rw", default="", metavar="LOAD", help="Such as randread.")
@click.option("--bs", default="", metavar="SIZE", help="Block size, such as 4k.")
@click.option("--iops", default="", metavar="NUMBER", help="I/Os a second, at least, such as 20k.")
@click.option("--rate", default="", metavar="MB/S", help="MB/s, at least.")
@click.option("--p99", default="", metavar="TIME", help="99th percentile of the latency, at most, such as 5ms.")
@click.option("--cursor", default="", help="The next page: `next` of the one before.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@says_what_does_not_fit
def command(words: tuple[str, ...], url: str, cursor: str, as_json: bool, **asked: str) -> None:
    """Search the results of an atlas."""
    from ioatlas.atlas.asked import Asked
    from ioatlas.atlas.client import Client
    from ioatlas.cli._token import token_of

    wanted = Asked.of({**asked, "q": " ".join(words)})
    client = Client(url, token_of(url))
    found = client.search({**wanted.for_api(), **({"cursor": cursor} if cursor else {})})
    entries = [one for one in found.get("entries") or [] if isinstance(one, dict)]
    if as_json:
        say_json(found)
    else:
        for one in entries:
            click.echo(_line(client.url, one))
        if following := found.get("next"):
            click.echo(f"Next: the same with --cursor {_plain(following)}", err=True)
    if not entries and not found.get("next"):
        if not as_json:
            click.echo("nothing fits: ask for less, or leave something out", err=True)
        raise click.exceptions.Exit(3)


def _line(url: str, hit: dict[str, Any]) -> str:
    """Its address, what it is, and the cell that fits."""
    from ioatlas.atlas.views import badge_of_told, cell_words_of

    one = hit.get("result") or {}
    parts = [_plain(one.get("title")), _plain(badge_of_told(one).text)]
    price = one.get("price_per_tib")
    if isinstance(price, int | float):
        parts.append(f"{price:,.1f} {_plain(one.get('currency'))} per TiB")
    if isinstance(hit.get("cell"), dict):
        parts.append(cell_words_of(hit["cell"]))
    return f"{url}/r/{_plain(one.get('id'))}  {' · '.join(part for part in parts if part)}"


def _plain(text: object) -> str:
    """A stranger's text on a terminal: no control characters."""
    return "".join(letter for letter in str(text or "") if letter.isprintable())[:200]
