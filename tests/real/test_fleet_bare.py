# SPDX-License-Identifier: Apache-2.0
"""A client that holds fio alone, reached by the server that its owner started."""

import signal
import socket
import subprocess
import threading
import time

import pytest

from ioatlas.load.fio.process import find_fio
from ioatlas.load.fleet.client import LostClientError
from ioatlas.load.fleet.executor import open_client
from ioatlas.load.fleet.hosts import Host, read_clients
from ioatlas.model.errors import UsageError
from tests.real.bare_host import BareHost

pytestmark = [pytest.mark.needs("root"), pytest.mark.long("fleet"), pytest.mark.unmeasured]
FIO = find_fio().path


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    one = BareHost(tmp_path_factory.mktemp("bare"))
    yield one
    one.stop()


def opened(bare, system="linux"):
    return open_client(Host("appliance", "fio", bare.address, port=bare.port, os=system), FIO)


def test_it_holds_fio_and_nothing_else(bare):
    programs = {path.name for path in bare.root.rglob("*") if path.is_file() and ".so" not in path.name}
    assert programs == {"fio"}


def test_all_that_fio_tells_is_known(bare, own_temporary):
    client = opened(bare)
    try:
        facts = client.facts()
        assert (facts.fio_version, facts.os, facts.machine) == (find_fio().version, "linux", "x86-64")
        assert (facts.cores, facts.ram_bytes, facts.kernel) == (None, None, "")
        clock = client.clock()
        assert abs(clock.offset_ms) <= clock.error_ms < 2000, "it is the same clock"
        assert client.run(["true"]) is None
        assert client.serve().port == bare.port
        assert not client.trouble()
    finally:
        client.close()
        client.close()
    assert not list(own_temporary.iterdir())


@pytest.mark.parametrize(("runtime", "end"), [(600, signal.SIGINT), (4, signal.SIGKILL)])
def test_a_load_runs_and_ends_with_the_controller(bare, tmp_path, runtime, end):
    """A controller that is stopped takes its load along; of one that is killed it ends with its time."""
    client = opened(bare)
    address = client.serve()
    _until(lambda: len(bare.loads()) == 1)  # what holds our line; what answered earlier questions has ended
    job = tmp_path / "job.fio"
    job.write_text(
        f"[j]\nthread=1\nfilename=/data/x\nsize=1m\nrw=write\ntime_based=1\nrate_iops=50\nruntime={runtime}\n"
    )
    load = subprocess.Popen(
        [FIO, f"--client={address.host},{address.port}", "job.fio"], cwd=tmp_path, stdout=subprocess.DEVNULL
    )
    try:
        _until(lambda: (bare.root / "data" / "x").exists() and len(bare.loads()) > 1)
        load.send_signal(end)
        load.wait()
        _until(lambda: len(bare.loads()) == 1)
    finally:
        load.kill()
        load.wait()
        client.close()
        (bare.root / "data" / "x").unlink(missing_ok=True)
    _until(lambda: not bare.loads())


def _until(true, seconds=60):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_host_that_goes_is_noticed(tmp_path):
    host = BareHost(tmp_path)
    client = opened(host)
    host.stop()
    _until(client.trouble)
    assert client.trouble() == "its fio server ended"
    with pytest.raises(LostClientError, match="no fio server answers") as caught:
        client.serve()
    assert f"fio --server={host.address},{host.port}" in caught.value.remedy
    client.close()


def test_what_is_no_windows_is_not_taken_for_one(bare):
    client = opened(bare, "windows")
    with pytest.raises(UsageError, match="runs Linux, and the hosts say windows"):
        client.facts()


def test_what_is_no_fio_of_ours_is_named():
    """Something listens, and closes the connection: as a fio server of another version does."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            for _ in range(2):
                server.accept()[0].close()

        threading.Thread(target=answer, daemon=True).start()
        client = open_client(read_clients(f"fio://127.0.0.1:{server.getsockname()[1]}").hosts[0], FIO)
        with pytest.raises(LostClientError, match="another version, or no fio"):
            client.facts()
        client.close()
