# SPDX-License-Identifier: Apache-2.0
"""What the controller's connections pass on their way to the clients, so that all of them get their orders at once; and
whether all clients of a batch still run it, by these connections and what each transport knows.

A fio server that has nothing to do looks for orders once a second, and right away only after it did something. So of
clients that are told to start within milliseconds some start up to a second after the others. Here the orders of all
are collected first. Then all servers are connected to, and they get their orders while all wait for their first second
to end: they see them together.

fio itself waits 44 s for a client that is cut off, and takes no notice of one that left early.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from ioatlas.load.fleet.client import Address

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


LOOK_SECONDS = 0.5
CONNECT_SECONDS = 10.0
"""How long it may take until all clients are connected."""
LATE_SECONDS = 10.0
"""How long after the end of the last section a client may still be at work."""
EARLY_SECONDS = 1.0
"""How long before that end a connection may close."""
NAMING_SECONDS = 2.0
"""How long a transport may take to say why a connection closed."""


def connections(pid: int) -> frozenset[int]:
    """Descriptors of a process that are sockets; empty when it is gone."""
    found = set()
    place = Path(f"/proc/{pid}/fd")
    with contextlib.suppress(OSError):
        for entry in os.scandir(place):
            with contextlib.suppress(OSError):
                if str(Path(entry.path).readlink()).startswith("socket:"):
                    found.add(int(entry.name))
    return frozenset(found)


class Watch:
    """One batch on its clients, in the order in which the controller was told of them.

    trouble:      asks each transport why its client is lost; '' when it is not.
    span_seconds: how long the sections take from their common start.
    sockets:      looks at a process' connections; another one in tests.
    """

    def __init__(
        self,
        trouble: Mapping[str, Callable[[], str]],
        span_seconds: float,
        sockets: Callable[[int], frozenset[int]] = connections,
    ) -> None:
        self.lost: dict[str, str] = {}
        self.ended_early: tuple[str, ...] = ()
        self._trouble = trouble
        self._span = span_seconds
        self._sockets = sockets
        self._names: dict[int, str] = {}
        self._all_since: float | None = None
        self._dropped_at: float | None = None
        self._looked_at = -LOOK_SECONDS

    def look(self, pid: int, seconds: float) -> bool:
        """Whether the batch has to be ended. pid: of the controller; seconds: since its start. Looks now and then."""
        if seconds - self._looked_at < LOOK_SECONDS:
            return False
        self._looked_at = seconds
        self.lost |= {name: why for name, ask in self._trouble.items() if (why := ask())}
        open_now = self._sockets(pid)
        if self.lost:
            return True
        if self._all_since is None:
            return self._connecting(open_now, seconds)
        running = seconds - self._all_since
        left = [name for number, name in self._names.items() if number not in open_now]
        if running > self._span + LATE_SECONDS and 0 < len(left) < len(self._names):
            late = f"it was still at work {LATE_SECONDS:g} s after the load should have ended"
            self.lost = {name: late for number, name in self._names.items() if number in open_now}
            return True
        if left and open_now and running < self._span - EARLY_SECONDS:
            return self._left_early(tuple(left), seconds)
        return False

    def _connecting(self, open_now: frozenset[int], seconds: float) -> bool:
        if len(open_now) == len(self._trouble):
            # fio connects to its clients in the reverse of the order in which it was told of them.
            self._names = dict(zip(sorted(open_now), reversed(list(self._trouble)), strict=True))
            self._all_since = seconds
        elif seconds > CONNECT_SECONDS and open_now:
            missing = len(self._trouble) - len(open_now)
            self.ended_early = (f"{missing} of {len(self._trouble)} clients did not connect",)
            return True
        return False

    def _left_early(self, names: tuple[str, ...], seconds: float) -> bool:
        """A connection closed too soon: its transport gets a moment to say why."""
        self._dropped_at = seconds if self._dropped_at is None else self._dropped_at
        if seconds - self._dropped_at < NAMING_SECONDS:
            return False
        self.ended_early = names
        return True
