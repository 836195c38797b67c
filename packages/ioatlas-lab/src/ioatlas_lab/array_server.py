# SPDX-License-Identifier: Apache-2.0
"""A disk over NBD whose requests take the time that an array of drives would: memory behind the clocks of
`array_model`.

Started as `python -m ioatlas_lab.array_server unix:PATH|HOST:PORT NAME=VALUE ...`. A server of its own, because the
order of requests is what tells a stream from single blocks: nbdkit hands them to threads that overtake each other.
Simple replies of the NBD protocol, one connection a client's job; all connections share the drives.
"""

from __future__ import annotations

import contextlib
import heapq
import mmap
import socket
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from ioatlas_lab.array_model import Array, Layout

# github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md
_FIXED_NEWSTYLE, NO_ZEROES = 1, 2
_CAN = 1 | 1 << 2 | 1 << 3 | 1 << 8  # flags there are; flush, FUA, several connections
EXPORT_NAME, _ABORT, _LIST, _INFO, _GO = 1, 2, 3, 6, 7
_ACK, _SERVER, _EXPORT_INFO, _UNSUPPORTED = 1, 2, 3, 1 << 31 | 1
READ, WRITE, _DISCONNECT, FLUSH = 0, 1, 2, 3
REQUEST = struct.Struct(">IHHQQI")
REPLY = struct.Struct(">IIQ")
REQUEST_MAGIC, REPLY_MAGIC, _OPTION_MAGIC = 0x25609513, 0x67446698, 0x3E889045565A9
_EINVAL, MOST_BYTES = 22, 32 << 20
_FOLLOWS_SECONDS, _MOST_LATE_SECONDS = 0.1, 0.5


class Disk:
    """The memory and the clocks of the drives."""

    def __init__(self, layout: Layout) -> None:
        self.size_bytes = layout.size_bytes
        # Private: pages that nobody wrote cost nothing when they are read.
        self.memory = memoryview(mmap.mmap(-1, layout.size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
        self._array = Array(layout)
        self._busy_until: dict[int, float] = {}
        self._lock = threading.Lock()

    def done_at(self, since: float, offset: int, length: int, *, write: bool) -> float:
        """When a request that came at `since` is done: every drive does one thing after the other."""
        with self._lock:
            done = since
            for drive, seconds in self._array.work(offset, length, write=write).items():
                until = max(self._busy_until.get(drive, 0.0), since) + seconds
                self._busy_until[drive] = until
                done = max(done, until)
            return done


class Replies:
    """Replies of one connection, each sent when it is due, in a thread of its own."""

    def __init__(self, connection: socket.socket, disk: Disk) -> None:
        self._connection, self._disk = connection, disk
        self._due: list[tuple[float, int, int, int, int]] = []
        self._late: deque[tuple[float, float]] = deque(maxlen=1024)
        self._count = 0
        self._changed = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def later(self, due: float, cookie: int, offset: int = 0, length: int = 0) -> None:
        """Reply at `due`, with `length` bytes from `offset`; a negative length is an error's number."""
        with self._changed:
            self._count += 1
            heapq.heappush(self._due, (due, self._count, cookie, offset, length))
            if self._due[0][1] == self._count:
                self._changed.notify()

    def arrival(self) -> float:
        """When the request that has just come would have come had the reply before it not been late: what a busy
        machine lost is made up for, idle time is not. One request follows each reply.
        """
        now = time.monotonic()
        while self._late:
            sent_at, late = self._late.popleft()
            if now - sent_at < _FOLLOWS_SECONDS:
                return now - min(late, _MOST_LATE_SECONDS)
        return now

    def end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join()

    def _next(self) -> tuple[float, int, int, int, int] | None:
        with self._changed:
            while not self._ended:
                wait = self._due[0][0] - time.monotonic() if self._due else None
                if wait is not None and wait <= 0:
                    return heapq.heappop(self._due)
                self._changed.wait(wait)
        return None

    def _send(self) -> None:
        with contextlib.suppress(OSError):
            while (reply := self._next()) is not None:
                due, _, cookie, offset, length = reply
                now = time.monotonic()
                if due:
                    self._late.append((now, now - due))
                head = REPLY.pack(REPLY_MAGIC, max(0, -length), cookie)
                if length > 0:
                    _send_all(self._connection, head, self._disk.memory[offset : offset + length])
                else:
                    self._connection.sendall(head)


def _send_all(connection: socket.socket, head: bytes, body: memoryview) -> None:
    sent = connection.sendmsg([head, body])
    if sent < len(head):
        connection.sendall(head[sent:])
        sent = len(head)
    if sent < len(head) + len(body):
        connection.sendall(body[sent - len(head) :])


def receive(connection: socket.socket, length: int) -> bytes:
    """Exactly so many bytes. Raises EOFError when the client is gone."""
    data = bytearray(length)
    _receive_into(connection, memoryview(data))
    return bytes(data)


def _receive_into(connection: socket.socket, place: memoryview) -> None:
    while place:
        count = connection.recv_into(place, 0, socket.MSG_WAITALL)
        if not count:
            raise EOFError
        place = place[count:]


def greet(connection: socket.socket, size_bytes: int) -> bool:
    """The talk about options (fixed newstyle); true when the client wants the disk, under whatever name."""
    connection.sendall(b"NBDMAGICIHAVEOPT" + struct.pack(">H", _FIXED_NEWSTYLE | NO_ZEROES))
    zeroes = not struct.unpack(">I", receive(connection, 4))[0] & NO_ZEROES
    export = struct.pack(">QH", size_bytes, _CAN)
    while True:
        magic, option, length = struct.unpack(">8sII", receive(connection, 16))
        if magic != b"IHAVEOPT" or length > MOST_BYTES:
            return False
        receive(connection, length)
        if option == EXPORT_NAME:
            connection.sendall(export + bytes(124 if zeroes else 0))
            return True
        answers = {
            _ABORT: [(_ACK, b"")],
            _LIST: [(_SERVER, struct.pack(">I", 0)), (_ACK, b"")],
            _INFO: [(_EXPORT_INFO, struct.pack(">H", 0) + export), (_ACK, b"")],
            _GO: [(_EXPORT_INFO, struct.pack(">H", 0) + export), (_ACK, b"")],
        }.get(option, [(_UNSUPPORTED, b"")])
        for kind, data in answers:
            connection.sendall(struct.pack(">QIII", _OPTION_MAGIC, option, kind, len(data)) + data)
        if option in (_ABORT, _GO):
            return bool(option == _GO)


def serve(connection: socket.socket, disk: Disk) -> None:
    """One connection, until the client ends it."""
    if connection.family == socket.AF_INET:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    replies: Replies | None = None
    with connection, contextlib.suppress(OSError, EOFError):
        if not greet(connection, disk.size_bytes):
            return
        replies = Replies(connection, disk)
        try:
            _answer(connection, disk, replies)
        finally:
            replies.end()


def _answer(connection: socket.socket, disk: Disk, replies: Replies) -> None:
    while True:
        magic, _, kind, cookie, offset, length = REQUEST.unpack(receive(connection, REQUEST.size))
        if magic != REQUEST_MAGIC or kind == _DISCONNECT:
            return
        fits = offset + length <= disk.size_bytes and 0 < length <= MOST_BYTES
        if kind == WRITE:
            if length > MOST_BYTES:
                return  # its bytes would be taken for requests
            if fits:
                _receive_into(connection, disk.memory[offset : offset + length])
            else:
                receive(connection, length)
        if kind == FLUSH:
            replies.later(0.0, cookie)
        elif kind not in (READ, WRITE) or not fits:
            replies.later(0.0, cookie, 0, -_EINVAL)
        else:
            due = disk.done_at(replies.arrival(), offset, length, write=kind == WRITE)
            replies.later(due, cookie, offset, length if kind == READ else 0)


def layout_of(words: list[str]) -> Layout:
    """A layout from NAME=VALUE."""
    given = dict(word.split("=", 1) for word in words)
    plain = asdict(Layout())
    return Layout(**{name: type(plain[name])(value) for name, value in given.items()})


def listen(address: str, answer: Callable[[socket.socket], None]) -> None:
    """Answer every connection in a thread of its own, without end. address: unix:PATH or HOST:PORT."""
    kind, _, place = address.partition(":")
    if kind == "unix":
        Path(place).unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(place)
        listener.listen(64)
    else:
        listener = socket.create_server((kind, int(place)), backlog=64)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def main(address: str, words: list[str]) -> None:
    disk = Disk(layout_of(words))
    listen(address, lambda connection: serve(connection, disk))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
