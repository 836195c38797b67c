# SPDX-License-Identifier: Apache-2.0
"""What is seen while a campaign works: a bar with an honest rest, what is measured now, plain lines elsewhere."""

import signal
import subprocess
import sys

import pytest

from ioatlas.cli import _live
from ioatlas.cli._live import PLAIN_SECONDS, PlainLines, Progress, TerminalLine
from ioatlas.measure.run.live import axes_of
from ioatlas.model.cell import Cell
from ioatlas.model.outcomes import Event
from tests.unit.simulated import LAW, World

pytestmark = pytest.mark.usefixtures("no_law")

SWEEP = """
visits = 3
window = "500ms"
{budget}
[target]
path = "TARGET"
[sweep]
rw = ["randread", "write"]
bs = ["4k", "64k", "1m"]
size = "8m"
numjobs = [1, 4, 16]
"""


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("live"), LAW)
    summary = world.run(SWEEP.format(budget=""))
    return world.events, summary


def test_the_rest_is_honest_after_a_tenth(campaign):
    events, summary = campaign
    progress = [event.fields for event in events if event.name == "progress"]
    late = [one for one in progress if one["elapsed_seconds"] >= 0.1 * summary.seconds]
    assert len(late) > 3
    for one in late:
        left = one["seconds_left"] - one["batch_seconds"]
        assert one["elapsed_seconds"] + left == pytest.approx(summary.seconds, rel=0.2), one


def test_what_is_measured_now_is_told(campaign):
    events, _ = campaign
    shown = Progress()
    lines = [shown.line(bar=True) for event in events if shown.take(event) is not None]
    assert any("now randread 4 KiB x4" in line for line in lines)
    assert any("visits, " in line and " left" in line and "at most" not in line for line in lines)
    assert any("randread 4 KiB x1: " in line for line in lines)


@pytest.mark.parametrize("width", [79, 99, 119])
def test_no_word_and_no_number_is_cut_at_the_edge_of_a_terminal(campaign, width):
    events, _ = campaign
    shown = Progress()
    for event in events:
        if shown.take(event) is None:
            continue
        line, whole = shown.line(bar=True, width=width), shown.line(bar=True)
        assert len(line) <= width
        words = whole.split()
        assert all(word in words for word in line.split()), line
        assert not line.endswith(":"), line


def test_a_budget_is_what_it_may_take():
    shown = Progress()
    fields = {"visits_done": 3, "visits_planned": 9, "seconds_left": 5.0, "batch_seconds": 1.0}
    shown.take(Event("progress", {**fields, "elapsed_seconds": 15.0, "budget_seconds": 60.0}))
    assert shown.line(bar=True) == "[████------------] 25%  3/12 visits, 45 s left at most"
    assert shown.line(bar=False) == "25%  3/12 visits, 45 s left at most"


def test_elsewhere_than_on_a_terminal_a_line_comes_every_few_seconds(campaign, capsys):
    events, _ = campaign
    clock = [0.0]
    listener = PlainLines(lambda: clock[0])
    for event in events:
        listener(event)
    assert capsys.readouterr().err == ""
    for event in events:
        clock[0] += 0.5
        listener(event)
    lines = capsys.readouterr().err.splitlines()
    assert 0 < len(lines) <= 0.5 * len(events) / PLAIN_SECONDS + 1
    assert all("\x1b" not in line and "\r" not in line for line in lines)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_remembered_and_then_ends_the_process_as_it_would_have(signum):
    program = (
        "import signal; from ioatlas.cli._live import Stop\n"
        f"stop = Stop(); assert not stop(); signal.raise_signal({signum:d}); assert stop()\n"
        "print('on', flush=True); stop.die()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (-signum, "on\n"), done.stderr


def test_each_stream_of_a_load_is_told():
    reads = (("bs", "4096"), ("iodepth", "1"), ("rw", "randread"))
    writes = (("bs", "1048576"), ("numjobs", 16), ("rw", "write"))
    both = Cell("t", (), "shared", streams=(("reads", reads), ("writes", writes)))
    shown, time = Progress(), {"seconds_left": 2.0, "batch_seconds": 1.0}
    shown.take(Event("progress", {**axes_of(both), "visits_done": 1, "visits_planned": 1, **time}))
    assert "randread 4 KiB x1 + write 1 MiB x16" in shown.line(bar=False)
    many = Cell("t", (), "shared", streams=tuple((f"s{n}", reads) for n in range(8)))
    shown.take(Event("progress", {**axes_of(many), "visits_done": 1, "visits_planned": 1, **time}))
    assert "now 8 streams" in shown.line(bar=False, width=80)


def test_names_are_told_by_their_operation_and_counted_as_operations():
    tree = {"operation": "create", "rw": "write", "bs_bytes": 1, "numjobs": 2, "iodepth": 1}
    shown = Progress()
    shown.take(Event("visit", {**tree, "bw_bytes_per_s": 900.0, "iops": 900.0, "lat_mean_ns": 2e6}))
    assert shown.line(bar=False) == "create x2: 900 operations/s 2 ms"


CELLS = [
    Cell.of("t", {"rw": rw, "bs": bs, "numjobs": jobs, "size": 1 << 20})
    for rw in ("read", "randwrite")
    for bs in (4096, 1 << 20)
    for jobs in (1, 4)
]


def visit(cell, mib, direction=None, purpose="sweep"):
    fields = {"cell": cell.key, "direction": direction or cell.directions[0], "bw_bytes_per_s": mib * 2**20}
    axes = {"rw": cell.rw, "bs_bytes": cell.bs_bytes, "numjobs": cell.numjobs, "iodepth": 1}
    return Event("visit", {**fields, **axes, "iops": 10.0, "purpose": purpose})


def test_the_line_is_drawn_over_itself_and_gone_at_the_end(monkeypatch):
    said = []
    monkeypatch.setattr(_live.click, "echo", lambda text, **_: said.append(text))
    shown = TerminalLine()
    shown(visit(CELLS[0], 1000))
    assert said[-1].startswith("\r\x1b[K")
    assert "read 4 KiB x1: 0.977 GiB/s" in said[-1]
    shown.close()
    assert said[-1] == "\r\x1b[K"
