# SPDX-License-Identifier: Apache-2.0
"""`ioatlas atlas search`: find results of an atlas by what they are, cost and can do."""

from __future__ import annotations

from typing import Any

import click

from ioatlas.cli._commands import examples
from ioatlas.cli._output import say_json, says_what_does_not_fit
from ioatlas_atlas.asked import Asked
from ioatlas_atlas.cli._token import client_of, plain
from ioatlas_atlas.views import badge_of, load_words


@click.command(name="search", epilog=examples("search", "ioatlas_atlas.cli"))
@click.argument("words", metavar="[WORDS]...", nargs=-1)
@click.option("--at", "url", metavar="URL", required=True, help="The atlas.")
@click.option("--kind", default="", help="NAS, array, drive, cloud volume or software.")
@click.option("--protocol", default="", help="Such as NFS.")
@click.option("--media", default="", help="flash, spindles, or 'flash and spindles'.")
@click.option("--year", default="", help="Of the product's release.")
@click.option("--fits", default="", metavar="USE", help="A use of `ioatlas fit --list`, such as etcd.")
@click.option("--price", default="", metavar="AMOUNT", help="For a usable TiB, at most.")
@click.option("--currency", default="", metavar="USD", help="Of the price.")
@click.option("--rw", default="", metavar="LOAD", help="Such as randread.")
@click.option("--bs", default="", metavar="SIZE", help="Block size, such as 4k.")
@click.option("--depth", default="", metavar="NUMBER", help="I/Os in flight: jobs times depth.")
@click.option("--iops", default="", metavar="NUMBER", help="I/Os a second, at least, such as 20k.")
@click.option("--rate", default="", metavar="MB/S", help="MB/s, at least.")
@click.option("--p99", default="", metavar="TIME", help="99th percentile of the latency, at most, such as 5ms.")
@click.option("--sort", default="", help="speed, value (speed for the price), p99, price or newest.")
@click.option("--page", default="", metavar="NUMBER", help="Of products: the next ones.")
@click.option("--cursor", default="", help="Of results: `next` of the page before.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@says_what_does_not_fit
def command(words: tuple[str, ...], url: str, cursor: str, as_json: bool, **asked: str) -> None:
    """Search the products of an atlas, or its results by words."""
    wanted = Asked.of({**asked, "q": " ".join(words)})
    sought = wanted.sought()
    client = client_of(url)
    of_products = any(asked.values())
    texts = {**wanted.texts(page=wanted.page), **({"cursor": cursor} if cursor else {})}
    found = client.search(texts, "products" if of_products else "results")
    entries = [one for one in found.get("entries") or [] if isinstance(one, dict)]
    if as_json:
        say_json(found)
    else:
        for one in entries:
            click.echo(_product(client.url, one, sought.rw, sought.bs_bytes) if of_products else _line(client.url, one))
        if following := found.get("next"):
            click.echo(f"Next: the same with --cursor {plain(following)}", err=True)
    if not entries and not found.get("next"):
        if not as_json:
            click.echo("nothing fits: ask for less, or leave something out", err=True)
        raise click.exceptions.Exit(3)


def _product(url: str, one: dict[str, Any], rw: str, bs_bytes: int) -> str:
    """Its address, what it is, and what it does for the load."""
    of = one.get("product") or {}
    parts = [f"{plain(of.get('vendor'))} {plain(of.get('model'))}".strip(), plain(one.get("protocol"))]
    parts += [_price(of), load_words(one, rw, bs_bytes) if one.get("iops") else ""]
    return f"{url}/products/{plain(of.get('id'))}  {' · '.join(part for part in parts if part)}"


def _line(url: str, one: dict[str, Any]) -> str:
    """Its address and what it is."""
    parts = [plain(one.get("title")), plain(badge_of(one).text), _price(one)]
    return f"{url}/r/{plain(one.get('id'))}  {' · '.join(part for part in parts if part)}"


def _price(one: dict[str, Any]) -> str:
    price = one.get("price_per_tib")
    return f"{price:,.1f} {plain(one.get('currency'))} per TiB" if isinstance(price, int | float) else ""
