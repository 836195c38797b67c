# SPDX-License-Identifier: Apache-2.0
"""A plugin of nbdkit: a disk in memory that stores one wrong byte in every n-th write and reports success.

Loaded by nbdkit's own Python, so it imports nothing but nbdkit's module.
"""

from __future__ import annotations

import itertools

API_VERSION = 2
_SETTINGS = {"size": 64 << 20, "every": 500}
_DISK = bytearray()
_COUNT = itertools.count(1)


def thread_model() -> int:
    import nbdkit  # type: ignore[import-not-found,unused-ignore]

    return int(nbdkit.THREAD_MODEL_PARALLEL)


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


def can_flush(handle: int) -> bool:  # noqa: ARG001
    return True


def flush(handle: int, flags: int) -> None:
    pass


def pread(handle: int, buf: bytearray, offset: int, flags: int) -> None:  # noqa: ARG001
    buf[:] = _DISK[offset : offset + len(buf)]


def pwrite(handle: int, buf: bytes, offset: int, flags: int) -> None:  # noqa: ARG001
    _DISK[offset : offset + len(buf)] = buf
    if next(_COUNT) % _SETTINGS["every"] == 0:
        _DISK[offset + len(buf) // 2] ^= 0xFF
