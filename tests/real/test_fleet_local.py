# SPDX-License-Identifier: Apache-2.0
"""Clients on this machine: started, seen to be lost, and gone without a trace."""

import subprocess
import time
from pathlib import Path

import pytest

from ioatlas.load.fio.process import find_fio
from ioatlas.load.fleet.executor import open_client
from ioatlas.load.fleet.hosts import read_clients

pytestmark = pytest.mark.needs("root")


@pytest.fixture
def client():
    one = open_client(read_clients("local:1").hosts[0], find_fio().path)
    yield one
    one.close()


def processes(place):
    """Command lines that name the socket of a client."""
    said = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in said.splitlines() if str(place) in line]


@pytest.mark.unmeasured
def test_a_client_serves_and_leaves_nothing(client):
    address = client.serve()
    assert client.facts().fio_version == find_fio().version
    assert client.clock().error_ms == 0
    assert address.socket.exists()
    assert not client.trouble()
    assert processes(address.socket)
    assert client.serve() == address, "it runs already"
    client.close()
    assert not address.socket.parent.exists()
    end = time.monotonic() + 10  # killed they are; that of a namespace's first process takes the others a moment later
    while processes(address.socket) and time.monotonic() < end:
        time.sleep(0.05)
    assert not processes(address.socket)


@pytest.mark.unmeasured
def test_a_server_that_died_is_seen_and_started_again(client):
    client.serve()
    client._server.kill()
    client._server.wait()
    assert client.trouble() == "its fio server ended"
    assert client.serve().socket.exists()
    assert not client.trouble()
    assert not Path("/proc/self/ns/uts").samefile(f"/proc/{_fio_of(client)}/ns/uts"), "it has a host name of its own"


def _fio_of(client):
    """The pid of a client's fio: the child of what was started."""
    return Path(f"/proc/{client._server.pid}/task/{client._server.pid}/children").read_text().split()[0]
