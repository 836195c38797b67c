# SPDX-License-Identifier: Apache-2.0
"""The map that a person sees filling while a campaign runs, and the line below it."""

import shutil

from ioatlas.cli import _live
from ioatlas.cli._heatmap import LiveMap
from ioatlas.cli._live import TerminalLine
from ioatlas.model.cell import Cell
from ioatlas.model.outcomes import Event

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


def text(shown, width=80, lines=12):
    return [str(line).rstrip() for line in shown.lines(width=width, lines=lines, style=lambda _share: "")]


def test_places_fill_with_means_of_what_counts():
    shown = LiveMap(CELLS)
    assert text(shown) == []
    shown.take(visit(CELLS[0], 1000))
    shown.take(visit(CELLS[0], 3000))
    shown.take(visit(CELLS[1], 777, purpose="probe"))
    shown.take(Event("visit", {**visit(CELLS[2], 5).fields, "cell": "of another plan"}))
    shown.take(visit(CELLS[7], 40))
    assert text(shown) == [
        "MiB/s   read        rand write",
        "jobs       1   4     1   4",
        "1 MiB                   40",
        "4 KiB   2000",
    ]


def test_what_makes_no_map_shows_none():
    assert text(LiveMap([])) == []
    one = LiveMap(CELLS[:1])
    one.take(visit(CELLS[0], 1))
    assert text(one) == []


def test_the_line_stays_below_the_map_and_both_are_gone_at_the_end(monkeypatch):
    monkeypatch.setattr(shutil, "get_terminal_size", lambda *_: type("Size", (), {"columns": 80, "lines": 30})())
    said, now = [], iter(range(100))
    monkeypatch.setattr(_live.click, "echo", lambda text, **_: said.append(text))
    stopping = [False]
    shown = TerminalLine(CELLS, lambda: stopping[0], lambda: next(now))
    shown(visit(CELLS[0], 1000))
    assert said[-1].count("\n") == 4, "four lines of the map, then the line"
    assert "read 4 KiB x1: 0.977 GiB/s" in said[-1].splitlines()[-1]
    shown(visit(CELLS[1], 500))
    assert said[-1].startswith("\r\x1b[4A\x1b[J")
    stopping[0] = True
    shown(visit(CELLS[1], 500))
    assert said[-1].startswith("\r\x1b[K"), "what was said of the stop stays"
    stopping[0] = False
    shown(visit(CELLS[1], 500))
    shown.close()
    assert said[-1] == "\r\x1b[4A\x1b[J"
