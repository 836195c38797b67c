# SPDX-License-Identifier: Apache-2.0
"""Orders of a controlling fio on their way to the clients: held until all are there; who cannot be reached is named."""

import socket
import struct
import threading
from contextlib import ExitStack

import pytest

from ioatlas.load.fleet import connections
from ioatlas.load.fleet.client import Address

LONG = 60.0
NAMES = ("one", "two", "three")
PROBE, JOB, RUN = 10, 3, 16


def command(opcode, body=b""):
    return struct.pack("<HHIQIHH", 99, opcode, 0, 0, len(body), 0, 0) + body


def connected(place):
    near = socket.socket(socket.AF_UNIX)
    near.settimeout(LONG)
    near.connect(str(place))
    return near


@pytest.fixture
def servers(tmp_path):
    """{name: listening socket} of what stands for the clients' fio servers."""
    with ExitStack() as stack:
        found = {}
        for name in NAMES:
            found[name] = stack.enter_context(socket.socket(socket.AF_UNIX))
            found[name].settimeout(LONG)
            found[name].bind(str(tmp_path / f"{name}.server"))
            found[name].listen(1)
        yield found


@pytest.fixture
def opened(tmp_path, servers, monkeypatch):
    monkeypatch.setattr(connections, "HOLD_SECONDS", 0.0)
    place = tmp_path / "near"
    place.mkdir()
    one = connections.StartGate({name: Address(tmp_path / f"{name}.server") for name in NAMES}, place)
    with ExitStack() as stack:
        yield one, {name: stack.enter_context(connected(place / name)) for name in NAMES}
        one.close()


def received(end, length):
    data = b""
    while len(data) < length:
        data += end.recv(length - len(data))
    return data


def test_no_client_gets_an_order_before_all_have_theirs(servers, opened):
    _, nears = opened
    job = {name: name.encode() * 100_000 for name in NAMES}  # more than a socket takes at once
    orders = {name: command(PROBE, b"p") + command(JOB, job[name]) + command(RUN) for name in NAMES}
    senders = [threading.Thread(target=nears[name].sendall, args=(orders[name],)) for name in NAMES[:2]]
    nears["three"].sendall(orders["three"][:-1])
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(LONG)
    for server in servers.values():
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()
        server.settimeout(LONG)
    nears["three"].sendall(orders["three"][-1:])
    for name, server in servers.items():
        far, _ = server.accept()
        with far:
            far.settimeout(LONG)
            assert received(far, len(orders[name])) == orders[name]
            far.sendall(b"answer of " + name.encode())
            nears[name].sendall(b"later")
            assert received(nears[name], 10 + len(name)) == b"answer of " + name.encode()
            assert received(far, 5) == b"later"
        assert nears[name].recv(1) == b"", "the end of a server is the end of its connection"


def test_a_server_that_is_not_there_is_named_and_ends_all(tmp_path, servers, opened):
    one, nears = opened
    (tmp_path / "two.server").unlink()
    for near in nears.values():
        near.sendall(command(RUN))
    for near in nears.values():
        assert near.recv(1) == b""
    assert [name for name in NAMES if one.trouble(name)] == ["two"]
    assert "cannot be reached" in one.trouble("two")


def test_a_controller_that_ends_before_its_orders_ends_all(opened):
    one, nears = opened
    nears["one"].sendall(command(RUN))
    nears["two"].close()
    assert nears["one"].recv(1) == b""
    assert not any(one.trouble(name) for name in NAMES)


def test_what_is_no_fio_is_not_waited_for(opened):
    _, nears = opened
    nears["one"].sendall(b"\xff" * 24)
    assert nears["two"].recv(1) == b""


def test_what_connects_while_the_others_end_ends_too(opened):
    one, nears = opened
    nears["one"].sendall(b"\xff" * 24)
    for thread in one._threads:
        thread.join(LONG)
    late, kept = socket.socketpair()
    late.settimeout(LONG)
    one._kept(kept)
    assert late.recv(1) == b""
    late.close()
