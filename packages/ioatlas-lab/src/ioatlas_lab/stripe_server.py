# SPDX-License-Identifier: Apache-2.0
"""One disk over NBD whose blocks are striped over several others, as a client's volume manager does.

Started as `python -m ioatlas_lab.stripe_server unix:PATH UNIT_BYTES HOST:PORT/EXPORT ...`. Each client's connection has
one of its own to every disk below, so that two clients meet at the disks and nowhere before.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from ioatlas_lab.array_server import greet, listen, receive
from ioatlas_lab.paths_server import Way, reach

_REQUEST = struct.Struct(">IHHQQI")
_REPLY = struct.Struct(">IIQ")
_REQUEST_MAGIC, _REPLY_MAGIC = 0x25609513, 0x67446698
_READ, _WRITE, _DISCONNECT, _FLUSH = 0, 1, 2, 3
_EIO, _EINVAL, _MOST_BYTES = 5, 22, 32 << 20


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
    """A request of the client, until all disks have answered."""

    cookie: int
    kind: int
    body: bytearray
    left: int
    error: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answered(self, error: int) -> bool:
        """Whether this was the last answer."""
        with self.lock:
            self.left -= 1
            self.error = self.error or error
            return not self.left


class Volume:
    """One connection of a client."""

    def __init__(self, connection: socket.socket, ways: list[Way], unit: int) -> None:
        self._connection, self._ways, self._unit = connection, ways, unit
        self._sending, self._cookies = threading.Lock(), itertools.count(1)
        self._waiting: list[dict[int, tuple[Asked, Part]]] = [{} for _ in ways]
        for number in range(len(ways)):
            threading.Thread(target=self._answers, args=(number,), daemon=True).start()

    def requests(self) -> None:
        """Pass on what the client asks, until it ends."""
        while True:
            magic, _, kind, cookie, offset, length = _REQUEST.unpack(receive(self._connection, _REQUEST.size))
            if magic != _REQUEST_MAGIC or kind == _DISCONNECT or length > _MOST_BYTES:
                return
            body = bytearray(receive(self._connection, length)) if kind == _WRITE else bytearray(length)
            if kind not in (_READ, _WRITE, _FLUSH):
                self._reply(Asked(cookie, kind, body, 0, _EINVAL))
                continue
            self._ask(cookie, kind, body, dict(self._parts(kind, offset, length)))

    def end(self) -> None:
        for way in self._ways:
            with contextlib.suppress(OSError):
                way.connection.shutdown(socket.SHUT_RDWR)
            way.connection.close()

    def _parts(self, kind: int, offset: int, length: int) -> Iterator[tuple[int, Part]]:
        if kind == _FLUSH:
            return ((number, Part(0, [])) for number in range(len(self._ways)))
        return iter(parts_of(offset, length, self._unit, len(self._ways)).items())

    def _ask(self, cookie: int, kind: int, body: bytearray, parts: dict[int, Part]) -> None:
        asked = Asked(cookie, kind, body, len(parts))
        whole = memoryview(body)
        for number, part in parts.items():
            mine = next(self._cookies)
            self._waiting[number][mine] = (asked, part)
            head = _REQUEST.pack(_REQUEST_MAGIC, 0, kind, mine, part.offset, part.length)
            data = b"".join(whole[piece] for piece in part.pieces) if kind == _WRITE else b""
            try:
                self._ways[number].connection.sendall(head + data)
            except OSError:
                self._cut(number)

    def _answers(self, number: int) -> None:
        way, waiting = self._ways[number].connection, self._waiting[number]
        with contextlib.suppress(OSError, EOFError):
            while True:
                _, error, mine = _REPLY.unpack(receive(way, _REPLY.size))
                asked, part = waiting[mine]
                if asked.kind == _READ and not error:
                    for piece in part.pieces:
                        asked.body[piece] = receive(way, piece.stop - piece.start)
                if waiting.pop(mine, None) is not None:
                    self._done(asked, error)
        self._cut(number)

    def _cut(self, number: int) -> None:
        """A disk is gone: what waits for it ends with an error."""
        waiting = self._waiting[number]
        for mine in list(waiting):
            owed = waiting.pop(mine, None)
            if owed is not None:
                self._done(owed[0], _EIO)

    def _done(self, asked: Asked, error: int) -> None:
        if asked.answered(error):
            self._reply(asked)

    def _reply(self, asked: Asked) -> None:
        head = _REPLY.pack(_REPLY_MAGIC, asked.error, asked.cookie)
        data = bytes(asked.body) if asked.kind == _READ and not asked.error else b""
        with self._sending, contextlib.suppress(OSError):
            self._connection.sendall(head + data)


def serve(connection: socket.socket, unit: int, places: list[str]) -> None:
    """One connection, until the client ends it."""
    ways: list[Way] = []
    volume: Volume | None = None
    with connection, contextlib.suppress(OSError, EOFError):
        try:
            sizes = []
            for place in places:
                way, size = reach(place)
                ways.append(way)
                sizes.append(size // unit * unit)
            if greet(connection, len(places) * min(sizes)):
                volume = Volume(connection, ways, unit)
                volume.requests()
        finally:
            if volume is not None:
                volume.end()
            else:
                for way in ways:
                    way.connection.close()


def main(address: str, unit: int, places: list[str]) -> None:
    listen(address, lambda connection: serve(connection, unit, places))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
