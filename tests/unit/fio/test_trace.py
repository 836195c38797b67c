# SPDX-License-Identifier: Apache-2.0
"""Timed traces: read, laid side by side, dealt out to lanes; what is refused, and where."""

import pytest

from ioatlas.load.fio.replay import MOST_IOS, TimedIo, lane_of, lane_text, read_trace, trace_text
from ioatlas.model.errors import UsageError
from tests.facts import has

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
