# SPDX-License-Identifier: Apache-2.0
"""A plugin of nbdkit: a disk in memory with a fault.

With `rate` it compresses what it stores and keeps equal blocks once, and its back end moves so many stored bytes a
second: every aligned 4 KiB block is charged with what is left of it after compression (never more than itself); a block
of which the same content is stored already is charged nothing. With `every` it stores one wrong byte in every n-th
write and reports success.

Loaded by nbdkit's own Python, so it imports nothing but nbdkit's module and the standard library.
"""

from __future__ import annotations

import itertools
import time
import zlib

API_VERSION = 2
BLOCK = 4096
CREDIT_SECONDS = 0.02
_SETTINGS = {"size": 64 << 20, "rate": 0, "compress": 1, "dedupe": 1, "every": 0}
_DISK = bytearray()
_COUNT = itertools.count(1)
_COST: dict[int, int] = {}
_CONTENT: dict[int, int] = {}
_STORED: dict[int, int] = {}
_DUE = [0.0]


def thread_model() -> int:
    import nbdkit  # type: ignore[import-not-found,unused-ignore]

    return int(nbdkit.THREAD_MODEL_SERIALIZE_ALL_REQUESTS if _SETTINGS["rate"] else nbdkit.THREAD_MODEL_PARALLEL)


def config(key: str, value: str) -> None:
    if key not in _SETTINGS:
        raise ValueError(f"unknown parameter {key}")
    _SETTINGS[key] = int(value)


def get_ready() -> None:
    _DISK.extend(bytes(_SETTINGS["size"]))


def open(readonly: bool) -> int:  # noqa: A001, ARG001
    return 1


def get_size(handle: int) -> int:  # noqa: ARG001
    return _SETTINGS["size"]


def can_multi_conn(handle: int) -> bool:  # noqa: ARG001
    return True


def flush(handle: int, flags: int) -> None:
    pass


def _wait(cost: int) -> None:
    """Let the back end move `cost` bytes: work is due one after the other. A sleep that took too long is made up for,
    idle time is not.
    """
    now = time.monotonic()
    _DUE[0] = max(_DUE[0], now - CREDIT_SECONDS) + cost / _SETTINGS["rate"]
    if _DUE[0] > now:
        time.sleep(_DUE[0] - now)


def _store(number: int, block: bytes) -> int:
    """Remember what a block costs to read; returns what it costs to write."""
    cost = min(BLOCK, len(zlib.compress(block, 1))) if _SETTINGS["compress"] else BLOCK
    if not _SETTINGS["dedupe"]:
        _COST[number] = cost
        return cost
    before = _CONTENT.pop(number, None)
    if before is not None:
        _STORED[before] -= 1
    mark = hash(block)
    known = _STORED.get(mark, 0) > 0
    _CONTENT[number], _STORED[mark] = mark, _STORED.get(mark, 0) + 1
    _COST[number] = 0 if known else cost
    return _COST[number]


def pread(handle: int, buf: bytearray, offset: int, flags: int) -> None:  # noqa: ARG001
    buf[:] = _DISK[offset : offset + len(buf)]
    if _SETTINGS["rate"]:
        _wait(sum(_COST.get(number, 0) for number in range(offset // BLOCK, -(-(offset + len(buf)) // BLOCK))))


def pwrite(handle: int, buf: bytes, offset: int, flags: int) -> None:  # noqa: ARG001
    _DISK[offset : offset + len(buf)] = buf
    if _SETTINGS["every"] and next(_COUNT) % _SETTINGS["every"] == 0:
        _DISK[offset + len(buf) // 2] ^= 0xFF
    if _SETTINGS["rate"]:
        numbers = range(offset // BLOCK, -(-(offset + len(buf)) // BLOCK))
        _wait(sum(_store(number, bytes(_DISK[number * BLOCK : (number + 1) * BLOCK])) for number in numbers))
