# SPDX-License-Identifier: Apache-2.0
"""`ioatlas compare`: two campaigns against each other, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ioatlas.cli._campaigns import CampaignDirectory
from ioatlas.cli._faults import says_what_does_not_fit

if TYPE_CHECKING:
    from ioatlas.analysis.compare import CellComparison
    from ioatlas.results.comparison import CampaignComparison

PIPE_WIDTH = 160
"""Columns to use when the output is no terminal."""
MOST_SHOWN = 12
"""Cells that differ and stand on the first screen."""
ENOUGH_POWER = 0.8
"""Chance to notice a slowdown below which a test is weak."""
_LATENCIES = ("lat_mean", "lat_p99")
_WORDS = {"bw": "throughput", "iops": "IOPS", "lat_mean": "mean latency", "lat_p99": "99th percentile of latency"}


@click.command(
    name="compare",
    epilog="""\b
Examples:
  ioatlas compare nas-monday nas-friday                   did the map change, and which cells
  ioatlas compare nas1 nas2 --quantity lat_p99
  ioatlas compare nas1 nas2 --same nas1-b --same nas1-c   with what two repeats of nas1 say about how campaigns differ
  ioatlas compare before after --fail-if-worse            exit code 3 when the map or a cell got worse
  ioatlas compare nas1 nas2 -o nas.html                   a page with both maps and the map of ratios
  ioatlas compare nas1 nas2 --json | jq .map
  ioatlas compare nas1 old-results                   with what `ioatlas import` read: ratios, and how methods differ""",
)
@click.argument("first", metavar="FIRST", type=CampaignDirectory())
@click.argument("second", metavar="SECOND", type=CampaignDirectory())
@click.option(
    "--quantity",
    type=click.Choice(("bw", "iops", "lat_mean", "lat_p99")),
    default="bw",
    show_default=True,
    help="What is compared.",
)
@click.option(
    "--tolerance",
    metavar="PERCENT",
    default="2%",
    show_default=True,
    help="Differences up to this are never called one.",
)
@click.option(
    "--same",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Another campaign of FIRST's unchanged target; give two or more.",
)
@click.option(
    "-o",
    "output",
    metavar="FILE.html",
    type=click.Path(path_type=Path),
    help="Write a page with both maps and the map of ratios.",
)
@click.option("--cells", "all_cells", is_flag=True, help="List every cell, not only those that differ.")
@click.option("-v", "--verbose", is_flag=True, help="Every cell that differs, and how it was tested.")
@click.option("--fail-if-worse", is_flag=True, help="Exit with 3 when the map or any cell is worse in SECOND.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@says_what_does_not_fit
def command(
    first: Path,
    second: Path,
    quantity: str,
    tolerance: str,
    same: tuple[Path, ...],
    output: Path | None,
    all_cells: bool,
    verbose: bool,
    fail_if_worse: bool,
    as_json: bool,
) -> None:
    """Compare the campaigns in FIRST and SECOND, cell by cell and as a whole.

    A cell differs when its visits say so with all cells' visits taken into account (false discovery rate 5%). The map
    as a whole is tested against the slow drift seen while the campaigns ran; what moved between them and not within
    them looks like a difference, unless --same shows it.
    """
    from ioatlas.errors import GateError
    from ioatlas.results.comparison import compare_campaigns
    from ioatlas.results.imported_comparison import involves_imported

    if involves_imported(first, second):
        _no_page_of_imported(output)
        from ioatlas.cli import _compare_imported

        _compare_imported.run(
            first,
            second,
            quantity,
            _share(tolerance),
            same=same,
            gate=fail_if_worse,
            all_cells=all_cells,
            as_json=as_json,
        )
        return

    found = compare_campaigns(first, second, quantity, tolerance=_share(tolerance), same=same)
    if as_json:
        import json

        click.echo(json.dumps(_document(found), indent=2))
    else:
        _print(found, all_cells=all_cells, verbose=verbose)
    if output is not None:
        _write_page(found, output)
        click.echo(f"page: {output}", err=as_json)
    worse = "higher" if quantity in _LATENCIES else "lower"
    count = sum(cell.outcome == worse for cell in found.result.cells)
    whole = found.result.whole is not None and found.result.whole.outcome == worse
    if fail_if_worse and (count or whole):
        raise GateError(
            f"{found.names[1]} is worse: {'the map as a whole' if whole else 'not the map as a whole'}, {count} cells",
            where=str(second),
        )


def _no_page_of_imported(output: Path | None) -> None:
    from ioatlas.errors import UsageError

    if output is not None:
        raise UsageError(
            "a page compares two campaigns that were measured",
            where="-o",
            remedy="leave it out; `ioatlas import` both into one directory and `ioatlas report` it for one map of both",
        )


def _write_page(found: CampaignComparison, output: Path) -> None:
    from ioatlas.campaign import load_result
    from ioatlas.report.comparison_page import write_comparison

    first, second = (load_result(directory) for directory in found.directories)
    write_comparison(first, second, found, _WORDS[found.quantity], _sentences(found), output)


def _share(text: str) -> float:
    from ioatlas.errors import UsageError

    try:
        value = float(text.strip().removesuffix("%")) / 100 if text.strip().endswith("%") else float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 0.1:
        raise UsageError(
            f"{text!r} is not a tolerance", where="--tolerance", remedy="write a share below 10%, such as 2% or 0.02"
        )
    return value


def _document(found: CampaignComparison) -> dict[str, Any]:
    from dataclasses import asdict

    result = found.result

    def cell(row: Any) -> dict[str, Any]:
        about = found.rows[row.cell]
        named = {
            "target": about.cell.target,
            **about.cell.option,
            "size_bytes": about.cell.size_bytes,
            "bs_bytes": about.cell.bs_bytes,
            "direction": about.direction,
        }
        return {**named, **{name: value for name, value in asdict(row).items() if name != "cell"}}

    return {
        "quantity": found.quantity,
        "first": str(found.directories[0]),
        "second": str(found.directories[1]),
        "method": result.method,
        "tolerance": result.tolerance,
        "effect": result.effect,
        "false_discovery_rate": result.false_discovery_rate,
        "campaign_sd": found.campaign_sd,
        "map": asdict(result.whole) if result.whole else None,
        "cells_compared": len(result.cells),
        "cells_different": len(result.differing),
        "only_first": len(result.only_first),
        "only_second": len(result.only_second),
        "cells": [cell(row) for row in result.cells],
    }


def _sentences(found: CampaignComparison) -> list[str]:
    """What the comparison says, in the terminal and on the page."""
    from statistics import median

    result, whole = found.result, found.result.whole
    told = [f"{_WORDS[found.quantity]} of {found.names[1]} against {found.names[0]}, {len(result.cells)} cells"]
    if whole is None:
        told.append("map as a whole: too few visits to tell it from drift")
    else:
        verdict = {"higher": "higher", "lower": "lower", "same": f"the same within {result.tolerance:.0%}"}.get(
            whole.outcome, "no difference shown"
        )
        told.append(
            f"map as a whole: {whole.ratio - 1:+.1%} (95% interval {whole.low - 1:+.1%} to {whole.high - 1:+.1%}): "
            f"{verdict}; a {result.effect:.0%} lower one would be found with {whole.power:.0%} chance"
        )
    powers = [cell.power for cell in result.cells if cell.power is not None]
    if powers:
        told.append(
            f"single cells: {len(result.differing)} of {len(result.cells)} differ; a {result.effect:.0%} lower one "
            f"would be found with {median(powers):.0%} chance (median cell)"
        )
    left = len(result.only_first) + len(result.only_second)
    if left:
        told.append(f"in one campaign only: {len(result.only_first)} and {len(result.only_second)} cells")
    return told


def _print(found: CampaignComparison, *, all_cells: bool, verbose: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    result = found.result
    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console = Console(highlight=False, soft_wrap=True, width=PIPE_WIDTH)
    for line in answer(found):
        console.print(line)
    shown = result.cells if all_cells else result.differing
    if not (all_cells or verbose):
        shown = tuple(sorted(shown, key=_chance)[:MOST_SHOWN])
    if shown:
        table = Table(box=None, pad_edge=False)
        for title, justify in (
            ("cell", "left"),
            ("visits", "right"),
            ("ratio", "right"),
            ("95% interval", "right"),
            ("p", "right"),
            ("", "left"),
        ):
            table.add_column(title, justify=justify, no_wrap=True)  # type: ignore[arg-type]
        for cell in sorted(shown, key=_chance):
            figures = (
                ("", "", "")
                if cell.ratio is None or cell.low is None or cell.high is None or cell.p is None
                else (f"{cell.ratio:.3f}", f"{cell.low:.3f} .. {cell.high:.3f}", f"{cell.p:.2g}")
            )
            table.add_row(
                found.rows[cell.cell].label,
                f"{cell.n_first}, {cell.n_second}",
                *figures,
                f"{cell.outcome}{': ' + cell.reason if cell.reason else ''}",
            )
        console.print(table)
    left = (len(result.cells) if all_cells else len(result.differing)) - len(shown)
    if left > 0:
        console.print(f"... and {left} more: -v")
    noise = (
        f"campaigns of the unchanged target differ by {found.campaign_sd:.1%}"
        if found.campaign_sd is not None
        else "assumed: the target moved no more between the campaigns than while they ran"
    )
    if verbose:
        console.print(
            f"method {result.method}, differences up to {result.tolerance:.1%} ignored, false discovery rate "
            f"{result.false_discovery_rate:.0%}"
        )
    console.print(f"({noise})")


def _chance(cell: CellComparison) -> float:
    return cell.p if cell.p is not None else 2.0


def answer(found: CampaignComparison) -> list[str]:
    """What the two say together: the verdict, how large, how many cells, whether the test could have seen it."""
    from statistics import median

    result, whole = found.result, found.result.whole
    word = _WORDS[found.quantity]
    weak = whole is not None and whole.power < ENOUGH_POWER
    said = {"higher": "HIGHER", "lower": "LOWER", "same": f"THE SAME within {result.tolerance:.0%}"}
    verdict = "TOO FEW VISITS TO TELL" if whole is None else said.get(whole.outcome, "NO DIFFERENCE SHOWN")
    if weak and whole is not None and whole.outcome not in said:
        verdict += ", and the test was weak"
    lines = [f"{found.names[1]} vs {found.names[0]}, {word}: {verdict}"]
    if whole is not None:
        told = f"{whole.ratio - 1:+.1%}  (plausible {whole.low - 1:+.1%} to {whole.high - 1:+.1%})"
        lines.append(f" Overall   {told}")
    sides = ((len(result.only_first), found.names[0]), (len(result.only_second), found.names[1]))
    alone = [f"{count} only in {name}" for count, name in sides if count]
    lines.append(f" Cells     {'; '.join([f'{len(result.differing)} of {len(result.cells)} changed', *alone])}")
    powers = [cell.power for cell in result.cells if cell.power is not None]
    if whole is not None:
        lines.append(f" Power     {_noticed(whole.power, result.effect)} overall")
    if powers:
        lines.append(f"           {_noticed(median(powers), result.effect)} in a typical cell")
    if weak or whole is None:
        lines.append("Next: repeat both with more --visits")
    return lines


def _noticed(power: float, effect: float) -> str:
    return f"a real {effect:.0%} slowdown would be noticed {round(100 * power)} times in 100"
