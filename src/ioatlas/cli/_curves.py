# SPDX-License-Identifier: Apache-2.0
"""Response time against load as tables for the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ioatlas.cli._output import table_of
from ioatlas.model.units import format_count, format_latency, format_rate

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from ioatlas.model.load_curve import LoadCurve, LoadPoint, Spread
    from ioatlas.model.result import CampaignResult

WIDE = 100
BEHIND = "; `behind` counts I/Os that were due and not done, chance alone explains the number after the slash"
STATES = {"within": "safe", "borderline": "borderline", "over": "over limit"}
"""What a rate did to the latency that is limited."""


def curve_tables(curve: LoadCurve, result: CampaignResult, console: Console) -> list[RenderableType]:
    """The load points of one target, and the streams at the first of them."""
    from rich.text import Text

    parts: list[RenderableType] = []
    if len(result.targets) > 1:
        parts.append(Text(curve.target, style="bold"))
    wide = console.width >= WIDE
    parts.append(points_table(curve, wide=wide))
    parts += narrow_note(console.width)
    if any(point.loop == "open" for point in curve.points):
        parts.append(Text(f"open loop: latencies are lower bounds{BEHIND if _has_backlog(curve) else ''}", style="dim"))
    told: set[str] = set()
    for point in curve.points:
        if point.streams and point.phase not in told:
            told.add(point.phase)
            parts += [Text(""), Text(f"streams at {point.name}", style="bold"), _streams(point)]
    return parts


def narrow_note(width: int) -> list[RenderableType]:
    """What a narrow terminal leaves out."""
    from rich.text import Text

    note = f"Not shown below {WIDE} columns: throughput and the 95% intervals"
    return [] if width >= WIDE else [Text(note, style="dim")]


def points_table(curve: LoadCurve, *, wide: bool) -> RenderableType:
    paced = any(point.offered_iops for point in curve.points)
    behind = _has_backlog(curve)
    tail = curve.quantity == "p99"  # the interval is that of the latency that is limited
    p95 = any(point.lat_p95_ns for point in curve.points)
    power = any(curve.efficiency(point) for point in curve.points)
    columns: list[tuple[str, bool, Callable[[LoadPoint], str]]] = [
        ("load", True, lambda point: point.name),
        ("offered", paced, lambda point: format_count(point.offered_iops) if point.offered_iops else ""),
        ("IOPS", True, lambda point: format_count(point.iops.value)),
        ("throughput", wide, lambda point: format_rate(point.bw_bytes_per_s.value)),
        ("mean", True, lambda point: _latency(point.lat_mean_ns)),
        ("95% interval", wide and not tail, lambda point: _interval(point.lat_mean_ns)),
        ("p95", p95, lambda point: _latency(point.lat_p95_ns)),
        ("p99", True, lambda point: _latency(point.lat_p99_ns)),
        ("95% interval", wide and tail, lambda point: _interval(point.lat_p99_ns)),
        ("behind", behind, _behind),
        ("IOPS/W", power, lambda point: f"{found[0]:.3g}" if (found := curve.efficiency(point)) else ""),
        ("MB/s/W", power, lambda point: f"{found[1] / 1e6:.3g}" if (found := curve.efficiency(point)) else ""),
        ("visits", True, lambda point: str(point.n_visits)),
        ("verdict", True, _verdict),
    ]
    shown = [(head, told) for head, is_shown, told in columns if is_shown]
    rows = [[told(point) for _, told in shown] for point in curve.points]
    return table_of([head for head, _ in shown], rows, left=("load", "verdict"))


def _behind(point: LoadPoint) -> str:
    known = point.behind_ios is not None and point.chance_ios is not None
    return f"{point.behind_ios:.0f}/{point.chance_ios:.0f}" if known else ""


def _has_backlog(curve: LoadCurve) -> bool:
    return any(point.behind_ios is not None for point in curve.points)


def _verdict(point: LoadPoint) -> str:
    return "overloaded" if point.overloaded else STATES.get(point.state, point.verdict)


def _latency(spread: Spread | None) -> str:
    return format_latency(spread.value) if spread else ""


def _interval(spread: Spread | None) -> str:
    return (
        f"{format_latency(spread.low)} .. {format_latency(spread.high)}"
        if spread and spread.low is not None and spread.high is not None
        else ""
    )


def _streams(point: LoadPoint) -> RenderableType:
    def latency(value: float | None) -> str:
        return format_latency(value) if value is not None else ""

    rows = [
        (
            one.stream,
            one.direction,
            f"{one.share:.1%}",
            format_count(one.offered_iops) if one.offered_iops is not None else "",
            format_count(one.iops),
            format_rate(one.bw_bytes_per_s),
            *map(latency, (one.lat_mean_ns, one.lat_p95_ns, one.lat_p99_ns)),
        )
        for one in point.streams
    ]
    heads = ("stream", "direction", "share", "offered", "IOPS", "throughput", "mean", "p95", "p99")
    return table_of(heads, rows, left=heads[:2])
