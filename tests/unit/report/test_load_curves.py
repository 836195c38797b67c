# SPDX-License-Identifier: Apache-2.0
"""Curves in the page and in JSON: nothing that was not measured gets a number."""

import json
from dataclasses import replace

from ioatlas.model.load_curve import LoadCurve, LoadPoint, Spread, StreamPoint
from ioatlas.report.kinds import curve_data, curve_documents

STREAM = StreamPoint("oltp", "read", 700.0, 690.0, 690 * 8192.0, 0.7, 1e6, 2e6, 3e6)
POINT = LoadPoint(
    "",
    95.0,
    "open",
    950.0,
    950.0,
    Spread(940.0, 930.0, 950.0),
    Spread(940 * 8192.0),
    Spread(1e6, 0.9e6, 1.1e6),
    Spread(2e6),
    Spread(3e6),
    False,
    10.0,
    130.0,
    "steady",
    3,
    0,
    5.0,
    (STREAM,),
)
CURVE = LoadCurve("nas", (POINT,), 1 << 30, None, 30e6, (("", 1000.0),), (("", "response time"),))


def test_a_curve_without_power_says_so():
    data = curve_data(CURVE, lambda text: text)
    assert data.power == "not measured"
    assert data.idle_watts is None
    (point,) = data.points
    assert point.iops_per_watt is None
    assert point.loop == "open"
    assert "lower bound" in data.latency_note
    (told,) = json.loads(json.dumps(curve_documents([CURVE]), allow_nan=False))
    assert told["points"][0]["watts"] is None
    assert told["points"][0]["offered_iops"] == 950
    assert told["points"][0]["achieved_iops"] == 940
    assert told["highest_iops"] == {"": 1000.0}


def test_a_curve_with_power():
    point = replace(POINT, watts=(("plug", 47.0),))
    curve = replace(
        CURVE,
        points=(point,),
        target_meters=("plug",),
        idle_watts=(("plug", 40.0),),
        capacity_bytes=4 * 10**12,
        power="plug: JSON over HTTP",
    )
    (told,) = curve_documents([curve])
    assert told["points"][0]["iops_per_watt"] == 20
    assert told["idle_bytes_per_watt"] == 10**11
    assert curve_data(curve, lambda text: text).points[0].watts == 47


def test_addresses_of_meters_do_not_leave():
    curve = replace(CURVE, power="plug at 10.0.0.7")
    assert curve_data(curve, lambda text: text.replace("10.0.0.7", "…")).power == "plug at …"
