# SPDX-License-Identifier: Apache-2.0
"""Little's law over a visit: whatever a load does between its I/Os, what it counts is what it kept in flight."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioatlas.answer.analysis.estimates import window_values
from ioatlas.answer.analysis.findings import law_findings
from ioatlas.load.fio.collect import with_flush
from ioatlas.load.fio.figures import LatencyStats, buckets
from ioatlas.model.cell import Cell
from ioatlas.model.finding import FindingCode
from ioatlas.model.verdict import ReasonCode, VerdictCode
from ioatlas.model.visit import Histogram, Part, Series, Visit
from ioatlas.stats.gates import in_flight, judge_visit


def cell(**options):
    return Cell.of("t", {"rw": "randwrite", "bs": 4096, "numjobs": 1, "iodepth": 1, "ioengine": "psync", **options})


def part(ios, lat_ns, ms=1000, **more):
    return Part("write", ios * 4096, ios, ms, lat_ns, Histogram.from_counts({int(lat_ns): ios}), Series(20), **more)


def visit(*parts, cpu=1.0):
    return Visit(1, "k", 1, 0, 0, 1, 0.0, parts, cpu_percent=cpu)


def stats(values):
    bins = np.unique(buckets(np.asarray(values, dtype=np.int64)), return_counts=True)
    told = Histogram.from_counts(dict(zip(*(one.tolist() for one in bins), strict=True)))
    return LatencyStats(min(values), max(values), float(np.mean(values)), 0.0, len(values), (), told)


def run(load, rng, write_ns, flush_ns, ms):
    """What fio would say of a load: jobs of one I/O in flight each, which write, flush and think in turn."""
    every = int(load.option.get("fdatasync", 0))
    think, blocks = 1000 * int(load.option.get("thinktime", 0)), load.integer("thinktime_blocks", 1)
    writes, flushes, ends = [], [], []
    for _ in range(load.numjobs):
        now, done = 0.0, 0
        while now < ms * 1e6:
            writes.append(max(1.0, rng.exponential(write_ns)))
            now, done = now + writes[-1], done + 1
            if every and done % every == 0:
                flushes.append(max(1.0, rng.exponential(flush_ns)))
                now += flushes[-1]
            if think and done % blocks == 0:
                now += think
        ends.append(now / 1e6)
    told = part(len(writes), float(np.mean(writes)), max(ends))
    told = replace(told, histogram=stats(writes).histogram)
    return with_flush(told, stats(flushes) if flushes else None, load)


@given(
    st.integers(0, 2**31),
    st.integers(1, 4),
    st.sampled_from((0, 1, 2, 8)),
    st.sampled_from((0, 100, 3000)),
    st.sampled_from((60_000, 300_000)),
    st.sampled_from((5_000, 4_000_000)),
)
def test_what_a_load_counts_is_what_it_kept_in_flight(seed, jobs, every, think, write_ns, flush_ns):
    load = cell(numjobs=jobs, fdatasync=every, thinktime=think, thinktime_blocks=2)
    told = run(load, np.random.default_rng(seed), write_ns, flush_ns, 200)
    flight = in_flight((told,), load)
    assert (flight.missing, flight.beyond) == (0.0, False)
    if not think:
        # What is shown of a cell keeps the law by itself: throughput x the latency of a write with its flush.
        assert told.total_ios * told.lat_mean_ns / (told.runtime_ms * 1e6) == pytest.approx(jobs, rel=0.2)
    assert told.histogram.count == told.total_ios


def test_the_wait_of_a_flush_is_part_of_a_write():
    """137 writes a second, one in flight, take 7.3 ms each; 2.3 ms were told, and the rest was the client's."""
    load, flush = cell(fdatasync=1), stats([4_900_000] * 137 + [5_100_000] * 137)
    told = with_flush(part(274, 2.3e6, 2000), flush, load)
    assert told.lat_mean_ns == pytest.approx(7.3e6)
    assert told.lat_kind == "flushed"
    assert (told.flush.write_mean_ns, told.flush.mean_ns, told.flush.count) == (2.3e6, 5e6, 274)
    assert told.histogram.percentile_ns(99) == pytest.approx(7.4e6, rel=0.02)
    assert told.flush.write_histogram.percentile_ns(99) == 2.3e6
    assert judge_visit(visit(told), load).labels == ()
    (label,) = judge_visit(visit(part(274, 2.3e6, 2000)), cell()).labels
    assert label.code is VerdictCode.UNACCOUNTED, "without the flush nothing explains the rest"


def test_a_flush_every_few_writes_makes_some_of_them_late():
    told = with_flush(part(1000, 1e5), stats([9_900_000] * 50), cell(fdatasync=20))
    assert told.lat_mean_ns == pytest.approx(1e5 + 9.9e6 / 20)
    assert (told.histogram.count, told.histogram.percentile_ns(94)) == (1000, 99_840.0), "the middle of its bucket"
    assert told.histogram.percentile_ns(96) == pytest.approx(1e7, rel=0.02)
    assert with_flush(part(9, 1e5), stats([1e6] * 18), cell(fdatasync=1)).lat_mean_ns == pytest.approx(1.1e6)


def test_flushes_that_hold_up_the_queue_are_one_in_flight_at_most():
    """Fio 3.33 with libaio: 851 writes and 849 flushes in 2 s, the flushes said to take 0.9 s each."""
    load = cell(ioengine="libaio", iodepth=4, fdatasync=1)
    told = with_flush(part(851, 6_974_900.0, 2002), stats([923_445_800] * 849), load)
    assert (told.lat_kind, told.flush) == ("total", None)
    assert judge_visit(visit(told), load).labels == ()
    assert judge_visit(visit(part(851, 3e6, 2002)), load).labels[0].code is VerdictCode.UNACCOUNTED


@pytest.mark.parametrize("option", ["end_fsync", "fsync_on_close"])
def test_a_flush_at_the_end_is_time_without_ios(option):
    load = cell(**{option: 1})
    told = part(1000, 1e6, 1500)
    assert judge_visit(visit(told), load, asked_ms=1000).labels == ()
    ended = replace(told, series=Series(100, (100, 900), (1.0, 1.0), (1e6, 1e6)))
    assert judge_visit(visit(ended), load).labels == ()
    assert judge_visit(visit(told), cell(), asked_ms=1000).labels


def test_what_is_missing_is_the_clients_only_where_its_processor_explains_it():
    slow = part(10_000, 40_000.0)
    for cpu, waiting, code in (
        (55.0, None, VerdictCode.CLIENT_LIMITED),
        (5.0, 0.5, VerdictCode.CLIENT_LIMITED),
        (5.0, 0.2, VerdictCode.UNACCOUNTED),
        (5.0, None, VerdictCode.UNACCOUNTED),
    ):
        (label,) = judge_visit(visit(slow, cpu=cpu), cell(), waiting=waiting).labels
        assert label.code is code


def test_an_impossible_latency_is_caught():
    # 955 IOPS at depth 1 with a mean of 1.889 ms: 1.80 in flight, a published case of a broken clock.
    assert "1.80" in in_flight((part(9550, 1.889e6, 10_000),), cell()).sentence
    assert in_flight((part(9550, 1.889e6, 10_000),), cell()).beyond
    assert not in_flight((part(10_000, 100_000.0),), cell()).beyond
    assert in_flight((part(10_000, 85_000.0),), cell()).missing


def test_ios_in_flight_at_the_edges_are_allowed_for():
    # 8 slots of 100 ms in 1 s: each completes 9 or 10 I/Os, whether its last one is counted or not.
    for ios, wrong in ((60, True), (72, False), (88, False), (96, True)):
        flight = in_flight((part(ios, 1e8),), cell(iodepth=8))
        assert (bool(flight.missing) or flight.beyond) is wrong


@pytest.mark.parametrize(
    "numbers", [(100, None, 1000, 1), (100, 0.0, 1000, 1), (100, 1e6, 0, 1), (100, 1e6, 1000, 0), (0, 1e6, 1000, 1)]
)
def test_without_its_numbers_nothing_is_said(numbers):
    ios, lat_ns, ms, outstanding = numbers
    told = Part("write", 0, ios, ms, lat_ns, Histogram(), Series(20))
    assert in_flight((told,), cell(numjobs=outstanding)) is None


@pytest.mark.parametrize("options", [{"rate_iops": 100}, {"latency_target": "5ms"}, {"fsync": 1}, {"iodepth_low": 1}])
def test_where_nobody_knows_how_many_only_more_than_there_can_be_is_wrong(options):
    assert judge_visit(visit(part(1000, 1e5)), cell(**options)).labels == ()
    assert in_flight((part(1000, 2e6),), cell(**options)).beyond


def test_think_time_counts_for_each_job():
    load = cell(iodepth=4, thinktime="2ms", thinktime_blocks=2)
    assert judge_visit(visit(part(878, 2.8e5)), load).labels == ()
    assert judge_visit(visit(part(439, 2.8e5)), load).labels, "half of the time is nowhere"


def test_visits_that_contradict_themselves_are_one_finding():
    load = cell()
    short, beyond = visit(part(10_000, 10_000.0)), visit(part(10_000, 1e6))
    judged = [judge_visit(one, load) for one in (short, beyond)]
    visits = [
        replace(one, cell_key=load.key, verdict=(*report.labels, one.verdict)[0], discarded=report.discards)
        for one, report in zip((short, beyond), judged, strict=True)
    ]
    assert visits[1].discarded[0].code is ReasonCode.LITTLES_LAW
    (finding,) = law_findings({load.key: load}, visits)
    assert (finding.code, finding.cells, finding.target) == (FindingCode.LITTLES_LAW, (load.key,), "t")
    assert law_findings({load.key: load}, [visit(part(10_000, 1e5))]) == []


@given(st.lists(st.tuples(st.floats(1, 1e6), st.floats(0, 1e9)), min_size=3, max_size=20), st.integers(0, 19))
def test_a_cut_keeps_the_number_in_flight(intervals, cut):
    """Of real visits: 12.7 in flight were told after a cut, as a slow I/O stood in another interval than its bytes."""
    n = len(intervals)
    rates, latencies = zip(*intervals, strict=True)
    series = Series(10, tuple(10 * (place + 1) for place in range(n)), rates, latencies)
    told = replace(part(1000, 1e6, 10 * n), series=series, io_bytes=round(sum(rates) / 100))
    whole, rest = window_values(told), window_values(told, 10 * min(cut, n - 1))
    assert rest.iops * rest.lat_mean_ns == pytest.approx(whole.iops * whole.lat_mean_ns)
