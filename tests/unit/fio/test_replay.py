# SPDX-License-Identifier: Apache-2.0
"""Logs of a replayed trace become latencies from the time each I/O was due."""

import pytest

from ioatlas.load.fio.replay import TimedIo, Trace, lane_name, lane_sections, read_replay, write_trace
from ioatlas.model.cell import Cell
from ioatlas.model.visit import Histogram, Part, Series, Visit
from ioatlas.stats.gates import judge_visit

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
