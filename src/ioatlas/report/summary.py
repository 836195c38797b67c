# SPDX-License-Identifier: Apache-2.0
"""The first screen as data of the report page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ioatlas.analysis.summary import summarise
from ioatlas.model.estimate import Estimate
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
from ioatlas.report.told import beside_of, next_line


class _Rows:
    """Where cells stand in the page's table."""

    def __init__(self, rows_of: Mapping[str, Sequence[int]], estimates: Sequence[Estimate]) -> None:
        self._rows_of = rows_of
        self._estimates = estimates

    def of(self, key: str, direction: str) -> int | None:
        rows = [row for row in self._rows_of.get(key, ()) if self._estimates[row].direction == direction]
        return min(rows, key=lambda row: self._estimates[row].kind != "measured", default=None)

    def all(self, keys: Sequence[str], direction: str = "") -> list[int]:
        found = (row for key in keys for row in self._rows_of.get(key, ()))
        return [row for row in found if not direction or self._estimates[row].direction == direction]


def summary_data(
    result: CampaignResult,
    rows_of: Mapping[str, Sequence[int]],
    estimates: Sequence[Estimate],
    clean: Callable[[str], str],
    place: Path | None = None,
) -> SummaryData:
    """rows_of: rows of the page's table by cell key; estimates: in that order. clean: takes what names the site out."""
    summary = summarise(result)
    rows = _Rows(rows_of, estimates)
    return SummaryData.from_record(
        summary,
        name=clean(summary.name),
        doubts=[_doubt(one, rows, clean) for one in summary.doubts],
        headlines=[_headline(one, rows, clean) for one in summary.headlines],
        small=[_small(one, rows, clean) for one in summary.small],
        beside=[Pair(name=clean(one.label), value=beside_of(one)) for one in summary.beside],
        next_step=clean(next_line(summary.next_step, place)),
    )


def _doubt(one: Doubt, rows: _Rows, clean: Callable[[str], str]) -> DoubtData:
    return DoubtData.from_record(one, sentence=clean(one.sentence), rows=rows.all(one.cells))


def _headline(one: Headline, rows: _Rows, clean: Callable[[str], str]) -> HeadlineData:
    return HeadlineData.from_record(
        one,
        label=clean(one.label),
        where=clean(one.where),
        tie=clean(one.tie),
        row=rows.of(one.cell, one.direction),
        ties=rows.all(one.ties, one.direction),
    )


def _small(one: SmallIo, rows: _Rows, clean: Callable[[str], str]) -> SmallIoData:
    def reading(load: LoadReading) -> LoadReadingData:
        return LoadReadingData.from_record(load, row=rows.of(load.cell, one.direction))

    return SmallIoData.from_record(one, label=clean(one.label), lightest=reading(one.lightest), best=reading(one.best))
