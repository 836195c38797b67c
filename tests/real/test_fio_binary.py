# SPDX-License-Identifier: Apache-2.0
"""No fio, or one that is too old: one clear message, before anything is written."""

import os
import subprocess
import sys
import time
import zipfile
from glob import glob
from pathlib import Path

import pytest

from ioatlas.load.fio.process import NOBODY, die_with_us, find_fio, run_process, start_time_ticks, stop_orphan
from ioatlas.measure.campaign import load_result
from tests.command_line import call
from tests.real.target_lab import wait_for

pytestmark = pytest.mark.unmeasured
# In a thread, as all loads of campaigns: a process of its own for each job would outlive the killed one.
NOTHING = "--name=x --ioengine=null --size=1g --rw=read --time_based --runtime=60 --thinktime=1000 --thread"
FOR_A_MINUTE = ["fio", *NOTHING.split()]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "fio is not installed"),
        ("fio-3.1", "too old"),
        ("fio-2.21", "too old"),
        ("flexible nothing", "does not say which fio"),
    ],
)
def test_without_a_usable_fio_nothing_is_touched(disk_dir, tmp_path, answer, words):
    tools = tmp_path / "bin"
    tools.mkdir()
    if answer is not None:
        (tools / "fio").write_text(f"#!/bin/sh\necho '{answer}'\n")
        (tools / "fio").chmod(0o755)
    process = call("map", disk_dir, "-o", tmp_path / "c", PATH=str(tools))
    assert process.returncode == 1
    assert words in process.stderr
    assert "Traceback" not in process.stderr
    assert list(disk_dir.iterdir()) == []
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("installed", "used"), [(None, "fio-3.34-ioatlas"), ("fio-3.33", "fio-3.34-ioatlas"), ("fio-3.34", "fio-3.34")]
)
def test_the_packaged_fio_is_used_where_no_other_is_as_new(tmp_path, monkeypatch, installed, used):
    for name, version in (("installed", installed), ("packaged", "fio-3.34-ioatlas")):
        (tmp_path / name).mkdir()
        if version:
            (tmp_path / name / "fio").write_text(f"#!/bin/sh\necho {version}\n")
            (tmp_path / name / "fio").chmod(0o755)
    (tmp_path / "ioatlas_fio.py").write_text(f"PATH = {str(tmp_path / 'packaged' / 'fio')!r}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "ioatlas_fio", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "installed"))
    assert find_fio().version == used
    sys.modules.pop("ioatlas_fio")


@pytest.mark.long("fio")
@pytest.mark.skipif(not glob("/usr/lib/*/libaio.a"), reason="libaio-dev is not installed")
def test_the_packaged_fio_is_built_from_source_and_measures(disk_dir, tmp_path, monkeypatch):
    build = Path(__file__).parents[2] / "packages" / "ioatlas-fio" / "build"
    how = {"env": {**os.environ, "PYTHON": sys.executable}, "capture_output": True, "text": True}
    done = subprocess.run([build, tmp_path], check=False, timeout=600, **how)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as held:
        held.extractall(tmp_path / "site")
    (tmp_path / "site" / "ioatlas_fio" / "fio").chmod(0o755)  # as pip does
    monkeypatch.syspath_prepend(tmp_path / "site")
    process = call("map", disk_dir, "--budget", "10s", "-o", tmp_path / "c", PATH="/nonexistent")
    sys.modules.pop("ioatlas_fio")
    assert process.returncode == 0, process.stderr
    assert {session["fio"] for session in load_result(tmp_path / "c").sessions} == {"fio-3.33-ioatlas"}


@pytest.mark.needs("fio")
def test_a_fio_that_hangs_is_ended_when_it_is_long_overdue(tmp_path):
    outcome = run_process(FOR_A_MINUTE, NOBODY, directory=tmp_path, sink="fio.err", limit_seconds=1.25)
    assert outcome.stopped == "overdue"
    assert outcome.seconds < 50, "its load runs for 60"


def test_an_orphan_is_stopped_only_if_it_is_that_very_process():
    process = subprocess.Popen(["sleep", "60"])
    ticks = start_time_ticks(process.pid)
    assert not stop_orphan(process.pid, ticks + 1)
    assert process.poll() is None
    assert stop_orphan(process.pid, ticks)
    process.wait()
    assert not stop_orphan(process.pid, ticks)


@pytest.mark.needs("fio", "setpriv")
def test_fio_dies_with_the_process_that_started_it(tmp_path):
    script = (
        "import sys; from pathlib import Path; from ioatlas.load.fio.process import *;"
        "minder = Minder(started=lambda pid, ticks: (Path(sys.argv[1]) / 'pid').write_text(f'{pid} {ticks}'));"
        f"run_process({FOR_A_MINUTE}, minder, directory=Path(sys.argv[1]), sink='fio.err', limit_seconds=90)"
    )
    parent = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)])
    wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    pid, ticks = map(int, (tmp_path / "pid").read_text().split())
    time.sleep(0.3)
    assert Path(f"/proc/{pid}").exists()
    parent.kill()
    parent.wait()
    wait_for(lambda: start_time_ticks(pid) != ticks)


def test_a_setpriv_of_busybox_which_knows_no_such_signal_is_not_asked(tmp_path, monkeypatch):
    busybox = tmp_path / "busybox"
    busybox.write_text("#!/bin/sh\nexit 1\n")
    busybox.chmod(0o755)
    (tmp_path / "setpriv").symlink_to(busybox)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert die_with_us() == []
