# SPDX-License-Identifier: Apache-2.0
"""A drive for nbdkit's Python plugin, in memory, whose I/Os take the time that its parts need.

nbdkit -U SOCKET python bench/law/disk.py parts='{"size": 1073741824, "servers": 1, "service": 0.004}'

parts, seconds and bytes; what is left out does not slow anything:
  servers, service, read_latency, write_latency     how many at once, for how long each, and what comes on top
  read_rate, write_rate                             bytes/s
  seek: [least, most, span]                         of a single arm, by the distance in bytes
  cache: [bytes, latency]                           reads of lines of 64 KiB, least recently used first out
  back: [bytes, rate]                               writes that are taken at `rate` while the medium drains
  slc: [bytes, rate]                                the first bytes written, and their rate
  pauses: [bytes, least, most]                      it stands still for a while after so many bytes written
  heat: [seconds of work, factor]                   its rates fall to the factor after so much work
"""

import heapq
import json
import math
import random
import threading
import time
from collections import OrderedDict

LINE = 64 << 10
NEAR = 16 << 20


class Disk:
    def __init__(self, parts: dict) -> None:
        self.parts = parts
        self.data = bytearray(parts["size"])
        self.lock = threading.Lock()
        self.draws = random.Random(parts.get("seed", 0))
        self.servers = [0.0] * parts.get("servers", 64)
        self.channel = {"read": 0.0, "write": 0.0}
        self.head = 0
        self.lines: OrderedDict[int, None] = OrderedDict()
        self.dirty, self.drained = 0.0, time.monotonic()
        self.taken = 0.0
        self.slc = parts.get("slc", [0, 0])[0]
        self.to_pause = parts.get("pauses", [math.inf])[0]
        self.worked, self.rested = 0.0, time.monotonic()

    def done(self, way: str, offset: int, count: int) -> float:
        """When an I/O that comes now is through, on the clock of time.monotonic."""
        with self.lock:
            now = time.monotonic()
            if way == "read" and "cache" in self.parts:
                missed = self.missed(offset, count)
                if not missed:
                    return now + self.parts["cache"][1]
                count = missed * LINE
            if way == "write" and "back" in self.parts:
                return self.buffered(count, now)
            return self.medium(way, offset, count, now)

    def missed(self, offset: int, count: int) -> int:
        missed, room = 0, self.parts["cache"][0] // LINE
        for line in range(offset // LINE, (offset + count - 1) // LINE + 1):
            if line in self.lines:
                self.lines.move_to_end(line)
                continue
            missed += 1
            if len(self.lines) >= room:
                self.lines.popitem(last=False)
            self.lines[line] = None
        return missed

    def buffered(self, count: int, now: float) -> float:
        size, rate = self.parts["back"]
        drains = self.parts["write_rate"]
        self.dirty = max(0.0, self.dirty - drains * (now - self.drained))
        self.drained = now
        wait = max(0.0, self.dirty + count - size) / drains
        self.dirty += count
        self.taken = max(self.taken, now) + count / rate
        return max(self.taken, now + wait)

    def medium(self, way: str, offset: int, count: int, now: float) -> float:
        parts = self.parts
        rate = parts.get(f"{way}_rate", math.inf)
        if way == "write" and self.slc > 0:
            self.slc -= count
            rate = parts["slc"][1]
        slow = 1.0
        if "heat" in parts:
            self.worked = max(0.0, self.worked - 0.5 * (now - self.rested))
            self.rested = now
            slow = parts["heat"][1] if self.worked > parts["heat"][0] else 1.0
        service = parts.get("service", 0.0)
        if "seek" in parts and abs(offset - self.head) > NEAR:
            least, most, span = parts["seek"]
            service += least + (most - least) * math.sqrt(min(1.0, abs(offset - self.head) / span))
        self.head = offset + count
        start = max(now, self.servers[0])
        served = start + service / slow
        if way == "write":
            self.to_pause -= count
            if self.to_pause < 0:
                self.to_pause = parts["pauses"][0]
                served += self.draws.uniform(*parts["pauses"][1:])
                self.servers = [max(one, served) for one in self.servers]
        side = way if parts.get("apart") else "read"
        begin = max(served, self.channel[side])
        self.channel[side] = begin + count / (rate * slow)
        if len(self.servers) == 1:  # one arm does not move before its bytes are through
            served = self.channel[side]
        heapq.heapreplace(self.servers, served)
        if "heat" in parts:
            self.worked = min(1.2 * parts["heat"][0], self.worked + self.channel[side] - max(now, begin) + service)
        return self.channel[side] + parts.get(f"{way}_latency", 0.0) / slow


_DISK: list[Disk] = []


def config(key: str, value: str) -> None:
    if key != "parts":
        raise ValueError(key)
    _DISK.append(Disk(json.loads(value)))


def thread_model() -> int:
    import nbdkit

    return nbdkit.THREAD_MODEL_PARALLEL


def open(_readonly: bool) -> int:  # noqa: A001 - nbdkit's name
    return 1


def get_size(_handle: int) -> int:
    return len(_DISK[0].data)


def can_multi_conn(_handle: int) -> bool:
    return True


def _wait(way: str, offset: int, count: int) -> None:
    left = _DISK[0].done(way, offset, count) - time.monotonic()
    if left > 0:
        time.sleep(left)


def pread(_handle: int, buffer, offset: int, _flags: int) -> None:
    _wait("read", offset, len(buffer))
    buffer[:] = _DISK[0].data[offset : offset + len(buffer)]


def pwrite(_handle: int, buffer, offset: int, _flags: int) -> None:
    _wait("write", offset, len(buffer))
    _DISK[0].data[offset : offset + len(buffer)] = buffer


def flush(_handle: int, _flags: int) -> None:
    time.sleep(_DISK[0].parts.get("flush", 0.0))


API_VERSION = 2
