# SPDX-License-Identifier: Apache-2.0
"""How a comparison of two campaigns is printed and written."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ioatlas.analysis.wording import plural
from ioatlas.cli._compare_asked import Asked
from ioatlas.cli._conditions import conditions
from ioatlas.cli._fold import folded
from ioatlas.cli._gate import write_gate
from ioatlas.cli._json import say_json
from ioatlas.cli._quantity import WORDS

if TYPE_CHECKING:
    from ioatlas.analysis.compare import CellComparison, Comparison
    from ioatlas.results.comparison import CampaignComparison

PIPE_WIDTH = 160
"""Columns to use when the output is no terminal."""
MOST_SHOWN = 12
"""Cells that differ and stand on the first screen."""
ENOUGH_POWER = 0.8
"""Chance to notice a slowdown below which a test is weak."""
MOST_DETECTABLE = 0.9
"""A slowdown larger than this is no measure of what a comparison can find."""


def run(first: Path, second: Path, quantity: str, tolerance: float, same: tuple[Path, ...], asked: Asked) -> None:
    """Compare and print. Raises GateError when it got worse and that was asked for."""
    from ioatlas.errors import GateError
    from ioatlas.results.comparison import compare_campaigns
    from ioatlas.results.sides import LOWER_IS_BETTER

    found = compare_campaigns(first, second, quantity, tolerance=tolerance, same=same)
    if asked.as_json:
        say_json(_document(found))
    else:
        _print(found, all_cells=asked.all_cells, verbose=asked.verbose)
    if asked.output is not None:
        _write_page(found, asked.output)
        click.echo(f"page: {asked.output}", err=asked.as_json)
    worse = "higher" if quantity in LOWER_IS_BETTER else "lower"
    if asked.junit or asked.markdown:
        from ioatlas.cli._compare_gate import gate_of_two

        write_gate(gate_of_two(found, WORDS[quantity], worse), asked.junit, asked.markdown)
    count = sum(cell.outcome == worse for cell in found.result.cells)
    whole = found.result.whole is not None and found.result.whole.outcome == worse
    if asked.gate and (count or whole):
        raise GateError(
            f"{found.names[1]} is worse: {'the map as a whole' if whole else 'not the map as a whole'}, "
            f"{plural(count, 'cell')}",
            where=str(second),
        )


def _write_page(found: CampaignComparison, output: Path) -> None:
    from ioatlas.campaign import load_result
    from ioatlas.report.comparison_page import write_comparison

    first, second = (load_result(directory) for directory in found.directories)
    write_comparison(first, second, found, WORDS[found.quantity], _sentences(found), output)


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

    from ioatlas.results.library import shown

    return {
        "quantity": found.quantity,
        "first": shown(found.directories[0]),
        "second": shown(found.directories[1]),
        "method": result.method,
        "tolerance": result.tolerance,
        "effect": result.effect,
        "false_discovery_rate": result.false_discovery_rate,
        "campaign_sd": found.campaign_sd,
        "differences": [asdict(one) for one in found.apart],
        "map": asdict(result.whole) if result.whole else None,
        "cells_compared": len(result.cells),
        "cells_different": len(result.differing),
        "only_first": len(result.only_first),
        "only_second": len(result.only_second),
        "cells": [cell(row) for row in result.cells],
    }


def _sentences(found: CampaignComparison) -> list[str]:
    """The answer for the page: as in the terminal, with all conditions."""
    return [" ".join(re.sub(r"^ (\w+) {2,}", r"\1: ", line).split()) for line in answer(found, every=True)]


def _print(found: CampaignComparison, *, all_cells: bool, verbose: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    result = found.result
    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console = Console(highlight=False, soft_wrap=True, width=PIPE_WIDTH)
    for line in answer(found):
        console.print(folded(line, 11))
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
    console.print(folded(f"({noise})"))


def _chance(cell: CellComparison) -> float:
    return cell.p if cell.p is not None else 2.0


def _changed(result: Comparison) -> str:
    """'12 of 16 changed: 8 higher, 4 lower'."""
    text = f"{len(result.differing)} of {len(result.cells)} changed"
    ways = Counter(cell.outcome for cell in result.differing)
    return f"{text}: {', '.join(f'{count} {way}' for way, count in ways.most_common())}" if ways else text


def answer(found: CampaignComparison, *, every: bool = False) -> list[str]:
    """What the two say together: the verdict, how large, how many cells, whether the test could have seen it.

    every: all conditions in which they differ, not only the first.
    """
    from statistics import median

    result, whole = found.result, found.result.whole
    word = WORDS[found.quantity]
    weak = whole is not None and whole.power < ENOUGH_POWER
    said = {"higher": "HIGHER", "lower": "LOWER", "same": f"THE SAME within {result.tolerance:.0%}"}
    none = "NO OVERALL DIFFERENCE SHOWN, but cells changed" if result.differing else "NO DIFFERENCE SHOWN"
    verdict = "TOO FEW VISITS TO TELL" if whole is None else said.get(whole.outcome, none)
    if weak and not result.differing and whole is not None and whole.outcome not in said:
        verdict += ", and the test was weak"
    lines = [
        f"{found.names[1]} vs {found.names[0]}, {word}: {verdict}",
        *(f" {line}" for line in conditions(found.apart, found.names, every=every)),
    ]
    if whole is not None:
        told = f"{whole.ratio - 1:+z.1%}  (plausible {whole.low - 1:+z.1%} to {whole.high - 1:+z.1%})"
        lines.append(f" Overall   {told}")
    sides = ((len(result.only_first), found.names[0]), (len(result.only_second), found.names[1]))
    alone = [f"{count} only in {name}" for count, name in sides if count]
    lines.append(f" Cells     {'; '.join([_changed(result), *alone])}")
    untested = Counter(cell.reason for cell in result.cells if cell.outcome == "not comparable" and cell.reason)
    lines += [f"           {plural(count, 'cell')} not compared: {reason}" for reason, count in untested.items()]
    powers = [cell.power for cell in result.cells if cell.power is not None]
    if whole is not None:
        lines.append(f" Power     {_noticed(whole.power, result.effect)} overall")
    if powers:
        lines.append(f"           {_noticed(median(powers), result.effect)} in a typical cell")
    if whole is not None and whole.outcome not in ("higher", "lower") and whole.detectable < MOST_DETECTABLE:
        lines.append(f"           the smallest slowdown it would find 8 times in 10: {whole.detectable:.0%}")
    if weak or whole is None:
        lines.append("Next: repeat both with more --visits")
    return lines


def _noticed(power: float, effect: float) -> str:
    return f"a real {effect:.0%} slowdown would be noticed {round(100 * power)} times in 100"
