# SPDX-License-Identifier: Apache-2.0
"""Curves as charts, as tables and in JSON: nothing that was not measured gets a number."""

import json
from dataclasses import replace

from ioatlas.measure.procedures.load_points.result import with_curves
from ioatlas.model.load_curve import LoadCurve, LoadPoint, Spread, StreamPoint
from ioatlas.report.export.to_json import document

from .exported import SQUARE, campaign

STREAM = StreamPoint("oltp", "read", 700.0, 690.0, 690 * 8192.0, 0.7, 1e6, 2e6, 3e6)
SPREADS = (Spread(940.0, 930.0, 950.0), Spread(940 * 8192.0), Spread(1e6, 0.9e6, 1.1e6), Spread(2e6), Spread(3e6))
POINT = LoadPoint("", 95.0, "open", 950.0, 950.0, *SPREADS, False, 10.0, 130.0, "steady", 3, 0, 5.0, (STREAM,))
CURVE = LoadCurve("nas", (POINT,), 1 << 30, None, 30e6, (("", 1000.0),), (("", "response time"),))
FREE = replace(POINT, phase="free", percent=None, loop="closed", offered_iops=None, asked_iops=None)


def told(curve):
    found = json.loads(json.dumps(document(with_curves(campaign(SQUARE), (curve,), ())), allow_nan=False))
    table = found["tables"][0]
    return found["load_curves"][0], [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]], table


def test_a_curve_without_power_says_so():
    curve, (row,), table = told(CURVE)
    assert not {"W", "IOPS/W", "MB/s/W"} & {*row}
    assert (row["offered"], row["IOPS"], row["95% interval of the mean"]) == ("950", "940", "900 µs .. 1.1 ms")
    assert "Power: not measured." in table["note"]
    assert "lower bound" in table["note"]
    assert curve["points"][0]["watts"] is None
    assert curve["points"][0]["offered_iops"] == 950
    assert curve["points"][0]["achieved_iops"] == 940
    assert curve["highest_iops"] == {"": 1000.0}


def test_a_curve_with_power():
    point = replace(POINT, watts=(("plug", 47.0),))
    meter = {"target_meters": ("plug",), "idle_watts": (("plug", 40.0),), "power": "plug: JSON over HTTP"}
    curve, (row,), table = told(replace(CURVE, points=(point,), capacity_bytes=4 * 10**12, **meter))
    assert curve["points"][0]["iops_per_watt"] == 20
    assert curve["idle_bytes_per_watt"] == 10**11
    assert (row["W"], row["IOPS/W"], row["MB/s/W"]) == ("47", "20", "0.164")
    assert "idle 40 W, 100 GB/W" in table["note"]


def test_places_of_targets_do_not_leave():
    result = campaign(SQUARE)
    curve = replace(CURVE, power=f"plug behind {result.targets[0].location}")
    assert result.targets[0].location not in json.dumps(document(with_curves(result, (curve,), ()))["tables"])


def test_each_phase_has_a_chart_and_free_loads_stand_apart_in_the_first():
    over = replace(POINT, percent=100.0, iops=Spread(1000.0), overloaded=True)
    mix = replace(POINT, phase="mix")
    result = with_curves(campaign(SQUARE), (replace(CURVE, points=(over, POINT, FREE, mix)),), ())
    first, second = result.charts
    mean = first.series[0]
    assert [(dot.x, dot.x_low, dot.unsure) for dot in mean.dots] == [(940.0, 930.0, False), (1000.0, None, True)]
    assert (mean.dots[0].value, mean.dots[0].low, mean.dots[0].high) == (1e6, 0.9e6, 1.1e6)
    assert [one.look for one in first.series] == ["", "", "", "dots", "dots", "dots"]
    assert [(one.name, one.drawn) for one in first.marks] == [("95%, free", False), ("100%, highest load", True)]
    assert [one.value for one in first.limits] == [30e6]
    assert "mix" in second.title
    assert len(second.series[0].dots) == 1
