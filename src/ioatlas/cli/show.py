# SPDX-License-Identifier: Apache-2.0
"""`ioatlas show`: a campaign's findings and map in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ioatlas.answer.results.library import shown
from ioatlas.cli._arguments import campaign_argument, report_of, units_option, where_option
from ioatlas.cli._commands import examples
from ioatlas.cli._output import print_lines, says_what_does_not_fit, show
from ioatlas.model.errors import written
from ioatlas.model.quantities import QUANTITIES, quantity
from ioatlas.model.tree import is_tree
from ioatlas.model.units import format_count, format_latency, format_rate

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from ioatlas.model.estimate import Estimate
    from ioatlas.model.panel import Table
    from ioatlas.model.quantities import Quantity
    from ioatlas.model.result import CampaignResult

PIPE_WIDTH = 120
"""Columns to use when the output is no terminal."""


@click.command(name="show", epilog=examples("show"))
@campaign_argument
@click.option(
    "--quantity", "quantity_name", type=click.Choice(tuple(QUANTITIES)), help="The map of one quantity. Default: bw."
)
@click.option(
    "--x",
    metavar="AXIS",
    default="",
    help="Axis of the columns. Default: numjobs, or the first of iodepth and size that varies.",
)
@click.option("--y", metavar="AXIS", default="", help="Axis of the rows. Default: bs.")
@where_option
@click.option("-v", "--verbose", is_flag=True, help="Every finding and the whole map.")
@click.option("--cells", "all_cells", is_flag=True, help="List every cell instead of the map.")
@units_option
@click.option("--markdown", "form", flag_value="md", help="Print the answer as Markdown, to paste it elsewhere.")
@click.option("--bbcode", "form", flag_value="bbcode", help="The same for a forum.")
@click.option("--png", metavar="FILE", type=click.Path(path_type=Path), help="Draw the answer as a card of 1200 x 630.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, as `export --format json` does.")
@says_what_does_not_fit
def command(
    directory: Path,
    quantity_name: str | None,
    x: str,
    y: str,
    where: tuple[str, ...],
    verbose: bool,
    all_cells: bool,
    form: str | None,
    png: Path | None,
    as_json: bool,
) -> None:
    """Show the answer of the campaign in DIR on one screen, or its map as a table."""
    from ioatlas import api

    result = api.load(directory, where)
    if as_json:
        api.write(result, "json", sys.stdout)
        return
    if png is not None:
        from ioatlas.report.export.to_card import write_card

        with written(png, "name another file"):
            write_card(result, png)
        click.echo(png)
    if form is not None:
        api.write(result, form, sys.stdout)
    if png or form:
        return
    from rich.text import Text

    from ioatlas.answer.analysis.summary import summarise
    from ioatlas.report.screen import console_of, title_lines

    asked = any((all_cells, x, y, quantity_name))
    if not asked:
        page = report_of(directory)
        show(result, place=shown(directory), report=str(page) if page.is_file() else "")
    if asked or verbose:
        console = console_of(PIPE_WIDTH)
        parts = _parts(result, quantity_name, x, y, console, all_cells=all_cells)
        if not asked:
            print_lines([Text("")], console)
        head = _findings(result, console.width) if verbose else title_lines(summarise(result), console.width)
        _print([*head, *parts], console)


def _parts(
    result: CampaignResult, name: str | None, x: str, y: str, console: Console, *, all_cells: bool
) -> list[RenderableType]:
    """What a campaign says in tables; and its map, or all cells, where it has one or where that was asked for."""
    from ioatlas.report.screen import text_tables

    own = text_tables(_own(result), console.width)
    if own and not (all_cells or x or y or result.is_map):
        return own
    drawn = _cell_list(result, console) if all_cells else _map(result, quantity(name or _usual(result)), x, y, console)
    return drawn if all_cells or x or y or name else [*own, *drawn]


def _print(parts: Sequence[RenderableType], console: Console) -> None:
    """On a terminal as it is; elsewhere without the blanks that fill each line up."""
    from ioatlas.report.screen import rendered

    if not console.is_terminal:
        print_lines(rendered(parts, console.width), console)
        return
    for part in parts:
        console.print(part)


def _findings(result: CampaignResult, width: int) -> list[Text]:
    """Every one under its title, after the numbers that the first screen has no room for."""
    from rich.text import Text

    from ioatlas.answer.analysis.summary import summarise
    from ioatlas.report.findings import worded
    from ioatlas.report.numbers import value_of, where_of
    from ioatlas.report.screen import MOST_HEADLINES, labelled

    told = [(one.label, f"{value_of(one)}, {where_of(one)}") for one in summarise(result).headlines[MOST_HEADLINES:]]
    told += [(one.title, one.sentence) for one in worded(result)]
    return [*(line for title, text in told for line in labelled(f"• {title}: ", text, width, 2)), Text("")]


def _own(result: CampaignResult) -> list[Table]:
    """What a campaign that is no map says in tables; nothing of a map."""
    from ioatlas.report.export.own import chart_table, has_own

    told = [table for table in result.tables if not table.after_map]
    if result.shown_as == "tables":
        return told
    return [*map(chart_table, result.charts), *told] if has_own(result) else []


def _usual(result: CampaignResult) -> str:
    """The quantity of a map when none is asked for: of calls that move no data their rate."""
    return "iops" if result.estimates and all(is_tree(one.cell) for one in result.estimates) else "bw"


def _map(result: CampaignResult, quantity: Quantity, x: str, y: str, console: Console) -> list[RenderableType]:
    """All of it, or the list of cells where there are no two axes."""
    from rich.text import Text

    from ioatlas.report.heatmap import draw
    from ioatlas.report.screen import style_of
    from ioatlas.report.small_map import small_map

    found = small_map(result, quantity, x, y)
    if found is None:
        return _cell_list(result, console)
    lines = draw(found, width=console.width, style=style_of(console))
    return [Text(f"{quantity.label} in {found.unit}", style="bold"), *lines]


def _cell_list(result: CampaignResult, console: Console) -> list[RenderableType]:
    """Every cell and direction, one line each; columns that tell nothing, or do not fit, are left out."""
    from ioatlas.report.export.grid import axes_of, coordinates
    from ioatlas.report.screen import table_of
    from ioatlas.report.table import entries

    def text(value: float | None, form: Callable[[float], str]) -> str:
        return form(value) if value is not None else ""

    found = entries(result)
    axes = [axis for axis in axes_of(result, found) if len(axis.levels) > 1 or axis.name in ("rw", "bs", "numjobs")]
    names = [axis.name for axis in axes]
    wide, middle = console.width >= 110, console.width >= 80
    columns: list[tuple[str, bool, Callable[[Estimate], str]]] = [
        ("throughput", True, lambda e: text(e.bw_bytes_per_s, format_rate)),
        (
            "95% interval",
            True,
            lambda e: " .. ".join(filter(None, (text(v, format_rate) for v in (e.bw_low, e.bw_high)))),
        ),
        ("operations/s" if _usual(result) == "iops" else "IOPS", wide, lambda e: text(e.iops, format_count)),
        ("mean", middle, lambda e: text(e.lat_mean_ns, format_latency)),
        ("p99", middle, lambda e: text(e.lat_p99_ns, format_latency)),
        ("visits", wide, lambda e: str(e.n_visits)),
        ("verdict", True, lambda e: f"{e.kind}; " * (e.kind != "measured") + e.verdict_text),
    ]
    shown = [(head, told) for head, is_shown, told in columns if is_shown]
    rows = []
    for entry in found:
        at, e = coordinates(entry, names), entry.estimate
        told = [cell(e) for _, cell in shown] if e else [*[""] * (len(shown) - 1), entry.reason]
        rows.append([*(axis.label(at[axis.name]) for axis in axes), *told])
    return [table_of([*names, *(head for head, _ in shown)], rows, left=("target", "rw", "verdict"))]
