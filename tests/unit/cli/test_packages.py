# SPDX-License-Identifier: Apache-2.0
"""Commands of packages of their own: declared where they are looked for, and told of where they are missing."""

import importlib.metadata
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from ioatlas.cli import _commands
from tests.command_line import call

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LINES = {name: ["atlas", name] if name in _commands.ATLAS else [name] for name in _commands.PACKAGES}
"""By command how it is called."""


def test_each_is_declared_by_the_package_that_its_extra_names():
    for name, extra in _commands.PACKAGES.items():
        (package,) = PROJECT["optional-dependencies"][extra]
        declared = tomllib.loads((ROOT / "packages" / package / "pyproject.toml").read_text())["project"]
        assert declared["name"] == package
        assert name in declared["entry-points"]["ioatlas.commands"]


@pytest.mark.parametrize("name", LINES)
def test_each_is_found(name):
    done = call(*LINES[name], "--help")
    assert done.returncode == 0
    assert f"Usage: ioatlas {' '.join(LINES[name])} " in done.stdout


OF_ANOTHER_VERSION = EntryPoint("lab", "ioatlas_lab_of_before:command", "ioatlas.commands")


@pytest.mark.parametrize("found", [(), (OF_ANOTHER_VERSION,)], ids=["absent", "another version"])
@pytest.mark.parametrize("words", [[], ["--help"], ["list", "--json"]])
@pytest.mark.parametrize("name", LINES)
def test_a_command_without_its_package_says_what_to_install(monkeypatch, name, words, found):
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: found)
    done = call(*LINES[name], *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"pip install 'ioatlas[{_commands.PACKAGES[name]}]'" in done.stderr
    assert call("--help").returncode == 0
