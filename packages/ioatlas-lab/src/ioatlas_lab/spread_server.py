# SPDX-License-Identifier: Apache-2.0
"""One disk over NBD that lies on others: its blocks striped over them, as a client's volume manager does; or two ways
to one and the same disk, as a client's multipath software has them.

Started as `python -m ioatlas_lab.spread_server unix:PATH UNIT_BYTES HOST:PORT/EXPORT ...`; a unit of 0 says that all
places are the same disk. Then writes go to the first that is there, reads to all in turn, and what waits on a way that
is cut goes to another again. Each client's connection has one of its own to every place, so that two clients meet there
and nowhere before.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
import sys
import threading
from dataclasses import dataclass, field

from ioatlas_lab.array_server import (
    EXPORT_NAME,
    FLUSH,
    MOST_BYTES,
    NO_ZEROES,
    READ,
    REPLY,
    REPLY_MAGIC,
    REQUEST,
    REQUEST_MAGIC,
    WRITE,
    greet,
    listen,
    receive,
)

_EIO = 5


@dataclass
class Part:
    """What of a request goes to one disk: a range there, and the pieces of the request's bytes that it is made of."""

    offset: int
    pieces: list[slice]

    @property
    def length(self) -> int:
        return sum(piece.stop - piece.start for piece in self.pieces)


def parts_of(offset: int, length: int, unit: int, count: int) -> dict[int, Part]:
    """By the number of the disk. Units lie on the disks in turn, so what one disk has of a range is one range too."""
    found: dict[int, Part] = {}
    at = offset
    while at < offset + length:
        number, inside = divmod(at, unit)
        end = min(offset + length, (number + 1) * unit)
        part = found.setdefault(number % count, Part(number // count * unit + inside, []))
        part.pieces.append(slice(at - offset, end - offset))
        at = end
    return found


@dataclass
class Asked:
    """A request of the client, until all of its parts are answered."""

    cookie: int
    kind: int
    body: bytearray
    left: int = 0
    error: int = 0


@dataclass
class Way:
    """A connection to one place, with what was asked there and is not answered."""

    connection: socket.socket
    waiting: dict[int, tuple[Asked, Part]] = field(default_factory=dict)
    is_cut: bool = False
    sending: threading.Lock = field(default_factory=threading.Lock)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        self.connection.close()


def reach(place: str) -> tuple[Way, int]:
    """(way, size in bytes) of an export. Raises OSError or EOFError when it is not there."""
    address, _, export = place.partition("/")
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host, int(port)), timeout=5)
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    receive(connection, 18)
    name = export.encode()
    connection.sendall(struct.pack(">I8sII", 1 | NO_ZEROES, b"IHAVEOPT", EXPORT_NAME, len(name)) + name)
    size, _ = struct.unpack(">QH", receive(connection, 10))
    return Way(connection), size


class Spread:
    """One connection of a client."""

    def __init__(self, connection: socket.socket, ways: list[Way], unit: int) -> None:
        self._connection, self._ways, self._unit = connection, ways, unit
        self._sending, self._asking = threading.Lock(), threading.Lock()
        self._cookies, self._turns = itertools.count(1), itertools.count()
        for way in ways:
            threading.Thread(target=self._answers, args=(way,), daemon=True).start()

    def requests(self) -> None:
        """Pass on what the client asks, until it ends."""
        while True:
            magic, _, kind, cookie, offset, length = REQUEST.unpack(receive(self._connection, REQUEST.size))
            if magic != REQUEST_MAGIC or kind not in (READ, WRITE, FLUSH) or length > MOST_BYTES:
                return
            body = bytearray(receive(self._connection, length)) if kind == WRITE else bytearray(length)
            parts = self._parts(kind, offset, length)
            asked = Asked(cookie, kind, body, len(parts))
            for way, part in parts:
                self._ask(way, asked, part)

    def _parts(self, kind: int, offset: int, length: int) -> list[tuple[Way, Part]]:
        if not self._unit:
            there = self._there() or self._ways
            way = there[next(self._turns) % len(there)] if kind == READ else there[0]
            return [(way, Part(offset, [slice(0, length)]))]
        if kind == FLUSH:
            return [(way, Part(0, [])) for way in self._ways]
        parts = parts_of(offset, length, self._unit, len(self._ways))
        return [(self._ways[number], part) for number, part in parts.items()]

    def _there(self) -> list[Way]:
        return [way for way in self._ways if not way.is_cut]

    def _ask(self, way: Way, asked: Asked, part: Part) -> None:
        with self._asking:
            mine, is_cut = next(self._cookies), way.is_cut
            if not is_cut:
                way.waiting[mine] = asked, part
        if is_cut:
            self._ask_again(asked, part)
            return
        head = REQUEST.pack(REQUEST_MAGIC, 0, asked.kind, mine, part.offset, part.length)
        data = b"".join(asked.body[piece] for piece in part.pieces) if asked.kind == WRITE else b""
        try:
            with way.sending:
                way.connection.sendall(head + data)
        except OSError:
            self._cut(way)

    def _ask_again(self, asked: Asked, part: Part) -> None:
        """By another way, where one leads to the same disk."""
        if not self._unit and (there := self._there()):
            self._ask(there[0], asked, part)
        else:
            self._done(asked, _EIO)

    def _answers(self, way: Way) -> None:
        with contextlib.suppress(OSError, EOFError, KeyError):  # no such cookie: the way was cut while it answered
            while True:
                _, error, mine = REPLY.unpack(receive(way.connection, REPLY.size))
                asked, part = way.waiting[mine]
                if asked.kind == READ and not error:
                    for piece in part.pieces:
                        asked.body[piece] = receive(way.connection, piece.stop - piece.start)
                with self._asking:
                    owed = way.waiting.pop(mine, None)
                if owed is not None:
                    self._done(asked, error)
        self._cut(way)

    def _cut(self, way: Way) -> None:
        """A place is gone: what it still owes is asked for elsewhere, or ends with an error."""
        with self._asking:
            way.is_cut = True
            owed, way.waiting = way.waiting, {}
        for asked, part in owed.values():
            self._ask_again(asked, part)

    def _done(self, asked: Asked, error: int) -> None:
        """One part more is answered; the client gets its reply with the last."""
        with self._sending:
            asked.left -= 1
            asked.error = asked.error or error
            if not asked.left:
                data = bytes(asked.body) if asked.kind == READ and not asked.error else b""
                with contextlib.suppress(OSError):
                    self._connection.sendall(REPLY.pack(REPLY_MAGIC, asked.error, asked.cookie) + data)


def serve(connection: socket.socket, unit: int, places: list[str]) -> None:
    """One connection, until the client ends it."""
    ways: list[Way] = []
    sizes: list[int] = []
    with connection, contextlib.suppress(OSError, EOFError):
        try:
            for place in places:
                with contextlib.nullcontext() if unit else contextlib.suppress(OSError, EOFError):
                    way, size = reach(place)
                    ways.append(way)
                    sizes.append(size)
            whole = len(ways) * min(size // unit * unit for size in sizes) if unit else max(sizes, default=0)
            if ways and greet(connection, whole):
                Spread(connection, ways, unit).requests()
        finally:
            for way in ways:
                way.close()


def main(address: str, unit: int, places: list[str]) -> None:
    listen(address, lambda connection: serve(connection, unit, places))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
