# SPDX-License-Identifier: Apache-2.0
"""`ioatlas profiles`: the built-in campaigns."""

from __future__ import annotations

from dataclasses import asdict

import click

from ioatlas.cli._arguments import Name
from ioatlas.cli._commands import examples
from ioatlas.cli._output import columns, folded, say_json
from ioatlas.config.profiles import check, described, profiles, text_of


@click.command(name="profiles", epilog=examples("profiles"))
@click.argument("name", required=False, type=Name(profiles))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(name: str | None, as_json: bool) -> None:
    """List the built-in profiles, or print the one called NAME as a campaign file."""
    if name is not None:
        check(name, "NAME")
        click.echo(text_of(name).rstrip())
        return
    if as_json:
        say_json([asdict(each) for each in described()])
        return
    rows = [("PROFILE", "CELLS", "TIME", "FILE", "FOR")]
    rows += [
        (each.name, f"{each.n_cells:,}" if each.n_cells else "-", each.time, each.size or "-", each.reader)
        for each in described()
    ]
    lines = columns(rows, right={1, 3})
    for line in lines:
        click.echo(folded(line, lines[0].index("FOR")))
    click.echo()
    click.echo(
        folded("TIME is about what two visits of each cell take. FILE is the largest file; - depends on the target.")
    )
    click.echo(
        folded("In a directory, a map writes only inside a subdirectory of its own, which is removed at the end.")
    )
