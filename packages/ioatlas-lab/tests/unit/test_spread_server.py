# SPDX-License-Identifier: Apache-2.0
"""A disk that lies on others keeps what is written to it, and outlives one of two ways."""

import os
import socket
import threading

import pytest

from ioatlas_lab.array_model import Layout
from ioatlas_lab.array_server import READ, REPLY, REQUEST, REQUEST_MAGIC, WRITE, Disk, receive
from ioatlas_lab.array_server import serve as serve_array
from ioatlas_lab.spread_server import reach, serve

UNIT = 4096
LAYOUT = Layout("raid0", 1, bw_bytes_per_s=1e9, seek_s=0.0, size_bytes=8 * UNIT)


def listening(answer):
    """(place of an export, what ends it and all its connections)."""
    listener, connections = socket.create_server(("127.0.0.1", 0)), []

    def accept():
        while True:
            try:
                connections.append(listener.accept()[0])
            except OSError:
                return
            threading.Thread(target=answer, args=(connections[-1],), daemon=True).start()

    def end():
        for one in (listener, *connections):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
            finally:
                one.close()

    threading.Thread(target=accept, daemon=True).start()
    return f"127.0.0.1:{listener.getsockname()[1]}/", end


@pytest.fixture
def places():
    """Two exports of one disk, and two of disks of their own."""
    shared = Disk(LAYOUT)
    made = [
        listening(lambda c, disk=disk: serve_array(c, disk)) for disk in (shared, shared, Disk(LAYOUT), Disk(LAYOUT))
    ]
    yield made
    for _, end in made:
        end()


def ask(connection, kind, offset, length, data=b""):
    """(error, bytes) of one request."""
    connection.sendall(REQUEST.pack(REQUEST_MAGIC, 0, kind, 7, offset, length) + data)
    _, error, cookie = REPLY.unpack(receive(connection, REPLY.size))
    assert cookie == 7
    return error, receive(connection, length) if kind == READ and not error else b""


def opened(unit, names):
    place, end = listening(lambda connection: serve(connection, unit, names))
    way, size = reach(place)
    return way.connection, size, end


def test_stripes_read_back_what_was_written_and_fail_without_a_disk(places):
    (_, _), (_, _), (first, end_first), (second, _) = places
    connection, size, end = opened(UNIT, [first, second])
    data = os.urandom(5 * UNIT + 100)
    assert size == 2 * LAYOUT.size_bytes
    assert ask(connection, WRITE, 300, len(data), data) == (0, b"")
    assert ask(connection, READ, 300, len(data)) == (0, data)
    end_first()
    assert ask(connection, READ, 300, len(data))[0] != 0
    end()


def test_two_ways_lead_to_one_disk_and_either_is_enough(places):
    (first, end_first), (second, end_second), *_ = places
    connection, size, end = opened(0, [first, second])
    data = os.urandom(2 * UNIT)
    assert size == LAYOUT.size_bytes
    assert ask(connection, WRITE, UNIT, len(data), data) == (0, b"")
    end_first()
    for _ in range(4):
        assert ask(connection, READ, UNIT, len(data)) == (0, data)
    end_second()
    assert ask(connection, READ, UNIT, len(data))[0] != 0
    end()
