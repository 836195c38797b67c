# SPDX-License-Identifier: Apache-2.0
"""The decision records: each says what it must, numbers follow one another, whoever names one names one that is
there.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RECORDS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
NUMBERS = {path.name[:4] for path in RECORDS}


def test_numbers_follow_one_another():
    assert [path.name[:4] for path in RECORDS] == [f"{number:04}" for number in range(1, len(RECORDS) + 1)]


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_says_what_it_must(path):
    text = path.read_text()
    assert text.startswith(f"# {path.name[:4]} ")
    assert re.search(r"^- Status: (accepted|proposed|replaced by \d{4})$", text, re.MULTILINE)
    assert re.search(r"^- Date: 20\d\d-\d\d-\d\d", text, re.MULTILINE)
    assert re.search(r"^- Topic: \w+", text, re.MULTILINE)
    assert "What would reverse it" in text


def test_no_old_number_is_lost_or_taken_twice():
    old = [number for path in RECORDS for number in re.findall(r"^- Replaces: (.+)$", path.read_text(), re.MULTILINE)]
    numbers = [number for text in old for number in text.split(", ")]
    assert len(numbers) == len(set(numbers)) >= 98


def test_every_decision_that_is_named_is_there():
    places = [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py"), *(ROOT / "bench").rglob("*.py")]
    places += [*(ROOT / "bench").rglob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    for path in places:
        text = path.read_text()
        assert set(re.findall(r"\bdecisions? (0\d{3})\b", text)) <= NUMBERS, path
        for name in re.findall(r"docs/decisions/(0[\w-]+)", text):
            assert any(record.name.startswith(name) for record in RECORDS), f"{path}: {name}"
