# SPDX-License-Identifier: Apache-2.0
"""What campaigns of a kind of their own bring: response time against load, and tests in rounds, for page, terminal and
exports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ioatlas.analysis.rounds import format_value
from ioatlas.analysis.sizing import advice, rates_text
from ioatlas.model.load_curve import LATENCY_NOTE, LoadCurve, LoadPoint
from ioatlas.model.panel import Chart, ChartBound, ChartLine, ChartPoint, ChartUnit, Table
from ioatlas.model.result import Quantity, RoundsCell, RoundsResult
from ioatlas.model.units import format_size, format_size_rounded
from ioatlas.report.page_format.charts import LoadCurveData, LoadPointData
from ioatlas.report.page_format.parts import Pair


def curve_data(curve: LoadCurve, clean: Callable[[str], str]) -> LoadCurveData:
    """A curve for the page. clean: takes what names a site out of a text."""
    return LoadCurveData.from_record(
        curve,
        points=[_point(curve, point) for point in curve.points],
        sizing=f"{rates_text(curve.sizing)}. {advice(curve.sizing)}" if curve.sizing else "",
        highest=[Pair(name=name, value=f"{iops:g}") for name, iops in curve.highest_iops],
        power=clean(curve.power),
        idle_watts=curve.target_watts(curve.idle_watts),
        latency_note=LATENCY_NOTE if any(point.loop == "open" for point in curve.points) else "",
    )


def _point(curve: LoadCurve, point: LoadPoint) -> LoadPointData:
    efficiency = curve.efficiency(point)
    return LoadPointData.from_record(
        point,
        loop="open" if point.loop == "open" else "closed",
        watts=curve.target_watts(point.watts),
        iops_per_watt=efficiency[0] if efficiency else None,
        bytes_per_s_per_watt=efficiency[1] if efficiency else None,
    )


def curve_documents(curves: Sequence[LoadCurve]) -> list[dict[str, Any]]:
    """The curves as JSON values: every point with its streams, its backlog and its power; null where a quantity was
    not measured.
    """
    return [
        {
            **asdict(curve),
            "highest_iops": dict(curve.highest_iops),
            "limited_by": dict(curve.limited_by),
            "idle_watts": dict(curve.idle_watts) or None,
            "idle_bytes_per_watt": curve.idle_bytes_per_watt,
            "latency": LATENCY_NOTE if any(point.loop == "open" for point in curve.points) else "total",
            "points": [_document(curve, point) for point in curve.points],
        }
        for curve in curves
    ]


def _document(curve: LoadCurve, point: LoadPoint) -> dict[str, Any]:
    efficiency = curve.efficiency(point)
    return {
        "name": point.name,
        **asdict(point),
        "achieved_iops": point.iops.value,
        "watts": dict(point.watts) or None,
        "iops_per_watt": efficiency[0] if efficiency else None,
        "bytes_per_s_per_watt": efficiency[1] if efficiency else None,
    }


OFF = 0.10
"""The specification of tests in rounds draws lines this far above and below the average of the window."""


def rounds_chart(test: RoundsResult, clean: Callable[[str], str]) -> Chart:
    """The tracked value over the rounds, with its average and best fit in the measurement window. clean: takes what
    names the site out of a text.
    """

    def line(name: str, values: Mapping[int, float]) -> ChartLine:
        return ChartLine(name, tuple(ChartPoint(n, value, None, 1) for n, value in values.items()))

    lines, levels = [line("each round", dict(enumerate(test.values, 1)))], []
    if test.window is not None and test.average is not None:
        lines.append(line("average of the window", dict.fromkeys(test.window, test.average)))
        above, below = (1 + OFF) * test.average, (1 - OFF) * test.average
        levels = [ChartBound("10% above", above), ChartBound("10% below", below)]
        if test.line is not None:
            lines.append(line("best fit", dict(zip(test.window, test.line, strict=True))))
    unit: dict[Quantity, ChartUnit] = {"iops": "none", "bw_bytes_per_s": "bytes/s", "lat_mean_ns": "ns"}
    state = "" if test.test == "saturation" else f"Steady state {'met' if test.met else 'not met'}: "
    return Chart(
        clean(_pass(test)),
        "Round",
        "count",
        test.tracked,
        unit[test.quantity],
        tuple(lines),
        tuple(levels),
        note=clean(f"{state}{test.reason}."),
    )


def rounds_texts(test: RoundsResult, clean: Callable[[str], str]) -> Table:
    """The averages of the measurement window, with how the test was made. clean: as of `rounds_chart`."""
    title, heads, lines = rounds_table(test)
    made = f"Not as the specification says: {' '.join(test.deviations)}" if test.deviations else "As specified."
    written = format_size_rounded(test.written_bytes[-1] if test.written_bytes else 0)
    note = f"Purge: {test.purge or 'none'}. Written in the rounds: {written}. {made}"
    return Table(clean(title), ("Block", *heads[1:]), tuple(map(tuple, lines)), clean(note))


def _pass(test: RoundsResult) -> str:
    return f"SNIA {test.title}, {test.target}{f', {test.part}' if test.part else ''}"


def rounds_table(test: RoundsResult) -> tuple[str, list[str], list[list[str]]]:
    """Title, column heads and lines of the averages over the measurement window, the tracked one marked."""
    shares = sorted({cell.read_percent for cell in test.cells}, reverse=True)
    cells = {(cell.bs_bytes, cell.read_percent): cell for cell in test.cells}
    lines = []
    for block in sorted({cell.bs_bytes for cell in test.cells}):
        row = [cells.get((block, share)) for share in shares]
        lines.append(
            [format_size(block), *("" if cell is None or cell.value is None else _average(cell, test) for cell in row)]
        )
    rounds = f"rounds {test.window[0]} to {test.window[1]}" if test.window else "no window yet"
    title = f"{_pass(test)}: average of the window ({rounds}), reads/writes in per cent of I/Os, * tracked"
    return title, ["", *(f"{share}/{100 - share}" for share in shares)], lines


def _average(cell: RoundsCell, test: RoundsResult) -> str:
    return format_value(cell.value or 0.0, test.quantity) + (" *" if cell.tracked else "")
