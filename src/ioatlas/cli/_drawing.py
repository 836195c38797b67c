# SPDX-License-Identifier: Apache-2.0
"""`ioatlas chart`: several campaigns, targets or result files in one drawing."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ioatlas.cli._campaigns import SideArgument
from ioatlas.cli._faults import says_what_does_not_fit
from ioatlas.cli._json import say_json
from ioatlas.cli._quantity import quantity_option, where_option
from ioatlas.errors import IoAtlasError, UsageError

if TYPE_CHECKING:
    from ioatlas.model.panel import Drawing, Line
    from ioatlas.model.result import CampaignResult
    from ioatlas.results.sides import Side

KINDS = ("bars", "lines", "latency")


@click.command(
    name="chart",
    epilog="""\b
Examples:
  ioatlas chart bars nas1 nas2 nas3 --where bs=4k,8k -o patterns.png   each load a group, each side a bar
  ioatlas chart lines nas1 nas2 -o blocks.pdf                          throughput over the block size
  ioatlas chart lines nas1 --by target --x numjobs --where rw=randread -o jobs.svg
  ioatlas chart latency nas1 nas2 --where rw=randread --where bs=4k -o latency.png
  ioatlas chart bars old.csv nas2 -o both.gp                           a gnuplot script with its data

\b
bars     every load that all sides have, with 95% intervals; reads and writes of a mixed load are stacked
lines    over one option, a panel for each combination of the others, with the ceilings that are known
latency  percentiles from 1 to 99.99
Sides are drawn in the order in which they are named.""",
)
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("sides", metavar="SIDE...", nargs=-1, required=True, type=SideArgument())
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="What to write: .png, .svg, .pdf, .gp (gnuplot) or .csv.",
)
@quantity_option("What bars and lines show.")
@where_option
@click.option("--x", metavar="OPTION", default="", help="What lines are drawn over. Default: the block size.")
@click.option("--by", type=click.Choice(("target",)), help="Each target of a campaign is a side.")
@click.option("--title", metavar="TEXT", help="Title of the drawing. Default: the names of the sides.")
@click.option("--json", "as_json", is_flag=True, help="Print the names of the written files as JSON.")
@says_what_does_not_fit
def command(
    kind: str,
    sides: tuple[Path, ...],
    output: Path,
    quantity: str,
    where: tuple[str, ...],
    x: str,
    by: str | None,
    title: str | None,
    as_json: bool,
) -> None:
    """Draw several sides in one chart: campaigns, DIR:TARGET, imported results, exported files."""
    from ioatlas.report.export.to_panels import SUFFIXES, write_drawing

    if output.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{output.name} is no drawing", where="-o", remedy=f"end its name in {', '.join(SUFFIXES)}")
    if x and kind != "lines":
        raise UsageError("--x is for lines", where=kind, remedy="leave it out")
    drawing = _drawing(kind, sides, quantity, where, x, by_target=by is not None, title=title)
    written = write_drawing(drawing, output)
    if as_json:
        say_json({"files": [str(path) for path in written]}, line=True)
    else:
        for path in written:
            click.echo(path)


def _drawing(
    kind: str,
    places: Sequence[Path],
    quantity: str,
    where: Sequence[str],
    x: str,
    *,
    by_target: bool,
    title: str | None,
) -> Drawing:
    from ioatlas.results import panels
    from ioatlas.results.only import parse_filter
    from ioatlas.results.sides import align, read_sides

    chosen = parse_filter(where)
    sides = read_sides(places, quantity, by_target=by_target)
    title = title or ", ".join(side.name for side in sides)
    if kind == "latency":
        return panels.latency_curves(_results(sides), where=chosen, title=title)
    aligned = align(sides)
    if kind == "bars":
        return panels.bars(aligned, quantity, where=chosen, title=title)
    ceilings = _ceilings(sides) if quantity == "bw" else {}
    return panels.lines(aligned, quantity, where=chosen, title=title, x=x, ceilings=ceilings)


def _results(sides: Sequence[Side]) -> list[tuple[str, CampaignResult]]:
    """By side the result of its targets, of those that were measured here; each campaign is read once."""
    from dataclasses import replace

    from ioatlas.campaign import load_result

    whole: dict[Path, CampaignResult] = {}
    for directory in {side.directory for side in sides if side.kind == "measured"}:
        with contextlib.suppress(IoAtlasError):
            whole[directory] = load_result(directory)
    return [
        (side.name, replace(result, estimates=tuple(e for e in result.estimates if e.cell.target in side.targets)))
        for side in sides
        if side.kind == "measured" and (result := whole.get(side.directory)) is not None
    ]


def _ceilings(sides: Sequence[Side]) -> dict[str, list[Line]]:
    """The tightest known bound of each load."""
    from ioatlas.model.panel import Line

    found: dict[str, list[Line]] = {}
    for name, result in _results(sides):
        for e in result.estimates:
            if e.ceiling is not None:
                label = f"{name}: {e.ceiling.name}" if len(sides) > 1 else e.ceiling.name
                found.setdefault(f"{e.cell.key}/{e.direction}", []).append(Line(label, e.ceiling.bw_bytes_per_s))
    return found
