# SPDX-License-Identifier: Apache-2.0
"""Every cell of every pair of a comparison as CSV (RFC 4180): second side over first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ioatlas import beneath
from ioatlas.analysis.compare import CellComparison
from ioatlas.errors import written
from ioatlas.model.words import words
from ioatlas.report.export.markup import csv_text
from ioatlas.results.comparison import SidesComparison
from ioatlas.results.sides import Row

COLUMNS = words("""
    first second target rw bs_bytes size_bytes numjobs iodepth direction load basis n_first n_second ratio
    ratio_low ratio_high p outcome detectable reason
""")
"""basis: measured, or predicted where a side has not measured the load."""


def write_pairs(found: SidesComparison, path: Path) -> None:
    """Raises IoAtlasError when it cannot be written."""
    with written(path, "give a place that can be written", "the table"):
        beneath.write_text(path, csv_text(COLUMNS, _rows(found)), in_root=True)


def _rows(found: SidesComparison) -> Iterator[list[object]]:
    rows = found.loads.rows
    for pair in found.result.pairs:
        names = [found.names[pair.first], found.names[pair.second]]
        for cell in (*pair.cells, *pair.untested):
            basis = "predicted" if cell.predicted else "measured"
            yield [*names, *_load(rows[cell.cell], by_target=found.loads.by_target), basis, *_figures(cell)]


def _load(row: Row, *, by_target: bool) -> list[object]:
    option = row.cell.option
    names = ("rw", "bs", "size", "numjobs", "iodepth")
    return [row.cell.target if by_target else "", *(option.get(name) for name in names), row.direction, row.label]


def _figures(cell: CellComparison) -> list[object]:
    outcome = "undecided" if cell.outcome == "not different" else cell.outcome
    ratio = (cell.n_first, cell.n_second, cell.ratio, cell.low, cell.high, cell.p)
    return [*ratio, outcome, cell.detectable, cell.reason]
