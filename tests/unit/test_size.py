# SPDX-License-Identifier: Apache-2.0
"""scripts/size.py: what counts as code, and the ceiling."""

from pathlib import Path

import pytest
import run_tests
import size

SOURCE = '''# a comment
"""A module."""

import os
from pathlib import (
    Path,
)

LIMIT = 3
"""What it is."""


def one(value: int) -> str:
    """Text."""
    # a comment
    text = """two
lines"""
    return text  # the end
'''


def test_comments_docstrings_and_imports_are_no_code():
    assert size.code_lines(SOURCE) == 5


@pytest.fixture
def sources(tmp_path, monkeypatch):
    (tmp_path / "room" / "inner").mkdir(parents=True)
    (tmp_path / "room" / "one.py").write_text(SOURCE)
    (tmp_path / "room" / "inner" / "two.py").write_text("a = 1\n")
    (tmp_path / "alone.py").write_text("a = 1\n")
    monkeypatch.setattr(size, "SOURCES", tmp_path)
    return tmp_path


def test_lines_and_files_are_told_by_room(sources):
    assert size.by_room(sources) == {"room": (6, 2), "alone.py": (1, 1)}
    assert size.by_room(sources, depth=2) == {"room/one.py": (5, 1), "room/inner": (1, 1), "alone.py": (1, 1)}


@pytest.mark.parametrize(("most", "status"), [(7, 0), (6, 1)])
def test_more_code_than_the_ceiling_fails(sources, monkeypatch, capsys, most, status):
    monkeypatch.setattr(size, "ceiling", lambda: most)
    assert size.main(["--check"]) == status
    assert ("1 lines of code too many" in capsys.readouterr().out) == bool(status)


def test_the_ceiling_is_a_step_of_lint(tmp_path):
    commands = [step.command for phase in run_tests.steps(tmp_path, "none")["lint"] for row in phase for step in row]
    assert [command[1:] for command in commands if "scripts/size.py" in command] == [["scripts/size.py", "--check"]]
    assert size.ceiling(Path(run_tests.ROOT / "pyproject.toml")) > 0
