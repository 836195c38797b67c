# SPDX-License-Identifier: Apache-2.0
"""The first screen as data of the report page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ioatlas.analysis.summary import summarise
from ioatlas.model.result import CampaignResult
from ioatlas.model.summary import Doubt, Headline, LoadReading, SmallIo
from ioatlas.report.page_format.parts import Pair
from ioatlas.report.page_format.summary import (
    DoubtData,
    HeadlineData,
    LoadReadingData,
    SmallIoData,
    SummaryData,
)
from ioatlas.report.rows import Rows
from ioatlas.report.told import beside_of, next_line


def summary_data(
    result: CampaignResult, rows: Rows, clean: Callable[[str], str], place: Path | None = None
) -> SummaryData:
    """clean: takes what names the site out."""
    summary = summarise(result)
    return SummaryData.from_record(
        summary,
        name=clean(summary.name),
        doubts=[_doubt(one, rows, clean) for one in summary.doubts],
        headlines=[_headline(one, rows, clean) for one in summary.headlines],
        small=[_small(one, rows, clean) for one in summary.small],
        beside=[Pair(name=clean(one.label), value=beside_of(one)) for one in summary.beside],
        next_step=clean(next_line(summary.next_step, place)),
    )


def _doubt(one: Doubt, rows: Rows, clean: Callable[[str], str]) -> DoubtData:
    return DoubtData.from_record(one, sentence=clean(one.sentence), rows=rows.all(one.cells))


def _headline(one: Headline, rows: Rows, clean: Callable[[str], str]) -> HeadlineData:
    return HeadlineData.from_record(
        one,
        label=clean(one.label),
        where=clean(one.where),
        tie=clean(one.tie),
        row=rows.at.get((one.cell, one.direction)),
        ties=rows.all(one.ties, one.direction),
    )


def _small(one: SmallIo, rows: Rows, clean: Callable[[str], str]) -> SmallIoData:
    def reading(load: LoadReading) -> LoadReadingData:
        return LoadReadingData.from_record(load, row=rows.at.get((load.cell, one.direction)))

    return SmallIoData.from_record(one, label=clean(one.label), lightest=reading(one.lightest), best=reading(one.best))
