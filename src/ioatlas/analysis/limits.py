# SPDX-License-Identifier: Apache-2.0
"""A measured value beside its ceilings: which one it meets, or that none is met; and what two paths that differ in
one thing tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from ioatlas.analysis.ceilings import (
    TOLERANCE,
    Ceiling,
    Ethernet,
    Protocol,
    bus_ceiling,
    link_ceiling,
    pcie_bytes_per_s,
    pcie_generation,
)
from ioatlas.errors import UsageError
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.testbed import Testbed

LIMITED = 0.90
"""A ceiling is named as the limit from this share on; a link that is shared, or a drive that varies, seldom gives
more than 95%.
"""
BARELY = 0.03
"""Differences below this are not spoken of: single readings vary as much."""
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


def ceilings_of(
    bed: Testbed, bs_bytes: int, direction: str = "read", numjobs: int | None = None
) -> tuple[Ceiling, ...]:
    """All bounds that follow from the facts of a testbed, tightest first. Doubtful facts make none.

    numjobs: of the load, for what the client's own jobs can make; left out without it.
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
    if numjobs is not None:
        found += _generator(bed, bs_bytes, numjobs)
    return tuple(sorted(found, key=lambda one: one.bw_bytes_per_s or float("inf")))


def _protocol(bed: Testbed) -> Protocol:
    name, version = str(bed.value("protocol.name") or ""), str(bed.value("protocol.version") or "")
    return "nfs3" if name == "NFS" and version.startswith("3") else _PROTOCOLS.get(name, "tcp")


def _transfer_bytes(bed: Testbed, direction: str) -> int:
    """Largest payload of an operation of the protocol; 0 where it is not known."""
    return int(bed.number("protocol.rsize_bytes" if direction == "read" else "protocol.wsize_bytes") or 0)


def _generator(bed: Testbed, bs_bytes: int, numjobs: int) -> Iterator[Ceiling]:
    """What fio makes on this client when I/Os cost nothing, and what it reads from a target in memory: one job's
    rate times the jobs, at most the cores.

    The null engine moves no data, so it bounds I/Os, not bytes. Of the target in memory an I/O's cost is taken as
    linear between the sizes measured.
    """
    cores = int(bed.number("cpu.allowed") or numjobs)
    jobs = f"{numjobs} job{'s' if numjobs > 1 else ''}" + (
        f" on {cores} core{'s' if cores > 1 else ''}" if cores < numjobs else ""
    )
    if null := bed.number("measured.client_job_iops"):
        because = "fio's null engine: I/Os that cost nothing"
        yield Ceiling(
            f"client with {jobs}, null engine", "client", None, null * min(numjobs, cores), "measured", because
        )
    sizes = ((fact.name.rpartition(".")[2], fact.value) for fact in bed.below("measured.memory_job_iops"))
    costs = sorted(
        (int(size), 1 / iops)
        for size, iops in sizes
        if size.isdecimal() and isinstance(iops, (int, float)) and iops > 0
    )
    if len(costs) > 1:
        iops = min(numjobs, cores) / _cost_seconds(costs, bs_bytes)
        yield Ceiling(
            f"path to a target in memory, {jobs}",
            "stack",
            iops * bs_bytes,
            iops,
            "measured",
            "the same path on this client, to memory instead of the target",
        )


def _cost_seconds(costs: Sequence[tuple[int, float]], bs_bytes: int) -> float:
    """Seconds an I/O by its size, on the straight line through the two measured sizes around it, or nearest to it."""
    after = next((index for index in range(1, len(costs) - 1) if costs[index][0] >= bs_bytes), len(costs) - 1)
    (low, fast), (high, slow) = costs[after - 1], costs[after]
    slope = max(0.0, (slow - fast) / (high - low))
    return max(fast / 2, fast + slope * (bs_bytes - low))


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
                    f"{name} = {words!r} is no bus that is known",
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


# -- sentences -----------------------------------------------------------------------------------------------


def megabytes(rate: float) -> str:
    """'113.0 MB/s', '11.96 MB/s': decimal, as links are counted."""
    value = rate / 1e6
    return f"{value:.0f} MB/s" if value >= 1000 else f"{value:.1f} MB/s" if value >= 20 else f"{value:.2f} MB/s"


def limit_finding(
    bw_bytes_per_s: float, ceilings: Sequence[Ceiling], *, what: str = "it", iops: float | None = None
) -> Finding:
    """What limits a measured value, as far as its ceilings tell: 'limited', 'undetermined' or 'above-ceiling'."""
    shares = sorted(
        ((share, one) for one in ceilings if (share := one.share(bw_bytes_per_s, iops)) is not None),
        key=lambda pair: -pair[0],
    )
    if not shares:
        return Finding(
            FindingCode.UNDETERMINED, f"{what}: {megabytes(bw_bytes_per_s)}; no ceiling is known to compare it with"
        )
    share, tightest = shares[0]
    bound = megabytes(tightest.bw_bytes_per_s) if tightest.bw_bytes_per_s else f"{tightest.iops:.0f} IOPS"
    if share > TOLERANCE:
        return Finding(
            FindingCode.ABOVE_CEILING,
            f"{what}: {megabytes(bw_bytes_per_s)} is above the {tightest.name} ({bound}, {share:.0%}): a cache "
            "answered, a unit is mistaken (MB is not MiB),"
            " or the ceiling is not that of this path",
        )
    if share >= LIMITED:
        margin = f"; next is the {shares[1][1].name} at {shares[1][0]:.0%}" if len(shares) > 1 else ""
        return Finding(
            FindingCode.LIMITED,
            f"{what}: limited by the {tightest.name}: {megabytes(bw_bytes_per_s)} of {bound} ({share:.0%}){margin}",
        )
    return Finding(
        FindingCode.UNDETERMINED,
        f"{what}: {megabytes(bw_bytes_per_s)} is {share:.0%} of the nearest ceiling known ({tightest.name}, {bound}): "
        "something else limits it",
    )


@dataclass(frozen=True)
class Reading:
    """One measured or typed-in rate of a path, with what is known of the path.

    factors: the things that distinguish readings from each other, such as {'bus': 'PCI', 'mtu': 1500}.
    through: name of a reading of the path alone that this one had to pass, such as a network test.
    """

    name: str
    bw_bytes_per_s: float
    ceilings: tuple[Ceiling, ...] = ()
    factors: Mapping[str, object] = field(default_factory=dict)
    through: str = ""


def explain(readings: Sequence[Reading], lines: Mapping[str, float] | None = None) -> tuple[Finding, ...]:
    """Sentences on a series of readings: each against its ceilings, against the path it had to pass, and pairs that
    differ in one thing.

    lines: reference rates by name (bytes per second), such as 12.5 MB/s of 100 Mb/s Ethernet; they are not ceilings
    of every path. Raises UsageError when `through` names no reading.
    """
    by_name = {one.name: one for one in readings}
    found: list[Finding] = []
    bounded = [_with_path(one, by_name) for one in readings]
    for one in bounded:
        finding = limit_finding(one.bw_bytes_per_s, one.ceilings, what=one.name)
        found.append(Finding(finding.code, finding.sentence + _beside(one.bw_bytes_per_s, lines or {})))
    for first, second in combinations(bounded, 2):
        # A path alone and what passed a path differ in more than the factor.
        alike = bool(first.through) == bool(second.through)
        if alike and (finding_of_pair := _pair(first, second)) is not None:
            found.append(finding_of_pair)
    return tuple(found)


def _with_path(one: Reading, by_name: Mapping[str, Reading]) -> Reading:
    """The reading with the path that it had to pass as a ceiling."""
    if not one.through:
        return one
    if one.through not in by_name:
        raise UsageError(
            f"{one.name} passes {one.through!r}, which is no reading", remedy=f"readings are: {', '.join(by_name)}"
        )
    passed = by_name[one.through].bw_bytes_per_s
    path = Ceiling(f"path {one.through} measured alone", "network path", passed, None, "measured")
    return replace(one, ceilings=(*one.ceilings, path))


def _beside(rate: float, lines: Mapping[str, float]) -> str:
    """Where a value lies among the reference lines."""
    above = [name for name, value in sorted(lines.items(), key=lambda pair: pair[1]) if rate > value * TOLERANCE]
    below = [name for name, value in sorted(lines.items(), key=lambda pair: pair[1]) if rate <= value * TOLERANCE]
    words = []
    if above:
        words.append(f"above the {megabytes(lines[above[-1]])} of {above[-1]}")
    if below:
        words.append(f"{rate / lines[below[0]]:.0%} of the {megabytes(lines[below[0]])} of {below[0]}")
    return f" ({', '.join(words)})" if words else ""


def _pair(first: Reading, second: Reading) -> Finding | None:
    """What two readings tell that differ in exactly one factor; None when they differ in more, or in nothing."""
    differing = [
        name
        for name in first.factors.keys() | second.factors.keys()
        if first.factors.get(name) != second.factors.get(name)
    ]
    if len(differing) != 1:
        return None
    [factor] = differing
    low, high = sorted((first, second), key=lambda one: one.bw_bytes_per_s)
    gain = high.bw_bytes_per_s / low.bw_bytes_per_s - 1
    change = f"{factor} {high.factors.get(factor, 'unknown')} instead of {low.factors.get(factor, 'unknown')}"
    if gain < BARELY:
        return Finding(
            FindingCode.NO_DIFFERENCE,
            f"{change} makes no difference: {megabytes(low.bw_bytes_per_s)} and {megabytes(high.bw_bytes_per_s)}",
        )
    head = f"{change} gives {megabytes(high.bw_bytes_per_s)} instead of {megabytes(low.bw_bytes_per_s)} (+{gain:.0%})"
    allowed = _allowed_gain(low, high)
    if allowed is not None and gain <= allowed + BARELY:
        return Finding(FindingCode.EXPLAINED, f"{head}; the ceilings allow +{allowed:.0%}, so that explains it")
    if factor == "mtu":
        # What bounds a reading that passed a path is that path, measured alone, not the link's arithmetic.
        bound = "the path alone" if low.through else "the link's arithmetic"
        allows = f"{bound} allows +{allowed:.1%}" if allowed is not None else f"{bound} allows less"
        return Finding(
            FindingCode.CLIENT_LIMITED,
            f"{head}; {allows}. So the rest is work saved for each packet in the client or on its bus, which limits "
            f"{low.name}",
        )
    nearest = limit_finding(high.bw_bytes_per_s, high.ceilings, what=high.name)
    last = f", and then the {_tightest(high)} is met" if nearest.code is FindingCode.LIMITED else ""
    return Finding(
        FindingCode.LIMITED,
        f"{head} with all else equal: {factor} {low.factors.get(factor, 'unknown')} limits {low.name}{last}",
    )


def _tightest(reading: Reading) -> str:
    return min(reading.ceilings, key=lambda one: one.bw_bytes_per_s or float("inf")).name


def _allowed_gain(low: Reading, high: Reading) -> float | None:
    """Gain of the tightest ceiling from one reading to the other, when the low one is near its own."""
    bounds = [
        min((one.bw_bytes_per_s for one in reading.ceilings if one.bw_bytes_per_s), default=None)
        for reading in (low, high)
    ]
    if bounds[0] is None or bounds[1] is None:
        return None
    return bounds[1] / bounds[0] - 1
