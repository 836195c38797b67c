# SPDX-License-Identifier: Apache-2.0
"""Curves and the steady-state plot as charts, tables and JSON: nothing that was not measured gets a number."""

import csv
import itertools
import json
import re
from dataclasses import replace

import pytest

from ioatlas.answer.analysis.rounds import RoundsResult, rounds_chart
from ioatlas.measure.procedures.load_points.result import with_curves
from ioatlas.model.errors import UsageError
from ioatlas.model.load_curve import LoadCurve, LoadPoint, Spread, StreamPoint
from ioatlas.report.export import printing
from ioatlas.report.export.own import own_drawing
from ioatlas.report.export.to_json import document
from ioatlas.report.export.to_panels import write_drawing

from .exported import SQUARE, campaign

MET = RoundsResult(
    target="disk",
    test="latency",
    title="latency test",
    part="",
    quantity="lat_mean_ns",
    tracked="4 KiB random write",
    values=(9e5, 7e5, 5e5, 4.9e5, 5.1e5, 5e5, 5.2e5),
    first=1,
    met=True,
    ended="met",
    reason="rounds 3 to 7: it's steady",
    window=(3, 7),
    average=5.04e5,
    range_share=0.06,
    slope_share=0.02,
    line=(5.0e5, 5.08e5),
    cells=(),
)
NO_WINDOW = {"met": False, "window": None, "average": None, "line": None}
SHORT = replace(
    MET, title="throughput test", part="bs 128 KiB", quantity="bw_bytes_per_s", values=(2e8, 1e8), **NO_WINDOW
)


def with_tests(*tests):
    return replace(campaign(SQUARE), shown_as="tables", charts=tuple(map(rounds_chart, tests)))


def plot(result, out):
    return write_drawing(own_drawing(result), out)


def test_the_window_alone_has_average_and_fit(tmp_path):
    (data,) = plot(with_tests(MET, SHORT), tmp_path / "steady.csv")
    with data.open(newline="") as text:
        rows = list(csv.DictReader(text))
    found = {
        name: [[float(row["x"]), float(row["value"])] for row in group]
        for name, group in itertools.groupby(rows, lambda row: (row["panel"], row["series"]))
    }
    rounds, average, above, below, fit, short = found.values()
    assert rounds == [[n, value] for n, value in enumerate(MET.values, 1)]
    assert (average, fit) == ([[3, 5.04e5], [7, 5.04e5]], [[3, 5.0e5], [7, 5.08e5]])
    assert [one[0][1] for one in (above, below)] == pytest.approx([5.544e5, 4.536e5])
    assert short == [[1, 2e8], [2, 1e8]]


def test_matplotlib_draws_every_test(tmp_path):
    (path,) = plot(with_tests(MET, SHORT), tmp_path / "x" / "steady.svg")
    again = path.read_bytes()
    assert plot(with_tests(MET, SHORT), path)[0].read_bytes() == again
    words = re.findall(r">([^<>]+)<", again.decode())
    assert any("SNIA latency test, disk: 4 KiB random write" in text for text in words)
    assert any("SNIA throughput test, disk, bs 128 KiB" in text for text in words)


def test_ids_of_a_drawing_hang_on_no_last_bit(tmp_path):
    """The library makes them of places to the last bit, which another drawing of the figure may round otherwise."""
    drawn = tmp_path / "x.svg"
    for first, second in (("p2ef2e9e46b", "m0123456789"), ("pe67d7b6300", "m98765430ab")):
        drawn.write_text(
            f'<clipPath id="{first}"/><g clip-path="url(#{first})" fill="#ededed"/><use xlink:href="#{second}"/>'
        )
        printing._number_ids(drawn)
        assert drawn.read_text() == '<clipPath id="p0"/><g clip-path="url(#p0)" fill="#ededed"/><use xlink:href="#m1"/>'


def test_no_round_no_plot():
    with pytest.raises(UsageError, match="no chart"):
        own_drawing(with_tests())


STREAM = StreamPoint("oltp", "read", 700.0, 690.0, 690 * 8192.0, 0.7, 1e6, 2e6, 3e6)
SPREADS = (Spread(940.0, 930.0, 950.0), Spread(940 * 8192.0), Spread(1e6, 0.9e6, 1.1e6), Spread(2e6), Spread(3e6))
POINT = LoadPoint("", 95.0, "open", 950.0, 950.0, *SPREADS, False, 10.0, 130.0, "steady", 3, 0, 5.0, (STREAM,))
CURVE = LoadCurve("nas", (POINT,), 1 << 30, None, 30e6, (("", 1000.0),), (("", "response time"),))
FREE = replace(POINT, phase="free", percent=None, loop="closed", offered_iops=None, asked_iops=None)


def told(curve):
    found = json.loads(json.dumps(document(with_curves(campaign(SQUARE), (curve,))), allow_nan=False))
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
    assert result.targets[0].location not in json.dumps(document(with_curves(result, (curve,)))["tables"])


def test_each_phase_has_a_chart_and_free_loads_stand_apart_in_the_first():
    over = replace(POINT, percent=100.0, iops=Spread(1000.0), overloaded=True)
    mix = replace(POINT, phase="mix")
    result = with_curves(campaign(SQUARE), (replace(CURVE, points=(over, POINT, FREE, mix)),))
    first, second = result.charts
    mean = first.series[0]
    assert [(dot.x, dot.x_low, dot.unsure) for dot in mean.dots] == [(940.0, 930.0, False), (1000.0, None, True)]
    assert (mean.dots[0].value, mean.dots[0].low, mean.dots[0].high) == (1e6, 0.9e6, 1.1e6)
    assert [one.look for one in first.series] == ["", "", "", "dots", "dots", "dots"]
    assert [(one.name, one.drawn) for one in first.marks] == [("95%, free", False), ("100%, highest load", True)]
    assert [one.value for one in first.limits] == [30e6]
    assert "mix" in second.title
    assert len(second.series[0].dots) == 1
