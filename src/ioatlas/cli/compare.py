# SPDX-License-Identifier: Apache-2.0
"""`ioatlas compare`: two campaigns or more, targets of a campaign, or other tools' results against each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ioatlas.cli._arguments import SideArgument, gate_files, path_option, quantity_option, units_option
from ioatlas.cli._commands import examples
from ioatlas.cli._comparison import tell
from ioatlas.cli._output import says_what_does_not_fit
from ioatlas.model.units import parse_percent

MOST_TOLERANCE = 0.5


@click.command(name="compare", epilog=examples("compare"))
@click.argument("sides", metavar="SIDE...", nargs=-1, required=True, type=SideArgument())
@quantity_option("What is compared.")
@click.option(
    "--tolerance",
    metavar="PERCENT",
    default="2%",
    show_default=True,
    help="Differences up to this are never called one.",
)
@click.option("--reference", metavar="SIDE", default="", help="Test each of the others against this side only.")
@click.option(
    "--by",
    type=click.Choice(("target", "configuration")),
    help="Compare the targets or configurations inside each campaign.",
)
@path_option(
    "--same",
    multiple=True,
    metavar="DIR",
    help="Another campaign of the first one's unchanged target; give two or more. For two campaigns.",
)
@path_option(
    "-o",
    "output",
    metavar="FILE",
    help="FILE.html: a page with all maps and the maps of ratios. FILE.csv: every cell of every pair.",
)
@click.option("--cells", "all_cells", is_flag=True, help="List every cell, not only those that differ.")
@click.option("-v", "--verbose", is_flag=True, help="Every cell that differs, and how it was tested.")
@click.option(
    "--fail-if-worse",
    is_flag=True,
    help="Exit with 3 when the map or a cell is worse than that of the first side (false alarms: 0.1% in all).",
)
@gate_files
@units_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@says_what_does_not_fit
def command(
    sides: tuple[Path, ...],
    quantity: str,
    tolerance: str,
    reference: str,
    by: str | None,
    same: tuple[Path, ...],
    **wanted: Any,
) -> None:
    """Compare SIDEs, cell by cell and as whole maps.

    A SIDE is a campaign's directory, DIR:TARGET, or imported results, such as a table that `ioatlas export` wrote.

    Cells are tested at a false discovery rate of 5% over all pairs, whole maps at 5% against the slow drift seen while
    the campaigns ran. What changed only between two campaigns looks like a difference, unless --same shows it.
    """
    share = parse_percent(tolerance, where="--tolerance", most=MOST_TOLERANCE)
    _tell_the_same(sides)
    from ioatlas import api

    found = api.compare(sides, quantity, tolerance=share, reference=reference, by_target=by is not None, same=same)
    tell(found, **wanted)


def _tell_the_same(sides: tuple[Path, ...]) -> None:
    """A side that is there twice is no repeat: no measurement of it was made again."""
    seen: set[Path] = set()
    for side in sides:
        if side.resolve() in seen:
            click.echo(f"ioatlas: {side} is named twice: nothing differs from itself, which is no A/A test", err=True)
        seen.add(side.resolve())
