# SPDX-License-Identifier: Apache-2.0
"""JUnit and Markdown of checks: read back by parsers, with names that try to break out of them."""

from xml.etree import ElementTree as ET

import pytest

from ioatlas.model.errors import IoAtlasError
from ioatlas.report.export.to_gate import Check, Gate, junit, markdown, write

CHECKS = (
    Check("Reads", "failed", "Reads fell by 21% (18% to 24%) on 2026-09-14.", ("fio: 3.33, then 3.36",)),
    Check("Writes", "passed", "Writes: no change."),
    Check("Trims", "skipped", "Too few campaigns."),
)
GATE = Gate("nas1", 1_790_000_000.0, CHECKS, (("date", "level"), ("2026-09-13", "1.00"), ("2026-09-14", "0.79")))


def test_junit_is_read_back_with_its_counts_and_texts():
    root = ET.fromstring(junit(GATE))
    suite = root.find("testsuite")
    assert {name: suite.get(name) for name in ("name", "tests", "failures", "skipped", "errors")} == {
        "name": "nas1",
        "tests": "3",
        "failures": "1",
        "skipped": "1",
        "errors": "0",
    }
    assert suite.get("timestamp") == "2026-09-21T14:13:20"
    reads, writes, trims = suite.findall("testcase")
    assert reads.find("failure").get("message") == CHECKS[0].sentence
    assert "fio: 3.33, then 3.36" in reads.find("failure").text
    assert writes.find("system-out").text == "Writes: no change."
    assert writes.find("failure") is None
    assert trims.find("skipped") is not None


def test_markdown_starts_with_the_answer():
    text = markdown(GATE)
    assert text.startswith("## nas1\n\n❌ Reads fell by 21%")
    assert "| ✅ | Writes | Writes: no change. |" in text
    assert "| 2026-09-14 | 0.79 |" in text
    cells = (Check("nas2: read, bs 4 KiB", "failed", "-71.4%: lower."), Check("x", "failed", "-3%: lower."))
    assert "❌ nas2: read, bs 4 KiB: -71.4%: lower. 1 more got worse." in markdown(Gate("nas2", 0.0, cells))
    good = markdown(Gate("nas1", 0.0, CHECKS[1:]))
    assert "Nothing got worse" in good
    assert "✅" not in markdown(Gate("nas1", 0.0, CHECKS[2:]))
    assert markdown(Gate("nas1", 0.0, CHECKS[1:], fine="")).startswith("## nas1\n\n⚪ 1 of 2 ")


def test_names_from_elsewhere_stay_text():
    evil = Check("a|b</testcase><x>\x00\x1b", "failed", "<script>`[x](y)`\n| z")
    gate = Gate("\ud800t", 0.0, (evil,))
    case = ET.fromstring(junit(gate)).find("testsuite/testcase")
    assert case.get("name").startswith("a|b</testcase><x>")
    (row,) = [line for line in markdown(gate).splitlines() if line.startswith("| ❌")]
    assert row.count("|") - row.count("\\|") == 4
    assert "\\<script\\>" in row


def test_files_are_written_or_one_message_says_why_not(tmp_path):
    files = write(GATE, junit_file=tmp_path / "new" / "j.xml", markdown_file=tmp_path / "s.md")
    assert [path.name for path in files] == ["j.xml", "s.md"]
    assert all(path.stat().st_size > 100 for path in files)
    assert write(GATE, junit_file=None, markdown_file=None) == []
    with pytest.raises(IoAtlasError, match="cannot be written"):
        write(GATE, junit_file=tmp_path, markdown_file=None)
