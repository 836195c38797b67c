# SPDX-License-Identifier: Apache-2.0
"""Gates of a visit, backlog of paced loads, and the gates of several streams at once."""

import numpy as np
import pytest

from ioatlas.model.cell import Cell
from ioatlas.model.verdict import ReasonCode, Verdict, VerdictCode, read_verdict
from ioatlas.model.visit import Histogram, Part, Series, Visit
from ioatlas.stats import gates
from ioatlas.stats.gates import is_poisson, judge_streams, offered_by_direction, offered_iops, stream_backlog
from ioatlas.stats.openloop import backlog


def visit(
    *,
    total_ios=10_000,
    bs=4096,
    io_bytes=None,
    runtime_ms=1000,
    lat_ns=100_000.0,
    error=0,
    cpu=10.0,
    direction="read",
    short_ios=0,
):
    moved = total_ios * bs if io_bytes is None else io_bytes
    part = Part(direction, moved, total_ios, runtime_ms, lat_ns, Histogram(), Series(20), short_ios=short_ios)
    return Visit(1, "k", 1, 1, 0, 7, 0.0, (part,), error, cpu)


def cell(**options):
    return Cell.of("t", {"rw": "randread", "bs": 4096, "numjobs": 1, "iodepth": 1, **options})


PACED = {"rate_iops": 500, "rate_process": "poisson"}


@pytest.mark.parametrize(
    ("told", "options", "discards", "labels"),
    [
        ({}, {}, [], []),
        ({"io_bytes": 1}, {}, [ReasonCode.BYTES], []),
        ({"io_bytes": 12345}, {"bssplit": "4k/50:8k/50"}, [], []),
        ({"direction": "write", "bs": 8192}, {"rw": "randrw", "bs": "4096,8192"}, [], []),
        ({"direction": "read", "bs": 8192}, {"rw": "randrw", "bs": "4096,8192"}, [ReasonCode.BYTES], []),
        ({"total_ios": 0}, {}, [ReasonCode.NO_IO], []),
        # Little's law; of an open loop there is an upper bound only.
        ({"lat_ns": 95_000.0}, {}, [], []),
        ({"lat_ns": None}, {}, [], []),
        ({"lat_ns": float("nan")}, {}, [], []),
        ({"lat_ns": 150_000.0}, {}, [ReasonCode.LITTLES_LAW], []),
        ({"lat_ns": 10_000.0}, {"rate_iops": 10_000}, [], []),
        ({"lat_ns": 150_000.0}, {"rate_iops": 10_000}, [ReasonCode.LITTLES_LAW], []),
        # Offered rates: even gaps are held to 99%, random ones to what chance explains.
        ({"total_ios": 9000}, {"rate_iops": 10_000}, [], [VerdictCode.OVERLOADED]),
        ({"total_ios": 9895}, {"rate_iops": 10_000}, [], [VerdictCode.OVERLOADED]),
        ({"total_ios": 9950}, {"rate_iops": 10_000}, [], []),
        ({"total_ios": 480}, PACED, [], []),
        ({"total_ios": 350}, PACED, [], [VerdictCode.OVERLOADED]),
        ({"total_ios": 4800, "runtime_ms": 10_000}, PACED, [], []),
        ({"total_ios": 4600, "runtime_ms": 10_000}, PACED, [], [VerdictCode.OVERLOADED]),
    ],
)
def test_a_visit_is_discarded_or_labelled_by_what_it_says(told, options, discards, labels):
    asked_ms = 1000 if told.get("runtime_ms", 0) < 10_000 else 10_000
    report = gates.judge_visit(visit(**told), cell(**options), asked_ms=asked_ms, ceilings={"read": (1e9, "the link")})
    assert [reason.code for reason in report.discards] == discards
    assert [label.code for label in report.labels] == labels


def test_without_a_block_size_it_is_fios_4_kib():
    assert not gates.judge_visit(visit(), Cell.of("t", {"rw": "randread", "iodepth": 1})).discards


def test_bytes_must_be_ios_times_block_size():
    assert gates.bytes_gate(4096 * 1000, 1000, 4096) == ""
    assert gates.bytes_gate(4096 * 1000 + 4096, 1000, 4096) == ""
    assert "99.0%" in gates.bytes_gate(4096 * 990, 1000, 4096)
    assert gates.bytes_gate(4096 * 998, 1000, 4096, short_ios=2) == ""


def test_reasons_say_what_was_seen():
    (late,) = gates.judge_visit(visit(total_ios=350), cell(**PACED)).labels
    assert late.text.startswith("overloaded: 70.0%")
    assert "95%" in gates.generator_cpu_gate(95)
    assert "100.6%" in gates.ceiling_gate(100.6, 100.0, name="1 GbE")


def test_offered_rates_are_those_of_all_jobs():
    assert gates.offered_in(cell(rate_iops="100,50", numjobs=4, rw="randrw"), "write") == 200
    assert gates.offered_in(cell(rate_iops=100, rw="randwrite"), "write") == 100
    assert gates.offered_in(cell(rate=4096 * 100, numjobs=2), "read") == 200
    assert gates.offered_in(cell(), "read") is None
    assert gates.offered_in(cell(rate=1 << 20, bssplit="4k/50:8k/50"), "read") is None


def test_limits_belong_to_what_passes_but_for_the_generators_and_without_numbers_a_gate_passes():
    assert gates.ceiling_gate(gates.CEILING_LIMIT, 1.0) == ""
    assert gates.ceiling_gate(5.0, 0.0) == gates.ceiling_gate(5.0, None) == ""
    assert gates.overload_gate(990, 1000) == ""
    assert gates.overload_gate(989, 1000)
    assert gates.generator_cpu_gate(80.0)
    assert gates.generator_cpu_gate(79.9) == gates.generator_cpu_gate(None) == ""


def test_fewer_in_flight_than_asked_is_the_clients_and_more_is_impossible():
    slow = gates.judge_visit(visit(lat_ns=50_000.0, cpu=95.0), cell())
    assert not slow.discards
    assert [label.code for label in slow.labels] == [VerdictCode.CLIENT_LIMITED] * 2
    assert "95% CPU" in slow.labels[1].text
    assert "1.50" in gates.judge_visit(visit(lat_ns=150_000.0), cell()).discards[0].sentence


def test_a_visits_ceiling_is_in_bytes_a_second():
    two_seconds = visit(total_ios=20_000, runtime_ms=2000, lat_ns=100_000.0)
    (reason,) = gates.judge_visit(two_seconds, cell(), ceilings={"read": (40e6, "the link")}).discards
    assert (reason.code, reason.sentence) == (ReasonCode.CEILING, "ceiling: 102.4% of the link")
    assert not gates.judge_visit(two_seconds, cell(), ceilings={"read": (41e6, "the link")}).discards
    assert not gates.judge_visit(two_seconds, cell(), ceilings={"write": (1.0, "the link")}).discards


def mixed(read_ios, write_ios, **more):
    parts = [
        Part(direction, ios * 4096, ios, 1000, 100_000.0, Histogram(), Series(20))
        for direction, ios in (("read", read_ios), ("write", write_ios))
    ]
    return Visit(1, "k", 1, 1, 0, 7, 0.0, tuple(parts), 0, 10.0), cell(rw="randrw", **more)


@pytest.mark.parametrize(
    ("ios", "options", "labels"),
    [
        ((2000, 1000), {"rate_iops": "1000,500", "numjobs": 2}, ()),
        ((2000, 900), {"rate_iops": "1000,500", "numjobs": 2}, ("overloaded: 90.0% of the offered rate achieved",)),
        ((1800, 1000), {"rate_iops": "1000,500", "numjobs": 2}, ("overloaded: 90.0% of the offered rate achieved",)),
        ((1000, 1000), {"rate_iops": 1000}, ()),
        ((1000, 0), {"rate_iops": "1000,"}, ()),
        ((1000, 800), {"rate": 4096 * 1000}, ("overloaded: 80.0% of the offered rate achieved",)),
    ],
)
def test_each_direction_has_its_rate(ios, options, labels):
    assert gates.judge_visit(*mixed(*ios, **options)).labels == tuple(map(read_verdict, labels))


def test_a_client_that_keeps_fewer_in_flight_was_judged_by_littles_law():
    report = gates.judge_visit(visit(lat_ns=50_000.0, cpu=40.0), cell())
    assert not report.discards
    assert report.labels == (
        Verdict(
            VerdictCode.CLIENT_LIMITED,
            "Little's law: IOPS x mean latency = 0.50 in flight, 1 kept in flight (ratio 0.50)",
        ),
    )


def test_a_discarded_visit_says_what_was_moved():
    (reason,) = gates.judge_visit(visit(io_bytes=4096), cell()).discards
    assert reason.sentence == f"bytes: 4096 moved, 10000 I/Os x 4096 = 40960000 ({4096 / 40960000:.1%})"


def streams(**more):
    reader = {"rw": "randread", "bs": 4096, "size": 1 << 20, "iodepth": 8, **more}
    writer = {"rw": "write", "bs": 8192, "size": 1 << 20, "iodepth": 4, **more}
    return Cell("t", (), streams=(("r", tuple(sorted(reader.items()))), ("w", tuple(sorted(writer.items())))))


def part(stream, direction, ios, bs, latency_ns, ms=2000):
    return Part(
        direction, ios * bs, ios, ms, latency_ns, Histogram(((int(latency_ns), ios),)), Series(0), "total", 0, 0, stream
    )


def of_streams(*parts, **more):
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
    fine = of_streams(part("r", "read", 8000, 4096, 2e6), part("w", "write", 4000, 8192, 2e6))
    assert not judge_streams(fine, streams()).discards
    odd = of_streams(part("r", "read", 8000, 8192, 2e6), part("w", "write", 4000, 8192, 2e6))
    assert [reason.sentence.split(":")[0] for reason in judge_streams(odd, streams()).discards] == ["r"]


def test_littles_law_holds_for_free_streams_only():
    # The writer keeps 1 of 4 in flight.
    slow = of_streams(part("r", "read", 8000, 4096, 2e6), part("w", "write", 1000, 8192, 2e6))
    for waiting, code in ((0.7, VerdictCode.CLIENT_LIMITED), (0.0, VerdictCode.UNACCOUNTED)):
        (label,) = judge_streams(slow, streams(), waiting=waiting).labels
        assert label.code is code
        assert "(w)" in label.text
    assert not judge_streams(slow, streams(flow=1, flow_id=1)).labels


def test_one_late_stream_labels_the_visit():
    cell = streams(rate_iops=1000, rate_process="poisson")
    report = judge_streams(of_streams(part("r", "read", 2000, 4096, 1e6), part("w", "write", 900, 8192, 1e6)), cell)
    assert not report.discards
    assert report.labels[0].text.startswith("overloaded")
    assert any("(w)" in label.text for label in report.labels)
    assert stream_backlog(cell, (), 2.0).overloaded


def test_silence_discards():
    assert [one.code for one in judge_streams(of_streams(), streams()).discards] == [ReasonCode.NO_IO]


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
    late = judge_streams(of_streams(part("r", "read", 900, 4096, 1e6), part("w", "write", 900, 8192, 1e6)), cell)
    assert [label.code for label in late.labels] == [VerdictCode.OVERLOADED] * 3
    assert "(" not in late.labels[0].text
    assert ["(r)" in late.labels[1].text, "(w)" in late.labels[2].text] == [True, True]
    assert "1100 I/Os behind" in late.labels[1].text
    busy = judge_streams(
        of_streams(part("r", "read", 4000, 4096, 2e6), part("w", "write", 1000, 8192, 2e6), cpu_percent=95.0), streams()
    )
    assert ["(r)" in label.text or "(w)" in label.text for label in busy.labels] == [True, True, False]
    assert "95% CPU" in busy.labels[2].text


def test_a_silent_stream_does_not_hide_the_next_one():
    odd = judge_streams(of_streams(part("w", "write", 4000, 4096, 2e6)), streams())
    assert [reason.sentence.split(":")[0] for reason in odd.discards] == ["w"]


def test_one_stream_with_random_arrivals_makes_the_whole_random():
    reader = {"rw": "randread", "bs": 4096, "size": 1 << 20, "rate_iops": 1000, "rate_process": "poisson"}
    writer = {"rw": "write", "bs": 8192, "size": 1 << 20, "rate_iops": 1000}
    cell = Cell("t", (), streams=(("r", tuple(reader.items())), ("w", tuple(writer.items()))))
    even = Cell("t", (), streams=(("w", tuple(writer.items())),))
    assert (is_poisson(cell), is_poisson(even)) == (True, False)


def test_a_busy_client_is_told_after_the_whole_and_before_nothing():
    cell = streams(rate_iops=1000)
    told = judge_streams(
        of_streams(part("r", "read", 1000, 4096, 1e6), part("w", "write", 2000, 8192, 1e6), cpu_percent=95.0), cell
    )
    assert [label.code for label in told.labels] == [VerdictCode.OVERLOADED] * 2 + [VerdictCode.CLIENT_LIMITED]


def test_each_job_of_each_direction_may_wait_for_its_next_io():
    member = Cell.of("t", {"rw": "randrw", "rate_iops": "500,500", "numjobs": 4})
    assert stream_backlog(member, (), 2.0).chance == pytest.approx(4 * 2 + 0.05 * 4000)
