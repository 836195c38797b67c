# SPDX-License-Identifier: Apache-2.0
"""A search for the best setting as a campaign's result: its trials are a map, its curve is one of load points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from ioatlas.answer.analysis.curve_tables import PLACE
from ioatlas.answer.analysis.load_curve import rates_text
from ioatlas.answer.results.parts import ResultParts
from ioatlas.measure.procedures.load_points.result import with_curves
from ioatlas.measure.procedures.tune.result import CURVE, Best, CurvePoint, Tuning, load_tuning
from ioatlas.measure.procedures.tune.wording import setting
from ioatlas.model.finding import Finding, FindingCode, Value
from ioatlas.model.load_curve import LATENCY_NOTE, LoadCurve, LoadPoint, Spread
from ioatlas.model.result import CampaignResult, PricedLoad
from ioatlas.model.summary import Headline
from ioatlas.model.units import format_count, format_latency, words
from ioatlas.model.visit import Purpose, Visit

FIGURES = words("numjobs iodepth iops iops_low iops_high bw_bytes_per_s lat_mean_ns lat_p99_ns n_visits")


class TuneParts(ResultParts):
    """The trials are a map over numjobs x iodepth; the steps of the curve are none of it."""

    hidden_purposes = frozenset({Purpose.PROBE, CURVE})

    def findings(self, result: CampaignResult) -> tuple[Finding, ...]:
        tuning = self._tuning()
        return (tuning_finding(tuning), *super().findings(result))

    def finish(self, result: CampaignResult, visits: Sequence[Visit]) -> CampaignResult:  # noqa: ARG002
        tuning = self._tuning()
        if tuning.best is None:
            return result
        target = self.journal.targets()[0].name
        size = max((cell.end_bytes for cell, _ in self.journal.cells()), default=0)
        return with_search(result, load_curve(tuning, tuning.best, target, size))

    @cache  # noqa: B019 - as short-lived as the result it is for
    def _tuning(self) -> Tuning:
        return load_tuning(self.journal)


def tuning_finding(tuning: Tuning) -> Finding:
    """The best setting, or why there is none."""
    best = tuning.best
    values: dict[str, Value] = {"quantity": tuning.goal.quantity, "goal_ns": tuning.goal.limit_ns}
    if best is None:
        values["failed"] = "no trial" if not tuning.outcome.loads else "refuted" if tuning.refuted else "limit"
        return Finding(FindingCode.HIGHEST_LOAD, values, place="map")
    values |= {name: getattr(best, name) for name in FIGURES} | {"ended": tuning.limited_by}
    return Finding(FindingCode.HIGHEST_LOAD, values, place=PLACE)


def with_search(result: CampaignResult, curve: LoadCurve) -> CampaignResult:
    """The result with the curve of a search. Only its best setting is confirmed, so that is what a price is told of."""
    best = dict(part.split("=", 1) for part in curve.setting.split())
    safe = curve.sizing.safe_iops if curve.sizing is not None else None
    note = f"at a fixed request rate {format_count(safe)} IOPS are safe" if safe is not None else ""
    return replace(
        with_curves(result, (curve,)),
        headlines=tuple(search_headlines(curve)),
        priced=(PricedLoad(curve.target, curve.points[0], setting=best, note=note),),
    )


def search_headlines(curve: LoadCurve) -> Iterator[Headline]:
    """The best setting, from its fresh visits, and the fixed rate to size by."""
    best = curve.points[0]
    iops, p99 = best.iops, f", p99 {format_latency(best.lat_p99_ns.value)}" if best.lat_p99_ns is not None else ""
    told = f"{curve.setting}{p99}"
    yield Headline(
        "Best setting", curve.target, "", "iops", iops.value, iops.low, iops.high, told, n_visits=best.n_visits
    )
    if curve.sizing is not None and curve.sizing.safe_iops is not None:
        safe = curve.sizing.safe_iops
        yield Headline("Safe fixed rate", curve.target, "", "iops", safe, where=rates_text(curve.sizing))


def load_curve(tuning: Tuning, best: Best, target: str, footprint_bytes: int) -> LoadCurve:
    """The steps of the curve, and before them the closed loop of the best setting."""
    goal = tuning.goal
    return LoadCurve(
        target,
        (_closed(best), *(_paced(point, goal.quantity) for point in tuning.curve)),
        footprint_bytes,
        limit_ns=goal.limit_ns,
        power="",
        quantity=goal.quantity,
        setting=setting(best),
        sizing=tuning.sizing,
    )


def _closed(best: Best) -> LoadPoint:
    return LoadPoint(
        f"best: {best.numjobs} x {best.iodepth}",
        percent=None,
        loop="closed",
        offered_iops=None,
        asked_iops=None,
        iops=Spread(best.iops, best.iops_low, best.iops_high),
        lat_mean_ns=_spread(best.lat_mean_ns),
        lat_p99_ns=_spread(best.lat_p99_ns),
        overloaded=False,
        **_of_both(best),
    )


def _paced(point: CurvePoint, quantity: str) -> LoadPoint:
    ends = {quantity: (point.low_ns, point.high_ns)}
    return LoadPoint(
        "",
        percent=float(point.percent),
        loop="open",
        offered_iops=point.offered,
        asked_iops=point.offered,
        iops=Spread(point.iops),
        lat_mean_ns=_spread(point.lat_mean_ns, *ends.get("mean", ())),
        lat_p99_ns=_spread(point.lat_p99_ns, *ends.get("p99", ())),
        overloaded=point.overloaded,
        notes=(LATENCY_NOTE,),
        state=point.state,
        **_of_both(point),
    )


def _of_both(one: Best | CurvePoint) -> dict[str, Any]:
    alike = {name: getattr(one, name) for name in ("verdict", "n_visits", "seconds")}
    untold = dict.fromkeys(("lat_p95_ns", "behind_ios", "chance_ios"))
    return {**alike, **untold, "n_discarded": 0, "bw_bytes_per_s": Spread(one.bw_bytes_per_s)}


def _spread(value: float | None, *ends: float | None) -> Spread | None:
    return None if value is None else Spread(value, *ends)
