# SPDX-License-Identifier: Apache-2.0
"""What the command line says when it is used wrongly: one message, a remedy, status 2, nothing made."""

import importlib.metadata
import os
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from ioatlas.cli import _commands, main
from tests.command_line import call


def refused(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return caught.value.code, capsys.readouterr().err


@pytest.mark.parametrize(("typed", "words"), [("maap", "did you mean 'map'?"), ("xyzzy", "ioatlas --help")])
def test_a_mistyped_command_is_guessed(capsys, typed, words):
    code, said = refused(capsys, typed)
    assert code == 2
    assert words in said


@pytest.mark.needs("fio")
def test_what_does_not_fit_is_refused_before_anything_is_made(capsys, tmp_path):
    (tmp_path / "target").mkdir()
    code, said = refused(capsys, "map", tmp_path / "target", "--size", "1000t", "-o", tmp_path / "out")
    assert code == 1
    assert "not enough space" in said
    assert "--size" in said
    assert os.listdir(tmp_path) == ["target"]
    assert not os.listdir(tmp_path / "target")


@pytest.mark.parametrize("words", [["plan"], ["map"], ["tune", "--max-throughput"]])
def test_a_read_only_sweep_makes_no_files_in_a_directory(capsys, tmp_path, words):
    code, said = refused(capsys, *words, tmp_path, "--read-only")
    assert code == 2
    assert "lays nothing out" in said
    assert "name one file of it" in said
    assert not os.listdir(tmp_path)


def test_a_plan_says_that_it_does_not_fit(capsys, tmp_path):
    main_done(["plan", str(tmp_path), "--size", "1000t"])
    assert "NOT ENOUGH ROOM" in capsys.readouterr().out
    main_done(["plan", str(tmp_path), "--size", "1m"])
    assert "NOT ENOUGH ROOM" not in capsys.readouterr().out


def test_a_plan_says_where_nobody_tells_what_is_free(capsys, tmp_path, monkeypatch):
    silent = os.statvfs("/proc")
    assert silent.f_blocks == 0
    monkeypatch.setattr(os, "statvfs", lambda _: silent)
    main_done(["plan", str(tmp_path), "--size", "65m"])
    assert "free space is unknown; name --size 64m or less" in " ".join(capsys.readouterr().out.split())
    main_done(["plan", str(tmp_path), "--size", "64m"])
    assert "NOT KNOWN TO FIT" not in capsys.readouterr().out


def main_done(arguments):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 0


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
