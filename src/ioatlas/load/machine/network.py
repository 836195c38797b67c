# SPDX-License-Identifier: Apache-2.0
"""The network part of the path: which interface leads to the server, how fast it says it is, and what it offloads;
and the time a packet takes to the server and back: what is answered sooner came from a cache.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import time
from pathlib import Path

from ioatlas.load.machine.hardware import look_at_slot
from ioatlas.load.machine.sheet import Sheet, as_int, as_value, is_virtual
from ioatlas.model.units import pairs

OFFLOADS = pairs("""
    tcp-segmentation-offload=tso generic-segmentation-offload=gso generic-receive-offload=gro large-receive-offload=lro
    rx-checksumming=rx_checksum tx-checksumming=tx_checksum scatter-gather=scatter_gather ntuple-filters=ntuple
    receive-hashing=rss
""")
NET = Path("/sys/class/net")


def look_at_network(sheet: Sheet, server: str) -> list[str]:
    """Enter the facts of the interface that the route to `server` leaves through; returns the interfaces,
    members of a bond included.
    """
    address = _address(sheet, server)
    if not address:
        return []
    routes = sheet.tool_json("ip", "-j", "route", "get", address)
    if not routes:
        sheet.unknown("nic.name", f"ip -j route get {address}")
        return []
    route = routes[0]
    name = str(route.get("dev", ""))
    local = name == "lo" or route.get("type") == "local"
    sheet.known("nic.name", name, "ip -j route get")
    sheet.known(
        "route.local",
        local,
        "ip -j route get",
        note="the server is this machine: no wire is on the path" if local else "",
    )
    sheet.known("route.hops", "gateway" if route.get("gateway") else "direct", "ip -j route get")
    if route.get("gateway"):
        sheet.known("route.gateway", route["gateway"], "ip -j route get", private=True)
    path_mtu = next((as_int(metric.get("mtu")) for metric in route.get("metrics", []) if "mtu" in metric), None)
    if path_mtu:
        sheet.known("route.mtu", path_mtu, "ip -j route get", unit="B")
    interface(sheet, "nic", name)
    members = sorted(link.name.removeprefix("lower_") for link in (NET / name).glob("lower_*"))
    for member in members:
        interface(sheet, f"nic.member.{member}", member)
    if members:
        sheet.known("nic.members", " ".join(members), str(NET / name))
    _tcp(sheet)
    return [name, *members]


def _address(sheet: Sheet, server: str) -> str:
    try:
        return str(ipaddress.ip_address(server.split("%", maxsplit=1)[0]))
    except ValueError:
        pass
    try:
        return str(socket.getaddrinfo(server, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError as error:
        sheet.unknown("nic.name", "getaddrinfo", f"the server's name cannot be resolved: {error.strerror}")
        return ""


def interface(sheet: Sheet, prefix: str, name: str) -> None:
    """Enter speed, duplex, MTU, queues, offloads and slot of one interface."""
    place = NET / name
    doubt = _doubt(place, name)
    kind = _kind(sheet, place)
    sheet.known(f"{prefix}.kind", kind, str(place))
    driver = (place / "device" / "driver").resolve().name if (place / "device" / "driver").exists() else ""
    if driver:
        sheet.known(f"{prefix}.driver", driver, str(place / "device" / "driver"))
    mtu = as_int(sheet.file(place / "mtu"))
    sheet.known(f"{prefix}.mtu", mtu, str(place / "mtu"), unit="B")
    sheet.known(f"{prefix}.state", sheet.file(place / "operstate"), str(place / "operstate"))
    speed = as_int(sheet.file(place / "speed"))
    if speed is None or speed <= 0:
        sheet.unknown(f"{prefix}.speed", str(place / "speed"), f"the interface does not tell its speed ({kind})")
    else:
        sheet.stated(f"{prefix}.speed", speed * 10**6, str(place / "speed"), doubt=doubt, unit="bit/s")
    duplex = sheet.file(place / "duplex")
    if duplex in {"full", "half"}:
        sheet.stated(f"{prefix}.duplex", duplex, str(place / "duplex"), doubt=doubt)
    else:
        sheet.unknown(f"{prefix}.duplex", str(place / "duplex"))
    sheet.known(f"{prefix}.rx_queues", len(list((place / "queues").glob("rx-*"))), str(place / "queues"))
    sheet.known(f"{prefix}.address", sheet.file(place / "address"), str(place / "address"), private=True)
    _offloads(sheet, prefix, name)
    _shaping(sheet, prefix, name)
    if kind == "bond":
        mode = sheet.file(place / "bonding" / "mode")
        sheet.known(f"{prefix}.bond_mode", mode.split()[0] if mode else None, str(place / "bonding/mode"))
    if (place / "device").exists():
        look_at_slot(sheet, prefix, place / "device")


def _kind(sheet: Sheet, place: Path) -> str:
    event = sheet.file(place / "uevent") or ""
    named = re.search(r"^DEVTYPE=(\w+)", event, re.MULTILINE)
    if named:
        return named[1]
    if (place / "bonding").is_dir():
        return "bond"
    if place.name == "lo":
        return "loopback"
    return "virtual" if "/devices/virtual/" in os.path.realpath(place) else "ethernet"


def _doubt(place: Path, name: str) -> str:
    if name == "lo":
        return ""
    virtual = is_virtual(place / "device") if (place / "device").exists() else ""
    if virtual:
        return virtual
    real = os.path.realpath(place)
    if "/devices/virtual/" in real and not (place / "bonding").is_dir() and not list(place.glob("lower_*")):
        return (
            "a virtual interface tells a fixed speed whatever limits it; only a measurement (iperf3) tells its ceiling"
        )
    return ""


def _offloads(sheet: Sheet, prefix: str, name: str) -> None:
    for line in (sheet.tool("ethtool", "-k", name) or "").splitlines():
        key, _, value = line.strip().partition(":")
        if key in OFFLOADS and value.split():
            sheet.known(f"{prefix}.offload.{OFFLOADS[key]}", value.split()[0], "ethtool -k")


def _shaping(sheet: Sheet, prefix: str, name: str) -> None:
    """A token bucket on the interface is a ceiling of its own (Linux traffic control)."""
    data = sheet.tool_json("tc", "-j", "qdisc", "show", "dev", name)
    if not isinstance(data, list) or not data:
        return
    root = next((entry for entry in data if entry.get("root")), data[0])
    sheet.known(f"{prefix}.qdisc", root.get("kind"), "tc -j qdisc")
    rate = (root.get("options") or {}).get("rate")
    if isinstance(rate, int):
        sheet.known(
            f"{prefix}.shaped_rate", rate * 8, "tc -j qdisc", unit="bit/s", note="limits what this machine sends"
        )


def _tcp(sheet: Sheet) -> None:
    for key in ("tcp_congestion_control", "tcp_timestamps", "tcp_rmem", "tcp_wmem"):
        sheet.says(f"tcp.{key.removeprefix('tcp_')}", f"/proc/sys/net/ipv4/{key}", as_value)


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
