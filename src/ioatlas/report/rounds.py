# SPDX-License-Identifier: Apache-2.0
"""A test in rounds as data of the report page and as a table in the terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

from ioatlas.analysis.rounds import format_value
from ioatlas.model.rounds import RoundsCell, RoundsResult
from ioatlas.model.units import format_size
from ioatlas.report.page_format.charts import RoundsCellData, RoundsData


def rounds_data(test: RoundsResult, clean: Callable[[str], str]) -> RoundsData:
    """clean: takes what names the site out of a text."""
    return RoundsData(
        target=test.target,
        title=test.title,
        part=test.part,
        quantity=test.quantity,
        tracked=test.tracked,
        values=list(test.values),
        first=test.first,
        met=test.met,
        claims=test.test != "saturation",
        ended=test.ended,
        reason=test.reason,
        window=list(test.window) if test.window else None,
        average=test.average,
        range_share=test.range_share,
        slope_share=test.slope_share,
        line=list(test.line) if test.line else None,
        cells=[
            RoundsCellData(**{name: value for name, value in asdict(cell).items() if name != "key"})
            for cell in test.cells
        ],
        written_bytes=test.written_bytes[-1] if test.written_bytes else 0,
        footprint_bytes=test.footprint_bytes,
        purge=clean(test.purge),
        deviations=[clean(text) for text in test.deviations],
        method=test.method,
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
