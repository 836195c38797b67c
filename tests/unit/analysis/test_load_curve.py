# SPDX-License-Identifier: Apache-2.0
"""Load points from visits of several streams: totals, streams, intervals, watts; what fixed rate to size by."""

import random

import pytest

from ioatlas.answer.analysis.load_curve import (
    ALL,
    STREAM,
    Rate,
    RateState,
    advice,
    apart,
    load_point,
    mean_interval,
    mean_latency_ns,
    percentile_interval,
    rates_text,
    size_up,
    together,
)
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


W, B, X = RateState.WITHIN, RateState.BORDERLINE, RateState.OVER
MS = 1e6


def sized(*states, overloaded=()):
    return size_up([Rate(1000.0 * n, state, overloaded=n in overloaded) for n, state in enumerate(states, 1)])


@pytest.mark.parametrize(
    ("states", "safe", "borderline", "over"),
    [
        ((W, W, W), 3000, None, None),
        ((W, W, X), 2000, None, 3000),
        ((W, B, X, X), 1000, (2000, 2000), 3000),
        ((W, X, W, X), 1000, (2000, 3000), 4000),  # one that was too slow once makes higher ones doubtful
        ((W, W, B), 2000, (3000, 3000), None),
        ((B, W, X), None, (1000, 2000), 3000),
        ((X, X), None, None, 1000),
    ],
)
def test_a_rate_is_safe_when_all_below_it_are_and_too_much_when_all_above_are(states, safe, borderline, over):
    found = sized(*states)
    assert (found.safe_iops, found.borderline_iops, found.over_iops) == (safe, borderline, over)
    assert found.highest_iops == 1000 * len(states)


def test_the_order_of_rates_does_not_matter():
    rates = [Rate(1000.0 * n, state, overloaded=False) for n, state in enumerate((W, W, B, X), 1)]
    shuffled = list(rates)
    random.Random(3).shuffle(shuffled)
    assert size_up(shuffled) == size_up(rates)
    assert size_up([]) is None


@pytest.mark.parametrize(
    ("low", "high", "visits", "short", "state"),
    [
        (1, 4, 1, 0, W),
        (4, 6, 1, 0, B),
        (6, 7, 1, 0, X),
        (1, 4, 1, 1, X),
        (1, 4, 3, 1, B),  # carried twice of three times
        (1, 4, 3, 2, X),
        (None, None, 1, 0, B),
    ],
)
def test_a_rate_is_judged_by_the_ends_of_its_interval_and_by_what_was_carried(low, high, visits, short, state):
    ends = [None if end is None else end * MS for end in (low, high)]
    assert RateState.of(*ends, 5 * MS, n_visits=visits, n_overloaded=short) is state


def test_without_a_limit_only_overload_counts():
    assert RateState.of(9 * MS, 99 * MS, None, n_visits=1, n_overloaded=0) is W
    assert RateState.of(1 * MS, 1 * MS, None, n_visits=1, n_overloaded=1) is X


@pytest.mark.parametrize(
    ("found", "told", "do"),
    [
        (sized(W, B, B, X, overloaded=(4,)), "safe to 1000 IOPS, borderline 2000 to 3000, overloaded at 4000", "1000"),
        (sized(W, X), "safe to 1000 IOPS, over the limit at 2000", "1000"),
        (sized(W, W), "safe to 2000 IOPS, the highest rate tried", "2000"),
        (sized(X, X, overloaded=(1, 2)), "no rate tried was safe, overloaded at 1000", "less than 1000"),
    ],
)
def test_the_sentence_says_what_to_size_by(found, told, do):
    assert rates_text(found) == told
    assert f"for {do} IOPS" in advice(found)


def test_intervals_hold_the_truth_about_as_often_as_they_claim():
    """Exponential latencies, whose mean and percentile are known."""
    draw = random.Random(11)
    tail, middle, tries, n = 4.605 * MS, MS, 300, 1000
    held = [0, 0]
    for _ in range(tries):
        counts = {}
        for _ in range(n):
            value = round(draw.expovariate(1 / MS))
            counts[value] = counts.get(value, 0) + 1
        histogram = Histogram.from_counts(counts)
        low, high = percentile_interval(histogram, 99)
        held[0] += low <= tail <= high
        low, high = mean_interval(histogram)
        held[1] += low <= middle <= high
    assert all(0.91 * tries <= count <= 0.995 * tries for count in held)


def test_of_few_ios_the_slowest_bounds_the_percentile():
    histogram = Histogram.from_counts({1: 99, 50: 1})
    assert percentile_interval(histogram, 99) == (1.0, 50.0)
