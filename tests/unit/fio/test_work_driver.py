# SPDX-License-Identifier: Apache-2.0
"""The driver of a work, as a program: its phases, what it kills, and that it cleans up however it ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ioatlas.fio import work_driver
from ioatlas.fio.work import WorkRequest, figure_in, last_words, read_done, write_request


def request(target, **changes):
    known = {"setup": "", "verify": "", "cleanup": f"touch '{target}/cleaned'", "limit_seconds": 60.0, "cold": False}
    return WorkRequest("", str(target), 7, command=changes.pop("command", "true"), **{**known, **changes})


def start(folder, asked):
    write_request(asked, folder)
    return subprocess.Popen([sys.executable, "-I", work_driver.__file__, str(folder), asked.target])


@pytest.fixture
def places(tmp_path):
    target, folder = tmp_path / "target", tmp_path / "batch"
    target.mkdir()
    folder.mkdir()
    return target, folder


def until(condition):
    end = time.monotonic() + 300
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_phases_run_in_order_in_the_target_and_the_figure_is_read(places):
    target, folder = places
    command = 'echo "rate = 1,234.5 $IOATLAS_SEED"; pwd; cat made'
    assert start(folder, request(target, setup="echo here > made", command=command, cold=True)).wait() == 0
    done = read_done(folder)
    assert list(done.phases) == ["setup", "command", "cleanup"]
    assert (done.failed, done.cleaned) == ("", True)
    assert figure_in(folder, r"rate = ([0-9.,]+) 7") == 1234.5
    assert (folder / "command.out").read_text().split("\n")[1:3] == [str(target), "here"]
    assert (target / "cleaned").exists()


def test_a_phase_that_fails_ends_it_and_is_quoted(places):
    target, folder = places
    assert start(folder, request(target, setup="echo no such thing >&2; exit 3", command="touch ran")).wait() == 1
    done = read_done(folder)
    assert (done.failed, done.why, last_words(folder, "setup")) == ("setup", "it ended with 3", "no such thing")
    assert not (target / "ran").exists()
    assert (target / "cleaned").exists()


def test_what_takes_longer_than_its_limit_is_killed_with_all_that_it_started(places):
    target, folder = places
    command = "(setsid sleep 1000 & echo $! > daemon); sleep 1000 & echo $! > child; wait"
    start(folder, request(target, command=command, limit_seconds=0.5)).wait()
    done = read_done(folder)
    assert (done.failed, done.why, done.cleaned) == ("command", "it took longer than its limit", True)
    assert all(gone(int((target / name).read_text())) for name in ("daemon", "child"))
    assert (target / "cleaned").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_end_it_cleans_up_first(places, number):
    target, folder = places
    driver = start(folder, request(target, command="echo $$ > shell; sleep 1000"))
    pid = until(lambda: (target / "shell").exists() and (target / "shell").read_text().strip())
    os.kill(driver.pid, number)
    assert driver.wait() == 1
    done = read_done(folder)
    assert (done.failed, done.cleaned) == ("stopped", True)
    assert gone(int(pid))
    assert (target / "cleaned").exists()


def test_what_was_killed_is_cleaned_up_alone_later(places):
    target, folder = places
    driver = start(folder, request(target, command="touch ran; sleep 1000 & echo $! > child; wait"))
    child = until(lambda: (target / "child").exists() and (target / "child").read_text().strip())
    driver.kill()
    driver.wait()
    assert not read_done(folder).cleaned
    (target / "ran").unlink()
    assert start(folder, request(target, command="touch ran", only_cleanup=True)).wait() == 0
    assert read_done(folder).cleaned
    until(lambda: gone(int(child)))
    assert (target / "cleaned").exists()
    assert not (target / "ran").exists()
