# SPDX-License-Identifier: Apache-2.0
"""A test in rounds as data of the report page and as a table in the terminal."""

from __future__ import annotations

from collections.abc import Callable

from ioatlas.analysis.rounds import format_value
from ioatlas.model.result import RoundsCell, RoundsResult
from ioatlas.model.units import format_size
from ioatlas.report.page_format.charts import RoundsData


def rounds_data(test: RoundsResult, clean: Callable[[str], str]) -> RoundsData:
    """clean: takes what names the site out of a text."""
    return RoundsData.from_record(
        test,
        claims=test.test != "saturation",
        written_bytes=test.written_bytes[-1] if test.written_bytes else 0,
        purge=clean(test.purge),
        deviations=[clean(text) for text in test.deviations],
    )


def table_of(test: RoundsResult) -> tuple[str, list[str], list[list[str]]]:
    """Title, column heads and lines of the averages over the measurement window, the tracked one marked."""
    shares = sorted({cell.read_percent for cell in test.cells}, reverse=True)
    cells = {(cell.bs_bytes, cell.read_percent): cell for cell in test.cells}
    lines = []
    for block in sorted({cell.bs_bytes for cell in test.cells}):
        row = [cells.get((block, share)) for share in shares]
        lines.append(
            [format_size(block), *("" if cell is None or cell.value is None else _told(cell, test) for cell in row)]
        )
    rounds = f"rounds {test.window[0]} to {test.window[1]}" if test.window else "no window yet"
    part = f", {test.part}" if test.part else ""
    title = (
        f"SNIA {test.title}, {test.target}{part}: average of the window ({rounds}), reads/writes in per cent of "
        "I/Os, * tracked"
    )
    return title, ["", *(f"{share}/{100 - share}" for share in shares)], lines


def _told(cell: RoundsCell, test: RoundsResult) -> str:
    return format_value(cell.value or 0.0, test.quantity) + (" *" if cell.tracked else "")
