# SPDX-License-Identifier: Apache-2.0
"""scripts/size.py: what counts as code, and the ceiling."""

import ast
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
    (tmp_path / "core" / "room" / "inner").mkdir(parents=True)
    (tmp_path / "core" / "room" / "one.py").write_text(SOURCE)
    (tmp_path / "core" / "room" / "inner" / "two.py").write_text("a = 1\n")
    (tmp_path / "core" / "alone.py").write_text("a = 1\n")
    monkeypatch.setattr(size, "SOURCES", tmp_path / "core")
    monkeypatch.setattr(size, "PACKAGES", tmp_path / "packages")
    other = tmp_path / "packages" / "one" / "src" / "one_package"
    other.mkdir(parents=True)
    (other / "a.py").write_text("a = 1\nb = 2\n")
    return tmp_path / "core"


def test_lines_and_files_are_told_by_room(sources):
    assert size.by_room(sources) == {"room": (6, 2), "alone.py": (1, 1)}
    assert size.by_room(sources, depth=2) == {"room/one.py": (5, 1), "room/inner": (1, 1), "alone.py": (1, 1)}


def test_lines_that_were_kept_from_the_formatter_are_refused(sources):
    (sources / "alone.py").write_text("a = [\n  1]  # fmt: skip\n")
    with pytest.raises(SystemExit, match=r"alone\.py"):
        size.by_room(sources)


@pytest.mark.parametrize(("core", "whole", "status"), [(7, 9, 0), (6, 9, 1), (7, 8, 1)])
def test_more_code_than_a_ceiling_fails(sources, monkeypatch, capsys, core, whole, status):
    monkeypatch.setattr(size, "LEAST_LINES", 1)
    monkeypatch.setattr(size, "ceilings", lambda: {"core": core, "lines": whole, "files": 4})
    assert size.main(["--check"]) == status
    assert ("1 lines of code too many" in capsys.readouterr().out) == bool(status)


@pytest.mark.parametrize(("files", "least", "name"), [(4, 1, ""), (3, 1, "4 files"), (4, 2, "two.py has 1 lines")])
def test_a_file_too_many_or_too_small_fails(sources, monkeypatch, capsys, files, least, name):
    (sources / "alone.py").rename(sources / "__init__.py")
    monkeypatch.setattr(size, "LEAST_LINES", least)
    monkeypatch.setattr(size, "ceilings", lambda: {"core": 7, "lines": 9, "files": files})
    assert size.main(["--check"]) == bool(name)
    assert name in capsys.readouterr().out


def test_packages_stand_beside_the_rooms(sources, capsys):
    size.main([])
    assert "2     1  one_package" in capsys.readouterr().out


def test_the_ceiling_is_a_step_of_lint(tmp_path):
    commands = [step.command for phase in run_tests.steps(tmp_path, "none")["lint"] for row in phase for step in row]
    assert [command[1:] for command in commands if "scripts/size.py" in command] == [["scripts/size.py", "--check"]]
    most = size.ceilings(Path(run_tests.ROOT / "pyproject.toml"))
    assert 0 < most["core"] < most["lines"]


def test_no_constant_takes_the_place_of_another_of_its_file():
    """As one did when two files became one, and no other test was looking."""
    for path in (*size.SOURCES.rglob("*.py"), *size.PACKAGES.glob("*/src/**/*.py")):
        made = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Assign)]
        names = [target.id for node in made for target in node.targets if isinstance(target, ast.Name)]
        assert len(names) == len(set(names)), path
