# SPDX-License-Identifier: Apache-2.0
"""What the controller's connections pass on their way to the clients, so that all of them get their orders at once.

A fio server that has nothing to do looks for orders once a second, and right away only after it did something. So of
clients that are told to start within milliseconds some start up to a second after the others. Here the orders of all
are collected first. Then all servers are connected to, and they get their orders while all wait for their first second
to end: they see them together.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from ioatlas.fleet.client import Address

# github.com/axboe/fio/blob/fio-3.33/server.h: version, opcode, flags, tag, length of what follows, two checksums
_HEAD = struct.Struct("<HHIQIHH")
_RUN = 16
_MOST_BYTES = 64 << 20
ORDERS_SECONDS = 30.0
"""How long it may take until the controller has sent all orders."""
REACH_SECONDS = 10.0
"""How long it may take until all servers are connected."""
HOLD_SECONDS = 0.4
"""From the last connection to the orders: well inside the second, also where a tunnel connects later than we do."""


class StartGate:
    """A socket for each client in `directory`, by the client's name; it leads to the client's server.

    Closed once the controller has ended.
    """

    def __init__(self, addresses: Mapping[str, Address], directory: Path) -> None:
        self._failed: dict[str, str] = {}
        self._open: list[socket.socket] = []
        self._together = threading.Barrier(len(addresses))
        self._threads = []
        for name, address in addresses.items():
            listener = self._kept(socket.socket(socket.AF_UNIX))
            listener.bind(str(directory / name))
            listener.listen(1)
            self._threads.append(threading.Thread(target=self._serve, args=(name, address, listener), daemon=True))
        for thread in self._threads:
            thread.start()

    def trouble(self, name: str) -> str:
        """Why the server of a client could not be reached; '' where it was."""
        return self._failed.get(name, "")

    def close(self) -> None:
        """End all connections and their threads."""
        self._end()
        for thread in self._threads:
            thread.join()
        for one in self._open:
            one.close()

    def _end(self) -> None:
        self._together.abort()
        for one in list(self._open):
            _shut(one)

    def _kept(self, one: socket.socket) -> socket.socket:
        """What is ended with the others, also where it was connected while they ended."""
        self._open.append(one)
        if self._together.broken:
            _shut(one)
        return one

    def _serve(self, name: str, address: Address, listener: socket.socket) -> None:
        try:
            near = self._kept(listener.accept()[0])
            orders = orders_of(near)
            self._together.wait(ORDERS_SECONDS)
            try:
                far = self._kept(_reached(address))
            except OSError as error:
                self._failed[name] = f"its fio server at {address} cannot be reached ({error.strerror or error})"
                raise
            self._together.wait(REACH_SECONDS)
            time.sleep(HOLD_SECONDS)
            far.sendall(orders)
        except (OSError, EOFError, threading.BrokenBarrierError):
            self._end()  # the controller's connections too, so that it does not wait
            return
        back = threading.Thread(target=_passed_on, args=(far, near), daemon=True)
        back.start()
        _passed_on(near, far)
        back.join()


def _shut(one: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it was never connected, or is not any more
        one.shutdown(socket.SHUT_RDWR)


def orders_of(near: socket.socket) -> bytes:
    """All that the controller says until it says that the load is to run. It waits for no answer before."""
    said = bytearray()
    while True:
        head = _received(near, _HEAD.size)
        _, opcode, _, _, length, _, _ = _HEAD.unpack(head)
        if length > _MOST_BYTES:
            raise EOFError(f"what fio says is not understood: {head!r}")
        said += head + _received(near, length)
        if opcode == _RUN:
            return bytes(said)


def _received(near: socket.socket, length: int) -> bytes:
    """Exactly so many bytes. Raises EOFError when the other end is gone."""
    data = bytearray()
    while len(data) < length:
        more = near.recv(length - len(data))
        if not more:
            raise EOFError
        data += more
    return bytes(data)


def _reached(address: Address) -> socket.socket:
    """A connection to a client's server."""
    if address.socket is None:
        far = socket.create_connection((address.host, address.port), timeout=REACH_SECONDS)
        far.settimeout(None)
        far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return far
    far = socket.socket(socket.AF_UNIX)
    try:
        far.connect(str(address.socket))
    except OSError:
        far.close()
        raise
    return far


def _passed_on(source: socket.socket, sink: socket.socket) -> None:
    """All bytes of one direction, then its end."""
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
