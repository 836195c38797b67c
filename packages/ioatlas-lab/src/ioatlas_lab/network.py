# SPDX-License-Identifier: Apache-2.0
"""Links of known rate and MTU: a server in a network namespace, joined to this one by a veth pair with a token bucket
at both ends; or several servers on a switch.
"""

from __future__ import annotations

import json
import subprocess
import zlib
from collections.abc import Iterable
from pathlib import Path

from ioatlas.model.errors import IoAtlasError
from ioatlas_lab.scenario import Link, Nodes

_TCP_IP_HEADERS = 52  # IPv4 20, TCP 20, timestamps 12
_FRAME_HEADER = 14  # what the token bucket counts of a frame; preamble, FCS and gap are no matter to it


def goodput_bytes_per_s(rate_bits_per_s: float, mtu: int) -> float:
    """TCP payload that passes a token bucket of this rate: rate/8 x (MTU-52)/(MTU+14)."""
    return rate_bits_per_s / 8 * (mtu - _TCP_IP_HEADERS) / (mtu + _FRAME_HEADER)


def octet_of(ident: str) -> int:
    """The third octet that a lab target of this name asks for, so that its address is known before it is there.

    Names that differ in a number at their end, behind a dash, have different ones.
    """
    name, _, number = ident.rpartition("-")
    name, place = (name, int(number)) if number.isdigit() else (ident, 0)
    return (zlib.crc32(name.encode()) + place) % 254 + 1


def server_of(octet: int) -> str:
    """The address of the server in that network."""
    return node_of(octet, 1)


def node_of(octet: int | str, number: int) -> str:
    """The address of a node on the switch of that network; the first one is the server."""
    return f"10.213.{octet}.{1 if number == 1 else 10 + number}"


def lay_link(link: Link, namespace: str, *, octet: int | None = None) -> dict[str, str]:
    """Make namespace, veth pair and token buckets; returns the names {namespace}, {server}, {client}, {device},
    {octet}. Needs root.

    octet: the network to take; the first that is free without one. Raises IoAtlasError when there is none below
    10.213.0.0/16.
    """
    _ip("netns", "add", namespace)
    inner, octet = "lab0", _claim_subnet(link, namespace, range(1, 255) if octet is None else (octet,))
    server, client, outer = server_of(octet), f"10.213.{octet}.2", f"iolab{octet}"
    _ip("-n", namespace, "address", "add", f"{server}/24", "dev", inner)
    _ip("-n", namespace, "link", "set", "lo", "up")
    _ip("-n", namespace, "link", "set", inner, "up")
    _ip("address", "add", f"{client}/24", "dev", outer)
    _ip("link", "set", outer, "up")
    if link.rate_bits_per_s:
        _fill_bucket(namespace, inner, link.rate_bits_per_s, link.burst_bytes, link.queue_ms)
        _fill_bucket("", outer, link.in_bits_per_s or link.rate_bits_per_s, link.burst_bytes, link.queue_ms)
    return {"namespace": namespace, "server": server, "client": client, "device": outer, "octet": str(octet)}


def _fill_bucket(namespace: str, device: str, rate_bits_per_s: int, burst_bytes: int, queue_ms: int = 50) -> None:
    """Let this device send no faster than so."""
    bucket = ("rate", f"{rate_bits_per_s}bit", "burst", str(burst_bytes), "latency", f"{queue_ms}ms")
    _call("tc", *_scope(namespace), "qdisc", "add", "dev", device, "root", "tbf", *bucket)


def _scope(namespace: str) -> tuple[str, ...]:
    return ("-n", namespace) if namespace else ()


def lay_nodes(nodes: Nodes, namespace: str, *, octet: int | None = None) -> dict[str, str]:
    """Make a switch with a namespace for each node; returns {node1} ..., {namespace1} ..., {beside1} ... and what
    `lay_link` returns, where the server is the first node. Needs root.
    """
    link = Link(nodes.client_bits_per_s or nodes.rate_bits_per_s, nodes.mtu, nodes.burst_bytes, queue_ms=nodes.queue_ms)
    context, mtu = lay_link(link, namespace, octet=octet), ("mtu", str(nodes.mtu))
    _ip("-n", namespace, "address", "flush", "dev", "lab0")
    _ip("-n", namespace, "link", "add", "switch", *mtu, "type", "bridge")
    _ip("-n", namespace, "link", "set", "switch", "up")
    _ip("-n", namespace, "link", "set", "lab0", "master", "switch")
    for number in range(1, nodes.count + 1):
        node, port, address = f"{namespace}.{number}", f"port{number}", node_of(context["octet"], number)
        _ip("netns", "add", node)
        peer = ("type", "veth", "peer", "name", "lab0", "netns", node)
        _ip("-n", namespace, "link", "add", port, *mtu, *peer, *mtu)
        _ip("-n", namespace, "link", "set", port, "master", "switch", "up")
        _ip("-n", node, "address", "add", f"{address}/24", "dev", "lab0")
        for device in ("lo", "lab0"):
            _ip("-n", node, "link", "set", device, "up")
        _fill_bucket(namespace, port, nodes.in_bits_per_s or nodes.rate_bits_per_s, nodes.burst_bytes, nodes.queue_ms)
        _fill_bucket(node, "lab0", nodes.rate_bits_per_s, nodes.burst_bytes, nodes.queue_ms)
        context |= {f"node{number}": address, f"namespace{number}": node}
    if nodes.beside_bits_per_s:
        context |= _lay_beside(nodes, namespace)
    return context


def _lay_beside(nodes: Nodes, namespace: str) -> dict[str, str]:
    """A link of their own between the first two nodes; no other namespace sees its addresses."""
    first, second, mtu = f"{namespace}.1", f"{namespace}.2", ("mtu", str(nodes.mtu))
    _ip("-n", first, "link", "add", "lab1", *mtu, "type", "veth", "peer", "name", "lab1", "netns", second, *mtu)
    found = {}
    for number, node in ((1, first), (2, second)):
        found[f"beside{number}"] = f"10.214.0.{number}"
        _ip("-n", node, "address", "add", f"10.214.0.{number}/24", "dev", "lab1")
        _ip("-n", node, "link", "set", "lab1", "up")
        _fill_bucket(node, "lab1", nodes.beside_bits_per_s, nodes.burst_bytes)
    return found


def _claim_subnet(link: Link, namespace: str, octets: Iterable[int]) -> int:
    """Third octet of a free network, claimed by making the veth pair that is named after it: of two starts at once, one
    gets it.
    """
    routes = json.loads(_ip("-json", "-4", "route", "show", "table", "all") or "[]")
    taken = {str(route.get("dst", "")) for route in routes}
    for octet in octets:
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
    raise IoAtlasError(
        "no network of those below 10.213.0.0/16 is free for a lab link", remedy="run `ioatlas lab down`"
    )


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
