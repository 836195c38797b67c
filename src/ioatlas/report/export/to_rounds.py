# SPDX-License-Identifier: Apache-2.0
"""The steady-state plot of a test in rounds: tracked value against the round, window, average, the lines 10% off
it, and the best-fit line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ioatlas.errors import UsageError
from ioatlas.model.result import CampaignResult
from ioatlas.model.rounds import Quantity, RoundsResult
from ioatlas.report.export.to_figure import Kind, write_stacked
from ioatlas.report.export.to_gnuplot import gnuplot_text, one_line, opening_lines
from ioatlas.report.redact import redactor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UNITS: dict[Quantity, tuple[str, float]] = {
    "iops": ("I/Os per second", 1.0),
    "bw_bytes_per_s": ("throughput (MB/s)", 1e6),
    "lat_mean_ns": ("mean response time (us)", 1e3),
}
"""Name with unit, and how many base units one is."""
OFF = 0.10
"""The specification draws lines this far above and below the average of the window."""
WIDTH, HEIGHT = 760, 460


@dataclass(frozen=True)
class Plot:
    """One test as it is drawn; values in the unit of `y_name`. window, average and line are None with fewer than
    five rounds.
    """

    heading: str
    y_name: str
    values: tuple[float, ...]
    window: tuple[int, int] | None
    average: float | None
    line: tuple[float, float] | None


def plots(result: CampaignResult) -> tuple[Plot, ...]:
    """A plot for each test of the result. Raises UsageError when it has none with a finished round."""
    clean = redactor(result.targets)
    found = tuple(_plot(test, clean(test.target)) for test in result.rounds if test.values)
    if not found:
        raise UsageError(
            "the campaign holds no round of a test in rounds",
            where="--figure rounds",
            remedy="use --figure map, or go on with `ioatlas resume`",
        )
    return found


def _plot(test: RoundsResult, target: str) -> Plot:
    name, factor = UNITS[test.quantity]
    claim = "" if test.test == "saturation" else "steady state met: " if test.met else "steady state not met: "
    part = f", {test.part}" if test.part else ""
    heading = f"SNIA {test.title}{part}, {target}: {test.tracked}\n{claim}{test.reason}"
    return Plot(
        heading,
        name,
        tuple(value / factor for value in test.values),
        test.window,
        None if test.average is None else test.average / factor,
        None if test.line is None else (test.line[0] / factor, test.line[1] / factor),
    )


def write_rounds(result: CampaignResult, out: Path, kind: Kind) -> tuple[Path, ...]:
    """All tests of a result in one figure, one below the other. Raises IoAtlasError when matplotlib is not
    installed, UsageError without a round.
    """
    return write_stacked(plots(result), _draw, (WIDTH, HEIGHT), out, kind)


def _draw(panel: Axes, plot: Plot) -> None:
    rounds = range(1, len(plot.values) + 1)
    panel.plot(rounds, plot.values, "o-", color="#0b5cad", markersize=4, linewidth=1, label="each round")
    if plot.window is not None and plot.average is not None:
        panel.axvspan(plot.window[0] - 0.5, plot.window[1] + 0.5, color="0.93", zorder=0, label="measurement window")
        panel.plot(
            plot.window,
            (plot.average, plot.average),
            "-",
            color="#1b2126",
            linewidth=1.4,
            label="average of the window",
        )
        for share, label in ((1 + OFF, "10% above and below it"), (1 - OFF, None)):
            panel.plot(plot.window, (share * plot.average,) * 2, ":", color="#1b2126", linewidth=1, label=label)
    if plot.window is not None and plot.line is not None:
        panel.plot(plot.window, plot.line, "--", color="#8a4b00", linewidth=1.2, label="best fit")
    panel.set_ylim(0, 1.15 * max(plot.values))
    panel.set_xlim(0.5, max(len(plot.values), 5) + 0.5)
    panel.set_xticks(range(1, max(len(plot.values), 5) + 1))
    panel.tick_params(axis="x", labelsize=7)
    panel.set_title(plot.heading, fontsize=8, loc="left")
    panel.set_xlabel("round")
    panel.set_ylabel(plot.y_name)
    panel.grid(visible=True, color="0.9", linewidth=0.6)
    panel.legend(fontsize=7, frameon=False, loc="lower right")


def write_rounds_gnuplot(result: CampaignResult, script: Path) -> tuple[Path, Path]:
    """`script` and its data beside it (same name, .dat): a block for each test, all drawn below each other. Returns
    both; raises UsageError without a round.
    """
    drawn = plots(result)
    data = script.with_suffix(".dat")
    script.parent.mkdir(parents=True, exist_ok=True)
    data.write_text("\n".join(_data_lines(drawn)) + "\n", encoding="utf-8")
    script.write_text("\n".join(_script_lines(drawn, script.name, data.name)) + "\n", encoding="utf-8")
    return script, data


def _data_lines(drawn: tuple[Plot, ...]) -> Iterator[str]:
    yield "# columns: round value average best_fit; NaN outside the measurement window"
    for plot in drawn:
        yield f"# {one_line(plot.heading)}; {plot.y_name}"
        for number, value in enumerate(plot.values, 1):
            inside = plot.window is not None and plot.window[0] <= number <= plot.window[1]
            average = plot.average if inside else None
            fit = None
            if inside and plot.line is not None and plot.window is not None:
                fit = plot.line[0] + (plot.line[1] - plot.line[0]) * (number - plot.window[0]) / (
                    plot.window[1] - plot.window[0]
                )
            yield f"{number} {value:.9g} " + " ".join("NaN" if one is None else f"{one:.9g}" for one in (average, fit))
        yield ""
        yield ""


def _script_lines(drawn: tuple[Plot, ...], script_name: str, data_name: str) -> Iterator[str]:
    stem = script_name.rsplit(".", 1)[0]
    height = HEIGHT * len(drawn)
    yield from opening_lines(script_name, data_name, (WIDTH, height), 10)
    yield f"set output folder . {gnuplot_text(stem)} . '.' . format"
    yield f"set multiplot layout {len(drawn)},1"
    yield "set xlabel 'round'; set grid; set key bottom right; set xtics 1"
    for index, plot in enumerate(drawn):
        yield "unset object 1"
        if plot.window is not None:
            first, last = plot.window
            yield (
                f"set object 1 rectangle from first {first - 0.5}, graph 0 to first {last + 0.5}, graph 1 fc rgb "
                "'#ededed' fs solid noborder behind"
            )
        title = plot.heading.split("\n")
        yield f'set title {gnuplot_text(title[0])} . "\\n" . {gnuplot_text(title[-1])}'
        yield f"set ylabel {gnuplot_text(plot.y_name)}"
        yield f"set xrange [0.5:{max(len(plot.values), 5) + 0.5}]; set yrange [0:{1.15 * max(plot.values):.9g}]"
        source = f"data index {index} using 1"
        parts = [f"{source}:2 with linespoints pt 7 lc rgb '#0b5cad' title 'each round'"]
        if plot.average is not None:
            parts += [
                f"{source}:3 with lines lw 2 lc rgb '#1b2126' title 'average of the window'",
                f"{source}:({1 + OFF:g}*$3) with lines dt 3 lc rgb '#1b2126' title '10% above and below it'",
                f"{source}:({1 - OFF:g}*$3) with lines dt 3 lc rgb '#1b2126' notitle",
            ]
        parts += [f"{source}:4 with lines dt 2 lc rgb '#8a4b00' title 'best fit'"] if plot.line is not None else []
        yield "plot " + ", \\\n     ".join(parts)
    yield "unset multiplot"
    yield "unset output"
