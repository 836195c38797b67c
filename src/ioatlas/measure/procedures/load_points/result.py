# SPDX-License-Identifier: Apache-2.0
"""The result of several streams at once: curves of response time against load, and a row of the map for each stream and
for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from typing import Any

from ioatlas.answer.analysis.best import disagrees, half_interval, usable
from ioatlas.answer.analysis.curve_tables import PLACE, curve_charts, curve_tables
from ioatlas.answer.analysis.load_curve import LOAD, OFFERED, PHASE, STREAM, advice, apart, load_point
from ioatlas.answer.analysis.trust import FEWEST_VISITS, again
from ioatlas.answer.results.parts import Axes, ResultParts, Row
from ioatlas.load.machine.visit_usage import records_by_visit
from ioatlas.measure.procedures.load_points.options import HIGHEST, StreamsSpec, streams_of
from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode, Value
from ioatlas.model.load_curve import LATENCY_NOTE, LoadCurve, LoadPoint
from ioatlas.model.outcomes import HighestLoads, IdleWatts, KeptMeter, Meters
from ioatlas.model.result import CampaignResult, PricedLoad
from ioatlas.model.summary import Advice, Doubt, DoubtCode, Headline, Trust
from ioatlas.model.verdict import ASIDE
from ioatlas.model.visit import Purpose, Visit
from ioatlas.plan.spec import CampaignSpec
from ioatlas.store.journal import Journal

NOT_MEASURED = "not measured"


class LoadPointParts(ResultParts):
    """Curves of response time against load, and each stream by itself in the map."""

    attributed = False
    in_replicates = False

    def rows(self, rows: list[Row], visits: list[Visit]) -> tuple[list[Row], list[Visit]]:  # noqa: ARG002
        return stream_rows(self.journal, visits)

    def axes(self, cells: Mapping[str, Cell]) -> Axes:
        return stream_axes(cells.values())

    def findings(self, result: CampaignResult) -> tuple[Finding, ...]:  # noqa: ARG002
        return curve_findings(self._curves(), streams_of(self.spec))

    def finish(self, result: CampaignResult, visits: Sequence[Visit]) -> CampaignResult:  # noqa: ARG002
        return with_streams(result, self._curves())

    @cache  # noqa: B019 - as short-lived as the result it is for
    def _curves(self) -> tuple[LoadCurve, ...]:
        return load_curves(self.journal, self.spec, self.journal.plan()["files"])


def with_streams(result: CampaignResult, curves: Sequence[LoadCurve]) -> CampaignResult:
    """The result with the curves of several streams at once, whose main numbers are those of no cell."""
    loads = (PricedLoad(one.target, point, one.target_watts(point.watts)) for one in curves for point in one.points)
    headlines = tuple(curve_headlines(curves))
    return replace(with_curves(result, curves), headlines=headlines, priced=tuple(loads), is_map=False)


def with_curves(result: CampaignResult, curves: Sequence[LoadCurve]) -> CampaignResult:
    """The result with curves, drawn and as tables."""
    sizing = next((curve.sizing for curve in curves if curve.sizing is not None), None)
    text = advice(sizing) if sizing is not None else ""
    return replace(
        result,
        records={"load_curves": _records(curves)},
        charts=curve_charts(curves),
        tables=(*curve_tables(curves), *result.tables),
        doubts=_measured_once(result.estimates),
        next_step=Advice("own", {"text": text[0].lower() + text[1:-1]}) if text else None,
        shown_as="tables",
        has_small=False,
    )


def _records(curves: Iterable[LoadCurve]) -> list[dict[str, Any]]:
    """Every point with its streams, its backlog and its power, for the exported document; null where a quantity was not
    measured.
    """
    return [
        {
            **asdict(curve),
            "highest_iops": dict(curve.highest_iops),
            "limited_by": dict(curve.limited_by),
            "idle_watts": dict(curve.idle_watts) or None,
            "idle_bytes_per_watt": curve.idle_bytes_per_watt,
            "latency": LATENCY_NOTE if any(point.loop == "open" for point in curve.points) else "total",
            "points": [_point(curve, point) for point in curve.points],
        }
        for curve in curves
    ]


def _point(curve: LoadCurve, point: LoadPoint) -> dict[str, Any]:
    efficiency = curve.efficiency(point)
    return {
        "name": point.name,
        **asdict(point),
        "achieved_iops": point.iops.value,
        "watts": dict(point.watts) or None,
        "iops_per_watt": efficiency[0] if efficiency else None,
        "bytes_per_s_per_watt": efficiency[1] if efficiency else None,
    }


def curve_headlines(curves: Sequence[LoadCurve]) -> Iterator[Headline]:
    """The highest load that was carried, with its response time beside it."""
    for curve in curves:
        carried = [point for point in curve.points if not point.overloaded]
        if not carried:
            continue
        point = max(carried, key=lambda one: one.iops.value)
        on = f" on {curve.target}" if len(curves) > 1 else ""
        iops, lat = point.iops, point.lat_mean_ns
        yield Headline(f"Highest load{on}", curve.target, "", "iops", iops.value, iops.low, iops.high, point.name)
        if lat is not None:
            name = f"Response time{on}"
            yield Headline(name, curve.target, "", "lat_mean_ns", lat.value, lat.low, lat.high, "mean there")


def _measured_once(estimates: Iterable[Estimate]) -> tuple[Doubt, ...]:
    values = [e for e in estimates if e.kind == "measured" and usable(e)]
    if not values or any(half_interval(e) is not None or disagrees(e) for e in values):
        return ()
    once = all(e.n_visits < FEWEST_VISITS for e in values)
    return (Doubt(DoubtCode.MEASURED_ONCE, Trust.FAIR, {"once": once}, again("--visits 3")),)


def load_cells(journal: Journal) -> dict[str, Cell]:
    """The load points of the campaign, trials of the search left out."""
    visited = {visit.cell_key for visit in journal.visits() if visit.purpose is Purpose.SWEEP}
    rows = journal.cells()
    found = {
        cell.key: cell
        for cell, reason in rows
        if reason not in ASIDE and (LOAD in cell.option or OFFERED not in cell.option)
    }
    return found or {cell.key: cell for cell, _ in rows if cell.key in visited}


def load_curves(journal: Journal, spec: CampaignSpec, files: Mapping[str, Mapping[str, int]]) -> tuple[LoadCurve, ...]:
    """One curve for each target, as far as the campaign has come. files: what was laid out, {target: {name: bytes}}."""
    streams = streams_of(spec)
    loads = journal.kept(HighestLoads)
    idle = journal.kept(IdleWatts).watts
    meters = journal.kept(Meters).meters
    watts = _watts(journal, meters)
    visits = [visit for visit in journal.visits(with_series=True) if visit.purpose is Purpose.SWEEP]
    cells = load_cells(journal)
    curves = []
    for target in journal.targets():
        mine = [cell for cell in cells.values() if cell.target == target.name]
        points = [load_point(cell, [visit for visit in visits if visit.cell_key == cell.key], watts) for cell in mine]
        names = {str(cell.option.get(PHASE, "")) for cell in mine}
        found = {name: load for name in sorted(names) if (load := loads.of(target.name, name)) is not None}
        curves.append(
            LoadCurve(
                target.name,
                tuple(point for point in points if point is not None),
                next(iter(files.get(target.name, {}).values()), 0) or max((cell.end_bytes for cell in mine), default=0),
                streams.capacity_bytes or target.size_bytes,
                streams.limit_seconds * 1e9 if streams.load == HIGHEST else None,
                tuple((name, load.iops) for name, load in found.items()),
                tuple((name, load.limited_by) for name, load in found.items()),
                tuple(sorted(idle.items())),
                "; ".join(f"{meter.name}: {meter.source} (the {meter.of}'s)" for meter in meters) or NOT_MEASURED,
                tuple(meter.name for meter in meters if meter.of == "target"),
            )
        )
    return tuple(curves)


def _watts(journal: Journal, meters: Sequence[KeptMeter]) -> dict[int, dict[str, float]]:
    """Watts by visit and meter; what was typed in holds for every load."""
    typed = {meter.name: meter.loaded_watts for meter in meters if meter.loaded_watts is not None}
    records = records_by_visit(journal.usages())
    read = {visit_id: record["watts"] for visit_id, record in records.items() if "watts" in record}
    if not typed and not read:
        return {}
    return {visit.visit_id: {**typed, **read.get(visit.visit_id, {})} for visit in journal.visits()}


def stream_rows(journal: Journal, visits: Sequence[Visit]) -> tuple[list[tuple[Cell, str]], list[Visit]]:
    """Cells and visits of each stream by itself and of all together, for the map: what ran at once is told apart."""
    rows, made = apart(load_cells(journal).values(), [visit for visit in visits if visit.purpose is Purpose.SWEEP])
    return [(cell, "") for cell in rows.values()], made


def stream_axes(cells: Iterable[Cell]) -> dict[str, tuple[OptionValue, ...]]:
    """The axes on which the rows stand: phase, load in per cent, stream."""
    axes: dict[str, tuple[OptionValue, ...]] = {}
    known = list(cells)
    for name in (PHASE, LOAD, STREAM):
        values = tuple(dict.fromkeys(cell.option[name] for cell in known if name in cell.option))
        if values:
            axes[name] = values
    return axes


# -- what to know --------------------------------------------------------------------------------------------


def curve_findings(curves: Sequence[LoadCurve], streams: StreamsSpec) -> tuple[Finding, ...]:
    """The highest load, overload, and power that nobody measured: all else stands in the table."""
    found: list[Finding] = []
    for curve in curves:
        limits = dict(curve.limited_by)
        for phase, iops in curve.highest_iops:
            values: dict[str, Value] = {
                "phase": phase,
                "iops": iops,
                "limit_ns": curve.limit_ns or 0.0,
                "limited_by": limits.get(phase),
            }
            again = next((point for point in curve.points if point.phase == phase and point.percent == 100), None)
            if again is not None and again.lat_mean_ns is not None:
                slow = curve.limit_ns is not None and again.lat_mean_ns.value > curve.limit_ns
                values["overloaded"] = again.overloaded
                values["again_ns"] = again.lat_mean_ns.value if slow else None
            found.append(Finding(FindingCode.HIGHEST_LOAD, values, place=PLACE, target=curve.target))
        if late := [point for point in curve.points if point.overloaded]:
            worst = max(point.behind_ios or 0.0 for point in late)
            values = {"points": [point.name for point in late], "behind_ios": worst}
            found.append(Finding(FindingCode.OVERLOADED, values, place=PLACE, target=curve.target))
        if streams.wants_power and curve.power == NOT_MEASURED:
            found.append(Finding(FindingCode.POWER, place=PLACE, target=curve.target))
    return tuple(found)
