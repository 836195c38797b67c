# SPDX-License-Identifier: Apache-2.0
"""The drawings that a campaign brings itself: charts of its kind, rounds of a test, latency against load."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

from ioatlas.errors import UsageError
from ioatlas.model.fixed_work import is_fixed_work
from ioatlas.model.load_curve import LoadCurve, Spread
from ioatlas.model.panel import Chart, ChartPoint, Dot, Drawing, Line, Panel, Series
from ioatlas.model.result import CampaignResult, Quantity, RoundsResult
from ioatlas.model.tree import is_tree
from ioatlas.model.units import format_size, format_size_rounded, rate_units
from ioatlas.report.export.conditions import conditions
from ioatlas.report.export.to_panels import FAR
from ioatlas.report.kinds import OFF
from ioatlas.report.redact import redactor

OwnStyle = Literal["charts", "rounds", "curves"]
STYLES: dict[str, OwnStyle] = {"charts": "charts", "rounds": "rounds", "curves": "curves"}
"""By the words of users."""
WIDE = 40
"""Values further apart than this stand on a logarithmic scale."""
UNITS: dict[Quantity, tuple[str, str]] = {
    "iops": ("I/Os per second", "1/s"),
    "bw_bytes_per_s": ("throughput", "B/s"),
    "lat_mean_ns": ("mean response time", "ns"),
}
MEASURES = (("lat_mean_ns", "mean"), ("lat_p95_ns", "p95"), ("lat_p99_ns", "p99"))
"""Field of a load point, and its word."""


def in_order(result: CampaignResult) -> bool:
    """Whether the result is that of operations in sequence, whose charts say more than a map."""
    return bool(result.charts) and any(is_fixed_work(one.cell) or is_tree(one.cell) for one in result.estimates[:1])


def own_style(result: CampaignResult) -> OwnStyle | None:
    """What a campaign is drawn as where nobody asked for anything; None for a map."""
    if result.rounds:
        return "rounds"
    if result.load_curves:
        return "curves"
    return "charts" if in_order(result) else None


def own_drawing(result: CampaignResult, style: OwnStyle) -> Drawing:
    """Raises UsageError where the campaign brings nothing to draw like that."""
    clean = redactor(result.targets)
    panels: dict[OwnStyle, tuple[Panel, ...]] = {
        "charts": tuple(_chart(chart, clean) for chart in result.charts),
        "rounds": tuple(_rounds(test, clean) for test in result.rounds if test.values),
        "curves": tuple(_curve(curve, clean) for curve in result.load_curves if curve.points),
    }
    if not panels[style]:
        what = {"charts": "chart of its own", "rounds": "round of a test in rounds", "curves": "load point"}[style]
        raise UsageError(
            f"the campaign has no {what}",
            where=f"--figure {style}",
            remedy="use --figure map, or go on with `ioatlas resume`",
        )
    title = clean(result.name)
    if style == "charts" and in_order(result):
        title += ": mean and standard deviation, work-bounded"
    columns, told = 3 if style == "charts" else 1, conditions(result)
    x_name = {"charts": "", "rounds": "round", "curves": "achieved I/Os per second"}[style]
    return Drawing(
        title, "lines", x_name, "", "", panels[style], "linear", alike=False, columns=columns, conditions=told
    )


def _chart(chart: Chart, clean: Callable[[str], str]) -> Panel:
    """Sizes and numbers stand at their logarithms; a limit far above the values is told in words."""
    xs = sorted({point.x for line in chart.lines for point in line.points})
    logarithmic = xs[0] > 0 and len(xs) > 1

    def place(x: float) -> float:
        return math.log2(x) if logarithmic else x

    def dot(point: ChartPoint) -> Dot:
        low, high = (None, None) if point.sd is None else (point.mean - point.sd, point.mean + point.sd)
        return Dot(place(point.x), point.mean, low, high, point.n)

    points = [point for line in chart.lines for point in line.points]
    top = max(point.mean + (point.sd or 0.0) for point in points)
    unit, factor = _unit_of(chart)
    far = [level for level in chart.levels if level.value > FAR * top]
    beyond = "; ".join(f"{one.name} {one.value / factor:,.4g} {unit}".rstrip() for one in far)
    least = min([*(point.mean for point in points), *(one.value for one in chart.levels)])
    return Panel(
        clean(chart.title),
        tuple(Series(line.name, tuple(map(dot, line.points))) for line in chart.lines),
        tuple((place(x), format_size(int(x)) if chart.x_unit == "bytes" else f"{x:g}") for x in xs),
        tuple(Line(one.name, one.value) for one in chart.levels),
        marks=tuple(Line(one.name, place(one.value)) for one in chart.marks if xs[0] <= one.value <= xs[-1]),
        x_name=chart.x_name,
        y_name=chart.y_name,
        y_unit="B/s" if unit else "",
        y_scale="log" if 0 < WIDE * least < top else "linear",
        note=" ".join(filter(None, [clean(chart.note), f"Beyond: {beyond}." if beyond else ""])),
    )


def _rounds(test: RoundsResult, clean: Callable[[str], str]) -> Panel:
    """The tracked value over the rounds; in the measurement window its average, the lines 10% off it, the best fit."""
    claim = "" if test.test == "saturation" else "steady state met: " if test.met else "steady state not met: "
    part = f", {test.part}" if test.part else ""
    name, unit = UNITS[test.quantity]
    series = [Series("each round", tuple(Dot(float(n), value) for n, value in enumerate(test.values, 1)))]
    if test.window is not None and test.average is not None:
        average = test.average
        series += [
            Series("average of the window", _straight(test.window, (average, average)), "line"),
            Series("10% above it", _straight(test.window, (average * (1 + OFF),) * 2), "dotted"),
            Series("10% below it", _straight(test.window, (average * (1 - OFF),) * 2), "dotted"),
        ]
    if test.window is not None and test.line is not None:
        series.append(Series("best fit", _straight(test.window, test.line), "dashed"))
    return Panel(
        f"SNIA {test.title}{part}, {clean(test.target)}: {test.tracked}\n{claim}{test.reason}",
        tuple(series),
        tuple((float(n), str(n)) for n in range(1, max(len(test.values), 5) + 1)),
        band=None if test.window is None else (test.window[0] - 0.5, test.window[1] + 0.5),
        y_name=name,
        y_unit=unit,
        note="" if test.window is None else "Shaded: the measurement window.",
    )


def _straight(window: tuple[int, int], ends: tuple[float, ...]) -> tuple[Dot, ...]:
    return tuple(Dot(float(x), y) for x, y in zip(window, ends, strict=True))


def _curve(curve: LoadCurve, clean: Callable[[str], str]) -> Panel:
    """Mean and high percentiles of each load point over the I/Os per second that it achieved."""
    points = sorted(curve.points, key=lambda point: point.iops.value)

    def dots(field: str) -> tuple[Dot, ...]:
        known: list[tuple[float, Spread, int, bool]] = [
            (point.iops.value, spread, point.n_visits, point.overloaded)
            for point in points
            if (spread := getattr(point, field)) is not None
        ]
        return tuple(Dot(x, one.value, one.low, one.high, n, unsure=over) for x, one, n, over in known)

    named = [Line(point.name, point.iops.value, drawn=False) for point in points]
    named += [Line(f"highest load {name}".strip(), iops) for name, iops in curve.highest_iops]
    limit = () if curve.limit_ns is None else (Line(f"limit of the {curve.quantity}", curve.limit_ns),)
    return Panel(
        f"latency against load, {clean(curve.target)}",
        tuple(Series(word, found) for field, word in MEASURES if (found := dots(field))),
        limits=limit,
        marks=_apart(named),
        y_name="latency",
        y_unit="ns",
        y_scale="log",
        note="White inside: overloaded." if any(point.overloaded for point in points) else "",
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


def _unit_of(chart: Chart) -> tuple[str, float]:
    return rate_units()[2] if chart.y_unit == "bytes/s" else ("", 1.0)


def chart_rows(chart: Chart) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """A chart as a table of texts: columns, and a row for each x."""
    xs = sorted({point.x for line in chart.lines for point in line.points})
    unit, factor = _unit_of(chart)
    by_x = [{point.x: point for point in line.points} for line in chart.lines]
    rows = []
    for x in xs:
        texts = []
        for points in by_x:
            point = points.get(x)
            spread = f" ± {point.sd / factor:.3g}" if point is not None and point.sd is not None else ""
            texts.append("–" if point is None else f"{point.mean / factor:.4g}{spread} ({point.n})")
        rows.append((format_size_rounded(int(x)) if chart.x_unit == "bytes" else f"{x:g}", *texts))
    return (chart.x_name, *(f"{line.name}, {unit}" if unit else line.name for line in chart.lines)), rows
