# SPDX-License-Identifier: Apache-2.0
"""The first screen as data of the report page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

from ioatlas.analysis.summary import summarise
from ioatlas.model.estimate import Estimate
from ioatlas.model.result import CampaignResult
from ioatlas.model.summary import Doubt, Headline, LoadReading, SmallIo, WorstCell
from ioatlas.report.page_format.summary import (
    CountData,
    DoubtData,
    HeadlineData,
    LoadReadingData,
    SmallIoData,
    SummaryData,
    WorstCellData,
)


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
) -> SummaryData:
    """rows_of: rows of the page's table by cell key; estimates: in that order. clean: takes what names the site out."""
    summary = summarise(result)
    rows = _Rows(rows_of, estimates)
    return SummaryData(
        name=clean(summary.name),
        profile=summary.profile,
        seconds=summary.seconds,
        n_cells=summary.n_cells,
        n_measured=summary.n_measured,
        n_estimated=summary.n_estimated,
        n_imported=summary.n_imported,
        n_visits=summary.n_visits,
        complete=summary.complete,
        trust=summary.trust,
        doubts=[_doubt(one, rows, clean) for one in summary.doubts],
        headlines=[_headline(one, rows, clean) for one in summary.headlines],
        small=[_small(one, rows, clean) for one in summary.small],
        bottlenecks=[CountData(**asdict(one)) for one in summary.bottlenecks],
        typical_uncertainty=summary.typical_uncertainty,
        worst=[_worst(one, rows, clean) for one in summary.worst],
        next_step=summary.next_step,
    )


def _doubt(one: Doubt, rows: _Rows, clean: Callable[[str], str]) -> DoubtData:
    return DoubtData(
        code=one.code, level=one.level, sentence=clean(one.sentence), advice=one.advice, rows=rows.all(one.cells)
    )


def _headline(one: Headline, rows: _Rows, clean: Callable[[str], str]) -> HeadlineData:
    told = {name: value for name, value in asdict(one).items() if name not in ("cell", "ties")}
    return HeadlineData(
        **{**told, "label": clean(one.label), "where": clean(one.where), "tie": clean(one.tie)},
        uncertainty=one.uncertainty,
        moved=one.moved,
        row=rows.of(one.cell, one.direction),
        ties=rows.all(one.ties, one.direction),
    )


def _small(one: SmallIo, rows: _Rows, clean: Callable[[str], str]) -> SmallIoData:
    def reading(load: LoadReading) -> LoadReadingData:
        told = {name: value for name, value in asdict(load).items() if name != "cell"}
        return LoadReadingData(row=rows.of(load.cell, one.direction), **told)

    return SmallIoData(
        label=clean(one.label),
        target=one.target,
        direction=one.direction,
        rw=one.rw,
        bs_bytes=one.bs_bytes,
        lightest=reading(one.lightest),
        best=reading(one.best),
    )


def _worst(one: WorstCell, rows: _Rows, clean: Callable[[str], str]) -> WorstCellData:
    return WorstCellData(row=rows.of(one.cell, one.direction), label=clean(one.label), uncertainty=one.uncertainty)
