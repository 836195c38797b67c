# SPDX-License-Identifier: Apache-2.0
"""`ioatlas history series`: campaigns and imported results measured apart, joined by their factors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ioatlas.cli._commands import examples
from ioatlas.cli._faults import says_what_does_not_fit
from ioatlas.errors import UsageError

if TYPE_CHECKING:
    from rich.text import Text

    from ioatlas.results.series import SeriesResult

MOST_APART = 6
KINDS = ("html", "csv", "json", "png", "svg", "pdf")

series_argument = click.argument("series", metavar="FILE.toml", type=click.Path(path_type=Path))


@click.group()
def command() -> None:
    """What a factor does, over campaigns and imported results that were measured apart.

    \b
    ioatlas history series new drives.toml
    ioatlas history series add drives.toml nas3 --factor drives=3
    ioatlas history series add drives.toml nas7 --factor drives=7
    ioatlas history series show drives.toml                    what else differed, then what the factor does
    ioatlas history series show drives.toml -o drives.html     all maps in one page, with the factor as an axis
    """  # noqa: D301


@command.command("new")
@series_argument
@click.option("--name", metavar="TEXT", default="", help="Name of the series. Default: that of the file.")
def new_(series: Path, name: str) -> None:
    """Write a series without members. An existing file is left alone."""
    from ioatlas.config.series_file import new_series

    new_series(series, name)
    click.echo(f"{series}: add members with `ioatlas history series add {series} DIR --factor NAME=VALUE`")


@command.command("add")
@series_argument
@click.argument("directory", metavar="DIR[:TARGET]", type=click.Path(path_type=Path))
@click.option(
    "--factor", "factors", multiple=True, metavar="NAME=VALUE", help="Such as drives=3 or 'link=10 Gbit/s'. Repeatable."
)
@click.option("--name", metavar="TEXT", default="", help="Name in tables. Default: that of the directory.")
@says_what_does_not_fit
def add_(series: Path, directory: Path, factors: tuple[str, ...], name: str) -> None:
    """Add a campaign or imported results. Configurations of a campaign bring their own factors."""
    from ioatlas.analysis.wording import plural
    from ioatlas.config.series_file import SeriesMember, add_member, parse_factors, read_series
    from ioatlas.results.sides import read_sides

    known = parse_factors(factors)
    read_series(series)
    for side in read_sides([directory], by_target=True):  # what cannot be read is not added
        if not (known or side.factors):
            raise UsageError(
                "nothing would tell it from the others", where=str(directory), remedy="add --factor NAME=VALUE"
            )
    add_member(series, SeriesMember(directory, known, name))
    count = plural(len(read_series(series).members), "member")
    click.echo(f"{series}: {count}; `ioatlas history series show {series}`")


@command.command("show", epilog=examples("series show"))
@series_argument
@click.option("-o", "output", metavar="FILE", type=click.Path(path_type=Path), help=f"Write {', '.join(KINDS)}.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, as `export --format json` does.")
@says_what_does_not_fit
def show_(series: Path, output: Path | None, as_json: bool) -> None:
    """Show what the factors do, after what else differed between the members."""
    from ioatlas.campaign import load_result
    from ioatlas.config.series_file import read_series
    from ioatlas.results.series import load_series

    kind = output.suffix.removeprefix(".").lower() if output is not None else ""
    if output is not None and kind not in KINDS:
        raise UsageError(
            f"{kind or 'a file without an ending'!r} cannot be written",
            where=str(output),
            remedy=f"end it in {', '.join(KINDS)}",
        )
    found = load_series(read_series(series), load_result)
    if as_json:
        from ioatlas.report.export.to_json import write_json

        write_json(found.result, sys.stdout)
        return
    from ioatlas.cli._screen import console_of, print_lines

    if output is None:
        print_lines(_lines(found), console_of())
        return
    _write(found, output, kind)
    click.echo(str(output))


def _lines(found: SeriesResult) -> list[Text]:
    """What else differs, what the factors do, each member's best."""
    from rich.text import Text

    from ioatlas.cli._live import paragraph
    from ioatlas.cli._output import table_of
    from ioatlas.cli._screen import WIDEST, rendered
    from ioatlas.model.finding import FindingCode

    result = found.result
    lines = [Text(f"{result.name} · {len(found.sides)} members", style="bold")]
    told = found.sentences
    if told:
        lines.append(Text("Besides the factors these differ:", style="bold"))
        lines += [Text(f"  • {sentence}") for sentence in told[:MOST_APART]]
        lines += [Text(f"  and {len(told) - MOST_APART} more")] if len(told) > MOST_APART else []
    else:
        lines.append(Text("Nothing else that is known differs between the members."))
    factors = [f for f in result.findings if f.code is FindingCode.FACTOR and f.title != "What else differs"]
    lines.append(Text(""))
    lines += [Text(line) for finding in factors for line in paragraph(finding.sentence).splitlines()]
    if not factors:
        lines.append(Text("Nothing can be said of a factor: the members have no load in common."))
    tables = [table_of(each.columns, each.rows, left=each.columns, title=each.title) for each in result.tables]
    return [*lines, Text(""), *rendered(tables, WIDEST)]


def _write(found: SeriesResult, output: Path, kind: str) -> None:
    result = found.result
    if kind == "html":
        from ioatlas.report.page import write_report

        write_report(result, output)
    elif kind in ("csv", "json"):
        from ioatlas.report.export.to_json import write_json
        from ioatlas.report.table import write_csv

        with output.open("w", encoding="utf-8", newline="") as file:
            (write_csv if kind == "csv" else write_json)(result, file)
    else:
        from ioatlas.report.export.own import own_drawing
        from ioatlas.report.export.to_panels import write_drawing

        if not result.charts:
            raise UsageError(
                "no factor of numbers has a line to draw", where=str(output), remedy="write .html or .csv instead"
            )
        write_drawing(own_drawing(result, "charts"), output, kind)
