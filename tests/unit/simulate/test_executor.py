# SPDX-License-Identifier: Apache-2.0
"""The simulated target through the doors that real fio comes by: job files in, batches read back."""

import math

import numpy as np
import pytest

from ioatlas.load.fio.batch import TURN_MS, Batch, Section, job_text
from ioatlas.load.fio.collect import read_batch
from ioatlas.load.fio.executor import Executor, LoadProcess
from ioatlas.load.fio.figures import bucket_value
from ioatlas.load.fio.process import Minder
from ioatlas.load.fio.replay import read_trace, write_trace
from ioatlas.load.streams.fixed_work import iozone_table
from ioatlas.model.cell import TRACE, TRACE_SECONDS, Cell
from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas.stats.gates import in_flight
from tests.simulate.device import Device, Interval, Load
from tests.simulate.executor import SimulatedExecutor
from tests.simulate.faults import Fault, FaultKind, Killed
from tests.simulate.law import Burst, Cache, Law, Way
from tests.simulate.output import buckets

KIB, MIB = 1 << 10, 1 << 20
QUIET = Law(read=Way(100e-6, 20_000, 400e6), write=Way(200e-6, 10_000, 200e6), jitter=0.0)


@pytest.fixture
def place(tmp_path):
    (tmp_path / "data").write_bytes(b"x" * MIB)
    (tmp_path / "batch").mkdir()
    return tmp_path


def cell(**options):
    given = {"rw": "randread", "bs": 4 * KIB, "size": MIB, "numjobs": 1, "iodepth": 1, "ioengine": "libaio", **options}
    return Cell.of("t", given)


def section(place, number=1, runtime_ms=490, gap_ms=10, **options):
    return Section(number, cell(**options), 7 + number, runtime_ms, gap_ms, (("filename", str(place / "data")),))


def process(place, limit=100.0):
    return LoadProcess(
        "fio",
        ("--output-format=json+", "--output=fio.json", "--eta=never", "job.fio"),
        place / "batch",
        "fio.err",
        limit,
    )


def run(executor: Executor, load, **given):
    return executor.run(load, Minder(**given))


def made(place, *sections, law=QUIET, faults=(), device=None, **given):
    """(how the process ended, results of the sections)."""
    (place / "batch" / "job.fio").write_text(job_text(Batch(1, place / "batch", sections)))
    executor = SimulatedExecutor(law, faults=faults, device=device)
    outcome = run(executor, process(place), **given)
    return outcome, read_batch(place / "batch", sections, 1, {}, {})


def iops(result, direction="read"):
    part = next(part for part in result.visit.parts if part.direction == direction)
    return part.total_ios / part.runtime_ms * 1000


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("depth", [1, 16])
@pytest.mark.parametrize("rw", ["randread", "write", "randrw"])
@pytest.mark.parametrize("more", [{}, {"rate_iops": 50}, {"number_ios": 300}, {"bs": MIB}])
def test_littles_law_holds_for_what_is_simulated(place, jobs, depth, rw, more):
    one = section(place, rw=rw, numjobs=jobs, iodepth=depth, **more)
    _, (result,) = made(place, one)
    flight = in_flight(result.visit.parts, one.cell)
    assert flight is None or (flight.missing, flight.beyond) == (0.0, False)
    assert flight is not None or "rate_iops" in more


def test_a_closed_loop_makes_what_latency_and_limits_allow(place):
    outcome, results = made(place, section(place, 1), section(place, 2, iodepth=32), section(place, 3, bs=MIB))
    assert (outcome.exit_code, outcome.stopped) == (0, "")
    assert [result.state for result in results] == ["finished"] * 3
    one, many, large = results
    alone = 100e-6 + 4096 / 400e6
    assert iops(one) == pytest.approx(1 / alone, rel=0.02)
    assert iops(many) == pytest.approx(20_000, rel=0.02)
    assert iops(large) == pytest.approx(400e6 / MIB, rel=0.05)
    for result, outstanding in ((one, 1), (many, 32)):
        (part,) = result.visit.parts
        assert part.lat_mean_ns * iops(result) / 1e9 == pytest.approx(outstanding, rel=0.02)
        assert sum(count for _, count in part.histogram.bins) == part.total_ios
        assert np.mean(part.series.bw_bytes_per_s) * part.runtime_ms / 1000 == pytest.approx(part.io_bytes, rel=0.05)


def test_jobs_of_a_section_add_up_and_a_mix_has_both_directions(place):
    _, (mixed,) = made(place, section(place, numjobs=4, iodepth=2, rw="randrw", rwmixread=70))
    read, write = iops(mixed), iops(mixed, "write")
    assert read / (read + write) == pytest.approx(0.7, abs=0.01)
    cost = 0.7 / 20_000 + 0.3 / 10_000
    assert read + write == pytest.approx(min(1 / cost, 8 / (0.7 * 110.24e-6 + 0.3 * 220.48e-6)), rel=0.02)
    means = {part.direction: part.lat_mean_ns for part in mixed.visit.parts}
    assert means["write"] - means["read"] == pytest.approx(110.24e3, rel=0.02)


class Uneven(Device):
    """One clone makes an I/O in the first 100 ms, the other one four, of which the log is late; then the load ends."""

    def make(self, jobs, now, limits):
        def rows(ios, seconds):
            end = Interval(0.49, {"read": 0.0}, {"read": 0.0})
            return [Interval(seconds, {"read": ios}, {"read": 2e-3}, seconds), end]

        clones = [rows(1.0, 0.1), rows(4.0, 0.16)]
        whole = rows(5.0, 0.16)
        return [Load(job, 0.0, 0.49, whole, clones=clones, latencies={"read": np.full(5, 2e-3)}) for job in jobs]


def test_clones_that_differ_have_rows_of_their_own(place):
    _, (result,) = made(place, section(place, numjobs=2), device=Uneven(QUIET))
    (part,) = result.visit.parts
    assert part.total_ios == 5
    assert part.lat_mean_ns == pytest.approx(2e6)
    rows = [line.split(", ")[:2] for line in (place / "batch" / "v1_bw.log").read_text().splitlines()]
    (first, one), (second, four) = rows
    assert int(second) - int(first) == 60
    assert (int(one), int(four)) == (40, 100), "KiB a second over its own 100 and 160 ms"


def test_a_cache_answers_what_fits(place):
    (place / "data").write_bytes(b"x" * 4 * MIB)
    law = Law(read=QUIET.read, caches=(Cache(2 * MIB, Way(10e-6, 1e6, 10e9)),), jitter=0.0)
    _, (inside, beyond) = made(place, section(place, 1, size=MIB), section(place, 2, size=4 * MIB), law=law)
    assert iops(inside) == pytest.approx(1 / (10e-6 + 4096 / 10e9), rel=0.02)
    assert iops(beyond) == pytest.approx(2 / (10e-6 + 4096 / 10e9 + 110.24e-6), rel=0.02)


def test_a_burst_ends_when_its_credit_is_spent_and_comes_back(place):
    law = Law(read=Way(1e-6, 1e6, 100e6), burst=Burst(50e6, 4.0, 1e6), jitter=0.0)
    _, (first, second) = made(
        place, section(place, 1, 990, bs=MIB, iodepth=4), section(place, 2, 990, bs=MIB, iodepth=4), law=law
    )
    rates = first.visit.parts[0].series.bw_bytes_per_s
    assert rates[1] == pytest.approx(400e6, rel=0.05)
    # A log's rows hold whole I/Os.
    assert sum(rates[-21:-1]) / 20 == pytest.approx(100e6, rel=0.05)
    assert sum(second.visit.parts[0].series.bw_bytes_per_s[5:25]) / 20 == pytest.approx(100e6, rel=0.05)


def test_a_ramp_a_stall_and_a_drift_show_in_the_series(place):
    ramp = Law(read=Way(1e-6, 10_000, 1e9), ramp_share=0.8, ramp_seconds=0.1, jitter=0.0)
    _, (result,) = made(place, section(place, 1, 990, iodepth=8), law=ramp)
    rates = result.visit.parts[0].series.bw_bytes_per_s
    assert rates[0] < 0.5 * rates[-1]
    stall = Law(read=Way(1e-6, 10_000, 1e9), stall_every_seconds=0.5, stall_seconds=0.1, jitter=0.0)
    _, (result,) = made(place, section(place, 1, 990, iodepth=8), law=stall)
    assert iops(result) == pytest.approx(8_000, rel=0.05)
    slower = Law(read=Way(1e-6, 10_000, 1e9), drift_per_hour=-3600 / 10, jitter=0.0)
    _, (first, second) = made(place, section(place, 1, 990, iodepth=8), section(place, 2, 990, iodepth=8), law=slower)
    assert iops(second) / iops(first) == pytest.approx(0.89, abs=0.02)


def test_noise_depends_on_the_visit_alone(place):
    law = Law(read=QUIET.read, noise=0.1)
    _, (one, two) = made(place, section(place, 1), section(place, 2), law=law)
    assert iops(one) != pytest.approx(iops(two), rel=0.001)
    _, (later,) = made(place, section(place, 2), law=law)
    assert later.visit.parts[0].total_ios == two.visit.parts[0].total_ios


def test_large_latencies_drain_late_and_overlap_the_neighbour(place):
    slow = Law(read=Way(0.3, 1e4, 1e9), jitter=0.0)
    _, results = made(place, section(place, 1, 390), section(place, 2, 390), law=slow)
    assert [result.state for result in results] == ["over-run", "over-run"]
    assert results[1].overlap_ms > 100


def test_a_paced_load_has_a_row_for_each_io_and_falls_behind_beyond_the_limit(place):
    law = Law(read=Way(100e-6, 1_000, 400e6), jitter=0.0)
    _, (kept, beyond) = made(place, section(place, 1, rate_iops=200), section(place, 2, 990, rate_iops=4000), law=law)
    assert iops(kept) == pytest.approx(200, rel=0.03)
    assert kept.overloaded == ""
    assert kept.visit.parts[0].lat_kind == "intended"
    assert iops(beyond) == pytest.approx(1_000, rel=0.03)
    assert beyond.overloaded
    assert beyond.visit.parts[0].lat_mean_ns > 50e6


def test_streams_share_the_target_and_keep_their_ratio(place):
    both = Cell(
        "t",
        (("phase", "a"),),
        streams=(
            ("fast", cell(iodepth=32, flow=3, flow_id=1).options),
            ("slow", cell(iodepth=32, rw="randwrite", flow=1, flow_id=1).options),
        ),
    )
    one = Section(1, both, 8, 990, 10, (("filename", str(place / "data")),))
    _, (result,) = made(place, one)
    by_stream = {part.stream: part.total_ios for part in result.visit.parts}
    assert by_stream["fast"] / by_stream["slow"] == pytest.approx(3.0, rel=0.01)
    cost = 0.75 / 20_000 + 0.25 / 10_000
    assert sum(by_stream.values()) / 0.99 == pytest.approx(1 / cost, rel=0.03)


def test_fixed_work_ends_when_it_is_done(place):
    one = section(place, 1, 3_600_000, bs=64 * KIB, io_size=16 * MIB, rw="read")
    outcome, (result,) = made(place, one)
    assert result.state == "finished"
    assert result.visit.parts[0].io_bytes == 16 * MIB
    each = 100e-6 + 65536 / 400e6
    assert result.visit.parts[0].runtime_ms == pytest.approx(1000 * 256 * each, rel=0.05)
    assert outcome.seconds < 1


def test_a_trace_is_replayed_at_its_times(place):
    trace = read_trace(
        "fio version 3 iolog\n" + "".join(f"{n * 1000} d read {n * 4096} 4096\n" for n in range(50)), "t"
    )
    directory = place / "batches" / "00001"
    directory.mkdir(parents=True)
    write_trace(place, trace, {4})
    replay = Cell.of(
        "t",
        {
            TRACE: trace.digest,
            TRACE_SECONDS: trace.seconds,
            "rw": "read",
            "bs": 4096,
            "size": MIB,
            "numjobs": 4,
            "ioengine": "psync",
        },
    )
    one = Section(1, replay, 7, 60_000, 0, (("filename", str(place / "data")),))
    (directory / "job.fio").write_text(job_text(Batch(1, directory, (one,))))
    load = LoadProcess("fio", ("--output=fio.json", "job.fio"), directory, "fio.err", 100.0)
    run(SimulatedExecutor(QUIET), load)
    (result,) = read_batch(directory, (one,), 1, {}, {})
    assert (result.state, result.reason) == ("finished", "")
    (part,) = result.visit.parts
    assert part.total_ios == 50
    assert part.lat_kind == "intended"
    assert 50e3 < part.lat_mean_ns < 2.5e6


def test_an_io_error_fails_its_section_alone(place):
    fault = Fault(FaultKind.IO_ERROR, jobs={"bs": "8192"})
    outcome, (good, bad) = made(place, section(place, 1), section(place, 2, bs=8 * KIB), faults=[fault])
    assert (good.state, bad.state) == ("finished", "failed")
    assert bad.visit.error == 5
    assert outcome.exit_code == 1
    assert "Input/output error" in outcome.stderr


def test_a_file_that_is_not_there_is_an_error_unless_it_may_be_made(place):
    (place / "data").unlink()
    _, (result,) = made(place, section(place))
    assert result.reason == "fio reported error 2 (No such file or directory)"
    layout = "[layout0]\nfilename=%s\nrw=write\nbs=1048576\nsize=%d\nioengine=libaio\nallow_file_create=1\n"
    for name, size in (("small", 2 * MIB), ("large", 512 * MIB)):
        (place / "batch" / "job.fio").write_text(layout % (place / name, size))
        assert run(SimulatedExecutor(QUIET), process(place)).exit_code == 0
        assert (place / name).stat().st_size == size
    assert (place / "large").stat().st_blocks < 1000
    (place / "batch" / "job.fio").write_text(layout % (place / "third", 2 * MIB))
    full = run(SimulatedExecutor(QUIET, faults=[Fault(FaultKind.NO_SPACE)]), process(place))
    assert full.exit_code == 1
    assert "No space left on device" in full.stderr
    assert (place / "third").stat().st_size == MIB


def test_a_stop_leaves_what_ran_so_far(place):
    spent = []
    outcome, (first, second) = made(
        place, section(place, 1), section(place, 2), tick=spent.append, stop_asked=lambda: len(spent) > 6
    )
    assert outcome.stopped == "asked"
    assert first.state == "finished"
    assert second.state == "cut-short"
    assert max(spent) == pytest.approx(outcome.seconds, abs=0.11)


def test_a_hang_is_overdue_and_virtual(place):
    fault = Fault(FaultKind.HANG)
    outcome, results = made(place, section(place), faults=[fault])
    assert outcome.stopped == "overdue"
    assert outcome.seconds >= 100
    assert results == []
    with pytest.raises(IoAtlasError, match="does not end, even when killed"):
        made(place, section(place), faults=[Fault(FaultKind.UNKILLABLE)])


def test_fio_may_fail_at_once_or_leave_half_an_output(place):
    outcome, results = made(place, section(place), faults=[Fault(FaultKind.EXIT, text="fio: bad option")])
    assert (outcome.exit_code, outcome.stderr, results) == (1, "fio: bad option", [])
    assert made(place, section(place), faults=[Fault(FaultKind.CUT_OUTPUT)])[1] == []


def test_a_death_may_come_at_every_step(place):
    (place / "batch" / "job.fio").write_text(job_text(Batch(1, place / "batch", (section(place),))))
    seen = []
    run(SimulatedExecutor(QUIET, moment=seen.append), process(place))
    assert seen[0] == "run"
    assert seen[-1] == "ended"

    def die(what):
        if what == "written in part":
            raise Killed

    (place / "batch" / "fio.json").unlink()
    with pytest.raises(Killed):
        run(SimulatedExecutor(QUIET, moment=die), process(place))
    assert not (place / "batch" / "fio.json").exists()


def test_iozones_table_is_read_back(place):
    words = [word for test in range(6) for word in ("-i", str(test))]
    arguments = (*words, "-c", "-e", "-I", "-s", "4096k", "-r", "64k", "-f", str(place / "made"))
    executor = SimulatedExecutor(QUIET)
    assert executor.find("iozone").version == "3.489"
    outcome = run(executor, LoadProcess("iozone", arguments, place / "batch", "iozone.txt", 1e6))
    assert outcome.exit_code == 0
    table = iozone_table((place / "batch" / "iozone.txt").read_text())
    assert (table.size_bytes, table.record_bytes, len(table.bytes_per_s)) == (4096 * KIB, 64 * KIB, 9)
    each = 100e-6 + 65536 / 400e6
    assert table.bytes_per_s["read"] == pytest.approx(65536 / each, rel=0.01)
    assert not (place / "made").exists()
    with pytest.raises(UsageError, match="iozone is not installed"):
        SimulatedExecutor(iozone=False).find("iozone")


def test_sections_start_at_ticks(place):
    _, results = made(place, *(section(place, number) for number in range(1, 5)))
    starts = [result.visit.started_at for result in results]
    gaps = np.diff(starts) * 1000
    assert all(math.isclose(gap, 5 * TURN_MS, abs_tol=TURN_MS + 2) for gap in gaps)


def test_latencies_lie_in_the_buckets_of_fio():
    middles = [bucket_value(number) for number in range(1800)]
    assert buckets(np.array(middles)).tolist() == middles
    edges = np.array([7, 127, 128, 129, 130, 255, 256, 259, 260, 1 << 40, (1 << 41) - 1])
    # Two wide from 128 on, four from 256 on, and so on.
    wide = [1, 1, 2, 2, 2, 2, 4, 4, 4, 1 << 34, 1 << 34]
    assert (edges // wide * wide + np.array(wide) // 2).tolist() == buckets(edges).tolist()
