# SPDX-License-Identifier: Apache-2.0
"""The ceilings that follow from the facts of a testbed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ioatlas.analysis.ceilings import (
    Ceiling,
    Ethernet,
    Protocol,
    bus_ceiling,
    link_ceiling,
    pcie_bytes_per_s,
    pcie_generation,
)
from ioatlas.errors import UsageError
from ioatlas.model.cell import Cell
from ioatlas.model.testbed import Testbed

LIMITED = 0.90
"""A ceiling is named as the limit from this share on; a link that is shared, or a drive that varies, seldom gives
more than 95%.
"""
CeilingsOf = Callable[[Cell, str], Sequence[Ceiling]]
"""Bounds of a cell and direction."""
_PROTOCOLS: dict[str, Protocol] = {"iSCSI": "iscsi", "SMB": "smb3", "NBD": "nbd"}
_NAMES = {
    "measured.network": "network path",
    "measured.client": "client",
    "measured.stack": "stack",
    "measured.drive": "drive",
}
_ONE_WAY = {
    "measured.network_read": ("network path", "read"),
    "measured.network_write": ("network path", "write"),
    "measured.drive_read": ("drive", "read"),
}


def ceilings_of(bed: Testbed, bs_bytes: int, direction: str = "read") -> tuple[Ceiling, ...]:
    """All bounds that follow from the facts of a testbed, tightest first. Doubtful facts make none.

    Facts used: nic.speed, nic.mtu, route.mtu, nic.shaped_rate, nic.bus or client.bus (words), nic.pcie.*,
    device.*.link_current, protocol.*, and measured.* (rates that were measured or typed in).
    """
    found = [*_link(bed, bs_bytes, direction), *_bus(bed), *_drive(bed)]
    for fact in bed.below("measured"):
        resource, way = _ONE_WAY.get(fact.name, ("", direction))
        if way != direction:
            continue
        if fact.unit == "B/s" and isinstance(fact.value, (int, float)):
            resource = resource or _NAMES.get(fact.name, fact.name.removeprefix("measured.").replace("_", " "))
            found.append(Ceiling(f"{resource}, measured", resource, float(fact.value), None, "measured", fact.source))
    return tuple(sorted(found, key=lambda one: one.bw_bytes_per_s or float("inf")))


def _protocol(bed: Testbed) -> Protocol:
    name, version = str(bed.value("protocol.name") or ""), str(bed.value("protocol.version") or "")
    return "nfs3" if name == "NFS" and version.startswith("3") else _PROTOCOLS.get(name, "tcp")


def _transfer_bytes(bed: Testbed, direction: str) -> int:
    """Largest payload of an operation of the protocol; 0 where it is not known."""
    return int(bed.number("protocol.rsize_bytes" if direction == "read" else "protocol.wsize_bytes") or 0)


def _link(bed: Testbed, bs_bytes: int, direction: str) -> Iterator[Ceiling]:
    if bed.value("route.local") is True or bed.value("protocol.transport") == "unix socket":
        return
    mtu = int(min(value for value in (bed.number("nic.mtu") or 1500, bed.number("route.mtu") or 1 << 20)))
    protocol = _protocol(bed)
    vlan = bed.value("nic.kind") == "vlan"
    timestamps = bed.value("tcp.timestamps") != 0
    transfer = _transfer_bytes(bed, direction)
    for fact, when in (("nic.speed", True), ("nic.shaped_rate", direction != "read")):
        speed = bed.number(fact)
        if speed is not None and when:
            typed = "typed in" if (known := bed.get(fact)) is not None and known.kind == "typed in" else "computed"
            link = Ethernet(speed, mtu, vlan=vlan, timestamps=timestamps)
            yield link_ceiling(link, protocol, bs_bytes, transfer_bytes=transfer, kind=typed)  # type: ignore[arg-type]


def _bus(bed: Testbed) -> Iterator[Ceiling]:
    for name in ("nic.bus", "client.bus"):
        words = bed.value(name)
        if isinstance(words, str):
            ceiling = bus_ceiling(words)
            if ceiling is None:
                raise UsageError(
                    f"{name} = {words!r} is not a known bus",
                    remedy="write PCI, PCI 64-bit 66 MHz, PCI-X 133 MHz or PCIe 2.0 x4",
                )
            yield ceiling
    speed, lanes = bed.number("nic.pcie.current_link_speed"), bed.number("nic.pcie.current_link_width")
    if speed and lanes:
        generation = pcie_generation(speed)
        yield Ceiling(
            f"PCIe generation {generation} x{lanes:g} of the NIC",
            "client bus",
            pcie_bytes_per_s(generation, int(lanes)),
            because="line coding and packet headers",
        )


def _drive(bed: Testbed) -> Iterator[Ceiling]:
    drives = [fact for fact in bed.facts if fact.name.startswith("device.") and fact.name.endswith(".link_current")]
    for fact in drives if len(drives) == 1 else []:  # the share of each member of an array is not known
        if fact.kind in {"known", "typed in"} and isinstance(fact.value, (int, float)):
            yield Ceiling(
                f"{fact.value / 1e9:g} Gb/s interface of the drive",
                "drive interface",
                fact.value / 8 * 0.8,
                because="8b/10b coding (SATA, SAS to 12 Gb/s)",
            )
