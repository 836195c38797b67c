# SPDX-License-Identifier: Apache-2.0
"""A comparison as checks for a build: the map as a whole and each cell, of every side against the first."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ioatlas.analysis.compare import CellComparison, MapComparison
    from ioatlas.report.export.to_gate import Check, Gate, Outcome
    from ioatlas.results.comparison import SidesComparison


def gate_of(found: SidesComparison, word: str) -> Gate:
    from ioatlas.report.export.to_gate import Gate

    labels = {name: row.label for name, row in found.loads.rows.items()}
    checks: list[Check] = []
    table: list[tuple[str, ...]] = [("side", *_HEAD)]
    for pair in found.against_base:
        name = found.names[pair.second]
        of = "" if len(found.sides) == 2 else f"{name}: "
        checks.append(_whole(f"{of}the map as a whole", pair.whole, found.worse))
        checks += [_cell(f"{of}{labels[cell.cell]}", cell, found.worse) for cell in pair.cells]
        table += [(name, *_row(labels[cell.cell], cell)) for cell in pair.cells]
    who = found.names[1 - found.base] if len(found.sides) == 2 else f"{len(found.sides)} sides"
    title = f"{who} against {found.names[found.base]}: {word}"
    return Gate(title, time.time(), tuple(checks), tuple(table))


_HEAD = ("cell", "ratio", "95% interval", "visits", "outcome")


def _whole(name: str, whole: MapComparison | None, worse: str) -> Check:
    from ioatlas.report.export.to_gate import Check

    if whole is None:
        return Check(name, "skipped", "Too few visits to tell it from drift.")
    ends = sorted((whole.low - 1, whole.high - 1))
    sentence = f"{whole.ratio - 1:+.1%} (95% interval {ends[0]:+.1%} to {ends[1]:+.1%}): {whole.outcome}."
    return Check(name, "failed" if whole.outcome == worse else "passed", sentence)


def _cell(name: str, cell: CellComparison, worse: str) -> Check:
    from ioatlas.report.export.to_gate import Check

    if cell.ratio is None or cell.low is None or cell.high is None:
        return Check(name, "skipped", f"Not comparable: {cell.reason or 'too few visits'}.")
    outcome: Outcome = "failed" if cell.outcome == worse else "passed"
    sentence = f"{cell.ratio - 1:+.1%} (95% interval {cell.low - 1:+.1%} to {cell.high - 1:+.1%}): {cell.outcome}."
    return Check(name, outcome, sentence)


def _row(label: str, cell: CellComparison) -> tuple[str, ...]:
    figures: Iterator[str] = iter(("", ""))
    if cell.ratio is not None and cell.low is not None and cell.high is not None:
        figures = iter((f"{cell.ratio:.3f}", f"{cell.low:.3f} to {cell.high:.3f}"))
    return (label, *figures, f"{cell.n_first}, {cell.n_second}", cell.outcome)
