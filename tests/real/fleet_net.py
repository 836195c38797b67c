# SPDX-License-Identifier: Apache-2.0
"""A server and clients in network namespaces on one bridge, the server behind a link of known rate."""

import contextlib
import itertools
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ioatlas_lab.network import goodput_bytes_per_s
from tests.real.target_lab import wait_for

SUBNET = f"10.{200 + os.getpid() // 250 % 50}.{os.getpid() % 250}"
"""Of this process: tests of another checkout may run beside."""


def sh(*words, check=True):
    return subprocess.run(words, check=check, capture_output=True, text=True)


_NUMBERS = itertools.count(1)


@dataclass(frozen=True)
class Net:
    """uri: of the export. clients: words for --clients. truth: bytes a second that pass the link."""

    prefix: str
    names: tuple[str, ...]
    uri: str
    truth: float

    @property
    def clients(self):
        return "netns:" + ",".join(self.names)

    def carried(self):
        """Bytes that each client was sent so far."""
        places = (Path(f"/sys/class/net/{self.prefix}v{number}") for number in range(2, 2 + len(self.names)))
        return [int((place / "statistics/tx_bytes").read_text()) for place in places]

    def link(self, name, state):
        """Take a client's link up or down."""
        sh("ip", "-n", name, "link", "set", "e0", state)


@contextlib.contextmanager
def fleet_net(count, place, *, rate_bits_per_s=10**9, size="64M", export=("memory",)):
    """A bridge here, `count` client namespaces, and an nbdkit in a namespace behind a token bucket."""
    # The kernel takes the links of a namespace down after it is gone: the next net has names of its own.
    prefix = f"iof{os.getpid() % 10000}n{next(_NUMBERS)}"
    bridge, server = f"{prefix}b", f"{prefix}s"
    names = tuple(f"{prefix}c{number}" for number in range(1, count + 1))
    pid = Path(place) / "nbdkit.pid"
    try:
        sh("ip", "link", "add", bridge, "type", "bridge")
        sh("ip", "address", "add", f"{SUBNET}.254/24", "dev", bridge)
        sh("ip", "link", "set", bridge, "up")
        for number, name in enumerate((server, *names), 1):
            outer = f"{prefix}v{number}"
            sh("ip", "netns", "add", name)
            sh("ip", "link", "add", outer, "type", "veth", "peer", "name", "e0", "netns", name)
            sh("ip", "link", "set", outer, "master", bridge, "up")
            sh("ip", "-n", name, "address", "add", f"{SUBNET}.{number}/24", "dev", "e0")
            sh("ip", "-n", name, "link", "set", "lo", "up")
            sh("ip", "-n", name, "link", "set", "e0", "up")
        tbf = ("tbf", "rate", f"{rate_bits_per_s}bit", "burst", "256k", "latency", "50ms")
        sh("tc", "-n", server, "qdisc", "add", "dev", "e0", "root", *tbf)
        sh(*("nsenter", f"--net=/run/netns/{server}", "nbdkit", "-i", f"{SUBNET}.1", "-P", str(pid)), *(*export, size))
        _until_it_answers(server)
        yield Net(prefix, names, f"nbd://{SUBNET}.1", goodput_bytes_per_s(rate_bits_per_s, 1500))
    finally:
        with contextlib.suppress(OSError, ValueError):
            os.kill(int(pid.read_text()), 9)  # asked to end, it waits for connections of a link that is gone
        for name in (server, *names):
            sh("ip", "netns", "del", name, check=False)
        sh("ip", "link", "del", bridge, check=False)


def _until_it_answers(server):
    wait_for(lambda: sh("ss", "-N", server, "-Hltn", "sport", "=", "10809", check=False).stdout)
