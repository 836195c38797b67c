# SPDX-License-Identifier: Apache-2.0
"""Load points from visits of several streams: totals, streams, intervals, watts."""

import pytest

from ioatlas.answer.analysis.load_curve import ALL, STREAM, apart, load_point, mean_latency_ns, together
from ioatlas.model.cell import Cell
from ioatlas.model.load_curve import LoadCurve
from ioatlas.model.verdict import read_reasons, read_verdict
from ioatlas.model.visit import Histogram, Part, Series, Visit

OPTIONS = {"bs": 4096, "size": 1 << 20, "rate_iops": 100, "rate_process": "poisson"}
CELL = Cell(
    "t",
    (("load", 50), ("load_iops", 200.0)),
    streams=(
        ("a", tuple(sorted({**OPTIONS, "rw": "randread"}.items()))),
        ("b", tuple(sorted({**OPTIONS, "rw": "write"}.items()))),
    ),
)


def part(stream, direction, ios, latency_ns):
    series = Series(1000, (1000, 2000), (ios * 2048.0, ios * 2048.0), (latency_ns, latency_ns))
    histogram = Histogram(((int(latency_ns), ios),))
    return Part(direction, ios * 4096, ios, 2000, latency_ns, histogram, series, "total", 0, 0, stream)


def visit(number, a=200, b=200, latency=(1e6, 3e6), **more):
    parts = (part("a", "read", a, latency[0]), part("b", "write", b, latency[1]))
    return Visit(number, CELL.key, 1, 0, number, 1, 0.0, parts, verdict=read_verdict("steady"), **more)


def test_totals_are_over_all_streams():
    point = load_point(CELL, [visit(1), visit(2), visit(3)], {})
    assert point.name == "50%"
    assert point.loop == "open"
    assert point.offered_iops == 200
    assert point.asked_iops == 200
    assert point.iops.value == pytest.approx(200)
    assert point.bw_bytes_per_s.value == pytest.approx(200 * 4096)
    assert point.lat_mean_ns.value == pytest.approx(2e6)
    assert point.lat_p95_ns.value == point.lat_p99_ns.value == 3e6
    assert [(s.stream, s.direction, s.share) for s in point.streams] == [("a", "read", 0.5), ("b", "write", 0.5)]
    assert any("lower bound" in note for note in point.notes)


def test_percentiles_are_merged_and_never_averaged():
    # One visit of three is slow throughout: a third of all I/Os is, whatever the mean of percentiles says.
    slow = [visit(1), visit(2), visit(3, latency=(9e6, 9e6))]
    assert load_point(CELL, slow, {}).lat_p95_ns.value == 9e6


def test_discarded_visits_count_for_nothing_but_are_counted():
    point = load_point(CELL, [visit(1), visit(2), visit(3, a=1, b=1, discarded=read_reasons("error 5"))], {})
    assert point.n_visits == 2
    assert point.n_discarded == 1
    assert point.iops.value == pytest.approx(200)
    assert point.iops.low is None
    assert load_point(CELL, [visit(1, discarded=read_reasons("x"))], {}) is None


def test_a_stream_without_io_did_zero():
    quiet = Visit(2, CELL.key, 1, 0, 1, 1, 0.0, (part("a", "read", 200, 1e6),), verdict=read_verdict("steady"))
    (a, b) = load_point(CELL, [visit(1), quiet], {}).streams
    assert a.iops == pytest.approx(100)
    assert b.iops == pytest.approx(50)


def test_watts_and_what_is_not_measured():
    point = load_point(CELL, [visit(1), visit(2)], {1: {"plug": 10.0}, 2: {"plug": 14.0}})
    curve = LoadCurve("t", (point,), 1 << 30, 10**12, target_meters=("plug",), idle_watts=(("plug", 8.0),))
    assert curve.efficiency(point) == (pytest.approx(200 / 12), pytest.approx(200 * 4096 / 12))
    assert curve.idle_bytes_per_watt == 10**12 / 8
    blind = LoadCurve("t", (point,), 1 << 30)
    assert blind.efficiency(point) is None
    assert blind.idle_bytes_per_watt is None
    assert blind.power == "not measured"
    # The client's own meter is no measure of the target.
    assert LoadCurve("t", (point,), 1 << 30, 10**12, idle_watts=(("plug", 8.0),)).idle_bytes_per_watt is None


def test_rows_of_the_map_tell_streams_apart():
    rows, visits = apart([CELL], [visit(1)])
    names = {key: cell.option[STREAM] for key, cell in rows.items()}
    assert set(names.values()) == {"a", "b", ALL}
    assert len(visits) == 3
    whole = next(one for one in visits if names[one.cell_key] == ALL)
    assert {p.direction: p.total_ios for p in whole.parts} == {"read": 200, "write": 200}


def test_parts_of_one_direction_are_added():
    (one,) = together([part("a", "read", 100, 1e6), part("c", "read", 300, 2e6)])
    assert one.total_ios == 400
    assert one.lat_mean_ns == pytest.approx(1.75e6)
    assert one.series.bw_bytes_per_s == (400 * 2048.0, 400 * 2048.0)
    assert one.histogram.bins == ((1_000_000, 100), (2_000_000, 300))
    assert mean_latency_ns(visit(1)) == pytest.approx(2e6)


def test_all_streams_together_have_no_one_block_size():
    other = Cell("t", (), streams=(CELL.streams[0], ("c", (("bs", 65536), ("rw", "read"), ("size", 1 << 20)))))
    rows, _ = apart([other, CELL], [])
    sizes = {(cell.option[STREAM], cell.option.get("bssplit"), cell.option.get("bs")) for cell in rows.values()}
    assert (ALL, "4096:65536", None) in sizes
    assert (ALL, None, 4096) in sizes
