# SPDX-License-Identifier: Apache-2.0
"""Works on a real directory: a ready-made one with a real program, and one whose ioatlas and driver are both killed."""

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from ioatlas.campaign import load_result
from tests.real.conftest import ioatlas

pytestmark = [
    pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed"),
    pytest.mark.unmeasured,
]


def campaign(place, text):
    target = place / "target"
    target.mkdir()
    path = place / "work.toml"
    path.write_text(f"{text.format(place=place)}\n")
    path.write_text(path.read_text().replace("[[work]]", f'[target]\npath = "{target}"\n[[work]]', 1))
    return target, path


def test_a_real_program_is_timed_and_nothing_of_it_stays(tmp_path):
    text = 'visits = 2\n[[work]]\nname = "tar"\nsetup = "mkdir tree; seq 9999 > tree/file; tar -cf all.tar tree"\n'
    text += 'command = "tar -xf {{target}}/all.tar"\nverify = "tar -df {{target}}/all.tar"\ncold = true\n'
    target, path = campaign(tmp_path, text)
    ioatlas("map", "--campaign", path, "-o", tmp_path / "c", "--yes")
    (figure,) = load_result(tmp_path / "c").works
    seen = [json.loads(one.read_text()) for one in (tmp_path / "c" / "batches").glob("*/result.json")]
    times = [one["phases"]["command"]["seconds"] for one in seen]
    assert len(times) == figure.n_visits == 2
    assert min(times) * 0.999 <= figure.value <= max(times) * 1.001
    assert list(target.iterdir()) == []


def test_killed_with_its_driver_the_cleanup_runs_at_the_next_start(tmp_path):
    text = 'visits = 1\n[[work]]\nname = "long"\ncommand = "test -e {place}/again || sleep 600"\n'
    text += 'cleanup = "echo cleaned >> {place}/cleaned"\n'
    target, path = campaign(tmp_path, text)
    command = ["python", "-m", "ioatlas", "map", "--campaign", str(path), "-o", str(tmp_path / "c"), "--yes"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        driver = _driver(tmp_path / "c")
        Path(tmp_path, "again").touch()
        driver.send_signal(signal.SIGSTOP)  # it cannot clean up any more
        process.kill()
        process.wait()
    driver.send_signal(signal.SIGKILL)
    assert not (tmp_path / "cleaned").exists()
    assert list(target.iterdir())
    ioatlas("resume", tmp_path / "c")
    assert (tmp_path / "cleaned").read_text().split() == ["cleaned", "cleaned"]
    assert list(target.iterdir()) == []
    assert len(load_result(tmp_path / "c").works) == 1


class _Process:
    def __init__(self, pid):
        self.pid = pid

    def send_signal(self, number):
        subprocess.run(["kill", f"-{int(number)}", str(self.pid)], check=True)


def _driver(directory):
    """The driver of the campaign, once its command runs."""
    end = time.monotonic() + 300
    while time.monotonic() < end:
        if any(directory.glob("batches/*/command.out")):
            for entry in Path("/proc").iterdir():
                if entry.name.isdigit():
                    try:
                        words = (entry / "cmdline").read_bytes().split(b"\0")
                        place = (entry / "cwd").readlink()
                    except OSError:
                        continue
                    if any(word.endswith(b"work_driver.py") for word in words) and directory in place.parents:
                        return _Process(int(entry.name))
        time.sleep(0.1)
    raise AssertionError("no command was started")
