# SPDX-License-Identifier: Apache-2.0
"""Logs of single I/Os: which loads have them, and latency from the time each I/O was due."""

import pytest

from ioatlas.load.fio.batch import Batch, Section, job_text
from ioatlas.load.fio.series import MOST_ROWS, logs_each_io, paced_iops, read_io_log
from ioatlas.model.cell import Cell
from ioatlas.model.visit import Histogram, Part, Series


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
