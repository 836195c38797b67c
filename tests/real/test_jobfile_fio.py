# SPDX-License-Identifier: Apache-2.0
"""What the writer writes, fio reads back as it was meant."""

import json
import subprocess

import pytest

from ioatlas.load.fio.jobfile import JobSection, render_job

pytestmark = [pytest.mark.needs("fio"), pytest.mark.unmeasured]


def test_strange_paths_reach_fio_unchanged(tmp_path):
    directory = tmp_path / "a b:c[1],d=e%f"
    directory.mkdir()
    job = tmp_path / "x.fio"
    path = directory / "data:0"
    job.write_text(
        render_job(
            [JobSection("a section", {"filename": str(path), "rw": "write", "bs": 4096, "size": 65536})],
            {"ioengine": "psync"},
        )
    )
    done = subprocess.run(["fio", "--output-format=json", str(job)], capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)["jobs"][0]
    assert result["jobname"] == "a section"
    assert result["write"]["total_ios"] == 16
    assert path.stat().st_size == 65536
