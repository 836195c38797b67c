# SPDX-License-Identifier: Apache-2.0
"""`compare` ends in an answer that fits a screen."""

import pytest

from tests.unit.simulated import LAW, Shell

pytestmark = pytest.mark.usefixtures("no_law")

SWEEP = """
visits = 2
window = "300ms"
[sweep]
rw = ["randread", "write"]
bs = ["4k", "64k"]
size = "8m"
numjobs = [1, 4]
"""


@pytest.fixture(autouse=True)
def _here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t").mkdir()
    (tmp_path / "sweep.toml").write_text(SWEEP)


def test_compare_says_when_the_test_was_weak():
    shell = Shell(LAW)
    for name in ("a", "b"):
        done = shell("map", "t", "--campaign", "sweep.toml", "-o", name, "--yes")
        assert done.returncode == 0, done.stderr
    rows = shell("compare", "a", "b").stdout.splitlines()
    assert len(rows) <= 25
    assert "throughput: " in rows[0]
    assert any(row.startswith("Power") for row in rows)
