# SPDX-License-Identifier: Apache-2.0
"""`ioatlas show`: a campaign's findings and map in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ioatlas.analysis.marks import SIGNS, mark_of
from ioatlas.analysis.wording import plural
from ioatlas.cli._arguments import where_option
from ioatlas.cli._campaigns import campaign_argument
from ioatlas.cli._curves import curve_tables
from ioatlas.cli._faults import says_what_does_not_fit
from ioatlas.cli._heatmap import LEGEND, MISSING
from ioatlas.model.tree import is_tree
from ioatlas.results.library import REPORT

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from ioatlas.model.result import CampaignResult
    from ioatlas.report.export.grid import Axis, Level, Status
    from ioatlas.report.export.quantities import Quantity, Unit
    from ioatlas.report.table import Entry

PIPE_WIDTH = 120
"""Columns to use when the output is no terminal."""
BEST_IS_LOWEST = ("lat_mean", "lat_p99")


@click.command(
    name="show",
    epilog="""\b
Examples:
  ioatlas show nas1                                   the answer on one screen
  ioatlas show nas1 -v                                every finding, and throughput over block size and jobs
  ioatlas show nas1 --quantity lat_p99 --x iodepth
  ioatlas show nas1 --where bs=4k --where rw=randread  only those
  ioatlas show nas1 --cells                           every cell with its interval, visits and verdict
  ioatlas show nas1 --json | jq '.rows[0]'""",
)
@campaign_argument
@click.option(
    "--quantity",
    "quantity_name",
    type=click.Choice(("bw", "iops", "lat_mean", "lat_p99", "bw_per_job")),
    help="The map of one quantity. Default: bw.",
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
    as_json: bool,
) -> None:
    """Show the answer of the campaign in DIR on one screen, or its map as a table."""
    import sys

    from ioatlas.procedures.registry import load_result
    from ioatlas.results.only import only, parse_filter

    result = only(load_result(directory), parse_filter(where))
    if as_json:
        from ioatlas.report.export.to_json import write_json

        write_json(result, sys.stdout)
        return
    from rich.text import Text

    from ioatlas.cli._screen import console_of, print_lines, rounds_tables, show
    from ioatlas.report.export.own import in_order
    from ioatlas.report.export.quantities import quantity
    from ioatlas.results.library import shown

    plain = not (all_cells or x or y)
    asked = bool(quantity_name) or not plain
    if not asked:
        page = directory / REPORT
        show(result, console_of(), place=shown(directory), report=str(page) if page.is_file() else "")
        if not verbose:
            return
    console = console_of()
    if not console.is_terminal:
        console = console_of(PIPE_WIDTH)
    curves = [table for curve in result.load_curves for table in curve_tables(curve, result, console)]
    parts: list[RenderableType]
    if curves and plain and not _is_search(result):
        parts = curves
    elif result.works and plain:
        parts = _works(result)
    elif in_order(result) and plain:
        parts = _charts(result)
    else:
        parts = [
            *([*curves, Text("")] if curves and not asked else []),
            *rounds_tables(result),
            *(
                _cell_list(result, console)
                if all_cells
                else _maps(result, quantity(quantity_name or _usual(result)), x, y, console)
            ),
        ]
    if not asked:
        print_lines([Text("")], console)
    _print([*(_findings(result) if verbose else [_head(result)]), *parts], console)


def _works(result: CampaignResult) -> list[RenderableType]:
    """The table of works."""
    from rich.table import Table

    parts: list[RenderableType] = []
    for each in result.tables[:1]:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for name in each.columns:
            table.add_column(name, justify="left" if name in ("work", "target", "verdict") else "right")
        for row in each.rows:
            table.add_row(*row)
        parts += [table, each.note]
    return parts


def _is_search(result: CampaignResult) -> bool:
    """Whether there is a map of trials beside the curve."""
    return any(curve.setting for curve in result.load_curves)


def _print(parts: Sequence[RenderableType], console: Console) -> None:
    """On a terminal as it is; elsewhere without the blanks that fill each line up."""
    if console.is_terminal:
        for part in parts:
            console.print(part)
        return
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


def _findings(result: CampaignResult) -> list[RenderableType]:
    """Every one under its title."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    findings = Table.grid(padding=(0, 1))
    for finding in result.findings:
        sentence = Text(f"{finding.title}: ", style="bold")
        findings.add_row("•", sentence.append(finding.sentence, style="not bold"))
    return [Padding(findings, (0, 0, 1, 0))]


def _head(result: CampaignResult) -> RenderableType:
    from rich.text import Text

    from ioatlas.model.units import format_duration

    n_cells = len({e.cell.key for e in result.estimates} | {u.cell.key for u in result.unmeasured})
    facts = [plural(n_cells, "cell"), plural(result.n_visits, "visit"), format_duration(result.seconds)]
    if not result.n_visits and any(e.kind == "imported" for e in result.estimates):
        facts = [f"{plural(n_cells, 'cell')}, all imported"]
    facts += [] if result.complete else ["not finished"]
    head = Text(result.name or result.campaign_id, style="bold")
    head.append("  " + ", ".join(facts), style="not bold")
    return head


def _charts(result: CampaignResult) -> list[RenderableType]:
    """The charts of a fixed-work sequence as tables: mean ± standard deviation (visits)."""
    from rich.table import Table

    from ioatlas.report.export.own import chart_rows

    parts: list[RenderableType] = []
    for chart in result.charts:
        columns, rows = chart_rows(chart)
        table = Table(title=chart.title, title_justify="left", box=None, padding=(0, 2, 0, 0))
        for place, name in enumerate(columns):
            table.add_column(name, justify="right" if place else "left")
        for row in rows:
            table.add_row(*row)
        parts.append(table)
    for each in result.tables:
        table = Table(title=each.title, title_justify="left", box=None, padding=(0, 2, 0, 0))
        for name in each.columns[:-1]:
            table.add_column(name)
        for row in each.rows:
            table.add_row(*row[:-1])
        parts.append(table)
    return parts


def _usual(result: CampaignResult) -> str:
    """The quantity of a map when none is asked for: of calls that move no data their rate."""
    return "iops" if result.estimates and all(is_tree(one.cell) for one in result.estimates) else "bw"


def _maps(
    result: CampaignResult, quantity: Quantity, x_name: str, y_name: str, console: Console
) -> list[RenderableType]:
    """One table for each target and load; the axes on neither side are folded, and the caption says how."""
    from rich.text import Text

    from ioatlas.errors import UsageError
    from ioatlas.model.export_columns import FACTOR
    from ioatlas.report.export.grid import axes_of, axis_named, coordinates
    from ioatlas.report.table import entries

    found = entries(result)
    axes = {axis.name: axis for axis in axes_of(result, found, (x_name, y_name))}
    x_name, y_name = axis_named(x_name, axes), axis_named(y_name, axes)
    for name in (x_name, y_name):
        if name and (name not in axes or name in ("rw", "target")):
            usable = ", ".join(axis for axis in axes if axis not in ("rw", "target"))
            raise UsageError(
                f"the campaign has no axis {name!r} to show", where="--x, --y", remedy=f"choose from {usable}"
            )
    varied = [name for name, axis in axes.items() if len(axis.levels) > 1 and name not in ("rw", "target")]
    y_name = y_name or _first(("bs", *varied), [name for name in varied if name != x_name])
    x_name = x_name or _first(("numjobs", "iodepth", "size", *varied), [name for name in varied if name != y_name])
    if not found or not y_name or not x_name or x_name == y_name:
        return _cell_list(result, console)
    unit = quantity.unit([v for entry in found if (v := quantity.shown(entry)) is not None])
    # What tells targets apart heads the tables; a factor on a side does not.
    heads = [name for name in axes if (name == "target" or name.startswith(FACTOR)) and name not in (x_name, y_name)]
    heads = [name for name in heads if len(axes[name].levels) > 1]
    folded = [name for name in varied if name not in (x_name, y_name, *heads)]
    groups: dict[tuple[Level, ...], dict[tuple[Level, Level], list[Entry]]] = {}
    for entry in found:
        at = coordinates(entry, (*heads, "rw", x_name, y_name))
        head = (*(axes[name].title(at[name]) for name in heads), at["rw"])
        groups.setdefault(head, {}).setdefault((at[x_name], at[y_name]), []).append(entry)
    parts: list[RenderableType] = []
    marks: set[str] = set()
    top = max((v for entry in found if (v := quantity.shown(entry)) is not None), default=0.0)
    for head, cells in groups.items():
        title = f"{', '.join(map(str, head))}: {quantity.label.lower()} in {unit.name}"
        if folded:
            best = "lowest" if quantity.name in BEST_IS_LOWEST else "highest"
            over = ", ".join(f"{name} ({plural(len(axes[name].levels), 'value')})" for name in folded)
            title += f", the {best} over {over}"
        parts += _map_table(title, axes[x_name], axes[y_name], cells, quantity, unit, top, marks, console)
    legend = [f"{mark} {words}" for mark, words in LEGEND.items() if mark in marks]
    if legend:
        parts.append(Text("   ".join(legend), style="dim"))
    return parts


def _first(order: Sequence[str], there: Sequence[str]) -> str:
    return next((name for name in order if name in there), "")


def _map_table(
    title: str,
    x: Axis,
    y: Axis,
    cells: dict[tuple[Level, Level], list[Entry]],
    quantity: Quantity,
    unit: Unit,
    top: float,
    marks: set[str],
    console: Console,
) -> list[RenderableType]:
    """The table, in as many strips of columns as the terminal's width asks for. Adds the marks it used to `marks`."""
    from rich.table import Table
    from rich.text import Text

    from ioatlas.cli._screen import style_of

    style = style_of(console)
    texts: dict[tuple[Level, Level], Text] = {}
    for at in ((i, j) for i in x.levels for j in y.levels):
        chosen = _choose(cells.get(at, []), quantity)
        value = quantity.shown(chosen) if chosen is not None else None
        mark = SIGNS[mark_of(chosen.estimate)][0] if chosen is not None and chosen.estimate is not None else MISSING
        marks.add(mark)
        number = "" if value is None else _number(value / unit.factor)
        texts[at] = Text(f" {number}{mark or ' '}", style=style(value / top if value is not None and top > 0 else None))
    heads = {level: x.label(level) for level in x.levels}
    side = max(len(y.heading), *(len(y.label(level)) for level in y.levels)) + 2
    columns = {level: max(len(heads[level]), *(len(texts[level, j]) for j in y.levels)) + 1 for level in x.levels}
    strips: list[list[Level]] = [[]]
    for level in x.levels:
        if strips[-1] and side + sum(columns[v] for v in strips[-1]) + columns[level] > console.width:
            strips.append([])
        strips[-1].append(level)
    parts: list[RenderableType] = [Text(title, style="bold")]
    for strip in strips:
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="")
        table.add_column(f"{y.heading}", justify="right", no_wrap=True)
        for level in strip:
            table.add_column(heads[level], justify="right", no_wrap=True)
        for j in reversed(y.levels):
            table.add_row(y.label(j), *(texts[level, j] for level in strip))
        parts += [Text(f"{' ' * side}{x.heading}", style="dim"), table, Text("")]
    return parts


def _choose(candidates: Sequence[Entry], quantity: Quantity) -> Entry | None:
    """The best of the cells folded into one place: measured and steady before others."""
    from ioatlas.report.export.grid import status

    order: tuple[Status, ...] = ("measured", "unsteady", "suspect", "imported", "predicted")
    for wanted in order:
        there = [(v, e) for e in candidates if status(e) == wanted and (v := quantity.shown(e)) is not None]
        if there:
            return (min if quantity.name in BEST_IS_LOWEST else max)(there, key=lambda pair: pair[0])[1]
    return None


def _number(value: float) -> str:
    """Three significant digits, no exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _cell_list(result: CampaignResult, console: Console) -> list[RenderableType]:
    """Every cell and direction, one line each; columns that tell nothing, or do not fit, are left out."""
    from rich.table import Table
    from rich.text import Text

    from ioatlas.model.units import format_count, format_latency, format_rate
    from ioatlas.report.export.grid import axes_of, coordinates
    from ioatlas.report.table import entries

    found = entries(result)
    axes = [axis for axis in axes_of(result, found) if len(axis.levels) > 1 or axis.name in ("rw", "bs", "numjobs")]
    names = [axis.name for axis in axes]
    wide, middle = console.width >= 110, console.width >= 80
    table = Table(box=None, pad_edge=False, header_style="bold")
    for axis in axes:
        table.add_column(axis.name, justify="left" if axis.name in ("target", "rw") else "right", no_wrap=True)
    for heading, shown in (
        ("throughput", True),
        ("95% interval", True),
        ("operations/s" if _usual(result) == "iops" else "IOPS", wide),
        ("mean", middle),
        ("p99", middle),
        ("visits", wide),
    ):
        if shown:
            table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict")
    for entry in found:
        e = entry.estimate
        at = coordinates(entry, names)
        line = [axis.label(at[axis.name]) for axis in axes]
        interval = (
            f"{format_rate(e.bw_low)} .. {format_rate(e.bw_high)}"
            if e and e.bw_low is not None and e.bw_high is not None
            else ""
        )
        line += [format_rate(e.bw_bytes_per_s) if e and e.bw_bytes_per_s is not None else "", interval]
        line += [format_count(e.iops) if e and e.iops is not None else ""] if wide else []
        line += (
            [
                format_latency(v) if e and (v := getattr(e, name)) is not None else ""
                for name in ("lat_mean_ns", "lat_p99_ns")
            ]
            if middle
            else []
        )
        line += [str(e.n_visits) if e else ""] if wide else []
        kind = f"{e.kind}; " if e and e.kind != "measured" else ""
        table.add_row(*(Text(text) for text in line), Text(kind + (e.verdict_text if e else entry.reason)))
    return [table]
