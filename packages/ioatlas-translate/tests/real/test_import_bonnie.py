# SPDX-License-Identifier: Apache-2.0
"""The importer against bonnie++ itself: its CSV line and its table say the same."""

import subprocess
from pathlib import Path

import pytest

from ioatlas_translate.read.importer import read_source
from ioatlas_translate.read.source import Source

pytestmark = [pytest.mark.unmeasured, pytest.mark.long("translate")]
MIB = 1 << 20


def read_text(text: str, folder: Path):
    path = folder / "result"
    path.write_text(text)
    source = Source.of(path)
    return list(read_source(source)), source.problems


@pytest.mark.needs("bonnie++", "root")
def test_real_bonnie(tmp_path):
    tmp_path.chmod(0o777)
    for size_mib in (16, 256, 1024, 4096):  # bonnie++ prints +++++ for whatever took less than half a second
        done = subprocess.run(
            ["bonnie++", "-u", "root", "-d", str(tmp_path), "-s", f"{size_mib}:8k", "-r", "8", "-n", "0", "-m", "box"],
            check=True,
            capture_output=True,
            text=True,
            timeout=300,
        )
        readings, problems = read_text(done.stdout, tmp_path)
        if readings:
            break
        assert any("slow enough" in str(problem) for problem in problems), done.stdout
    assert readings
    assert all(
        r.host == "box" and r.size_bytes == size_mib * MIB and r.line == done.stdout.count("\n") for r in readings
    ), "the CSV line, once"
    table = "\n".join(line for line in done.stdout.splitlines() if not line.startswith("1."))
    for reading in read_text(table, tmp_path)[0]:
        same = next(r for r in readings if (r.operation, r.rw) == (reading.operation, reading.rw))
        assert (reading.bw_bytes_per_s or reading.iops) == pytest.approx(same.bw_bytes_per_s or same.iops, rel=0.05)
