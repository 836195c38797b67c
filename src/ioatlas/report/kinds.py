# SPDX-License-Identifier: Apache-2.0
"""What campaigns of a kind of their own bring: response time against load, and tests in rounds, for page, terminal and
exports.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from ioatlas.analysis.rounds import format_value
from ioatlas.analysis.sizing import advice, rates_text
from ioatlas.model.load_curve import LATENCY_NOTE, LoadCurve, LoadPoint
from ioatlas.model.result import RoundsCell, RoundsResult
from ioatlas.model.units import format_size
from ioatlas.report.page_format.charts import LoadCurveData, LoadPointData, RoundsData
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


def rounds_data(test: RoundsResult, clean: Callable[[str], str]) -> RoundsData:
    """clean: takes what names the site out of a text."""
    return RoundsData.from_record(
        test,
        claims=test.test != "saturation",
        written_bytes=test.written_bytes[-1] if test.written_bytes else 0,
        purge=clean(test.purge),
        deviations=[clean(text) for text in test.deviations],
    )


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
    part = f", {test.part}" if test.part else ""
    title = (
        f"SNIA {test.title}, {test.target}{part}: average of the window ({rounds}), reads/writes in per cent of "
        "I/Os, * tracked"
    )
    return title, ["", *(f"{share}/{100 - share}" for share in shares)], lines


def _average(cell: RoundsCell, test: RoundsResult) -> str:
    return format_value(cell.value or 0.0, test.quantity) + (" *" if cell.tracked else "")
