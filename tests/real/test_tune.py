# SPDX-License-Identifier: Apache-2.0
"""The search on a real target whose best setting is known: an NBD server of 16 requests a connection, each 20 ms."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.real.conftest import ioatlas
from tests.real.target_lab import Bench, wait_for

pytestmark = pytest.mark.needs("nbdkit", "fio")
THREADS, DELAY_SECONDS = 16, 0.020


@pytest.fixture(scope="module")
def uri():
    with tempfile.TemporaryDirectory(prefix="iot", dir="/tmp") as directory:  # socket paths are short
        bench = Bench(directory)
        path = Path(directory) / "s"
        delay = ["--filter=delay", "memory", "64M", f"rdelay={DELAY_SECONDS * 1000:.0f}ms"]
        bench.start(
            "nbdkit", "--foreground", "--unix", str(path), "-t", str(THREADS), *delay, stderr=subprocess.DEVNULL
        )
        wait_for(path.exists)
        yield f"nbd+unix:///?socket={path}"
        bench.clear()


def tune(*arguments, code=0):
    done = ioatlas("tune", *arguments, "--json")
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.fixture(scope="module")
def found(uri, tmp_path_factory):
    directory = tmp_path_factory.mktemp("tune") / "d"
    limits = ["--max-jobs", "1", "--max-depth", "32", "--p99", "300ms"]
    result, told = tune(uri, "--rw", "randread", "--bs", "4k", *limits, "--read-only", "-o", directory)
    return result, told, directory


@pytest.mark.long("procedures")
def test_the_knee_of_the_server_is_found(found):
    result, _, _ = found
    best = result["best"]
    capacity = THREADS / DELAY_SECONDS
    assert best["numjobs"] == 1
    assert 0.7 * THREADS <= best["iodepth"] <= 3 * THREADS  # a busy machine shifts the knee up
    assert 0.8 * capacity <= best["iops"] <= 1.005 * capacity
    assert best["iops_low"] <= best["iops"] <= best["iops_high"]
    assert best["n_visits"] >= 3
    assert best["bw_bytes_per_s"] == pytest.approx(best["iops"] * 4096, rel=1e-6)
    assert best["lat_p99_ns"] <= 300e6
    assert best["lat_mean_ns"] >= DELAY_SECONDS * 1e9


@pytest.mark.long("procedures")
def test_the_report_and_the_job_of_the_best_setting_are_real(found):
    """The job is run by hand on the same server, as the answer says."""
    result, _, directory = found
    assert Path(result["report"]).stat().st_size > 10_000
    assert ioatlas("show", directory).returncode == 0
    done = subprocess.run(["fio", "--output-format=json", result["job"]], capture_output=True, text=True, check=True)
    (job,) = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]  # libnbd's engine says a line before
    assert job["error"] == 0
    assert 0.7 <= job["read"]["iops"] / result["best"]["iops"] <= 1.3


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--p99", "5ms", "--mean", "2ms"], "two latency limits"),
        (["--p99", "0ms"], "is none"),
        (["--p99", "300"], "bare numbers are seconds"),
        (["--p99", "5ms", "--set", "numjobs=4"], "numjobs is what the search decides on"),
        (["--p99", "5ms", "--set", "rate_iops=4"], "rate_iops is what the search decides on"),
        (["--p99", "5ms", "--set", "filename=/etc/passwd"], "filename"),
        (["--p99", "5ms", "--bs", "1000"], "direct I/O"),
        (["--p99", "5ms", "--bs", "4k..64k"], "several values"),
        (["--p99", "5ms", "--budget", "1s"], "takes 10 s at least"),
        (["--p99", "5ms", "--rw", "randwrite", "--read-only"], "read-only"),
    ],
)
def test_what_cannot_be_asked(disk_dir, tmp_path, arguments, words):
    done = ioatlas("tune", disk_dir, "--size", "1m", *arguments, "-o", tmp_path / "d")
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert os.listdir(disk_dir) == []
