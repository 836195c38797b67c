# SPDX-License-Identifier: Apache-2.0
"""Backlog of paced loads, and the gates of several streams at once."""

import numpy as np
import pytest

from ioatlas.model.cell import Cell
from ioatlas.model.verdict import Reason, ReasonCode, VerdictCode
from ioatlas.model.visit import Histogram, Part, Series, Visit
from ioatlas.stats.gates import is_poisson, judge_streams, offered_by_direction, offered_iops, stream_backlog
from ioatlas.stats.openloop import backlog


def streams(**more):
    reader = {"rw": "randread", "bs": 4096, "size": 1 << 20, "iodepth": 8, **more}
    writer = {"rw": "write", "bs": 8192, "size": 1 << 20, "iodepth": 4, **more}
    return Cell("t", (), streams=(("r", tuple(sorted(reader.items()))), ("w", tuple(sorted(writer.items())))))


def part(stream, direction, ios, bs, latency_ns, ms=2000):
    return Part(
        direction, ios * bs, ios, ms, latency_ns, Histogram(((int(latency_ns), ios),)), Series(0), "total", 0, 0, stream
    )


def visit(*parts, **more):
    return Visit(1, "k", 1, 0, 0, 1, 0.0, parts, **more)


def test_poisson_arrivals_are_not_called_late_by_chance():
    rng = np.random.default_rng(1)
    for rate in (20, 500, 20_000):
        late = sum(backlog(int(rng.poisson(rate * 2.0)), rate, 2.0, poisson=True).overloaded for _ in range(2000))
        assert late <= 2


def test_a_generator_that_fell_behind_is_seen():
    for rate in (500, 20_000):
        assert backlog(int(rate * 2 * 0.8), rate, 2.0, poisson=True).overloaded
    told = backlog(1600, 1000, 2.0, poisson=False)
    assert told.overloaded
    assert told.behind == 400
    assert told.reason.startswith("80.0%")
    assert not backlog(1990, 1000, 2.0, poisson=False).overloaded


def test_offered_rates_add_up_over_jobs_and_directions():
    assert offered_by_direction(Cell.of("t", {"rw": "randrw", "rate_iops": "70,30", "numjobs": 2})) == {
        "read": 140.0,
        "write": 60.0,
    }
    assert offered_by_direction(Cell.of("t", {"rw": "write", "rate_iops": 50})) == {"write": 50.0}
    assert offered_by_direction(Cell.of("t", {"rw": "read"})) == {}
    assert offered_iops(streams(rate_iops=100)) == 200


def test_each_stream_is_judged_by_its_own_block_size():
    fine = visit(part("r", "read", 8000, 4096, 2e6), part("w", "write", 4000, 8192, 2e6))
    assert not judge_streams(fine, streams()).discards
    odd = visit(part("r", "read", 8000, 8192, 2e6), part("w", "write", 4000, 8192, 2e6))
    assert [reason.sentence.split(":")[0] for reason in judge_streams(odd, streams()).discards] == ["r"]


def test_littles_law_holds_for_free_streams_only():
    # The writer keeps 1 of 4 in flight.
    slow = visit(part("r", "read", 8000, 4096, 2e6), part("w", "write", 1000, 8192, 2e6))
    for waiting, code in ((0.7, VerdictCode.CLIENT_LIMITED), (0.0, VerdictCode.UNACCOUNTED)):
        (label,) = judge_streams(slow, streams(), waiting=waiting).labels
        assert label.code is code
        assert "(w)" in label.text
    assert not judge_streams(slow, streams(flow=1, flow_id=1)).labels


def test_one_late_stream_labels_the_visit():
    cell = streams(rate_iops=1000, rate_process="poisson")
    report = judge_streams(visit(part("r", "read", 2000, 4096, 1e6), part("w", "write", 900, 8192, 1e6)), cell)
    assert not report.discards
    assert report.labels[0].text.startswith("overloaded")
    assert any("(w)" in label.text for label in report.labels)
    assert stream_backlog(cell, (), 2.0).overloaded


@pytest.mark.parametrize(("more", "reason"), [({"error": 5}, "error"), ({}, "no I/O")])
def test_errors_and_silence_discard(more, reason):
    parts = () if reason == "no I/O" else (part("r", "read", 8000, 4096, 2e6), part("w", "write", 4000, 8192, 2e6))
    assert any(told.sentence.startswith(reason) for told in judge_streams(visit(*parts, **more), streams()).discards)


def test_what_is_in_flight_and_what_waits_is_not_behind():
    told = backlog(1900, 1000, 2.0, poisson=False, lat_mean_ns=1e8, jobs=3)
    assert (told.due, told.behind, told.chance, told.overloaded) == (2000, 100, 3 + 100 + 50, False)
    assert backlog(1900, 1000, 2.0, poisson=True).chance == pytest.approx(4 * 2000**0.5 + 1 + 50)
    assert backlog(1000, 1000, 2.0, poisson=False, lat_mean_ns=1e8).chance == 51, (
        "half is missing: no latency excuses it"
    )
    assert backlog(2100, 1000, 2.0, poisson=False).behind == 0


def test_a_streams_latency_counts_for_its_backlog():
    member = Cell.of("t", {"rw": "read", "rate_iops": 1000})
    held = (part("", "read", 1000, 4096, 3e8), part("", "read", 750, 4096, 0.5e8))
    told = stream_backlog(member, held, 2.0)
    assert told.chance == pytest.approx(1 + 1000 * (1000 * 0.3 + 750 * 0.05) / 1750 + 50)
    assert stream_backlog(member, (), 0.0) is None
    assert stream_backlog(Cell.of("t", {"rw": "read"}), held, 2.0) is None
    poisson = Cell.of("t", {"rw": "read", "rate_iops": 1000, "rate_process": "poisson"})
    assert stream_backlog(poisson, held, 2.0).chance > told.chance + 100


def test_every_stream_is_told_and_the_whole_first():
    cell = streams(rate_iops=1000)
    late = judge_streams(visit(part("r", "read", 900, 4096, 1e6), part("w", "write", 900, 8192, 1e6)), cell)
    assert [label.code for label in late.labels] == [VerdictCode.OVERLOADED] * 3
    assert "(" not in late.labels[0].text
    assert ["(r)" in late.labels[1].text, "(w)" in late.labels[2].text] == [True, True]
    assert "1100 I/Os behind" in late.labels[1].text
    busy = judge_streams(
        visit(part("r", "read", 4000, 4096, 2e6), part("w", "write", 1000, 8192, 2e6), cpu_percent=95.0), streams()
    )
    assert ["(r)" in label.text or "(w)" in label.text for label in busy.labels] == [True, True, False]
    assert "95% CPU" in busy.labels[2].text


def test_a_silent_stream_does_not_hide_the_next_one():
    odd = judge_streams(visit(part("w", "write", 4000, 4096, 2e6)), streams())
    assert [reason.sentence.split(":")[0] for reason in odd.discards] == ["w"]


def test_the_runtime_is_the_longest_of_all_streams():
    fine = visit(part("r", "read", 8000, 4096, 2e6), part("w", "write", 4000, 8192, 2e6))
    assert not judge_streams(fine, streams(), asked_ms=2000).discards
    assert judge_streams(fine, streams(), asked_ms=4000).discards == (
        Reason(ReasonCode.RUNTIME, "runtime: 2000 ms of 4000 ms asked"),
    )


def test_one_stream_with_random_arrivals_makes_the_whole_random():
    reader = {"rw": "randread", "bs": 4096, "size": 1 << 20, "rate_iops": 1000, "rate_process": "poisson"}
    writer = {"rw": "write", "bs": 8192, "size": 1 << 20, "rate_iops": 1000}
    cell = Cell("t", (), streams=(("r", tuple(reader.items())), ("w", tuple(writer.items()))))
    even = Cell("t", (), streams=(("w", tuple(writer.items())),))
    assert (is_poisson(cell), is_poisson(even)) == (True, False)


def test_a_busy_client_is_told_after_the_whole_and_before_nothing():
    cell = streams(rate_iops=1000)
    told = judge_streams(
        visit(part("r", "read", 1000, 4096, 1e6), part("w", "write", 2000, 8192, 1e6), cpu_percent=95.0), cell
    )
    assert [label.code for label in told.labels] == [VerdictCode.OVERLOADED] * 2 + [VerdictCode.CLIENT_LIMITED]


def test_each_job_of_each_direction_may_wait_for_its_next_io():
    member = Cell.of("t", {"rw": "randrw", "rate_iops": "500,500", "numjobs": 4})
    assert stream_backlog(member, (), 2.0).chance == pytest.approx(4 * 2 + 0.05 * 4000)
