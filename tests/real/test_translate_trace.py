# SPDX-License-Identifier: Apache-2.0
"""A generated trace replays under fio in its own time."""

import json
import shutil
import subprocess

import pytest

from ioatlas.fio.jobfile import JobSection, render_job
from ioatlas.interop.studies import spc1

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")


@pytest.mark.unmeasured
def test_fio_replays_the_trace_in_its_time(tmp_path):
    accesses = list(spc1.trace(256 << 20, 4, 3.0))
    (tmp_path / "trace").write_text("".join(spc1.write_iolog(iter(accesses), "data")))
    with (tmp_path / "data").open("wb") as file:
        file.truncate(256 << 20)
    options = {"ioengine": "libaio", "iodepth": 64, "read_iolog": "trace", "replay_time_scale": 100}
    (tmp_path / "x.fio").write_text(render_job([JobSection("replay", options)]))
    done = subprocess.run(
        ["fio", "--output-format=json", "x.fio"], capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    job = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]
    assert job["error"] == 0
    assert job["read"]["total_ios"] == sum(a.operation == "read" for a in accesses)
    assert job["write"]["total_ios"] == sum(a.operation == "write" for a in accesses)
    # Microseconds: with milliseconds or nanoseconds it were a thousand times apart. A replay may fall behind on a busy
    # machine, it never runs ahead.
    assert 0.97 < job["job_runtime"] / 1000 / (accesses[-1].at_us / 1e6) < 30
