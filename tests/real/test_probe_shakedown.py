# SPDX-License-Identifier: Apache-2.0
"""`ioatlas shakedown` as a person calls it."""

import json
import os
import shutil
import subprocess
import sys

import pytest

import ioatlas_lab as lab
from ioatlas.load.fio.executor import SystemExecutor
from ioatlas.load.machine.measured import client_rate, network_rate, path_mtu_passes, stack_rate, target_rate
from ioatlas.model.errors import IoAtlasError
from ioatlas_lab.catalog_root import IPERF_PORT
from tests.real.conftest import needs

pytestmark = pytest.mark.usefixtures("own_lab")
RUN = [sys.executable, "-c", "from ioatlas.cli import main; main()", "shakedown"]


@pytest.mark.long("analysis", "machine")
@pytest.mark.unmeasured
@pytest.mark.needs("fio")
def test_a_file_in_memory_is_refused_as_a_target():
    if not os.path.ismount("/dev/shm"):
        pytest.skip("no tmpfs at /dev/shm")
    done = subprocess.run([*RUN, "/dev/shm", "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    checks = {one["name"]: one for one in json.loads(done.stdout)["checks"]}
    assert checks["target"]["verdict"] == "failed"


@pytest.mark.long("machine", "lab")
@pytest.mark.needs("root")
def test_the_measured_ceiling_of_a_link_is_the_computed_one():
    needs("link-100m")
    with lab.start("link-100m") as target:
        runs = [network_rate(target.context["server"], port=IPERF_PORT, seconds=1) for _ in range(3)]
        # Nothing adds to a link; what else the machine does takes from it, from the best of three the least.
        best = max(one.bw_bytes_per_s for one in runs)
        assert 0.85 < best / target.value("bw_bytes_per_s") < 1.02
        seen = target_rate(SystemExecutor(), target.location, "read", 65536, seconds=1)
        assert seen.bw_bytes_per_s < 1.5 * target.value("bw_bytes_per_s")
        with pytest.raises(IoAtlasError, match="iperf3 could not measure"):
            network_rate(target.context["server"], port=9)


@pytest.mark.unmeasured
@pytest.mark.needs("root")
def test_a_path_that_does_not_carry_large_packets_is_found():
    needs("link-1g-jumbo")
    if shutil.which("ping") is None:
        pytest.skip("needs iputils-ping")
    with lab.start("link-1g-jumbo") as target:
        server = target.context["server"]
        assert path_mtu_passes(server, 9000) is True
        # The far end now drops what is larger than its own MTU, as a switch without jumbo frames does.
        subprocess.run(["ip", "-n", target.context["namespace"], "link", "set", "lab0", "mtu", "1500"], check=True)
        assert path_mtu_passes(server, 9000) is False
        assert path_mtu_passes(server, 1500) is True
        subprocess.run(["ip", "-n", target.context["namespace"], "link", "set", "lab0", "down"], check=True)
        assert path_mtu_passes(server, 1500) is None


@pytest.mark.unmeasured
@pytest.mark.needs("fio")
def test_the_client_generates_more_than_any_target_of_the_lab():
    assert client_rate(SystemExecutor(), 4096, seconds=0.2).iops > 50_000


@pytest.mark.unmeasured
@pytest.mark.parametrize("kind", ["file", "nbd"])
@pytest.mark.needs("fio", "nbdkit")
def test_a_path_to_memory_costs_more_than_nothing(kind):
    before = set(os.listdir("/proc/self/fd"))
    null = client_rate(SystemExecutor(), 4096, seconds=0.1)
    carried = {size: stack_rate(SystemExecutor(), kind, size, seconds=0.1) for size in (4096, 1 << 20)}
    assert null.iops > carried[4096].iops > carried[1 << 20].iops > 0
    assert carried[1 << 20].bw_bytes_per_s == pytest.approx(carried[1 << 20].iops * (1 << 20), rel=0.2)
    assert set(os.listdir("/proc/self/fd")) == before


@pytest.mark.unmeasured
def test_a_program_that_is_missing_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(IoAtlasError, match="fio is not installed"):
        client_rate(SystemExecutor(), 4096, seconds=0.1)
