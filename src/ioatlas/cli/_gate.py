# SPDX-License-Identifier: Apache-2.0
"""Checks for a build server and a pull request: the options that name their files, and the writing of these."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ioatlas.analysis.compare import CellComparison, MapComparison
    from ioatlas.report.export.to_gate import Check, Gate, Outcome
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
    table: list[tuple[str, ...]] = [("side", *_HEAD)]
    for pair in found.against_base:
        name = found.names[pair.second]
        of = "" if len(found.sides) == 2 else f"{name}: "
        checks.append(_whole(f"{of}the map as a whole", pair.whole, found))
        checks += [_cell(f"{of}{labels[cell.cell]}", cell, found) for cell in pair.cells]
        table += [(name, *_row(labels[cell.cell], cell)) for cell in pair.cells]
    who = found.names[1 - found.base] if len(found.sides) == 2 else f"{len(found.sides)} sides"
    title = f"{who} against {found.names[found.base]}: {word}"
    return Gate(title, time.time(), tuple(checks), tuple(table))


_HEAD = ("cell", "ratio", "95% interval", "visits", "outcome")


def _whole(name: str, whole: MapComparison | None, found: SidesComparison) -> Check:
    from ioatlas.report.export.to_gate import Check

    if whole is None:
        return Check(name, "skipped", "Too few visits to tell it from drift.")
    ends = sorted((whole.low - 1, whole.high - 1))
    sentence = f"{whole.ratio - 1:+.1%} (95% interval {ends[0]:+.1%} to {ends[1]:+.1%}): {whole.outcome}."
    return Check(name, "failed" if found.fails(whole) else "passed", sentence)


def _cell(name: str, cell: CellComparison, found: SidesComparison) -> Check:
    from ioatlas.report.export.to_gate import Check

    if cell.ratio is None or cell.low is None or cell.high is None:
        return Check(name, "skipped", f"Not comparable: {cell.reason or 'too few visits'}.")
    outcome: Outcome = "failed" if found.fails(cell) else "passed"
    sentence = f"{cell.ratio - 1:+.1%} (95% interval {cell.low - 1:+.1%} to {cell.high - 1:+.1%}): {cell.outcome}."
    return Check(name, outcome, sentence)


def _row(label: str, cell: CellComparison) -> tuple[str, ...]:
    figures: Iterator[str] = iter(("", ""))
    if cell.ratio is not None and cell.low is not None and cell.high is not None:
        figures = iter((f"{cell.ratio:.3f}", f"{cell.low:.3f} to {cell.high:.3f}"))
    return (label, *figures, f"{cell.n_first}, {cell.n_second}", cell.outcome)
