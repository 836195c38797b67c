# SPDX-License-Identifier: Apache-2.0
"""Disks that are loaded together: behind the one link of a central box, or striped over nodes with a link each."""

from __future__ import annotations

from collections.abc import Mapping

from ioatlas.errors import UsageError
from ioatlas_lab.array_model import stream_bytes_per_s
from ioatlas_lab.catalog_arrays import ARRAY, array_server, layout_of
from ioatlas_lab.catalog_nodes import iperf_server
from ioatlas_lab.catalog_root import IPERF, IPERF_SERVER, IPROUTE, PORT
from ioatlas_lab.network import goodput_bytes_per_s
from ioatlas_lab.recipes import FIO, each_way, scenario, whole
from ioatlas_lab.scenario import Check, Link, Nodes, Recipe, Serve, Setting, Truth

MOST = 16
"""Disks of one target."""
_TIMES = 50
"""How many times as fast as a node's port this machine's is: never what limits."""
_QUEUE_MS = 2000
"""Long enough that nothing is dropped: a client whose first packet to a full port is lost starts a second later."""


_DRIVES: dict[str, Setting] = {
    "arrays": 5,
    "drives": 8,
    "level": "raid10",
    "bw_bytes_per_s": 12_000_000,
    "seek_ms": 8.0,
    "size_bytes": 64 << 20,
}


def _count(s: Mapping[str, Setting]) -> int:
    count = whole(s, "arrays")
    if not 0 < count <= MOST:
        raise UsageError(f"arrays is 1 to {MOST}, not {count}")
    return count


def _truth(one: Mapping[str, float], together: Mapping[str, float], what: str) -> dict[str, Truth]:
    """What one array gives alone, and all of them together. what: they share, or have apart."""
    found = {}
    for way in ("read", "write"):
        alone = f"sequential, one array alone; {what}"
        found[f"{way}_bytes_per_s"] = Truth(one[way], "B/s", "arithmetic", alone)
        found[f"all_{way}_bytes_per_s"] = Truth(together[way], "B/s", "arithmetic", "the sum of all arrays together")
    return found


def _checks(size: int) -> tuple[Check, ...]:
    return each_way("{way}_bytes_per_s", "bs=64k", "iodepth=16", f"size={size}", settle_seconds=2)


@scenario(
    "central-box",
    "link",
    (FIO, IPERF, *IPROUTE),
    {**_DRIVES, "read_bits_per_s": 400_000_000, "write_bits_per_s": 200_000_000, "mtu": 1500},
    needs_root=True,
)
def _central_box(s: Mapping[str, Setting]) -> Recipe:
    """Several arrays behind the link of one controller, which takes less than it gives: together they share it."""
    layout, count, mtu = layout_of({**ARRAY, **s}), _count(s), whole(s, "mtu")
    out, into = whole(s, "read_bits_per_s"), whole(s, "write_bits_per_s")
    link = {"read": goodput_bytes_per_s(out, mtu), "write": goodput_bytes_per_s(into, mtu)}
    drives = {way: stream_bytes_per_s(layout, write=way == "write") for way in link}
    truth = _truth(
        {way: min(link[way], drives[way]) for way in link},
        {way: min(link[way], count * drives[way]) for way in link},
        "the lesser of its drives and the controller's link",
    )
    truth |= {
        f"link_{way}_bytes_per_s": Truth(link[way], "B/s", "arithmetic", "TCP payload that the controller passes")
        for way in link
    }
    places = [f"{{server}}:{PORT + number}" for number in range(count)]
    arrays = tuple(array_server(layout, place, f"disk{number}") for number, place in enumerate(places, 1))
    return Recipe(
        (Link(out, mtu, in_bits_per_s=into, queue_ms=_QUEUE_MS), *arrays, IPERF_SERVER),
        f"nbd://{places[0]}",
        truth,
        checks=_checks(layout.size_bytes),
        exports=tuple((f"array{number}", f"nbd://{place}") for number, place in enumerate(places, 1)),
    )


@scenario(
    "storage-nodes",
    "link",
    (FIO, IPERF, *IPROUTE),
    {**_DRIVES, "nodes_each": 2, "read_bits_per_s": 40_000_000, "write_bits_per_s": 20_000_000, "mtu": 1500},
    needs_root=True,
)
def _storage_nodes(s: Mapping[str, Setting]) -> Recipe:
    """Several arrays, each striped by the client over nodes with drives and a port each: together they add up."""
    count, each, mtu = _count(s), whole(s, "nodes_each"), whole(s, "mtu")
    drives, size = whole(s, "drives"), whole(s, "size_bytes")
    if not 0 < each <= MOST or count * each > MOST or drives % each:
        raise UsageError(f"{count} arrays over {each} nodes each cannot be", remedy=f"use at most {MOST} nodes")
    layout = layout_of({**ARRAY, **s, "drives": drives // each, "size_bytes": size // each})
    out, into = whole(s, "read_bits_per_s"), whole(s, "write_bits_per_s")
    port = {"read": goodput_bytes_per_s(out, mtu), "write": goodput_bytes_per_s(into, mtu)}
    one = {way: each * min(port[way], stream_bytes_per_s(layout, write=way == "write")) for way in port}
    truth = _truth(
        one, {way: count * rate for way, rate in one.items()}, "its nodes, each the lesser of drives and port"
    )
    truth |= {
        f"port_{way}_bytes_per_s": Truth(port[way], "B/s", "arithmetic", "TCP payload that a node passes")
        for way in port
    }
    nodes = range(1, count * each + 1)
    disks = tuple(array_server(layout, f"{{node{number}}}:{PORT}", f"disk{number}", node=number) for number in nodes)
    stripes, exports = [], []
    for array in range(1, count + 1):
        listening = f"{{dir}}/array{array}.sock"
        below = tuple(f"{{node{number}}}:{PORT}/" for number in nodes[(array - 1) * each : array * each])
        unit = str(layout.unit_bytes)
        words = ("{python}", "-m", "ioatlas_lab.spread_server", f"unix:{listening}", unit, *below)
        stripes.append(Serve(f"stripe{array}", words, listening))
        exports.append((f"array{array}", f"nbd+unix:///?socket={listening}"))
    return Recipe(
        (
            Nodes(
                len(nodes), out, mtu, in_bits_per_s=into, client_bits_per_s=_TIMES * max(out, into), queue_ms=_QUEUE_MS
            ),
            *disks,
            *stripes,
            iperf_server(1),
        ),
        exports[0][1],
        truth,
        checks=_checks(size),
        exports=tuple(exports),
    )
