# SPDX-License-Identifier: Apache-2.0
"""Trees of small files by the real fio: what lies there meanwhile, and that nothing stays, also after a kill."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import ioatlas_lab as lab
from ioatlas_lab.running import missing
from tests.real.conftest import ioatlas, rows

pytestmark = [pytest.mark.needs("fio"), pytest.mark.unmeasured]
FILES = 40


def asked(directory, target, visits=1, files=FILES):
    path = directory / "small.toml"
    path.write_text(
        f'file_sizes = "0,4k"\nsharing = "private"\ndirectory_depth = "2"\nvisits = {visits}\n'
        f'[target]\npath = "{target}"\n[sweep]\nnrfiles = {files}\nnumjobs = 2\nfsync_on_close = [0, 1]\n'
    )
    return path


@pytest.mark.long("procedures")
def test_every_file_is_made_looked_at_and_gone(disk_dir, tmp_path):
    target = disk_dir / "target"
    target.mkdir()
    out = tmp_path / "small"
    made = ioatlas("map", "--campaign", asked(tmp_path, target), "-o", out, "--json", "--yes")
    assert made.returncode == 0, made.stderr
    assert list(target.iterdir()) == []
    found = json.loads(ioatlas("show", out, "--json").stdout)["rows"]
    assert len(found) == 6 + 7 + 7
    each = rows(out, "select total_ios from visit join part using (visit_id)")
    assert sorted({count for (count,) in each}) == [20, 2 * FILES]  # directories are listed ten times by each job


@pytest.mark.long("procedures", "run")
def test_killed_in_the_middle_it_leaves_nothing_once_resumed(disk_dir, tmp_path):
    target = disk_dir / "target"
    target.mkdir()
    out = tmp_path / "killed"
    command = [sys.executable, "-m", "ioatlas", "map", "--campaign", str(asked(tmp_path, target)), "-o", str(out)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as session:
        deadline = time.monotonic() + 300
        while not list(target.rglob("[fr].*.*")) and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(session.pid, signal.SIGKILL)
    left = list(target.rglob("[fr].*.*"))
    assert len(left) <= 2 * FILES
    again = ioatlas("resume", out)
    assert again.returncode == 0, again.stderr
    assert list(target.iterdir()) == []


@pytest.mark.needs("root")
@pytest.mark.parametrize("name", ["names-smb", "names-nfs"])
def test_names_are_measured_on_a_share(own_lab, tmp_path, name):
    if lacking := missing(lab.scenarios()[name]):
        pytest.skip(f"not installed: {', '.join(need.program for need in lacking)}")
    campaign = tmp_path / "share.toml"
    with lab.start(name, round_trip_ms=5.0) as share:
        before = sorted(os.listdir(share.location))
        campaign.write_text(
            f'file_sizes = "0"\nvisits = 1\n[target]\npath = "{share.location}"\n[sweep]\nnrfiles = 10\nnumjobs = 1\n'
        )
        made = ioatlas("map", "--campaign", campaign, "-o", tmp_path / "share", "--json", "--yes")
        assert made.returncode == 0, made.stderr
        assert sorted(os.listdir(share.location)) == before
    found = json.loads(ioatlas("show", tmp_path / "share", "--json").stdout)["rows"]
    rates = {row["operation"]: row["iops"] for row in found}
    # What changes a name takes a round trip at least.
    assert all(rates[name] <= 200 for name in ("create", "rename", "delete"))
