# SPDX-License-Identifier: Apache-2.0
"""How commands lay out rows and JSON; `shakedown` and `probe` answer on one screen."""

from ioatlas.answer.analysis.ceilings import Ceiling
from ioatlas.answer.analysis.shakedown import Check
from ioatlas.cli._output import columns, say_json
from ioatlas.cli.probe import answer as facts
from ioatlas.cli.shakedown import answer
from ioatlas.model.testbed import Fact, Testbed

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
