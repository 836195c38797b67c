# SPDX-License-Identifier: Apache-2.0
"""The helper that makes a link long: two interfaces of its own, whose packets it hands over after half of the round
trip.

Started as `python far_link.py NAMESPACE ROUND_TRIP_MS MTU READY_FILE`; its interfaces vanish with it. It imports
nothing of the project. A kernel with netem would do the same; many are built without it.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import struct
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000  # <linux/if_tun.h>


def interface(name: str) -> int:
    """A new interface that carries IP packets; raises OSError when the name is taken."""
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def claim() -> tuple[int, int]:
    """The interface that is named after a free network below 10.213.0.0/16, and its third octet."""
    for octet in range(1, 255):
        try:
            return interface(f"iolab{octet}"), octet
        except OSError:
            continue
    sys.exit("no network below 10.213.0.0/16 is free for a lab link")


def ip(*words: str) -> None:
    """Run the command of this name, which must succeed."""
    subprocess.run(["ip", *words], check=True)


def relay(left: int, right: int, seconds: float) -> None:
    """Hand each side's packets to the other, in order, each this much later."""
    other = {left: right, right: left}
    waiting: deque[tuple[float, int, bytes]] = deque()
    while True:
        ready, _, _ = select.select(
            [left, right], [], [], max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        )
        for side in ready:
            try:
                while True:
                    waiting.append((time.monotonic() + seconds, other[side], os.read(side, 1 << 16)))
            except BlockingIOError:
                pass
        while waiting and waiting[0][0] <= time.monotonic():
            _, side, packet = waiting.popleft()
            os.write(side, packet)


def main(namespace: str, round_trip_ms: str, mtu: str, ready: str) -> None:
    """Lay the link, say so, and carry its packets for ever."""
    outer, octet = claim()
    inner = interface(f"iolabn{octet}")
    ip("link", "set", f"iolabn{octet}", "netns", namespace, "name", "lab0")
    server, client = f"10.213.{octet}.1", f"10.213.{octet}.2"
    for scope, device, address in (([], f"iolab{octet}", client), (["-n", namespace], "lab0", server)):
        ip(*scope, "address", "add", f"{address}/24", "dev", device)
        ip(*scope, "link", "set", device, "mtu", mtu, "up")
    place = Path(ready)
    names = {"namespace": namespace, "server": server, "client": client, "device": f"iolab{octet}", "octet": str(octet)}
    place.with_suffix(".new").write_text(json.dumps(names))
    place.with_suffix(".new").replace(place)
    relay(outer, inner, float(round_trip_ms) / 2000)


if __name__ == "__main__":
    main(*sys.argv[1:5])
