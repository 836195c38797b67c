# SPDX-License-Identifier: Apache-2.0
"""docs/reference/guards.md names the test of every guard; each must be there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_every_test_named_in_the_safety_page_exists():
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs/reference/guards.md").read_text(encoding="utf-8")))
    files = [*(ROOT / "tests/unit/target").glob("test_*.py"), *(ROOT / "tests/real").glob("test_target_*.py")]
    there = {
        name
        for file in files
        for name in re.findall(r"^def (test_\w+)\(", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert len(named) > 40
    assert named <= there
