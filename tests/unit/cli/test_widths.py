# SPDX-License-Identifier: Apache-2.0
"""Screens are as wide as the terminal: nothing wraps by letters, nothing is left out in silence."""

import itertools
import sys

import pytest

from ioatlas.answer.analysis.ceilings import Ceiling
from ioatlas.answer.analysis.shakedown import Check
from ioatlas.cli._output import columns, folded, room, say, say_json
from ioatlas.cli.probe import answer as facts
from ioatlas.cli.shakedown import answer
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.testbed import Fact, Testbed
from ioatlas.model.units import format_rate
from ioatlas.model.verdict import VerdictCode
from ioatlas.report.export.grid import Axis
from ioatlas.report.heatmap import draw
from ioatlas.report.small_map import SmallMap, Value, _value, unit_of


def test_lines_fold_on_a_terminal_only(monkeypatch):
    line = "target       " + "word " * 40
    assert folded(line, 13) == line
    assert room() == 100
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    assert room() == 80
    first, *rest = folded(line, 13).splitlines()
    assert len(first) <= 80
    assert first.startswith("target       word")
    assert all(each.startswith(" " * 13 + "word") and len(each) <= 80 for each in rest)


def test_the_notes_of_a_small_map_have_a_line_each_where_they_do_not_fit_on_one():
    sizes = tuple(Axis(name, levels) for name, levels in (("numjobs", (1, 4, 16)), ("bs", (4096, 1 << 20))))
    loads = ("read", "write", "randread", "randwrite")
    marks = ["*", "!", "≥", "±"]
    values = {
        (load, y, x): Value("1067", marks[number % 4], 0.5)
        for number, (load, y, x) in enumerate(itertools.product(loads, sizes[1].levels, sizes[0].levels))
    }
    found = SmallMap("MiB/s", *sizes, values, loads, ())
    more = "ioatlas show a-longer-name-of-a-campaign -v"
    narrow, wide = (
        [str(line) for line in draw(found, width=width, lines=4, style=lambda share: "", more=more)]
        for width in (80, 200)
    )
    assert max(map(len, narrow)) <= 80
    assert narrow[-1].startswith("Not shown: ")
    assert narrow[-2].startswith("* re-measured  ! not steady")
    assert wide[-1].startswith("* re-measured")
    assert "Not shown: " in wide[-1]


def test_a_note_that_is_wider_than_the_screen_is_folded_between_words():
    axes = Axis("numjobs", (1, 4)), Axis("bs", (4096, 1 << 20))
    loads = tuple(f"a tool of a long name: {load}" for load in ("write", "rewrite", "read", "reread"))
    values = {(load, x, y): Value("12", "^", 0.5) for load in loads for x in (1, 4) for y in (4096, 1 << 20)}
    found = SmallMap("MiB/s", *axes, values, loads, ())
    drawn = draw(found, width=60, lines=5, style=lambda share: "", more="ioatlas show im")
    lines = [str(line) for line in drawn]
    assert max(map(len, lines)) <= 60
    assert "ioatlas show im" in " ".join(lines)


def test_what_is_said_folds_by_the_stream_it_goes_to(monkeypatch, capsys):
    text = "ioatlas: " + "word " * 30 + "\n  what to do: " + "other " * 30
    say(text, err=True)
    assert len(capsys.readouterr().err.splitlines()) == 2
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    say(text, err=True)
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line.startswith(("ioatlas: word", "  word", "  what to do: other", "    other")) for line in lines)


@pytest.mark.parametrize(
    ("top", "unit", "drawn"),
    [(8 << 20, "MiB/s", "8.0"), (1 << 20, "MiB/s", "1.0"), (500 << 10, "KiB/s", "500"), (2 << 30, "MiB/s", "2048")],
)
def test_the_map_has_the_unit_of_the_headline(top, unit, drawn):
    told, factor = unit_of(top)
    assert told == unit
    assert format_rate(top).endswith(unit) or top > 1 << 30  # the headline says GiB/s then, cells stay comparable
    assert _value(steady(top), top, factor, lambda _: 1.0).text == drawn
    assert _value(steady(4096), 4096, 1 << 20, lambda _: 1.0).text == "0.004"


def steady(rate):
    return Estimate(Cell.of("t", {"rw": "read"}), "read", "measured", 2, rate, verdict=VerdictCode.STEADY)


LONG = "a sentence that goes on for longer than one line of a hundred columns can hold, so that it has to be folded"


def test_what_failed_comes_first_and_what_passed_is_counted():
    checks = [Check("a", "ok", "fine"), Check("b", "warning", LONG, LONG), Check("c", "failed", "broken", "mend it")]
    ceilings = [Ceiling(f"c{n}", "link", 1e8 * (n + 1), None, "computed", "because") for n in range(9)]
    rows = answer("nas", checks, ceilings, verbose=False)
    assert rows[0] == "nas: NOT READY, 1 check failed, 1 warning; 1 of 3 checks passed"
    assert rows[1:3] == ["FAILED   broken", "         change: mend it"]
    assert max(map(len, rows)) <= 100
    assert len(rows) <= 25
    assert not any("fine" in row for row in rows)
    every = answer("nas", checks, ceilings, verbose=True)
    assert any("fine" in row for row in every)
    assert sum(row.startswith("ceiling") for row in every) == 9
    assert answer("nas", checks[:1], [], verbose=False)[0] == "nas: READY; 1 of 1 checks passed"


def test_facts_stand_in_groups_and_none_is_lost_silently():
    found = [Fact(f"group{g}.name{n}", "v" * 20, kind="known", source="read") for g in range(30) for n in range(9)]
    found += [Fact("cpu.model", "x", kind="doubtful"), Fact("cpu.cores", None, kind="unknown")]
    rows = facts(Testbed("t", 0.0, tuple(found)))
    assert len(rows) <= 25
    assert max(map(len, rows)) <= 100
    assert "more" in rows[0]
    assert rows[-2] == "... and 8 more groups"
    assert rows[-1].startswith("272 facts in ")
    assert "1 doubtful (?), 1 not known" in rows[-1]


def test_columns_are_as_wide_as_their_widest_text():
    rows = [("NAME", "CELLS", "FOR"), ("quick", "24", "a first look"), ("all", "2,016", "")]
    assert columns(rows, right={1}) == ["NAME   CELLS  FOR", "quick     24  a first look", "all    2,016"]


def test_json_is_for_eyes_or_one_object_a_line(capsys):
    say_json({"a": [1]})
    say_json({"a": [1]}, line=True)
    assert capsys.readouterr().out == '{\n  "a": [\n    1\n  ]\n}\n{"a":[1]}\n'
