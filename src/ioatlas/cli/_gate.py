# SPDX-License-Identifier: Apache-2.0
"""Checks for a build server and a pull request: the options that name their files, and the writing of these."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ioatlas.analysis.compare import CellComparison, MapComparison
    from ioatlas.report.export.to_gate import Check, Gate
    from ioatlas.results.comparison import SidesComparison

_FILE = click.Path(path_type=Path, dir_okay=False)


def gate_files(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--junit` and `--markdown`."""
    markdown = click.option("--markdown", metavar="FILE", type=_FILE, help="Write a summary for a pull request.")
    return click.option("--junit", metavar="FILE", type=_FILE, help="Write the checks as JUnit XML.")(markdown(command))


def write_gate(gate: Gate, junit: Path | None, markdown: Path | None) -> None:
    """Write what was asked for, and say so on standard error."""
    from ioatlas.report.export.to_gate import write

    for path in write(gate, junit_file=junit, markdown_file=markdown):
        click.echo(f"written: {path}", err=True)


def gate_of(found: SidesComparison, word: str) -> Gate:
    from ioatlas.report.export.to_gate import Gate

    labels = {name: row.label for name, row in found.loads.rows.items()}
    checks: list[Check] = []
    table: list[tuple[str, ...]] = [("side", "cell", "ratio", "95% interval", "visits", "outcome")]
    for pair in found.against_base:
        name = found.names[pair.second]
        of = "" if len(found.sides) == 2 else f"{name}: "
        checks.append(_check(f"{of}the map as a whole", pair.whole, found, "Too few visits to tell it from drift."))
        for cell in pair.cells:
            label, why = labels[cell.cell], f"Not comparable: {cell.reason or 'too few visits'}."
            checks.append(_check(f"{of}{label}", cell, found, why))
            table.append((name, label, *ratio_texts(cell), f"{cell.n_first}, {cell.n_second}", cell.outcome))
    who = found.names[1 - found.base] if len(found.sides) == 2 else f"{len(found.sides)} sides"
    title = f"{who} against {found.names[found.base]}: {word}"
    return Gate(title, time.time(), tuple(checks), tuple(table))


def _check(name: str, one: MapComparison | CellComparison | None, found: SidesComparison, why: str) -> Check:
    """why: there is nothing to hold against it."""
    from ioatlas.report.export.to_gate import Check

    if one is None or one.ratio is None or one.low is None or one.high is None:
        return Check(name, "skipped", why)
    ends = " to ".join(f"{end - 1:+.1%}" for end in sorted((one.low, one.high)))
    sentence = f"{one.ratio - 1:+.1%} (95% interval {ends}): {one.outcome}."
    return Check(name, "failed" if found.fails(one) else "passed", sentence)


def ratio_texts(one: CellComparison) -> tuple[str, str]:
    """A ratio, and its interval."""
    if one.ratio is None or one.low is None or one.high is None:
        return "" if one.ratio is None else f"{one.ratio:.3f}", ""
    return f"{one.ratio:.3f}", f"{one.low:.3f} .. {one.high:.3f}"
