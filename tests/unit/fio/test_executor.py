# SPDX-License-Identifier: Apache-2.0
import os
import stat
import time

import pytest

from ioatlas.load.fio.executor import Executor, LoadProcess, SystemClock, SystemExecutor, limit_seconds
from ioatlas.load.fio.process import Program
from ioatlas.model.errors import IoAtlasError, UsageError


def tool(folder, name, script):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def on_path(tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def run(executor, load, **given):
    calls = {"stop_asked": lambda: False, "started": lambda pid, ticks: None, **given}
    return executor.run(load, **calls)


def test_a_program_is_found_once_and_run_in_its_directory(tmp_path, on_path):
    path = tool(on_path, "fio", 'case "$1" in --version) echo fio-3.40;; *) pwd; echo "$@"; sleep 0.2;; esac')
    executor: Executor = SystemExecutor()
    assert executor.find("fio") == Program(str(path), "fio-3.40")
    seen = []
    load = LoadProcess("fio", ("--eta=never", "job.fio"), tmp_path, "said", limit_seconds(0))
    outcome = run(executor, load, started=lambda pid, ticks: seen.append((pid, ticks)))
    assert (outcome.exit_code, outcome.stopped) == (0, "")
    assert (tmp_path / "said").read_text().split() == [str(tmp_path), "--eta=never", "job.fio"]
    assert seen[0][0] > 0
    assert seen[0][1] > 0
    path.unlink()
    assert executor.find("fio").path == str(path)


def test_a_program_that_is_missing_or_unknown_is_named(on_path, monkeypatch):
    monkeypatch.setenv("PATH", str(on_path))
    with pytest.raises(IoAtlasError, match="fio is not installed"):
        SystemExecutor().find("fio")
    with pytest.raises(UsageError, match="iozone is not installed"):
        SystemExecutor().find("iozone")
    tool(on_path, "iozone", "echo something else")
    with pytest.raises(IoAtlasError, match="does not say which IOzone"):
        SystemExecutor().find("iozone")
    tool(on_path, "iozone", "echo '        Version $Revision: 3.489 $'")
    assert SystemExecutor().find("iozone").version == "3.489"


def test_a_load_ends_when_asked_or_overdue(tmp_path, on_path):
    tool(on_path, "iozone", 'case "$1" in -v) echo "Version \\$Revision: 3.489 \\$";; *) exec sleep 30;; esac')
    executor = SystemExecutor()
    asked = LoadProcess("iozone", (), tmp_path, "said", 20.0)
    assert run(executor, asked, stop_asked=lambda: True).stopped == "asked"
    overdue = LoadProcess("iozone", (), tmp_path, "said", 0.2)
    ticks = []
    assert run(executor, overdue, tick=ticks.append).stopped == "overdue"
    assert ticks
    assert not executor.stop_orphan(os.getpid(), -1)


def test_the_limit_leaves_room_for_what_a_run_may_take_longer():
    assert limit_seconds(0) >= 30
    assert limit_seconds(100) == pytest.approx(180)


def test_the_clock_is_the_machines():
    clock = SystemClock()
    before = clock.monotonic()
    clock.sleep(0.01)
    assert clock.monotonic() >= before + 0.01
    assert abs(clock.time() - time.time()) < 5
