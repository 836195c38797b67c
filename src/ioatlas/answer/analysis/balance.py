# SPDX-License-Identifier: Apache-2.0
"""Is the load spread evenly over what runs side by side: the paths of a multipath device, the members of a bond or
an array, the clients.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ioatlas.model.finding import Finding, FindingCode, Value
from ioatlas.model.imported_reading import ImportedReading
from ioatlas.model.testbed import Testbed, Usage

EVEN = 0.8
"""The least loaded of a group carries at least this share of its part."""
FEWEST_BYTES = 256 << 20
"""Less says too little of how a load is spread."""


@dataclass(frozen=True)
class Group:
    """Things that run side by side. kind: 'paths', 'links', 'drives'."""

    kind: str
    of: str
    members: tuple[str, ...]


def groups_of(bed: Testbed) -> tuple[Group, ...]:
    """Bond members, and the devices directly below a multipath device, a stripe or an array, as far as the testbed
    tells.
    """
    found = []
    members = str(bed.value("nic.members") or "").split()
    if len(members) > 1:
        found.append(Group("links", f"the bond {bed.value('nic.name') or ''}".strip(), tuple(members)))
    members = str(bed.value("array.members") or "").split()
    if len(members) > 1:
        found.append(Group("drives", f"the {bed.value('array.kind') or 'array'}", tuple(members)))
    stack = str(bed.value("device.stack") or "").split(" > ")
    for fact in bed.facts:
        name = fact.name.split(".")
        if fact.name.startswith("device.") and name[-1] == "slaves" and isinstance(fact.value, str):
            below = tuple(one for one in fact.value.split() if one in stack)
            multipath = bed.value(f"device.{name[1]}.dm_kind") == "mpath"
            if len(below) > 1 and not any(set(below) <= set(one.members) for one in found):
                found.append(Group("paths" if multipath else "drives", name[1], below))
    return tuple(found)


def groups_of_targets(name: str, beds: Sequence[Testbed]) -> tuple[Group, ...]:
    """The links to targets that are loaded together, and the devices that they lie on, where there are several."""
    links = dict.fromkeys(str(bed.value("nic.name")) for bed in beds if bed.value("nic.name"))
    devices = (str(bed.value("device.stack") or "").split(" > ")[0] for bed in beds)
    drives = dict.fromkeys(one for one in devices if one)
    found = (Group("links", name, tuple(links)), Group("drives", name, tuple(drives)))
    return tuple(group for group in found if len(group.members) > 1)


def balance_findings(groups: Sequence[Group], usages: Iterable[Usage]) -> Iterator[Finding]:
    """Of each group whose bytes were counted how they were spread."""
    carried: Counter[str] = Counter()
    for usage in usages:
        for name, disk in usage.disks.items():
            carried[name] += disk.read_bytes + disk.write_bytes
        for name, nic in usage.nics.items():
            carried[name] += nic.rx_bytes + nic.tx_bytes
    for group in groups:
        total = sum(carried[name] for name in group.members)
        if total < FEWEST_BYTES:
            continue
        yield Finding(FindingCode.BALANCE, _values(group, {name: carried[name] for name in group.members}, total))


def client_findings(readings: Iterable[ImportedReading]) -> tuple[Finding, ...]:
    """The same of the clients that fio's controller drove at once, from the results of each: the most uneven load
    of each file and direction.

    Only where every client had as many results of as many jobs as the others; those that did not are not
    comparable. Clients go by number.
    """
    loads: dict[tuple[object, ...], dict[str, list[ImportedReading]]] = defaultdict(lambda: defaultdict(list))
    number: dict[str, str] = {}
    for one in readings:
        if one.tool == "fio" and one.host:
            host = number.setdefault(one.host, f"host {len(number) + 1}")
            loads[one.source, one.direction, one.rw, one.bs_bytes, one.iodepth][host].append(one)
    worst: dict[tuple[object, ...], tuple[float, Finding]] = {}
    for place, by_host in loads.items():
        shapes = {tuple(sorted(one.numjobs or 1 for one in mine)) for mine in by_host.values()}
        carried = {host: sum(_bytes(one) for one in mine) for host, mine in by_host.items()}
        total = sum(carried.values())
        if len(by_host) < 2 or len(shapes) > 1 or total < FEWEST_BYTES:
            continue
        finding = Finding(
            FindingCode.BALANCE,
            _values(Group("clients", f"a load of {place[1]}s", tuple(carried)), carried, total),
            direction=str(place[1]),
        )
        least = min(carried.values()) / total * len(carried)
        if place[:2] not in worst or least < worst[place[:2]][0]:
            worst[place[:2]] = (least, finding)
    return tuple(finding for _, finding in worst.values())


def _bytes(reading: ImportedReading) -> float:
    return float(reading.io_bytes or (reading.bw_bytes_per_s or 0.0) * (reading.runtime_seconds or 0.0))


def _values(group: Group, carried: Mapping[str, float], total: float) -> Mapping[str, Value]:
    shares = sorted(((size / total, name) for name, size in carried.items()), reverse=True)
    least = shares[-1][0] * len(carried)
    return {
        "kind": group.kind,
        "of": group.of,
        "moved_bytes": total,
        "n_members": len(carried),
        "shares": [{"name": name, "share": share} for share, name in shares[:8]],
        "more": len(shares) > 8,
        "least_share": least,
        "even": least >= EVEN,
    }
