# SPDX-License-Identifier: Apache-2.0
"""How a comparison with imported readings is printed."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ioatlas.analysis.wording import plural
from ioatlas.cli._compare_asked import Asked
from ioatlas.cli._json import say_json
from ioatlas.errors import UsageError

if TYPE_CHECKING:
    from ioatlas.analysis.imported_compare import ImportedRow
    from ioatlas.results.imported_comparison import ImportedComparison

SHOWN = 60
"""Loads in the table without --cells."""
PIPE_WIDTH = 160


def run(first: Path, second: Path, quantity: str, tolerance: float, same: tuple[Path, ...], asked: Asked) -> None:
    """Compare and print. Raises UsageError for options that need visits on both sides."""
    from ioatlas.results.imported_comparison import compare_imported

    for given, option in (
        (same, "--same"),
        (asked.gate, "--fail-if-worse"),
        (asked.junit, "--junit"),
        (asked.markdown, "--markdown"),
    ):
        if given:
            raise UsageError(
                f"{option} needs visits on both sides", where=option, remedy="leave it out: imported readings have none"
            )
    found = compare_imported(first, second, quantity, tolerance=tolerance)
    if asked.as_json:
        say_json(_document(found))
    else:
        _print(found, all_cells=asked.all_cells)


def _outcome(row: ImportedRow) -> str:
    return row.test.outcome if row.test is not None else "not tested"


def _document(found: ImportedComparison) -> dict[str, Any]:
    result = found.result
    cells = [
        {
            **dict(row.load),
            "direction": row.direction,
            "first": row.first,
            "second": row.second,
            "ratio": row.ratio,
            "n_first": row.n_first,
            "n_second": row.n_second,
            "told_first": row.told_first,
            "told_second": row.told_second,
            "not_told_by_both": list(row.unknown),
            "outcome": _outcome(row),
            "p": row.test.p if row.test else None,
            "low": row.test.low if row.test else None,
            "high": row.test.high if row.test else None,
            "reason": row.reason,
        }
        for row in result.rows
    ]
    return {
        "quantity": found.quantity,
        "imported": True,
        "first": str(found.directories[0]),
        "second": str(found.directories[1]),
        "cells_compared": len(result.rows),
        "cells_tested": result.tested,
        "median_ratio": result.median_ratio,
        "only_first": result.only_first,
        "only_second": result.only_second,
        "ambiguous": result.ambiguous,
        "methods": {name: dict(facts) for name, facts in found.methods.items()},
        "differences_of_method": list(found.differences),
        "tests": [asdict(row.test) for row in result.rows if row.test is not None],
        "cells": cells,
    }


def _value(quantity: str, value: float) -> str:
    from ioatlas.model.units import format_count, format_latency, format_rate

    return {"bw": format_rate, "iops": format_count}.get(quantity, format_latency)(value)


def _words(row: ImportedRow) -> str:
    from ioatlas.model.units import format_size

    words = [
        row.load[0][1] or (f"{row.direction}, pattern not told" if row.direction != "no data" else "operation not told")
    ]
    words += [
        f"{name} {format_size(value) if name in ('bs', 'size') and isinstance(value, int) else value}"
        for name, value in row.load[1:]
    ]
    return ", ".join(str(word) for word in words) + ("" if row.load[0][1] == row.direction else f" ({row.direction})")


def _print(found: ImportedComparison, *, all_cells: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    result = found.result
    console = Console(highlight=False, soft_wrap=True, markup=False)
    if not console.is_terminal:
        console = Console(highlight=False, soft_wrap=True, markup=False, width=PIPE_WIDTH)
    console.print(
        f"{found.quantity} of {found.names[1]} against {found.names[0]}: {plural(len(result.rows), 'load')} on both "
        "sides, at least one side imported"
    )
    console.print(
        f"median ratio {result.median_ratio:.3f}"
        + (
            ""
            if result.tested
            else ("; no test is possible: no load has repeats on both sides. A difference here is one of two readings")
        )
    )
    if result.tested:
        console.print(
            f"{result.tested} of {len(result.rows)} loads have repeats on both sides and are tested. Repeats of "
            "another tool may share a state of the target."
        )
    left = f"on one side only: {result.only_first} and {result.only_second}"
    console.print(
        left
        + (
            f"; {result.ambiguous} left out: a source does not tell what tells its loads apart"
            if result.ambiguous
            else ""
        )
    )
    table = Table(box=None, pad_edge=False)
    for title, justify in (
        ("load", "left"),
        (found.names[0], "right"),
        (found.names[1], "right"),
        ("ratio", "right"),
        ("n", "right"),
        ("", "left"),
    ):
        table.add_column(title, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    rows = result.rows if all_cells else result.rows[:SHOWN]
    for row in rows:
        remark = _outcome(row) + (f"; {', '.join(row.unknown)} told by one side only" if row.unknown else "")
        shown = (
            _value(found.quantity, row.first),
            _value(found.quantity, row.second),
            f"{row.ratio:.3f}",
            f"{row.n_first}, {row.n_second}",
        )
        table.add_row(*(Text(str(cell)) for cell in (_words(row), *shown, remark)))
    console.print(table)
    if len(rows) < len(result.rows):
        console.print(f"... and {len(result.rows) - len(rows)} more; --cells lists all")
    console.print("methods differ in" if found.differences else "methods: nothing known to differ")
    for sentence in found.differences:
        console.print(f"  {sentence}")
