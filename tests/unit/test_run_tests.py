# SPDX-License-Identifier: Apache-2.0
"""scripts/run_tests.py: which long tests a clone runs, and what a run says of processor time."""

import dataclasses
import os
import subprocess
import sys

import pytest
import run_tests


def git(place, *arguments, at=0):
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    variables = {**os.environ, "GIT_COMMITTER_DATE": f"{1_700_000_000 + at} +0000"}
    subprocess.run(["git", *identity, *arguments], cwd=place, check=True, capture_output=True, env=variables)


def commit(place, *names, at=0):
    for name in names:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(f"{name} {len(list(place.rglob('*')))}")
    git(place, "add", ".")
    git(place, "commit", "-qm", "x", at=at)


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A clone, and where it came from."""
    origin = tmp_path / "origin"
    origin.mkdir()
    git(origin, "init", "-q", "-b", "main")
    commit(origin, "README.md", "src/ioatlas/__init__.py")
    git(tmp_path, "clone", "-q", str(origin), "clone")
    monkeypatch.setattr(run_tests, "ROOT", tmp_path / "clone")
    monkeypatch.setattr(run_tests, "CI", True)
    return tmp_path / "clone"


def test_long_tests_of_what_changed_since_the_branch_left(clone):
    commit(
        clone, "src/ioatlas/load/fleet/ssh.py", "src/ioatlas/store/confined.py", "tests/real/test_tune.py", "docs/a.md"
    )
    assert run_tests.which_long(every=False)[0] == "confined,fleet,load,ssh,store,test_tune"
    commit(clone, "src/ioatlas/__init__.py")
    assert run_tests.which_long(every=False)[0] == "all"


def test_long_tests_of_what_changed_since_the_newest_tag(clone):
    git(clone, "tag", "-m", "v1", "v1")
    assert run_tests.which_long(every=False) == (
        "none",
        "no earlier landed state is known here: left to `make test-all`",
    )
    commit(clone, "packages/ioatlas-atlas/src/ioatlas_atlas/app.py")
    git(clone, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert run_tests.which_long(every=False) == ("atlas", "those of what has changed since v1 are run")


def test_long_tests_of_what_changed_since_the_last_rest(clone):
    commit(clone, "src/ioatlas/load/fleet/ssh.py", at=60)
    commit(clone, "packages/ioatlas-atlas/src/ioatlas_atlas/app.py", at=60 + run_tests.REST_SECONDS)
    commit(clone, "packages/ioatlas-lab/src/ioatlas_lab/one.py", at=70 + run_tests.REST_SECONDS)
    git(clone, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert run_tests.which_long(every=False)[0] == "atlas,lab"


def test_long_tests_are_run_when_asked_for_and_not_at_home(clone, monkeypatch):
    commit(clone, "src/ioatlas/load/fleet/ssh.py")
    assert run_tests.which_long(every=True)[0] == "all"
    monkeypatch.setattr(run_tests, "CI", False)
    assert run_tests.which_long(every=False)[0] == "none"


def test_long_tests_where_there_is_no_git(tmp_path, monkeypatch):
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    monkeypatch.setattr(run_tests, "CI", True)
    assert run_tests.which_long(every=False)[0] == "none"


def test_the_tests_that_took_most_are_named(tmp_path):
    took = '<properties><property name="cpu_seconds" value="{0}"/></properties>'
    case = f'<testcase classname="a" name="{{0}}">{took}</testcase>'
    (tmp_path / "a.xml").write_text(f"<t>{case.format(1)}{case.format(3)}<testcase classname='a' name='x'/></t>")
    (tmp_path / "b.xml").write_text(f"<t>{case.format(2)}</t>")
    assert [line.split() for line in run_tests.most_cpu(tmp_path, count=2)[1:]] == [["3.0", "a::3"], ["2.0", "a::2"]]


def test_a_step_tells_its_processor_time(capsys):
    busy = [sys.executable, "-c", "import time\nwhile time.process_time() < 1: pass"]
    assert run_tests.run(run_tests.Step("busy", busy), at_once=False) == run_tests.Counts(passed=1)
    seconds = int(capsys.readouterr().out.split(" CPU s")[0].split()[-1])
    assert seconds >= 1


def test_a_step_that_takes_long_shows_its_last_line(monkeypatch, capsys):
    monkeypatch.setattr(run_tests, "PROGRESS_SECONDS", 0.02)
    busy = "import time\nprint('one\\nhalf of it', flush=True)\nwhile time.process_time() < 1: pass"
    run_tests.run(run_tests.Step("busy", [sys.executable, "-c", busy]), at_once=False)
    assert "   busy: half of it\n" in capsys.readouterr().out


@pytest.mark.parametrize(("may_be_empty", "failed"), [(True, 0), (False, 1)])
def test_a_runner_that_finds_no_test_fails_unless_it_may(tmp_path, may_be_empty, failed):
    (tmp_path / "test_none.py").write_text("")
    step = run_tests.pytest_step("none", tmp_path, "-p", "no:cacheprovider", f"--rootdir={tmp_path}", str(tmp_path))
    assert run_tests.run(dataclasses.replace(step, may_be_empty=may_be_empty), at_once=False).failed == failed


def test_files_of_tests_lie_in_memory_only_where_that_is_and_has_room(monkeypatch, tmp_path):
    monkeypatch.setattr(run_tests, "MEMORY", tmp_path / "none")
    assert run_tests.scratch_place() is None
    monkeypatch.setattr(run_tests, "MEMORY", tmp_path)
    monkeypatch.setattr(run_tests, "ROOM_BYTES", 1 << 60)
    assert run_tests.scratch_place() is None
