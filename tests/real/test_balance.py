# SPDX-License-Identifier: Apache-2.0
"""Balance over clients, from what fio's own controller says of two servers."""

import signal
import socket
import subprocess
from pathlib import Path

import pytest

from ioatlas.answer.results.imported import load_imported
from tests.real.conftest import ioatlas
from tests.real.target_lab import wait_for

pytestmark = pytest.mark.needs("fio")
JOB = "[load]\nioengine=null\nrw=read\nbs=64k\nsize=1g\ntime_based\nruntime=600ms\n"


@pytest.fixture
def servers():
    """Two fio servers, on addresses of this machine's own and a port that is free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    hosts = [f"127.0.0.{number},{port}" for number in (1, 2)]
    running = [
        subprocess.Popen(["fio", f"--server={host}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for host in hosts
    ]

    def listening() -> bool:
        rows = [row.split()[1:4] for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return sum(row[0].endswith(f":{port:04X}") and row[2] == "0A" for row in rows) == len(hosts)

    try:
        wait_for(listening)
        yield hosts
    finally:
        for one in running:
            one.send_signal(signal.SIGTERM)
            one.wait()


@pytest.mark.unmeasured
@pytest.mark.parametrize(("second", "even"), [("rate_iops=4000\n", False), ("", None)])
def test_clients_that_share_unevenly_are_a_finding(tmp_path, servers, second, even):
    jobs = []
    for number, more in enumerate(("", second)):
        jobs.append(tmp_path / f"{number}.fio")
        jobs[-1].write_text(JOB + more)
    command = [word for host, job in zip(servers, jobs, strict=True) for word in (f"--client={host}", str(job))]
    result = tmp_path / "result.json"
    subprocess.run(
        ["fio", "--output-format=json", f"--output={result}", *command], check=True, capture_output=True, timeout=300
    )
    done = ioatlas("import", result, "-o", tmp_path / "in")
    assert done.returncode == 0, done.stderr
    [told] = [finding.values for finding in load_imported(tmp_path / "in").findings if finding.code == "balance"]
    assert (told["n_members"], told["kind"]) == (2, "clients")
    assert even is None or told["even"] is even
