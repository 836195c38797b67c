# SPDX-License-Identifier: Apache-2.0
"""A link of known rate and MTU: a server in a network namespace, joined to this one by a veth pair with a token bucket
at both ends.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from ioatlas.errors import IoAtlasError
from ioatlas.lab.scenario import Link

_TCP_IP_HEADERS = 52  # IPv4 20, TCP 20, timestamps 12
_FRAME_HEADER = 14  # what the token bucket counts of a frame; preamble, FCS and gap are no matter to it


def goodput_bytes_per_s(rate_bits_per_s: float, mtu: int) -> float:
    """TCP payload that passes a token bucket of this rate: rate/8 x (MTU-52)/(MTU+14)."""
    return rate_bits_per_s / 8 * (mtu - _TCP_IP_HEADERS) / (mtu + _FRAME_HEADER)


def lay_link(link: Link, namespace: str) -> dict[str, str]:
    """Make namespace, veth pair and token buckets; returns the names {namespace}, {server}, {client}, {device},
    {octet}. Needs root.

    Raises IoAtlasError when no network below 10.213.0.0/16 is free.
    """
    _ip("netns", "add", namespace)
    inner, octet = "lab0", _claim_subnet(link, namespace)
    server, client, outer = f"10.213.{octet}.1", f"10.213.{octet}.2", f"iolab{octet}"
    _ip("-n", namespace, "address", "add", f"{server}/24", "dev", inner)
    _ip("-n", namespace, "link", "set", "lo", "up")
    _ip("-n", namespace, "link", "set", inner, "up")
    _ip("address", "add", f"{client}/24", "dev", outer)
    _ip("link", "set", outer, "up")
    if link.rate_bits_per_s:
        for scope, device in ((["-n", namespace], inner), ([], outer)):
            _call(
                "tc",
                *scope,
                "qdisc",
                "add",
                "dev",
                device,
                "root",
                "tbf",
                "rate",
                f"{link.rate_bits_per_s}bit",
                "burst",
                str(link.burst_bytes),
                "latency",
                "50ms",
            )
    return {"namespace": namespace, "server": server, "client": client, "device": outer, "octet": str(octet)}


def _claim_subnet(link: Link, namespace: str) -> int:
    """Third octet of a free network, claimed by making the veth pair that is named after it: of two starts at once, one
    gets it.
    """
    routes = json.loads(_ip("-json", "-4", "route", "show", "table", "all") or "[]")
    taken = {str(route.get("dst", "")) for route in routes}
    for octet in range(1, 255):
        if f"10.213.{octet}.0/24" in taken or Path(f"/sys/class/net/iolab{octet}").exists():
            continue
        mtu = ("mtu", str(link.mtu))
        try:
            _ip("link", "add", f"iolab{octet}", *mtu, "type", "veth", "peer", "name", "lab0", "netns", namespace, *mtu)
        except IoAtlasError:
            if Path(f"/sys/class/net/iolab{octet}").exists():
                continue
            raise
        return octet
    raise IoAtlasError("no network below 10.213.0.0/16 is free for a lab link", remedy="run `ioatlas lab down`")


def _ip(*words: str) -> str:
    return _call("ip", *words)


def _call(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise IoAtlasError(
            f"`{' '.join(words)}` failed: {done.stderr.strip()}",
            remedy="the lab's links need root and the package iproute2",
        )
    return done.stdout
