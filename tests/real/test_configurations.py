# SPDX-License-Identifier: Apache-2.0
"""Three exports of known rates as 1, 2 and 4 drives: set up by commands, measured by fio, taken down."""

import json
import subprocess

import pytest

from ioatlas.measure.campaign import load_result
from tests.command_line import call
from tests.real.pauses import Pauses

pytestmark = pytest.mark.long("run", "plan")
RATES = {1: 16, 2: 32, 4: 64}
"""Mbit/s of nbdkit, which counts 2**20 bits, by drives."""
SIZE_BYTES = 64 << 20


def truth(drives):
    return RATES[drives] * (1 << 20) / 8 * 10


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A campaign of three configurations that never exist together: one socket, a server each."""
    place = tmp_path_factory.mktemp("drives")
    uri = f"nbd+unix:///?socket={place}/nbd.sock"
    text = """
visits = 2
blocks = 1
window = "500ms"
[sweep]
rw = ["read", "write"]
bs = "64k"
size = "8m"
iodepth = 4
"""
    for drives, rate in RATES.items():
        text += f"""
[[configuration]]
name = "{drives} drives"
uri = "{uri}"
factors = {{drives = {drives}}}
overwrite = "{uri} {SIZE_BYTES}"
before = '''
test ! -e nbd.sock
nbdkit --unix $PWD/nbd.sock --pidfile $PWD/nbd.pid --filter=rate memory {SIZE_BYTES} rate={rate * 10}M burstiness=0.05
'''
after = "kill $(cat nbd.pid); while test -e nbd.sock; do sleep 0.1; rm -f nbd.sock; done"
"""
    (place / "c.toml").write_text(text)
    with Pauses() as pauses:
        done = call("map", "--campaign", place / "c.toml", "-o", place / "c")
    yield place, done, pauses.share
    if (place / "nbd.pid").exists() and (place / "nbd.sock").exists():
        subprocess.run(["kill", (place / "nbd.pid").read_text().strip()], check=False)


def test_every_configuration_has_the_rate_it_was_given(measured):
    place, done, paused = measured
    assert done.returncode == 0, done.stderr
    result = load_result(place / "c")
    for drives in RATES:
        found = [e for e in result.estimates if e.cell.target == f"{drives} drives"]
        assert len(found) == 2
        for e in found:
            assert e.bw_bytes_per_s == pytest.approx(truth(drives), rel=0.15 + 2 * paused), e


def test_each_block_knows_the_testbed_it_ran_on_and_nothing_is_left(measured):
    place, *_ = measured
    assert not (place / "nbd.sock").exists()
    assert len(list((place / "c" / "configurations").iterdir())) == 3
    shown = json.loads(call("show", place / "c", "--json").stdout)
    assert [one["name"] for one in shown["configurations"]] == ["1 drives", "2 drives", "4 drives"]
    assert len(shown["sessions"]) == 3
