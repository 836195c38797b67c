# SPDX-License-Identifier: Apache-2.0
"""What the command line says when it is used wrongly: one message, a remedy, status 2, nothing made."""

import os
import shutil

import pytest

from ioatlas.cli import main


def refused(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return caught.value.code, capsys.readouterr().err


@pytest.mark.parametrize(("typed", "words"), [("maap", "did you mean 'map'?"), ("xyzzy", "ioatlas --help")])
def test_a_mistyped_command_is_guessed(capsys, typed, words):
    code, said = refused(capsys, typed)
    assert code == 2
    assert words in said


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
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
