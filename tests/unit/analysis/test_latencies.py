# SPDX-License-Identifier: Apache-2.0
"""Percentiles and courses of visits, as people look at them; what was written before a visit."""

from ioatlas.answer.analysis.footprints import with_history, written_before
from ioatlas.answer.analysis.latencies import FEWEST_BEYOND, MOST_POINTS, latency_curves, time_courses
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.result import PERCENTS
from ioatlas.model.verdict import VerdictCode, read_reasons, read_verdict
from ioatlas.model.visit import Histogram, Part, Purpose, Series, Visit

CELL = Cell.of("t", {"rw": "read", "bs": 4096, "size": 1 << 20})
CELLS = {CELL.key: CELL}


def visit(number, bins=(), rates=(), latencies=None, **more):
    ios = sum(n for _, n in bins)
    ends = tuple(10 * (i + 1) for i in range(len(rates)))
    series = Series(10, ends, tuple(rates), tuple(latencies or [1e5] * len(rates)))
    part = Part("read", ios * 4096, ios, 500, 1e5, Histogram(tuple(bins)), series)
    fields = {"purpose": Purpose.SWEEP, "discarded": (), "verdict": read_verdict("flat"), "window_start_ms": 0, **more}
    return Visit(number, CELL.key, 1, 0, number, number, 100.0 + number, (part,), **fields)


def test_percentiles_are_over_the_ios_of_the_kept_visits_of_the_sweep():
    kept = [visit(1, [(100, 500)]), visit(2, [(900, 500)])]
    others = [visit(3, [(5, 10**6)], discarded=read_reasons("error: 5")), visit(4, [(7, 10**6)], purpose=Purpose.FRESH)]
    [curve] = latency_curves(CELLS, [*kept, *others])
    at = dict(zip(PERCENTS, curve.latencies_ns, strict=True))
    assert curve.n_ios == 1000
    assert (at[25], at[50], at[75], at[99]) == (100, 100, 900, 900)


def test_a_percentile_with_too_few_ios_beyond_it_is_not_told():
    [curve] = latency_curves(CELLS, [visit(1, [(100, FEWEST_BEYOND * 100)])])
    at = dict(zip(PERCENTS, curve.latencies_ns, strict=True))
    assert at[1] is not None
    assert at[99] is not None
    assert at[99.9] is None
    assert latency_curves(CELLS, [visit(1, [])]) == ()


def test_courses_are_those_of_the_result_in_order_the_discarded_ones_too():
    [first, second] = time_courses(
        CELLS,
        [
            visit(1, rates=[1e8, 2e8], window_start_ms=10),
            visit(2, rates=[3e8], discarded=read_reasons("overlapped its neighbour by 3 ms")),
            visit(3, rates=[9e9], purpose=Purpose.PROBE),
        ],
    )
    assert (first.started_seconds, first.cut_ms, first.end_ms) == (0.0, 10, (10, 20))
    assert (first.verdict, first.discarded) == ("steady", "")
    assert (second.started_seconds, second.discarded) == (1.0, "overlapped its neighbour")


def test_long_courses_join_neighbours_without_losing_bytes_or_latency():
    n = MOST_POINTS * 3 - 1
    rates, latencies = [1e6 * (i % 7) for i in range(n)], [1e3 * (1 + i % 5) if i % 7 else 0.0 for i in range(n)]
    [course] = time_courses(CELLS, [visit(1, rates=rates, latencies=latencies)])
    assert len(course.end_ms) == MOST_POINTS
    assert course.end_ms[-1] == n * 10
    widths = [b - a for a, b in zip((0, *course.end_ms), course.end_ms, strict=False)]
    assert round(sum(w * r for w, r in zip(widths, course.bw_bytes_per_s, strict=True))) == round(10 * sum(rates))
    assert course.lat_mean_ns[0] == sum(r * ns for r, ns in zip(rates[:3], latencies[:3], strict=True)) / sum(rates[:3])


MIB = 1 << 20


def a_cell(rw, size=64 * MIB, state="filled", **options):
    return Cell.of("t", {"rw": rw, "bs": 65536, "size": size, **options}, state=state)


def written(number, of, direction, mib, at, purpose=Purpose.SWEEP, discarded=""):
    part = Part(direction, int(mib * MIB), max(1, int(mib * 16)), 1000, 1e6, Histogram(), Series(0))
    return Visit(number, of.key, 1, 0, number, number, at, (part,), purpose=purpose, discarded=read_reasons(discarded))


def place(of):
    return of.target


def test_writes_count_from_the_preparation_on_and_only_where_they_overlap():
    whole, half, writer = a_cell("read"), a_cell("randread", 32 * MIB), a_cell("randwrite")
    cells = {each.key: each for each in (whole, half, writer)}
    visits = [
        written(1, whole, "read", 10, 1.0),
        written(2, writer, "write", 100, 2.0, discarded="a gate refused it"),
        written(3, whole, "read", 10, 3.0),
        written(4, half, "read", 10, 4.0),
        written(5, whole, "read", 10, 6.0),
    ]
    found = written_before(cells, visits, place, {"t": [0.5, 5.0]})
    assert found[1].total_bytes == 0
    assert found[3].random_bytes == 100 * MIB  # what a discarded visit wrote is written all the same
    assert found[4].total_bytes == 50 * MIB  # half of the range, half of the bytes
    assert found[5].total_bytes == 0  # written over in full at 5.0


def test_a_read_of_nothing_is_marked_and_a_first_write_is_told():
    reader, writer = a_cell("read", state="fresh"), a_cell("write", state="fresh")
    visits = [written(1, reader, "read", 10, 1.0), written(2, writer, "write", 128, 2.0)]
    estimates = [
        Estimate(reader, "read", "measured", 1, 1e9, verdict=VerdictCode.STEADY),
        Estimate(writer, "write", "measured", 1, 1e9, verdict=VerdictCode.STEADY),
    ]
    marked = with_history(estimates, visits, {})
    assert marked[0].verdict is VerdictCode.HOLE
    assert marked[1].verdict == "steady"
    assert "2 times its length" in marked[1].notes[0]
