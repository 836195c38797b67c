# SPDX-License-Identifier: Apache-2.0
"""The time a packet takes to the server and back: what is answered sooner came from a cache."""

from __future__ import annotations

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
