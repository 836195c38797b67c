# SPDX-License-Identifier: Apache-2.0
"""scripts/check_docs.py finds each kind of fault, and only faults."""

from pathlib import Path

import check_docs
import pytest

DECISIONS = "docs/decisions"
RETIRED = """instead of,say,looked for in
odd cell,outlying cell,everywhere
hollow,hole check,names
pass,round,sentences
"""
RECORD = "# 0001 One\n- Status: accepted\n- Date: 2026-01-01\n- Topic: x\n## What would reverse it\n"
WHOLE = {
    "docs/glossary.md": "",
    "scripts/retired-words.csv": RETIRED,
    "docs/index.md": "[a](glossary.md#x) `docs/index.md` decision 0001, hollow, portrait",
    f"{DECISIONS}/0001-one.md": RECORD,
    "mkdocs.yml": "font: false\n- A: index.md\n- B: glossary.md\n",
    "src/ioatlas/report/export/a.py": "hollow = 'odd_cell'  # a hollow marker\n",
    "web/src/a.ts": "// a pass",
}

TOLD_OF = {"docs/more.md": "mkdocs.yml", f"{DECISIONS}/0001-again.md": DECISIONS}


def complaints(tmp_path, capsys, **changed):
    for name, text in {**WHOLE, **changed}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    failed = check_docs.main(tmp_path)
    found = capsys.readouterr().out.splitlines()
    assert failed == bool(found)
    return found


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("README.md", "[a](none.md)"),
        ("README.md", "![a](https://example.org/a.png)"),
        ("README.md", "see `docs/none.md`"),
        ("README.md", "an odd cell"),
        ("docs/more.md", "not in the menu"),
        ("mkdocs.yml", WHOLE["mkdocs.yml"] + "- C: none.md\n"),
        ("mkdocs.yml", WHOLE["mkdocs.yml"].replace("font", "text")),
        (f"{DECISIONS}/0001-one.md", RECORD.replace("accepted", "perhaps")),
        (f"{DECISIONS}/0001-again.md", RECORD),
        ("bench/a.py", "# decision 0054"),
        ("src/ioatlas/a.py", "# see docs/none.md"),
        ("src/ioatlas/a.py", "isHollow = 1"),
        ("src/ioatlas/a.py", "# two odd cells"),
        ("web/src/a.ts", "const odd_cells = 1;"),
    ],
)
def test_a_fault_is_found(tmp_path, capsys, name, text):
    (found,) = complaints(tmp_path, capsys, **{name: text})
    assert found.split(": ")[0] in (name, Path(name).name, TOLD_OF.get(name))


def test_what_is_right_is_not_complained_of(tmp_path, capsys):
    assert complaints(tmp_path, capsys) == []
