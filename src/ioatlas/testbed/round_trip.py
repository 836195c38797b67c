# SPDX-License-Identifier: Apache-2.0
"""Two things that a cache gives itself away by: the time a packet takes to the server and back, and holes in a file."""

from __future__ import annotations

import os
import re
import socket
import time

from ioatlas.testbed.sheet import Sheet

PINGS, CONNECTIONS = 5, 5
CONNECT_SECONDS = 1.0


def round_trip_seconds(host: str, port: int | None = None) -> tuple[float | None, str]:
    """The smallest round trip to a host, and how it was measured: by ping, or by the time a TCP connection takes to be
    answered.

    The smaller of the two: neither can be shorter than the way there and back. None when the host answers neither.
    """
    found: list[tuple[float, str]] = []
    said = Sheet().tool(
        "ping", "-n", "-c", str(PINGS), "-i", "0.2", "-W", "1", host, accept_failure=True, seconds=PINGS * 0.2 + 2
    )
    times = re.findall(r"time[=<](\d+(?:\.\d+)?) ms", said or "")
    if times:
        found.append((min(map(float, times)) / 1000, "ping"))
    if port:
        connected = [seconds for _ in range(CONNECTIONS) if (seconds := _connect(host, port)) is not None]
        if connected:
            found.append((min(connected), "TCP connect"))
    return min(found) if found else (None, "ping, TCP connect")


def _connect(host: str, port: int) -> float | None:
    try:
        begin = time.perf_counter()
        with socket.create_connection((host, port), timeout=CONNECT_SECONDS):
            return time.perf_counter() - begin
    except OSError:
        return None


def has_holes(path: str) -> bool | None:
    """Whether a regular file has holes before its end (lseek, SEEK_HOLE); None when it is none,
    or its file system does not tell.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not os.path.isfile(path) or not status.st_size:  # noqa: PTH113 - a path may be a device
            return None
        # A file system that does not know of holes says that there is one at the end.
        return os.lseek(descriptor, 0, os.SEEK_HOLE) < status.st_size
    except OSError:
        return None
    finally:
        os.close(descriptor)
