# SPDX-License-Identifier: Apache-2.0
"""Response time against load as charts and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ioatlas.answer.analysis.load_curve import advice, rates_text
from ioatlas.model.load_curve import LATENCY_NOTE, LoadCurve, LoadPoint, Spread
from ioatlas.model.panel import Dot, Line, Panel, Series, Table
from ioatlas.model.units import format_count, format_latency, format_rate, grouped

MEASURES = (("lat_mean_ns", "mean"), ("lat_p95_ns", "p95"), ("lat_p99_ns", "p99"))
"""Field of a load point, and its word."""
STATES = {"within": "safe", "borderline": "borderline", "over": "over limit"}
"""What a rate did to the latency that is limited."""
PLACE = "charts"
"""Section of the report that holds the evidence."""


def curve_charts(curves: Sequence[LoadCurve]) -> tuple[Panel, ...]:
    """A panel for each phase of each target; loads that run freely stand in that of no phase."""
    return tuple(_panel(curve, phase, points) for curve in curves for phase, points in _phases(curve).items())


def _phases(curve: LoadCurve) -> dict[str, list[LoadPoint]]:
    return grouped(
        ("" if point.percent is None else point.phase, point)
        for point in sorted(curve.points, key=lambda one: one.iops.value)
    )


def _panel(curve: LoadCurve, phase: str, points: Sequence[LoadPoint]) -> Panel:
    """Mean and high percentiles of each load point over the I/Os per second that it achieved."""
    paced = [point for point in points if point.percent is not None]
    free = [point for point in points if point.percent is None]
    series = [Series(word, _dots(paced, field)) for field, word in MEASURES]
    series += [Series(f"{word}, closed loop", _dots(free, field), "dots") for field, word in MEASURES]
    named = [Line(point.name, point.iops.value, drawn=False) for point in points]
    named += [Line(f"highest load {name}".strip(), iops) for name, iops in curve.highest_iops if name == phase]
    return Panel(
        ", ".join(filter(None, ("Response time against load", phase, curve.target))),
        tuple(one for one in series if one.dots),
        limits=() if curve.limit_ns is None else (Line(f"limit of the {curve.quantity}", curve.limit_ns),),
        marks=_apart(named),
        x_name="achieved I/Os per second",
        y_name="latency",
        y_unit="ns",
        y_scale="log",
        note="White inside: overloaded." if any(point.overloaded for point in points) else "",
    )


def _dots(points: Sequence[LoadPoint], field: str) -> tuple[Dot, ...]:
    known: list[tuple[LoadPoint, Spread]] = [
        (point, spread) for point in points if (spread := getattr(point, field)) is not None
    ]
    return tuple(
        Dot(
            point.iops.value,
            one.value,
            one.low,
            one.high,
            point.n_visits,
            unsure=point.overloaded,
            x_low=point.iops.low,
            x_high=point.iops.high,
        )
        for point, one in known
    )


def _apart(marks: Sequence[Line]) -> tuple[Line, ...]:
    """In order; those that would lie on each other share a place."""
    found: list[Line] = []
    for mark in sorted(marks, key=lambda one: one.value):
        if found and mark.value < 1.02 * found[-1].value:
            before = found[-1]
            found[-1] = Line(f"{before.name}, {mark.name}", before.value, before.drawn or mark.drawn)
        else:
            found.append(mark)
    return tuple(found)


def curve_tables(curves: Sequence[LoadCurve]) -> Iterator[Table]:
    """The load points of each target, and the streams at each of them."""
    for curve in curves:
        of = f", {curve.target}" if len(curves) > 1 else ""
        yield _points(curve, f"Load points{of}")
        if any(point.streams for point in curve.points):
            yield _streams(curve, f"Streams at each load{of}")


def _points(curve: LoadCurve, title: str) -> Table:
    """Columns of which nothing is known are left out."""
    limited = f"lat_{curve.quantity}_ns"
    interval = f"95% interval of the {curve.quantity}"
    columns: dict[str, Callable[[LoadPoint], str]] = {
        "load": lambda point: point.name,
        "offered": lambda point: _told(point.offered_iops, format_count),
        "IOPS": lambda point: format_count(point.iops.value),
        "throughput": lambda point: format_rate(point.bw_bytes_per_s.value),
        "mean": lambda point: _latency(point.lat_mean_ns),
        "p95": lambda point: _latency(point.lat_p95_ns),
        "p99": lambda point: _latency(point.lat_p99_ns),
        interval: lambda point: _interval(getattr(point, limited)),
        "behind": _behind,
        "W": lambda point: _told(curve.target_watts(point.watts), _three),
        "IOPS/W": lambda point: _three(found[0]) if (found := curve.efficiency(point)) else "",
        "MB/s/W": lambda point: _three(found[1] / 1e6) if (found := curve.efficiency(point)) else "",
        "visits": lambda point: str(point.n_visits),
        "verdict": lambda point: "overloaded" if point.overloaded else STATES.get(point.state, point.verdict),
    }
    told = {name: [text(point) for point in curve.points] for name, text in columns.items()}
    known = {name: texts for name, texts in told.items() if any(texts)}
    rows = tuple(zip(*known.values(), strict=True))
    return Table(title, tuple(known), rows, _note(curve), spare=(interval, "throughput", "W", "MB/s/W", "p95"))


def _note(curve: LoadCurve) -> str:
    told = []
    if curve.sizing is not None:
        told.append(f"At a fixed request rate: {rates_text(curve.sizing)}. {advice(curve.sizing)}")
    if any(point.loop == "open" for point in curve.points):
        told.append(
            "Open loop, where a rate is offered: I/Os arrive whether or not earlier ones are done. Latency is a "
            f"{LATENCY_NOTE}."
        )
    if any(point.behind_ios is not None for point in curve.points):
        told.append(
            "Behind: I/Os that were due and not done at the end of a visit; chance alone explains the number after "
            "the slash."
        )
    if curve.power:
        idle, capacity = curve.target_watts(curve.idle_watts), curve.idle_bytes_per_watt
        told.append(
            f"Power: {curve.power}{'' if idle is None else f'; idle {_three(idle)} W'}"
            f"{'' if capacity is None else f', {_three(capacity / 1e9)} GB/W'}."
        )
    return " ".join(told)


def _streams(curve: LoadCurve, title: str) -> Table:
    rows = tuple(
        (
            point.name,
            one.stream,
            one.direction,
            f"{one.share:.1%}",
            _told(one.offered_iops, format_count),
            format_count(one.iops),
            format_rate(one.bw_bytes_per_s),
            *(_told(value, format_latency) for value in (one.lat_mean_ns, one.lat_p95_ns, one.lat_p99_ns)),
        )
        for point in curve.points
        for one in point.streams
    )
    columns = ("load", "stream", "direction", "share", "offered", "IOPS", "throughput", "mean", "p95", "p99")
    return Table(title, columns, rows, folded=True)


def _told(value: float | None, form: Callable[[float], str]) -> str:
    return "" if value is None else form(value)


def _three(value: float) -> str:
    return f"{value:.3g}"


def _behind(point: LoadPoint) -> str:
    known = point.behind_ios is not None and point.chance_ios is not None
    return f"{point.behind_ios:.0f}/{point.chance_ios:.0f}" if known else ""


def _latency(spread: Spread | None) -> str:
    return format_latency(spread.value) if spread else ""


def _interval(spread: Spread | None) -> str:
    if spread is None or spread.low is None or spread.high is None:
        return ""
    return f"{format_latency(spread.low)} .. {format_latency(spread.high)}"
