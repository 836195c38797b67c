# SPDX-License-Identifier: Apache-2.0
"""Ceilings: what the hardware carries, and those that follow from the facts of a testbed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ioatlas.model.cell import Cell
from ioatlas.model.errors import UsageError
from ioatlas.model.testbed import Testbed

Protocol = Literal["tcp", "iscsi", "nfs3", "smb3", "nbd"]
CeilingKind = Literal["computed", "measured", "typed in"]

PREAMBLE_BYTES, ETHERNET_BYTES, FCS_BYTES, GAP_BYTES, VLAN_BYTES = 8, 14, 4, 12, 4
"""IEEE 802.3: preamble and start delimiter, header, frame check sequence, inter-frame gap; 802.1Q tag."""
IPV4_BYTES, TCP_BYTES, TIMESTAMP_BYTES = 20, 20, 12
"""RFC 791, RFC 9293; timestamps (RFC 7323) with two bytes of padding, which Linux uses by default."""

OPERATION_BYTES: dict[Protocol, int] = {"tcp": 0, "iscsi": 48, "nfs3": 132, "smb3": 84, "nbd": 16}
"""Header of one read reply in the direction of the data.

iscsi: Data-In basic header segment 48 (RFC 7143; status rides on the last one, no digests).
nfs3:  record mark 4, RPC reply 24, status 4, attributes 88, count + eof + length 12 (RFC 5531, RFC 1813).
smb3:  direct TCP 4, header 64, READ response body 16 (MS-SMB2).
nbd:   simple reply: magic 4, error 4, cookie 8 (NBD protocol document).
"""


@dataclass(frozen=True)
class Ceiling:
    """One upper bound.

    resource: 'link', 'client bus', 'drive interface', 'network path', 'client', 'stack', 'drive' ...
    iops:     at the block size it was asked for; None where it has none.
    because:  the arithmetic, or how it was measured.
    """

    name: str
    resource: str
    bw_bytes_per_s: float | None
    iops: float | None = None
    kind: CeilingKind = "computed"
    because: str = ""


# -- Ethernet ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ethernet:
    """One Ethernet hop. rate_bits_per_s is the line rate (10^9 for gigabit), mtu the IP packet's largest size."""

    rate_bits_per_s: float
    mtu: int = 1500
    vlan: bool = False
    timestamps: bool = True

    def __post_init__(self) -> None:
        if self.rate_bits_per_s <= 0:
            raise UsageError(
                f"a link of {self.rate_bits_per_s:g} bit/s carries nothing", remedy="give its speed, such as 1 Gb/s"
            )
        if self.mtu <= self.packet_header_bytes:
            raise UsageError(f"an MTU of {self.mtu} holds no payload", remedy="give it in bytes, such as 1500 or 9000")

    @property
    def packet_header_bytes(self) -> int:
        return IPV4_BYTES + TCP_BYTES + (TIMESTAMP_BYTES if self.timestamps else 0)

    @property
    def frame_overhead_bytes(self) -> int:
        return PREAMBLE_BYTES + ETHERNET_BYTES + FCS_BYTES + GAP_BYTES + (VLAN_BYTES if self.vlan else 0)

    @property
    def segment_bytes(self) -> int:
        """Largest TCP payload of a frame: 1448 at MTU 1500, 8948 at 9000."""
        return self.mtu - self.packet_header_bytes

    @property
    def line_bytes_per_s(self) -> float:
        return self.rate_bits_per_s / 8

    @property
    def efficiency(self) -> float:
        """Share of the line rate that is TCP payload when every frame is full."""
        return self.segment_bytes / (self.mtu + self.frame_overhead_bytes)

    @property
    def goodput_bytes_per_s(self) -> float:
        return self.line_bytes_per_s * self.efficiency


def goodput(link: Ethernet, protocol: Protocol, bs_bytes: int, *, transfer_bytes: int = 0) -> float:
    """Payload bytes per second of reads of `bs_bytes` over the link, replies following each other in full frames.

    transfer_bytes: largest payload of one protocol operation (rsize, MaxRecvDataSegmentLength); 0 = a block is one
    operation.
    """
    if bs_bytes <= 0:
        raise UsageError(f"a block of {bs_bytes} bytes cannot be sent", remedy="give a block size such as 4096")
    operations = math.ceil(bs_bytes / transfer_bytes) if transfer_bytes else 1
    headers = operations * OPERATION_BYTES[protocol]
    return link.goodput_bytes_per_s * bs_bytes / (bs_bytes + headers)


def link_ceiling(
    link: Ethernet, protocol: Protocol, bs_bytes: int, *, transfer_bytes: int = 0, kind: CeilingKind = "computed"
) -> Ceiling:
    """The bound of one link for one protocol and block size, as a `Ceiling`."""
    rate = goodput(link, protocol, bs_bytes, transfer_bytes=transfer_bytes)
    words = {"tcp": "TCP", "iscsi": "iSCSI", "nfs3": "NFS", "smb3": "SMB", "nbd": "NBD"}[protocol]
    name = f"{speed_name(link.rate_bits_per_s)} link, MTU {link.mtu}"
    because = (
        f"{link.line_bytes_per_s / 1e6:g} MB/s x {link.segment_bytes}/{link.mtu + link.frame_overhead_bytes} of each "
        "frame is TCP payload"
    ) + (f", less {OPERATION_BYTES[protocol]} B {words} header an operation" if OPERATION_BYTES[protocol] else "")
    return Ceiling(name, "link", rate, rate / bs_bytes, kind, because)


def speed_name(bits_per_s: float) -> str:
    """'1 Gb/s', '100 Mb/s'."""
    return f"{bits_per_s / 1e9:g} Gb/s" if bits_per_s >= 1e9 else f"{bits_per_s / 1e6:g} Mb/s"


# -- PCI and PCI Express -------------------------------------------------------------------------------------

PCIE: dict[int, tuple[float, float]] = {
    1: (2.5e9, 8 / 10),
    2: (5e9, 8 / 10),
    3: (8e9, 128 / 130),
    4: (16e9, 128 / 130),
    5: (32e9, 128 / 130),
    6: (64e9, 236 / 256),
}
"""Transfers a second a lane, and the share that coding leaves; generation 6 sends 236 bytes of transaction data in
flits of 256.
"""
_TLP_HEADER = 12
_TLP_PAYLOAD = 256
_TLP_FRAMING = 8
"""Start, sequence number, LCRC and end: 8 bytes in generations 1 to 5 (PCI Express base specification); none within
a flit.
"""


def pci_bytes_per_s(width_bits: int = 32, clock_hz: float = 33.333e6) -> float:
    """Burst rate of a conventional PCI or PCI-X bus; shared by all devices on it and by both directions (PCI local
    bus specification).
    """
    if width_bits not in {32, 64}:
        raise UsageError(f"a PCI bus is 32 or 64 bits wide, not {width_bits}")
    return width_bits / 8 * clock_hz


def pcie_bytes_per_s(generation: int, lanes: int) -> float:
    """One direction of a PCIe link, in packets of 256 bytes of payload.

    Raises UsageError for generations and widths that do not exist.
    """
    if generation not in PCIE:
        raise UsageError(f"there is no PCIe generation {generation}", remedy=f"use one of {', '.join(map(str, PCIE))}")
    rate, coding = PCIE[generation]
    if lanes not in {1, 2, 4, 8, 12, 16, 32}:
        raise UsageError(f"there is no PCIe link of {lanes} lanes", remedy="use 1, 2, 4, 8, 12, 16 or 32")
    overhead = _TLP_HEADER + (0 if generation >= 6 else _TLP_FRAMING)
    return rate / 8 * coding * lanes * _TLP_PAYLOAD / (_TLP_PAYLOAD + overhead)


def pcie_generation(transfers_per_s: float) -> int:
    """Generation of a link speed in GT/s as /sys gives it. Raises UsageError."""
    for generation, (rate, _) in PCIE.items():
        if math.isclose(rate, transfers_per_s * 1e9, rel_tol=0.01):
            return generation
    raise UsageError(f"no PCIe generation runs at {transfers_per_s:g} GT/s")


_PCI = re.compile(
    r"\bPCI(?:-X)?\b(?![ -]?E)(?:.*?(32|64)[ -]?bit)?(?:.*?(33|66|100|133)(?:\.\d+)?\s*MHz)?", re.IGNORECASE
)
_PCIE = re.compile(
    r"\bPCI(?:e|[ -]Express)\b\s*(?:gen(?:eration)?\s*)?(\d)?(?:\.\d)?\s*[,x× ]*\s*(?:x|×)?\s*(\d+)?", re.IGNORECASE
)


def bus_ceiling(words: str) -> Ceiling | None:
    """The bound of a bus in a person's words: 'PCI', 'PCI 64-bit 66 MHz', 'PCI-X 133 MHz', 'PCIe 2.0 x4', 'PCIe
    x1'; None when it is no bus.

    What is not said is taken as the least there is (PCI: 32 bit and 33 MHz, PCIe: generation 1, one lane) and
    stands in `because`.
    """
    express = _PCIE.search(words)
    if express is not None:
        generation, lanes = int(express[1] or 1), int(express[2] or 1)
        rate = pcie_bytes_per_s(generation, lanes)
        assumed = " (what was not said is taken as the least there is)" if not (express[1] and express[2]) else ""
        return Ceiling(
            f"PCIe generation {generation} x{lanes}",
            "client bus",
            rate,
            because=f"line coding and packet headers{assumed}",
        )
    plain = _PCI.search(words)
    if plain is not None:
        default_width = 64 if "PCI-X" in words.upper() else 32
        width, clock = int(plain[1] or default_width), int(plain[2] or (133 if default_width == 64 else 33))
        hertz = {33: 33.333e6, 66: 66.667e6, 100: 100e6, 133: 133.333e6}[clock]
        because = f"{width // 8} B x {hertz / 1e6:g} MHz in bursts without end, shared by all devices on the bus"
        return Ceiling(
            f"PCI bus, {width} bit {clock} MHz", "client bus", pci_bytes_per_s(width, hertz), because=because
        )
    return None


LIMITED = 0.90
"""A ceiling is named as the limit from this share on; a link that is shared, or a drive that varies, seldom gives
more than 95%.
"""
CeilingsOf = Callable[[Cell, str], Sequence[Ceiling]]
"""Bounds of a cell and direction."""
_PROTOCOLS: dict[str, Protocol] = {"iSCSI": "iscsi", "SMB": "smb3", "NBD": "nbd"}
_MEASURED = {
    "network": ("network path", ""),
    "network_read": ("network path", "read"),
    "network_write": ("network path", "write"),
    "drive_read": ("drive", "read"),
}
"""Facts below `measured` that are named otherwise than their resource, and the direction that they bound."""


def ceilings_of(bed: Testbed, bs_bytes: int, direction: str = "read") -> tuple[Ceiling, ...]:
    """All bounds that follow from the facts of a testbed, tightest first. Doubtful facts make none.

    Facts used: nic.speed, nic.mtu, route.mtu, nic.shaped_rate, nic.bus or client.bus (words), nic.pcie.*,
    device.*.link_current, protocol.*, and measured.* (rates that were measured or typed in).
    """
    found = [*_link(bed, bs_bytes, direction), *_bus(bed), *_drive(bed)]
    for fact in bed.below("measured"):
        name = fact.name.removeprefix("measured.")
        resource, way = _MEASURED.get(name, (name.replace("_", " "), ""))
        if way in ("", direction) and fact.unit == "B/s" and isinstance(fact.value, (int, float)):
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
