# SPDX-License-Identifier: Apache-2.0
"""Response time against load as tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
        parts.append(
            Text(
                f"open loop: latencies are lower bounds{BEHIND if _has_backlog(curve) else ''}",
                style="dim",
            )
        )
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
    from rich.table import Table
    from rich.text import Text

    paced = any(point.offered_iops for point in curve.points)
    behind = _has_backlog(curve)
    tail = curve.quantity == "p99"  # the interval is that of the latency that is limited
    p95 = any(point.lat_p95_ns for point in curve.points)
    power = any(curve.efficiency(point) for point in curve.points)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("load", no_wrap=True)
    headings = [
        *(["offered"] if paced else []),
        "IOPS",
        *(["throughput"] if wide else []),
        "mean",
        *(["95% interval"] if wide and not tail else []),
        *(["p95"] if p95 else []),
        "p99",
        *(["95% interval"] if wide and tail else []),
    ]
    headings += [*(["behind"] if behind else []), *(["IOPS/W", "MB/s/W"] if power else []), "visits"]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict")
    for point in curve.points:
        efficiency = curve.efficiency(point)
        line = [point.name]
        line += [format_count(point.offered_iops) if point.offered_iops else ""] if paced else []
        line += [format_count(point.iops.value), *([format_rate(point.bw_bytes_per_s.value)] if wide else [])]
        line += [_latency(point.lat_mean_ns)]
        line += [_interval(point.lat_mean_ns)] if wide and not tail else []
        line += [*([_latency(point.lat_p95_ns)] if p95 else []), _latency(point.lat_p99_ns)]
        line += [_interval(point.lat_p99_ns)] if wide and tail else []
        line += (
            [
                f"{point.behind_ios:.0f}/{point.chance_ios:.0f}"
                if point.behind_ios is not None and point.chance_ios is not None
                else ""
            ]
            if behind
            else []
        )
        line += (
            [f"{efficiency[0]:.3g}" if efficiency else "", f"{efficiency[1] / 1e6:.3g}" if efficiency else ""]
            if power
            else []
        )
        line.append(str(point.n_visits))
        table.add_row(*(Text(text) for text in line), Text(_verdict(point)))
    return table


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
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("stream", no_wrap=True)
    table.add_column("direction")
    for heading in ("share", "offered", "IOPS", "throughput", "mean", "p95", "p99"):
        table.add_column(heading, justify="right", no_wrap=True)
    for stream in point.streams:
        latencies = [
            format_latency(value) if value is not None else ""
            for value in (stream.lat_mean_ns, stream.lat_p95_ns, stream.lat_p99_ns)
        ]
        offered = format_count(stream.offered_iops) if stream.offered_iops is not None else ""
        line = [
            stream.stream,
            stream.direction,
            f"{stream.share:.1%}",
            offered,
            format_count(stream.iops),
            format_rate(stream.bw_bytes_per_s),
            *latencies,
        ]
        table.add_row(*(Text(text) for text in line))
    return table
