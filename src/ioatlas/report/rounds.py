# SPDX-License-Identifier: Apache-2.0
"""A test in rounds as data of the report page and as a table in the terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

from ioatlas.model.rounds import RoundsResult
from ioatlas.report.page_format import RoundsCellData, RoundsData


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
        cells=[RoundsCellData(**{name: value for name, value in asdict(cell).items() if name != "key"}) for cell in test.cells],
        written_bytes=test.written_bytes[-1] if test.written_bytes else 0,
        footprint_bytes=test.footprint_bytes,
        purge=clean(test.purge),
        deviations=[clean(text) for text in test.deviations],
        method=test.method,
    )
