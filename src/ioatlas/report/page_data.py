# SPDX-License-Identifier: Apache-2.0
"""A campaign's result as the data of its report page (`page_format`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ioatlas.answer.analysis.best import as_shown, mark_of
from ioatlas.answer.analysis.findings import in_reading_order
from ioatlas.answer.analysis.summary import summarise
from ioatlas.load.fio.jobfile import render_job
from ioatlas.model.cell import NOT_OF_FIO, TRACE, TRACE_SECONDS
from ioatlas.model.estimate import Estimate
from ioatlas.model.quantities import QUANTITIES
from ioatlas.model.result import CampaignResult, Change, ProductCost
from ioatlas.model.summary import Headline, LoadReading, SmallIo
from ioatlas.model.target import Target
from ioatlas.model.units import rate_system, utc_text
from ioatlas.report.axes import Grid, Integers, unit_of
from ioatlas.report.columns import (
    Floats,
    pack_f32,
    pack_integers,
    pack_interval,
    pack_log16,
    pack_texts,
    packed_courses,
    packed_curves,
)
from ioatlas.report.findings import ToldDoubt, told_doubts, worded
from ioatlas.report.numbers import beside_of, next_line
from ioatlas.report.page_format import (
    FORMAT,
    VERSION,
    Campaign,
    Cells,
    Column,
    ComparisonData,
    Constant,
    Dictionary,
    DoubtData,
    FindingData,
    HeadlineData,
    ImportedMethod,
    JobRecipe,
    LoadReadingData,
    Pair,
    ProductCostData,
    ReportData,
    Session,
    SmallIoData,
    SummaryData,
    TargetData,
    UnitPriceData,
    UnmeasuredCells,
)
from ioatlas.report.redact import PUBLIC_FACTS, names_site, redacted, redactor
from ioatlas.report.small_map import letters
from ioatlas.report.table import at_path


class Rows:
    """at: rows by cell key and direction; of several values the measured one."""

    def __init__(self, estimates: Sequence[Estimate]) -> None:
        """estimates: in the order of the table."""
        self._estimates = estimates
        order = sorted(range(len(estimates)), key=lambda row: (estimates[row].kind == "measured", -row))
        self.at = {(estimates[row].cell.key, estimates[row].direction): row for row in order}
        self._of: dict[str, list[int]] = defaultdict(list)
        for row, estimate in enumerate(estimates):
            self._of[estimate.cell.key].append(row)

    def all(self, keys: Iterable[str], direction: str = "") -> list[int]:
        """Of all values of cells; of a mix only those of one direction, where one is named."""
        found = (row for key in keys for row in self._of.get(key, ()))
        return [row for row in found if not direction or self._estimates[row].direction == direction]


EXACT_ROWS = 1_000
"""Up to this many rows values stay single-precision floats; above, they are rounded (see `Cells.resolution`)."""

NOTES_BYTES = 400_000
"""What packed notes may take of a page that should stay under 3 MB."""

WORK_OPTIONS = ("io_size", "number_ios", "loops")

_INTERVALS = tuple((one.field, one.low, one.high) for one in QUANTITIES.values() if not one.per_job)
_TOLD = {"higher": 1, "lower": 1, "same": 2, "predicted": 3}
"""What is said of a change, as `Cells` codes it; 0 where nothing is."""
_OTHERS: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in ("window_seconds", "cut_seconds", "watts")},
    "ceiling_bytes_per_s": ("ceiling", "bw_bytes_per_s"),
    "limit_probability": ("limit", "probability"),
}
"""Other columns of numbers, by their places in an estimate."""


def report_data(
    result: CampaignResult, comparison: ComparisonData | None = None, place: Path | None = None
) -> ReportData:
    """Everything the page shows, packed. Pure: equal results give equal data.

    comparison: of two campaigns that `result` joins (`results.joined`). place: the campaign's directory, for what to do
    next.
    """
    grid = Grid(result)
    order = (
        np.lexsort([grid.rows[name] for name in reversed(grid.names)])
        if result.estimates
        else np.zeros(0, dtype=np.int64)
    )
    estimates = [as_shown(result.estimates[i]) for i in order]
    levels = {name: grid.rows[name][order] for name in grid.names}
    clean = redactor(result.targets)
    rows = Rows(estimates)
    return ReportData(
        format=FORMAT,
        version=VERSION,
        campaign=Campaign.from_record(
            result,
            id=result.campaign_id,
            name=clean(result.name),
            created=utc_text(result.created_at) if result.created_at else "",
        ),
        summary=summary_data(result, rows, clean, place),
        units=rate_system(),
        targets=[_target_data(target) for target in result.targets],
        axes=grid.axes,
        constants=[
            Constant(name=name, value=str(value), unit=unit_of(name)) for name, value in sorted(grid.constants.items())
        ],
        cells=_pack_cells(estimates, levels, grid, _changes(result.changes, rows.at, len(estimates))),
        unmeasured=UnmeasuredCells(
            n_rows=len(grid.unmeasured_reasons),
            axes=[pack_integers(grid.unmeasured[name]) for name in grid.names],
            reason=pack_texts([clean(reason.text) for reason in grid.unmeasured_reasons]),
            code=pack_texts([reason.code for reason in grid.unmeasured_reasons]),
        ),
        findings=[
            FindingData.from_record(redacted(one, clean), rows=rows.all(one.cells, one.direction))
            for one in worded(replace(result, findings=in_reading_order(result.findings)))
        ],
        settings=[
            *(Pair(name=name, value=clean(value)) for name, value in result.settings.items()),
            *(
                Pair(name=f"bytes of {what}", value=str(count), unit="bytes")
                for what, count in result.ledger_bytes.items()
            ),
        ],
        sessions=[_session(session, clean) for session in result.sessions],
        discard_reasons=[
            Pair(name=clean(reason), value=str(count)) for reason, count in result.discard_reasons.items()
        ],
        job=_job_recipe(result, grid),
        charts=list(redacted(result.charts, clean)),
        tables=list(redacted((*result.tables, *result.page_tables), clean)),
        costs=[cost_data(cost, rows.at, clean) for cost in result.costs],
        comparison=comparison,
        latency_curves=packed_curves(result.latency_curves, rows.at),
        time_courses=packed_courses(result.time_courses, rows.at),
        imported_methods=[
            ImportedMethod(target=name, facts=[Pair(name=fact, value=clean(value)) for fact, value in facts.items()])
            for name, facts in result.methods.items()
        ],
        thumbnail=letters(result),
    )


def _texts(texts: Sequence[str]) -> tuple[Dictionary, bool]:
    """The texts of every row, and whether they had to be left out: 138,240 different sentences do not fit a page."""
    packed = pack_texts(texts)
    if len(packed.packed_texts) <= NOTES_BYTES:
        return packed, False
    return pack_texts([""] * len(texts)), True


def _why(estimate: Estimate) -> str:
    """Margin and evidence of what limits a cell."""
    limit = estimate.limit
    if limit is None:
        return ""
    share = f"{limit.share:.0%} used; " if limit.share is not None else ""
    margin = f" at {limit.next_share:.0%}" if limit.next_share is not None else ""
    following = f"next is {limit.next_resource}{margin}; " if limit.next_resource else ""
    return share + following + "; ".join(limit.evidence)


def _grade(estimate: Estimate) -> str:
    """How far a value is to be believed, and why no further; '' where that was not worked out."""
    why = f": {estimate.grade_reason}" if estimate.grade_reason else ""
    return f"{estimate.grade}{why}" if estimate.grade is not None else ""


def _floats(estimates: Sequence[Estimate], path: Sequence[str]) -> Floats:
    """What stands at a place of every estimate; None becomes NaN."""
    return np.array([at_path(estimate, path) for estimate in estimates], dtype=np.float64)


def _changes(changes: Sequence[Change], places: Mapping[tuple[str, str], int], n_rows: int) -> dict[str, Floats]:
    """Columns of what changed, by row; none where nothing was compared."""
    if not changes:
        return {}
    columns = {name: np.full(n_rows, np.nan) for name in ("ratio", "ratio_low", "ratio_high", "ratio_told")}
    for each in changes:
        row = places[each.cell_key, each.direction]
        for name, value in zip(columns, (each.ratio, each.low, each.high, _TOLD.get(each.outcome, 0)), strict=True):
            columns[name][row] = np.nan if value is None else value
    return columns


def _pack_cells(
    estimates: list[Estimate], levels: dict[str, Integers], grid: Grid, changes: dict[str, Floats]
) -> Cells:
    columns = {name: _floats(estimates, (name,)) for triple in _INTERVALS for name in triple}
    columns |= {name: _floats(estimates, path) for name, path in _OTHERS.items()}
    notes, left_out = _texts(["; ".join(estimate.notes) for estimate in estimates])
    reasons, _ = _texts([_why(estimate) for estimate in estimates])
    columns |= changes
    columns = {name: column for name, column in columns.items() if np.isfinite(column).any()}
    exact = len(estimates) <= EXACT_ROWS
    packed, resolution = (
        ({name: pack_f32(column) for name, column in columns.items()}, 0.0)
        if exact
        else _pack_rounded(columns, levels, grid)
    )
    return Cells(
        n_rows=len(estimates),
        axes=[pack_integers(levels[name]) for name in grid.names],
        kind=pack_texts([estimate.kind for estimate in estimates]),
        mark=pack_texts([mark_of(estimate) for estimate in estimates]),
        verdict=pack_texts([estimate.verdict_text for estimate in estimates]),
        method=pack_texts([estimate.method for estimate in estimates]),
        lat_kind=pack_texts([estimate.lat_kind for estimate in estimates]),
        loop=pack_texts(["" if estimate.kind == "imported" else estimate.cell.loop for estimate in estimates]),
        seeds=pack_texts([", ".join(map(str, estimate.seeds)) if exact else "" for estimate in estimates]),
        note=notes,
        limit=pack_texts([estimate.limit.resource if estimate.limit else "" for estimate in estimates]),
        limit_why=reasons,
        ceiling=pack_texts([estimate.ceiling.name if estimate.ceiling else "" for estimate in estimates]),
        grade=pack_texts([_grade(estimate) for estimate in estimates]),
        n_visits=pack_integers([e.n_visits for e in estimates]),
        n_discarded=pack_integers([e.n_discarded for e in estimates]),
        values=packed,
        resolution=resolution,
        notes_left_out=left_out,
    )


def _pack_rounded(
    columns: dict[str, Floats], levels: dict[str, Integers], grid: Grid
) -> tuple[dict[str, Column], float]:
    """Columns of a large result: values on log scales, intervals as widths, IOPS as throughput over block size
    where that is exact.
    """
    packed: dict[str, Column] = {}
    resolution = 0.0
    block = next((axis for axis in grid.axes if axis.name == "bs" and axis.numeric), None)
    block_bytes = np.array(block.levels, dtype=np.float64)[levels["bs"]] if block else None
    quotients = {"iops": "bw_bytes_per_s", "iops_low": "bw_low", "iops_high": "bw_high"}
    for triple in _INTERVALS:
        centre = triple[0]
        if centre not in columns:
            continue
        if (
            centre == "iops"
            and block_bytes is not None
            and all(_is_quotient(columns, q, of, block_bytes) for q, of in quotients.items())
        ):
            packed |= {q: Column(encoding="quotient", of=of, by="bs") for q, of in quotients.items() if q in columns}
            continue
        known = columns[centre][np.isfinite(columns[centre])]
        if (known <= 0).any():  # a rate of zero is a result, and has no logarithm
            packed |= {name: pack_f32(columns[name]) for name in triple if name in columns}
            continue
        packed[centre], _, rounding = pack_log16(columns[centre])
        resolution = max(resolution, rounding)
        if triple[1] in columns and triple[2] in columns:
            packed |= pack_interval(columns[centre], columns[triple[1]], columns[triple[2]], triple)
    plain = columns.keys() - {name for triple in _INTERVALS for name in triple}
    return packed | {name: pack_f32(columns[name]) for name in sorted(plain)}, resolution


def _is_quotient(columns: dict[str, Floats], name: str, of: str, by: Floats) -> bool:
    """Whether a column can be left out because it is another one divided by the block size, to one part in 10,000."""
    if name not in columns or of not in columns:
        return name not in columns
    ours, theirs = columns[name], columns[of] / by
    same = np.isclose(ours, theirs, rtol=1e-4, atol=0.0) | (np.isnan(ours) & np.isnan(theirs))
    return bool(same.all())


def _session(session: Mapping[str, str], clean: Callable[[str], str]) -> Session:
    entries = dict(session)
    kept = {name: value for name, value in entries.items() if not names_site(name)}
    return Session(
        entries=[Pair(name=name, value=clean(str(value))) for name, value in kept.items()],
        n_withheld=len(entries) - len(kept),
    )


def _target_data(target: Target) -> TargetData:
    scheme = target.location.split("://", 1)[0] if "://" in target.location else "nbd"
    placeholder = {
        "directory": "/path/to/a/directory/on/the/target",
        "file": "/path/to/the/file",
        "block": "/dev/the-device",
        "uri": f"{scheme}://the-server/the-export",
        "imported": "/path/to/the/target",
        "together": "/path/to/each/of/the/targets",
    }[target.kind]
    facts = [Pair(name=name, value=value) for name, value in target.identity.facts if name in PUBLIC_FACTS]
    if target.size_bytes is not None:
        facts.append(Pair(name="size_bytes", value=str(target.size_bytes)))
    if target.free_bytes is not None:
        facts.append(Pair(name="free_bytes", value=str(target.free_bytes)))
    if target.kind != "imported":
        facts.append(Pair(name="logical_block_bytes", value=str(target.logical_block_bytes)))
    return TargetData(name=target.name, kind=target.kind, placeholder=placeholder, facts=facts)


def _job_recipe(result: CampaignResult, grid: Grid) -> JobRecipe:
    not_of_fio = {TRACE, TRACE_SECONDS, *NOT_OF_FIO}
    constants = {name: value for name, value in grid.constants.items() if name not in not_of_fio}
    lines = render_job([], {"thread": 1, "group_reporting": 1, "lat_percentiles": 1, **constants}).splitlines()
    if TRACE in grid.constants:
        lines.insert(
            1,
            "; sums up a trace: what ran stands in batches/NUMBER/job.fio of the campaign, and replays its "
            "trace.iolog in lanes",
        )
    if not NOT_OF_FIO.isdisjoint((*grid.constants, *grid.names)):
        lines.insert(1, "; one client's part, on one target: all jobs that ran stand in batches/NUMBER of the campaign")
    windows = [e.window_seconds for e in result.estimates if e.window_seconds]
    sharing = {e.cell.sharing for e in result.estimates} | {u.cell.sharing for u in result.unmeasured}
    return JobRecipe(
        global_lines=lines,
        engine_from_depth=["psync", "libaio"],
        target_engine={target.name: target.ioengine for target in result.targets if target.ioengine},
        has_engine="ioengine" in constants or "ioengine" in grid.names,
        work_bounded=list(WORK_OPTIONS),
        constant_work_bounded=any(name in constants for name in WORK_OPTIONS),
        sharing=next(iter(sharing)) if len(sharing) == 1 else "",
        default_window_seconds=sorted(windows)[len(windows) // 2] if windows else 5.0,
    )


def cost_data(cost: ProductCost, places: Mapping[tuple[str, str], int], clean: Callable[[str], str]) -> ProductCostData:
    """places: rows of the page's table by cell key and direction. clean: takes what names a site out of a text."""
    units = [UnitPriceData.from_record(one, row=places.get((one.cell, one.direction))) for one in cost.units]
    return ProductCostData.from_record(cost, units=units, remarks=[clean(text) for text in cost.remarks])


def summary_data(
    result: CampaignResult, rows: Rows, clean: Callable[[str], str], place: Path | None = None
) -> SummaryData:
    """clean: takes what names the site out."""
    summary = summarise(result)
    return SummaryData.from_record(
        summary,
        name=clean(summary.name),
        doubts=[_doubt(one, rows, clean) for one in told_doubts(summary.doubts)],
        headlines=[_headline(one, rows, clean) for one in summary.headlines],
        small=[_small(one, rows, clean) for one in summary.small],
        beside=[Pair(name=clean(one.label), value=beside_of(one)) for one in summary.beside],
        next_step=clean(next_line(summary.next_step, place)),
    )


def _doubt(one: ToldDoubt, rows: Rows, clean: Callable[[str], str]) -> DoubtData:
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
