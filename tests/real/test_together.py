# SPDX-License-Identifier: Apache-2.0
"""Two real exports behind one server's rate: what they give alone and together is known."""

import subprocess

import pytest

from ioatlas.measure.campaign import load_result
from ioatlas.model.finding import FindingCode
from tests.command_line import call
from tests.real.target_lab import wait_for

LINK, EACH = 40_000_000, 30_000_000
"""Bytes per second of all exports, and of each connection."""

pytestmark = [pytest.mark.needs("nbdkit"), pytest.mark.long("run", "analysis")]


@pytest.fixture
def exports(tmp_path):
    folder, listening = tmp_path / "luns", tmp_path / "nbd.sock"
    folder.mkdir()
    for name in ("lun1", "lun2"):
        (folder / name).write_bytes(bytes(32 << 20))
    rates = [f"rate={8 * LINK}", f"connection-rate={8 * EACH}", "burstiness=0.2"]
    command = ["nbdkit", "-f", "-U", listening, "--filter=rate", "file", f"dir={folder}", *rates]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    wait_for(listening.exists)
    yield [f"nbd+unix:///{name}?socket={listening}" for name in ("lun1", "lun2")]
    server.terminate()
    server.wait()


def test_together_they_give_what_the_link_carries(exports, tmp_path):
    file = tmp_path / "two.toml"
    file.write_text(
        f"""
together = true
visits = 2
window = "1500ms"
[[target]]
name = "lun1"
uri = "{exports[0]}"
[[target]]
name = "lun2"
uri = "{exports[1]}"
[sweep]
rw = "randread"
bs = "256k"
iodepth = 4
size = "32m"
targets = "1..2"
"""
    )
    done = call("map", "--campaign", file, "--read-only", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    result = load_result(tmp_path / "out")
    found = {e.cell.n_targets: e for e in result.estimates}
    for count, truth in ((1, EACH), (2, LINK)):
        # A rate is never exceeded by more than its credit; a machine that stands still for a while takes from it.
        assert 0.75 * truth < found[count].bw_bytes_per_s < 1.15 * truth
    shares = found[2].targets
    assert [one.name for one in shares.parts] == ["lun1", "lun2"]
    # shares are of the whole window, the credit at its start included, which the sum may leave out
    assert sum(one.bw_bytes_per_s for one in shares.parts) == pytest.approx(found[2].bw_bytes_per_s, rel=0.1)
    assert [one for one in result.findings if one.code is FindingCode.TOGETHER]
