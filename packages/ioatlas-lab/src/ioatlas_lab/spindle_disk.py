# SPDX-License-Identifier: Apache-2.0
"""A plugin of nbdkit: one drive with a head that seeks and a platter that turns; in place, or under a log.

In place, a block is served where it lies. Under a log, writes of 4 KiB blocks go to the head of the log one after the
other, and reads go where the block was put. When the log is full, its oldest segment is read, what still counts of it
is written again at the head, and the segment is free.

Loaded by nbdkit's own Python, so it imports nothing but nbdkit's module and the standard library.
"""

from __future__ import annotations

import json
import math
import mmap
import random
import threading
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

API_VERSION = 2
BLOCK = 4096
TRACK = 1 << 20
"""As far from the head, in bytes, a place needs neither a seek nor a turn: the drive's read-ahead and write buffer."""
SEGMENT = 1 << 20
RESERVE = 2
"""Segments that cleaning keeps free."""


class Drive:
    """A head: an access costs seek, turn and transfer, and leaves the head behind its last byte."""

    def __init__(self, size: int, rate: float, settle: float, stroke: float, turn: float, seed: int) -> None:
        self.size, self.rate, self.settle, self.stroke, self.turn = size, rate, settle, stroke, turn
        self.head = 0
        self._chance = random.Random(seed)  # noqa: S311 - where the platter stands, no secret

    def access(self, offset: int, length: int) -> float:
        """Seconds that reading or writing there takes."""
        distance = abs(offset - self.head)
        self.head = offset + length
        seconds = length / self.rate
        if distance > TRACK:
            seconds += self.settle + self.stroke * math.sqrt(distance / self.size) + self._chance.random() * self.turn
        return seconds

    write = access
    read = access


class Log:
    """A log over a drive: where each block lies, and what writing and cleaning cost."""

    def __init__(self, drive: Drive, size: int) -> None:
        self.drive = drive
        self.blocks, self.per_segment = size // BLOCK, SEGMENT // BLOCK
        segments = drive.size // SEGMENT
        # The drive was filled once from its beginning to the size it offers.
        used = -(-self.blocks // self.per_segment)
        self._place = array("q", range(self.blocks))
        self._owner = array("q", [*range(self.blocks), *[-1] * (segments * self.per_segment - self.blocks)])
        self._live = [self.per_segment] * (self.blocks // self.per_segment)
        self._live += [self.blocks % self.per_segment] * (used - len(self._live)) + [0] * (segments - used)
        self._written = deque(range(used))
        self._free = deque(range(used, segments))
        self._next = self._end = 0
        self.host_blocks = self.moved_blocks = 0

    def read(self, offset: int, length: int) -> float:
        """Seconds of reading each stretch where it lies."""
        first, last = offset // BLOCK, -(-(offset + length) // BLOCK)
        return sum(self.drive.access(place, size) for place, size in _stretches(self._place[first:last]))

    def write(self, offset: int, length: int) -> float:
        """Seconds of appending these blocks, cleaning included."""
        first, last = offset // BLOCK, -(-(offset + length) // BLOCK)
        self.host_blocks += last - first
        return self._append(range(first, last), clean=True)

    def _append(self, blocks: Sequence[int], *, clean: bool) -> float:
        seconds = 0.0
        places: list[int] = []
        for block in blocks:
            if self._next == self._end:
                seconds += sum(self.drive.access(*one) for one in _stretches(places))
                places = []
                if clean:
                    seconds += self._clean()
                if self._next == self._end:
                    self._open_segment()
            old, new = self._place[block], self._next
            self._owner[old], self._owner[new], self._place[block] = -1, block, new
            self._live[old // self.per_segment] -= 1
            self._live[new // self.per_segment] += 1
            self._next += 1
            places.append(new)
        return seconds + sum(self.drive.access(*one) for one in _stretches(places))

    def _open_segment(self) -> None:
        segment = self._free.popleft()
        self._written.append(segment)
        self._next = segment * self.per_segment
        self._end = self._next + self.per_segment

    def _clean(self) -> float:
        """Free the oldest segments until the reserve is there again."""
        seconds = 0.0
        while len(self._free) <= RESERVE:
            victim = self._written.popleft()
            if self._live[victim]:
                begin = victim * self.per_segment
                seconds += self.drive.access(victim * SEGMENT, SEGMENT)
                live = [block for block in self._owner[begin : begin + self.per_segment] if block >= 0]
                self.moved_blocks += len(live)
                seconds += self._append(live, clean=False)
            self._free.append(victim)
        return seconds

    def age(self) -> None:
        """As after three times its size of random writes: the log is full, and blocks lie anywhere."""
        chance = random.Random(2)  # noqa: S311
        for _ in range(3 * self.blocks):
            self._append((chance.randrange(self.blocks),), clean=True)
        self.host_blocks = self.moved_blocks = 0

    def counts(self) -> dict[str, float]:
        """What was written for whom."""
        written = self.host_blocks + self.moved_blocks
        return {
            "host_bytes": self.host_blocks * BLOCK,
            "moved_bytes": self.moved_blocks * BLOCK,
            "write_amplification": written / self.host_blocks if self.host_blocks else 1.0,
        }


def _stretches(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """(offset, length) in bytes of each run of neighbouring blocks."""
    begin = 0
    for index in range(1, len(places) + 1):
        if index == len(places) or places[index] != places[index - 1] + 1:
            yield places[begin] * BLOCK, (index - begin) * BLOCK
            begin = index


_SETTINGS: dict[str, float] = {
    "size": 64 << 20,
    "spare_percent": 50,
    "rate": 20_000_000,
    "settle_ms": 0.5,
    "stroke_ms": 11.5,
    "rpm": 7200,
    "log": 0,
    "aged": 0,
    "seed": 1,
}
_NAMES = {"told": ""}
_DISK: list[mmap.mmap] = []
_SERVER: list[Drive | Log] = []
_LOCK = threading.Lock()
_FREE = [0.0]
_TOLD_AT = [0.0]


def make(settings: dict[str, float]) -> Drive | Log:
    """The drive, or the log over it, of these settings."""
    size = int(settings["size"])
    whole = -(-size * (100 + settings["spare_percent"]) // (100 * SEGMENT)) * SEGMENT
    drive = Drive(
        int(whole),
        settings["rate"],
        settings["settle_ms"] / 1000,
        settings["stroke_ms"] / 1000,
        60 / settings["rpm"],
        int(settings["seed"]),
    )
    if not settings["log"]:
        return drive
    log = Log(drive, size)
    if settings["aged"]:
        log.age()
    return log


def thread_model() -> int:
    import nbdkit  # type: ignore[import-not-found,unused-ignore]

    return int(nbdkit.THREAD_MODEL_PARALLEL)


def config(key: str, value: str) -> None:
    if key in _NAMES:
        _NAMES[key] = value
    elif key in _SETTINGS:
        _SETTINGS[key] = float(value)
    else:
        raise ValueError(f"unknown parameter {key}")


def get_ready() -> None:
    _DISK.append(mmap.mmap(-1, int(_SETTINGS["size"])))
    _SERVER.append(make(_SETTINGS))


def open(readonly: bool) -> int:  # noqa: A001, ARG001
    return 1


def close(handle: int) -> None:  # noqa: ARG001
    _tell()


def get_size(handle: int) -> int:  # noqa: ARG001
    return int(_SETTINGS["size"])


def can_multi_conn(handle: int) -> bool:  # noqa: ARG001
    return True


def flush(handle: int, flags: int) -> None:
    """What was answered lies on the platter already."""


def _serve(work: Callable[[int, int], float], offset: int, length: int) -> None:
    """Wait until the drive has done this work, which it begins when all that came before is done."""
    with _LOCK:
        _FREE[0] = max(_FREE[0], time.monotonic()) + work(offset, length)
        due = _FREE[0]
    left = due - time.monotonic()
    if left > 0:
        time.sleep(left)


def _tell(*, seldom: bool = False) -> None:
    (server,) = _SERVER
    with _LOCK:
        if not _NAMES["told"] or not isinstance(server, Log) or (seldom and time.monotonic() < _TOLD_AT[0] + 1):
            return
        _TOLD_AT[0] = time.monotonic()
        place = Path(_NAMES["told"])
        place.with_suffix(".new").write_text(json.dumps(server.counts()))
        place.with_suffix(".new").replace(place)


def pread(handle: int, buf: bytearray, offset: int, flags: int) -> None:  # noqa: ARG001
    _serve(_SERVER[0].read, offset, len(buf))
    buf[:] = _DISK[0][offset : offset + len(buf)]


def pwrite(handle: int, buf: bytes, offset: int, flags: int) -> None:  # noqa: ARG001
    _serve(_SERVER[0].write, offset, len(buf))
    _DISK[0][offset : offset + len(buf)] = buf
    _tell(seldom=True)
