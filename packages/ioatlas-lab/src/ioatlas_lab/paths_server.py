# SPDX-License-Identifier: Apache-2.0
"""Two paths to one disk over NBD: writes by the first, reads by both in turn; all by the other when one is cut.

Started as `python -m ioatlas_lab.paths_server unix:PATH HOST:PORT/EXPORT HOST:PORT/EXPORT`. A request that waits on a
path that is cut goes to the other one again, as multipath software of a client does.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
import sys
import threading
from dataclasses import dataclass, field

from ioatlas_lab.array_server import greet, listen, receive

_REQUEST = struct.Struct(">IHHQQI")
_REPLY = struct.Struct(">IIQ")
_READ, _WRITE, _DISCONNECT = 0, 1, 2
_OPTION_MAGIC, _EXPORT_NAME, _NO_ZEROES = b"IHAVEOPT", 1, 2
_EIO = 5


@dataclass
class Way:
    """A connection to one box, with what was asked and not yet answered: cookie -> (kind, length, bytes to send)."""

    connection: socket.socket
    waiting: dict[int, tuple[int, int, bytes]] = field(default_factory=dict)
    is_cut: bool = False


def reach(place: str) -> tuple[Way, int]:
    """(way, size in bytes) of an export. Raises OSError or EOFError when the box is not there."""
    address, _, export = place.partition("/")
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host, int(port)), timeout=5)
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    receive(connection, 18)
    name = export.encode()
    ask = struct.pack(">I8sII", 1 | _NO_ZEROES, _OPTION_MAGIC, _EXPORT_NAME, len(name)) + name
    connection.sendall(ask)
    (size,) = struct.unpack(">Q", receive(connection, 8))
    receive(connection, 2)
    return Way(connection), size


class Client:
    """One connection of a client, spread over the ways there are."""

    def __init__(self, connection: socket.socket, ways: list[Way]) -> None:
        self._connection, self._ways = connection, ways
        self._sending, self._asking = threading.Lock(), threading.RLock()
        self._turns = itertools.count()
        for way in ways:
            threading.Thread(target=self._answers, args=(way,), daemon=True).start()

    def requests(self) -> None:
        """Pass on what the client asks, until it ends."""
        while True:
            head = receive(self._connection, _REQUEST.size)
            _, _, kind, cookie, _, length = _REQUEST.unpack(head)
            if kind == _DISCONNECT:
                return
            body = receive(self._connection, length) if kind == _WRITE else b""
            self._ask(cookie, kind, length, head + body)

    def end(self) -> None:
        for way in self._ways:
            with contextlib.suppress(OSError):
                way.connection.shutdown(socket.SHUT_RDWR)
            way.connection.close()

    def _ask(self, cookie: int, kind: int, length: int, data: bytes) -> None:
        with self._asking:
            there = [way for way in self._ways if not way.is_cut]
            if not there:
                self._reply(_REPLY.pack(0x67446698, _EIO, cookie))
                return
            way = there[next(self._turns) % len(there)] if kind == _READ else there[0]
            way.waiting[cookie] = (kind, length, data)
        try:
            way.connection.sendall(data)
        except OSError:
            self._cut(way)

    def _answers(self, way: Way) -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                head = receive(way.connection, _REPLY.size)
                _, error, cookie = _REPLY.unpack(head)
                kind, length, _ = way.waiting[cookie]
                body = receive(way.connection, length) if kind == _READ and not error else b""
                with self._asking:
                    way.waiting.pop(cookie, None)
                self._reply(head + body)
        self._cut(way)

    def _cut(self, way: Way) -> None:
        """Ask the other one for all that this one still owes."""
        with self._asking:
            way.is_cut = True
            owed, way.waiting = way.waiting, {}
        for cookie, (kind, length, data) in owed.items():
            self._ask(cookie, kind, length, data)

    def _reply(self, data: bytes) -> None:
        with self._sending, contextlib.suppress(OSError):
            self._connection.sendall(data)


def serve(connection: socket.socket, places: list[str]) -> None:
    """One connection, until the client ends it."""
    ways, size = [], 0
    for place in places:
        with contextlib.suppress(OSError, EOFError):
            way, size = reach(place)
            ways.append(way)
    with connection, contextlib.suppress(OSError, EOFError):
        if ways and greet(connection, size):
            client = Client(connection, ways)
            try:
                client.requests()
            finally:
                client.end()


def main(address: str, places: list[str]) -> None:
    listen(address, lambda connection: serve(connection, places))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
