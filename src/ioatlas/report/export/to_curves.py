# SPDX-License-Identifier: Apache-2.0
"""Latency against load: the mean and the high percentiles of each load point over the I/Os per second it achieved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ioatlas.errors import UsageError
from ioatlas.model.load_curve import LoadCurve, LoadPoint, Spread
from ioatlas.model.result import CampaignResult
from ioatlas.report.export.to_figure import Kind, plain_logarithmic, write_stacked
from ioatlas.report.export.to_gnuplot import gnuplot_text, one_line, opening_lines
from ioatlas.report.redact import redactor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MS = 1e6
WIDTH, HEIGHT = 760, 460
MEASURES = (("lat_mean_ns", "mean", "#0b5cad"), ("lat_p95_ns", "p95", "#8a4b00"), ("lat_p99_ns", "p99", "#1b2126"))
"""Field of a load point, its word, its colour."""


@dataclass(frozen=True)
class _Plot:
    heading: str
    curve: LoadCurve
    points: tuple[LoadPoint, ...]
    """In ascending order of what was achieved."""

    @property
    def limits(self) -> tuple[tuple[str, float], ...]:
        """Highest loads by what they are of."""
        return tuple((f"highest load {name}".strip(), iops) for name, iops in self.curve.highest_iops)


def plots(result: CampaignResult) -> tuple[_Plot, ...]:
    """A plot for each target. Raises UsageError when no load point is finished."""
    clean = redactor(result.targets)
    found = tuple(
        _Plot(
            f"{clean(result.name)}: latency against load, {clean(curve.target)}",
            curve,
            tuple(sorted(curve.points, key=lambda point: point.iops.value)),
        )
        for curve in result.load_curves
        if curve.points
    )
    if not found:
        raise UsageError(
            "the campaign has no load point",
            where="--figure curves",
            remedy="use --figure map, or go on with `ioatlas resume`",
        )
    return found


def spread_of(point: LoadPoint, field: str) -> Spread | None:
    found: Spread | None = getattr(point, field)
    return found


def write_curves(result: CampaignResult, out: Path, kind: Kind) -> tuple[Path, ...]:
    """All targets in one figure, one below the other. Raises IoAtlasError when matplotlib is not installed, UsageError
    without a load point.
    """
    return write_stacked(plots(result), draw, (WIDTH, HEIGHT), out, kind)


def draw(panel: Axes, plot: _Plot) -> None:
    for field, word, color in MEASURES:
        known = [(point, spread) for point in plot.points if (spread := spread_of(point, field)) is not None]
        if not known:
            continue
        panel.errorbar(
            [point.iops.value for point, _ in known],
            [spread.value / MS for _, spread in known],
            yerr=[_distances([spread for _, spread in known], low) for low in (True, False)],
            fmt="o-",
            color=color,
            markersize=4,
            linewidth=1,
            capsize=2,
            label=word,
        )
        late = [(point, spread) for point, spread in known if point.overloaded]
        panel.plot(
            [point.iops.value for point, _ in late],
            [spread.value / MS for _, spread in late],
            "o",
            color=color,
            markerfacecolor="white",
            markersize=4,
        )
    if any(point.overloaded for point in plot.points):
        panel.plot([], [], "o", color="0.3", markerfacecolor="white", markersize=4, label="overloaded")
    for names, iops in _places(plot.points):
        panel.annotate(
            names,
            (iops, 1),
            (0, -3),
            xycoords=("data", "axes fraction"),
            fontsize=6,
            textcoords="offset points",
            rotation=90,
            ha="center",
            va="top",
            color="0.35",
        )
    for name, iops in plot.limits:
        panel.axvline(iops, color="0.5", linestyle=":", linewidth=1, label=name)
    if plot.curve.limit_ns is not None:
        panel.axhline(plot.curve.limit_ns / MS, color="#b00020", linestyle="--", linewidth=1, label="limit of the mean")
    panel.set_yscale("log")
    plain_logarithmic(panel.yaxis)
    panel.set_xlim(left=0)
    panel.set_title(plot.heading, fontsize=9, loc="left")
    panel.set_xlabel("achieved I/Os per second")
    panel.set_ylabel("latency (ms)")
    panel.grid(visible=True, color="0.9", linewidth=0.6)
    panel.legend(fontsize=7, frameon=False)


def _places(points: Sequence[LoadPoint]) -> list[tuple[str, float]]:
    """Names of load points and where they stand; those that would lie on each other share a place."""
    near = 0.02 * points[-1].iops.value
    found: list[tuple[str, float]] = []
    for point in points:
        if found and point.iops.value - found[-1][1] < near:
            found[-1] = (f"{found[-1][0]}, {point.name}", found[-1][1])
        else:
            found.append((point.name, point.iops.value))
    return found


def _distances(spreads: Sequence[Spread], low: bool) -> list[float]:
    """From the values down to the lower ends of their intervals, or up to the upper ones; 0 where there is none."""
    ends = [(spread.value, spread.low if low else spread.high) for spread in spreads]
    return [abs(value - (value if end is None else end)) / MS for value, end in ends]


def write_curves_gnuplot(result: CampaignResult, script: Path) -> tuple[Path, Path]:
    """`script` and its data beside it (same name, .dat): a block for each target, all drawn below each other. Returns
    both; raises UsageError without a load point.
    """
    drawn = plots(result)
    data = script.with_suffix(".dat")
    script.parent.mkdir(parents=True, exist_ok=True)
    data.write_text("\n".join(_data_lines(drawn)) + "\n", encoding="utf-8")
    script.write_text("\n".join(_script_lines(drawn, script.name, data.name)) + "\n", encoding="utf-8")
    return script, data


def _data_lines(drawn: Sequence[_Plot]) -> Iterator[str]:
    yield "# columns: iops mean_ns p95_ns p99_ns overloaded n_visits offered_iops load_point; NaN where not known"
    for plot in drawn:
        yield f"# {one_line(plot.heading)}"
        for point in plot.points:
            known = [spread_of(point, field) for field, _, _ in MEASURES]
            numbers = [point.iops.value, *(None if spread is None else spread.value for spread in known)]
            offered = "NaN" if point.offered_iops is None else f"{point.offered_iops:.9g}"
            yield (
                " ".join("NaN" if value is None else f"{value:.9g}" for value in numbers)
                + f" {int(point.overloaded)} {point.n_visits} {offered} {one_line(point.name).replace(' ', '_')}"
            )
        yield ""
        yield ""


def _script_lines(drawn: Sequence[_Plot], script_name: str, data_name: str) -> Iterator[str]:
    yield from opening_lines(script_name, data_name, (WIDTH, HEIGHT * len(drawn)), 10)
    yield f"set output folder . {gnuplot_text(script_name.rsplit('.', 1)[0])} . '.' . format"
    yield f"set multiplot layout {len(drawn)},1"
    yield "set xlabel 'achieved I/Os per second'; set ylabel 'latency (ms)'; set grid; set logscale y; set xrange [0:*]"
    for index, plot in enumerate(drawn):
        yield f"set title {gnuplot_text(plot.heading)}"
        parts = [
            f"data index {index} using 1:(${column}/{MS:g}) with linespoints pt 7 lc rgb '{color}' title '{word}'"
            for column, (_, word, color) in enumerate(MEASURES, 2)
        ]
        if plot.curve.limit_ns is not None:
            parts.append(f"{plot.curve.limit_ns / MS:g} with lines dt 2 lc rgb '#b00020' title 'limit of the mean'")
        yield "plot " + ", \\\n     ".join(parts)
    yield "unset multiplot"
    yield "unset output"
