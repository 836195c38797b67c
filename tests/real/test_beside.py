# SPDX-License-Identifier: Apache-2.0
"""What is told beside the map of a server whose flushes take 20 ms."""

import json

import pytest

from tests.real.conftest import ioatlas
from tests.real.test_fit import server

pytestmark = [pytest.mark.needs("nbdkit", "fio"), pytest.mark.unmeasured, pytest.mark.long("procedures", "run")]
FLUSH_SECONDS = 0.02
ANSWER_SECONDS = 0.005
"""Of any other request: at once, the server would keep a processor busy."""
PLUGIN = f"""
import time
API_VERSION = 2
DISK = bytearray(64 << 20)
def thread_model():
    import nbdkit
    return nbdkit.THREAD_MODEL_PARALLEL
def open(readonly): return 1
def get_size(handle): return len(DISK)
def can_multi_conn(handle): return True
def can_flush(handle): return True
def flush(handle, flags): time.sleep({FLUSH_SECONDS})
def pread(handle, buf, offset, flags):
    time.sleep({ANSWER_SECONDS})
    buf[:] = DISK[offset : offset + len(buf)]
def pwrite(handle, buf, offset, flags):
    time.sleep({ANSWER_SECONDS})
    DISK[offset : offset + len(buf)] = buf
"""


def test_a_write_with_its_flush_takes_as_long_as_the_server_flushes(tmp_path):
    plugin = tmp_path / "plugin.py"
    plugin.write_text(PLUGIN)
    with server("python", plugin) as uri:
        confirmed = ("--overwrite", f"{uri} {64 << 20}")
        done = ioatlas("map", uri, *confirmed, "--budget", "40s", "-o", tmp_path / "out")
        assert done.returncode == 0, done.stderr
    told = json.loads(ioatlas("show", tmp_path / "out", "--json").stdout)["summary"]["beside"]
    flush = told[0]
    assert flush["label"] == "4 KiB + flush"
    # No flush is faster; on a busy machine it may take long.
    assert flush["reading"]["lat_mean_ns"] >= 1e9 * FLUSH_SECONDS
    assert 1 < flush["reading"]["iops"] <= 1 / FLUSH_SECONDS
    assert all(one["writes_bytes_per_s"] > 0 for one in told[1:])
