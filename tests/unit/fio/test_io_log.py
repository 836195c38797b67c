# SPDX-License-Identifier: Apache-2.0
"""Logs of single I/Os, also of a replayed trace: which loads have them, and latency from the time each I/O was due."""

import pytest

from ioatlas.load.fio.batch import Batch, Section, job_text
from ioatlas.load.fio.replay import (
    MOST_IOS,
    TimedIo,
    Trace,
    lane_name,
    lane_of,
    lane_sections,
    lane_text,
    read_replay,
    read_trace,
    trace_text,
    write_trace,
)
from ioatlas.load.fio.series import MOST_ROWS, logs_each_io, paced_iops, read_io_log
from ioatlas.model.cell import Cell
from ioatlas.model.errors import UsageError
from ioatlas.model.visit import Histogram, Part, Series, Visit
from ioatlas.stats.gates import judge_visit
from tests.facts import has


def cell(**options):
    return Cell.of("t", {"rw": "randread", "bs": 4096, "size": 1 << 20, "numjobs": 1, "iodepth": 1, **options})


def test_constant_gaps_are_known_and_others_are_not():
    assert paced_iops(cell(rate_iops=200), "read") == 200
    assert paced_iops(cell(rate_iops="200,50", rw="randrw"), "write") == 50
    assert paced_iops(cell(rate=409600), "read") == 100
    assert paced_iops(cell(), "read") is None
    assert paced_iops(cell(rate_iops=200, rate_process="poisson"), "read") is None
    assert paced_iops(cell(rate_iops=200, thinktime=100), "read") is None
    assert paced_iops(cell(rate=409600, bssplit="4k/50:8k/50"), "read") is None
    assert paced_iops(cell(rate=409600, bsrange="4k-8k"), "read") is None
    assert paced_iops(cell(rate=409600, bs="4096,8192"), "read") is None
    assert paced_iops(cell(rate_iops=200, io_size=1 << 20), "read") is None


def test_a_log_of_every_io_is_bounded():
    assert logs_each_io(cell(rate_iops=1000), 10_000)
    assert not logs_each_io(cell(rate_iops=MOST_ROWS), 1_001)
    assert not logs_each_io(cell(rate_iops=MOST_ROWS // 4, numjobs=8), 1_000)
    assert not logs_each_io(cell(rate_iops="200,0", rw="randrw"), 1_000), "one direction is not paced"


def test_the_job_file_asks_for_it():
    text = job_text(
        Batch(1, None, (Section(1, cell(rate_iops=200), 7, 1000, 10, ()), Section(2, cell(), 7, 1000, 10, ())))
    )
    paced, closed = text.split("[v2]")
    assert "write_lat_log=v1" in paced
    assert "log_avg_msec" not in paced
    assert "log_avg_msec" in closed


def written(directory, jobs):
    rows = [f"{at_ms}, {latency}, 0, 4096, 0, 0" for job in jobs for at_ms, latency in job]
    (directory / "v1_lat.log").write_text("\n".join(rows) + "\n")


def part(ios):
    return Part("read", ios * 4096, ios, 1000, 1e6, Histogram(((1_000_000, ios),)), Series(0))


def test_what_waited_behind_a_stall_is_charged_from_the_time_it_was_due(tmp_path):
    """100 I/Os a second of 1 ms each; the 50th takes 200 ms, and the twenty due meanwhile start one after the other."""
    begin, rows, free, exact = 1_000_000.0, [], 0.0, 0.0
    for number in range(100):
        start = max(10.0 * number, free)
        free = start + (200.0 if number == 50 else 1.0)
        exact += (free - 10.0 * number) / 100
        rows.append((int(begin + free), int(1e6 * (free - start))))
    written(tmp_path, [rows, rows])
    log = read_io_log(tmp_path, "v1", cell(rate_iops=100, numjobs=2), interval_ms=100, runtime_ms=1000)
    assert len(log.open_loops["read"]) == 2
    told = log.intended(part(200))
    assert told.lat_kind == "intended"
    assert told.histogram.count == 200
    assert exact > 20, "fio itself would tell a mean of 3 ms"
    # Short by the log's millisecond, where an I/O was late.
    assert told.lat_mean_ns / 1e6 == pytest.approx(exact, abs=1.0)
    assert told.lat_mean_ns / 1e6 <= exact + 0.01
    assert log.overloaded == ""
    assert sum(log.series.by_direction["read"].bw_bytes_per_s) / 10 == pytest.approx(200 * 4096, rel=0.02)


def test_a_log_that_lacks_ios_changes_nothing(tmp_path):
    written(tmp_path, [[(1_000_000 + 10 * k, 1_000_000) for k in range(50)]])
    log = read_io_log(tmp_path, "v1", cell(rate_iops=100), interval_ms=100, runtime_ms=1000)
    assert log.intended(part(60)) == part(60)
    empty = read_io_log(tmp_path, "v2", cell(rate_iops=100), interval_ms=100, runtime_ms=1000)
    assert empty.intended(part(60)) == part(60)
    assert empty.series.start_ms is None


def test_a_generator_that_falls_behind_is_overloaded(tmp_path):
    written(tmp_path, [[(1_000_000 + 20 * k, 20_000_000) for k in range(1, 200)]])
    log = read_io_log(tmp_path, "v1", cell(rate_iops=100), interval_ms=100, runtime_ms=4000)
    assert "of the offered rate" in log.overloaded


def test_the_logs_milliseconds_are_no_lateness(tmp_path):
    """300 I/Os a second that are never late: their completions are known in whole milliseconds only."""
    written(tmp_path, [[(int(1_000_001.2 + k * 1000 / 300), 1_000_000) for k in range(300)]])
    log = read_io_log(tmp_path, "v1", cell(rate_iops=300), interval_ms=100, runtime_ms=1000)
    assert log.intended(part(300)).lat_mean_ns == 1e6


def test_intervals_without_an_io_have_no_latency_and_no_bytes(tmp_path):
    written(tmp_path, [[(1_000_050, 1_000_000), (1_000_090, 3_000_000), (1_000_350, 7_000_000)]])
    series = read_io_log(tmp_path, "v1", cell(rate_iops=10), interval_ms=100, runtime_ms=500).series
    read = series.by_direction["read"]
    assert (series.start_ms, series.end_ms) == (1_000_049, 1_000_350)
    assert read.end_ms == (100, 200, 300, 400, 500)
    assert read.lat_mean_ns == (2e6, 0, 0, 7e6, 0)
    assert read.bw_bytes_per_s == (81920, 0, 0, 40960, 0)


TRACE = Trace(tuple(TimedIo(10_000 * k, "read" if k % 2 else "write", 4096 * k, 4096) for k in range(100)))
"""100 I/Os, 10 ms apart."""
CELL = Cell.of(
    "t",
    {
        "trace": TRACE.digest,
        "trace_seconds": TRACE.seconds,
        "rw": "randrw",
        "bs": 4096,
        "size": 1 << 20,
        "numjobs": 4,
        "iodepth": 1,
    },
)


def logged(tmp_path, start_ms, latency_ms, offsets=lambda k: 4096 * k, made=100):
    """A campaign's directory with the logs of a batch in which I/O k starts at start_ms(k) and takes latency_ms(k)."""
    tmp_path.mkdir(exist_ok=True)
    write_trace(tmp_path, TRACE, {4})
    batch = tmp_path / "batches" / "00001"
    batch.mkdir(parents=True)
    for lane in range(4):
        rows = [
            f"{int(10**12 + start_ms(k) + latency_ms(k))}, {int(latency_ms(k) * 1e6)}, {0 if k % 2 else 1}, 4096, "
            f"{offsets(k)}, 0"
            for k in range(lane, made, 4)
        ]
        (batch / f"{lane_name('v1', lane)}_lat.log").write_text("\n".join(rows))
    return read_replay(batch, "v1", CELL)


def test_who_waits_in_a_late_lane_is_charged_for_it(tmp_path):
    # The target stands still from 200 to 500 ms: of four lanes each has one I/O in flight, the others are due and
    # cannot start.
    def start(k):
        return 10 * k if 10 * k < 240 or 10 * k >= 500 else 500

    def latency(k):
        return 500 - 10 * k if 200 <= 10 * k < 240 else 1

    log, state, _ = logged(tmp_path, start, latency)
    assert state == "finished"
    assert not log.overloaded  # what was late was made up for
    both = sorted(value / 1e6 for (loop,) in log.open_loops.values() for value in loop.latency_ns)
    # Truth: 1 ms for 70 of them, and 300, 290 ... 10 ms to the end of the stall.
    truth = sorted([1.0] * 70 + [500 - 10 * k + (1 if k >= 24 else 0) for k in range(20, 50)])
    assert both == pytest.approx(truth, abs=1.01)
    assert log.spent_ms == 991
    part = Part("read", 50 * 4096, 50, 5000, 1e6, Histogram(), Series(0), "total")
    charged = log.intended(part)
    assert charged.lat_kind == "intended"
    assert charged.runtime_ms == 991
    assert charged.lat_mean_ns > 40e6


def test_a_replay_that_stays_late_is_overloaded(tmp_path):
    log, state, _ = logged(tmp_path, lambda k: 10 * k if k < 50 else 10 * k + 60, lambda _: 1)
    assert state == "finished"
    assert "late by 59 ms at the end" in log.overloaded


def test_other_ios_than_the_traces_and_a_fio_that_does_not_wait_do_not_count(tmp_path):
    assert logged(tmp_path / "a", lambda k: 10 * k, lambda _: 1, offsets=lambda k: 8192 * k)[1:] == (
        "failed",
        "what fio replayed is not the trace",
    )
    assert "does not keep its times" in logged(tmp_path / "b", lambda k: k, lambda _: 1)[2]


def test_a_replay_that_was_stopped_is_made_again(tmp_path):
    """Asked to stop, fio ends its jobs and reports no error."""
    assert logged(tmp_path / "a", lambda k: 10 * k, lambda _: 1, made=30)[1:] == (
        "cut-short",
        "30 of 100 I/Os of the trace were made",
    )
    assert logged(tmp_path / "b", lambda k: 10 * k, lambda _: 1, made=0)[1] == "cut-short"


def test_lanes_are_jobs_of_one_group_that_take_all_from_their_log():
    jobs = lane_sections(
        "v1",
        {
            "filename": "/a b",
            "rw": "randrw",
            "bs": 4096,
            "size": 1 << 20,
            "numjobs": 4,
            "iodepth": 1,
            "trace": "x",
            "runtime": "9ms",
        },
        CELL,
    )
    assert [job.name for job in jobs] == ["v1", "v1-1", "v1-2", "v1-3"]
    assert ["new_group" in job.options for job in jobs] == [True, False, False, False]
    assert jobs[2].options == {
        "iodepth": 1,
        "runtime": "9ms",
        "replay_redirect": "/a b",
        "read_iolog": "../../trace/4/2",
        "write_lat_log": "v1-2",
        "log_offset": 1,
    }


def test_ios_of_several_sizes_pass_the_gates():
    part = Part("read", 3 * 4096 + 65536, 4, 1000, 1e6, Histogram(), Series(0), "intended")
    assert not judge_visit(Visit(1, CELL.key, 1, 0, 0, 1, 0.0, (part,)), CELL).discards


TWO_FILES = """fio version 3 iolog
7 /dev/sda add
7 /dev/sdb add
9 /dev/sda open
1000 /dev/sda read 4096 512
2500 /dev/sdb write 8192 4096
2500 /dev/sda datasync 0 0
9000 /dev/sda read 0 4096
9000 /dev/sda close
"""


def test_times_count_from_the_first_io_and_files_lie_one_after_the_other():
    trace = read_trace(TWO_FILES, "x")
    assert trace.ios == (
        TimedIo(0, "read", 4096, 512),
        TimedIo(1500, "write", (1 << 20) + 8192, 4096),
        TimedIo(8000, "read", 0, 4096),
    )
    has(trace, seconds=0.008, end_bytes=(1 << 20) + 12288, block_sizes=(512, 4096), directions=("read", "write"))
    assert "datasync" in trace.left_out[0]
    again = read_trace(trace_text(trace), "y")
    assert again.ios == trace.ios
    assert again.digest == trace.digest


def test_lanes_hold_every_io_once_and_wait_for_absolute_milliseconds():
    trace = read_trace(TWO_FILES, "x")
    lanes = [lane_of(trace, number, 2) for number in range(2)]
    assert {one for lane in lanes for one in lane} == set(trace.ios)
    assert sum(map(len, lanes)) == 3
    assert lane_text(lanes[0], 100).splitlines() == [
        "fio version 2 iolog",
        "data add",
        "data open",
        "data wait 100 0",
        "data read 4096 512",
        "data wait 108 0",
        "data read 0 4096",
        "data close",
    ]
    # 1.5 ms after the first: never before the trace's own time.
    assert "data wait 102 0" in lane_text(lanes[1], 100)


@pytest.mark.parametrize(
    ("text", "what", "line"),
    [
        ("", "no timed trace", 1),
        ("fio version 2 iolog\nf add\n", "has no times", 1),
        ("fio version 3 iolog\n1 f trim 0 4096\n", "'trim' is not replayed", 2),
        ("fio version 3 iolog\n\n1 f read 0\n", "lacks an offset or a length", 3),
        ("fio version 3 iolog\n1 f read 0 0\n", "lacks an offset or a length", 2),
        ("fio version 3 iolog\nf read 0 4096\n", "no line of a trace", 2),
        ("fio version 3 iolog\n-5 f read 0 4096\n", "no line of a trace", 2),
        ("fio version 3 iolog\n² f read 0 4096\n", "no line of a trace", 2),
        (f"fio version 3 iolog\n1 f read {'9' * 5000} 512\n", "lacks an offset or a length", 2),
    ],
)
def test_what_is_no_trace_is_refused_with_its_line(text, what, line):
    with pytest.raises(UsageError, match=what) as refused:
        read_trace(text, "t.iolog")
    assert refused.value.where == f"t.iolog:{line}"


def test_empty_and_endless_traces_are_refused():
    with pytest.raises(UsageError, match="holds no read and no write"):
        read_trace("fio version 3 iolog\n1 f add\n", "t")
    many = "".join(f"{k} f read 0 512\n" for k in range(MOST_IOS + 1))
    with pytest.raises(UsageError, match="more than 200,000 I/Os"):
        read_trace("fio version 3 iolog\n" + many, "t")
