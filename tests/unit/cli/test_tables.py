# SPDX-License-Identifier: Apache-2.0
"""How commands lay out rows and JSON."""

from ioatlas.cli._output import columns, say_json


def test_columns_are_as_wide_as_their_widest_text():
    rows = [("NAME", "CELLS", "FOR"), ("quick", "24", "a first look"), ("all", "2,016", "")]
    assert columns(rows, right={1}) == ["NAME   CELLS  FOR", "quick     24  a first look", "all    2,016"]


def test_json_is_for_eyes_or_one_object_a_line(capsys):
    say_json({"a": [1]})
    say_json({"a": [1]}, line=True)
    assert capsys.readouterr().out == '{\n  "a": [\n    1\n  ]\n}\n{"a":[1]}\n'
