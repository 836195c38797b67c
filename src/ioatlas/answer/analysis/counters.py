# SPDX-License-Identifier: Apache-2.0
"""Kernel counters against the load generator's claims, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ioatlas.answer.analysis.cache import EARLY, EARLY_PROOF, SHORTEST_TRIP_NS
from ioatlas.model.finding import Finding, FindingCode, Value
from ioatlas.model.outcomes import KeptRecord
from ioatlas.model.result import OtherTraffic
from ioatlas.model.target import Target
from ioatlas.model.testbed import Testbed
from ioatlas.model.visit import Histogram

COUNTER_TOLERANCE = 0.02
"""Of the bytes claimed, that kernel or network may have counted fewer or more."""
FEWEST_BYTES = 64 << 20
"""A batch that moved less says too little: other traffic of the device would decide."""


FEWEST_SHORT_BYTES = 1 << 20
"""Bytes missing are proof whatever else the device did: other traffic only adds. Below this a few answers from a
buffer would decide.
"""
FEWEST_FOREIGN_BYTES = 16 << 20
"""Bytes of another load that count as one: less is what any system does now and then."""
FAR_MORE = 2.0
"""Counted over claimed from which another load had too large a share of the device for the visits to stand."""
FEWEST_FLUSHES, LEAST_SENT = 100, 0.1
"""Flushes from which it is told whether drives were sent any, and the share of those that cannot have been joined that
drives are sent at least: the kernel sends one for several that are asked for at once.
"""
_MEMORY, _DROPPING = (
    ("tmpfs", "ramfs", "devtmpfs", "zram", "ram"),
    frozenset({"nobarrier", "barrier=0", "volatile", "fsync=volatile"}),
)
FRAME_SHARE, FRAME_BYTES_PER_IO = 1.07, 300
"""What a link carries besides payload: frame and protocol headers, and requests and acknowledgements of each I/O."""


@dataclass(frozen=True)
class CountedPath:
    """Whose counters see every byte that passes between client and target; nothing known when all are empty.

    devices: block devices directly below the target (several below a btrfs of several), interfaces: of the network
    path, nfs: an NFS mount. caches: the drives below, where all of them have a volatile cache that the kernel flushes
    and counts.
    """

    devices: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()
    nfs: bool = False
    caches: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return "the NFS mount" if self.nfs else " + ".join(self.devices or self.interfaces)

    def counted_bytes(self, usage: Mapping[str, Any], direction: str) -> int | None:
        """Bytes that passed in one direction, from a batch's usage as the journal keeps it; None when nothing
        counted them.
        """
        if direction not in ("read", "write"):
            return None
        if self.nfs:
            nfs = usage.get("nfs")
            return int(nfs[f"server_{direction}_bytes"]) if nfs else None
        if self.devices:
            return _total(usage.get("disks", {}), self.devices, f"{direction}_bytes")
        if self.interfaces:
            return _total(usage.get("nics", {}), self.interfaces, "rx_bytes" if direction == "read" else "tx_bytes")
        return None

    def counted_flushes(self, usage: Mapping[str, Any]) -> int | None:
        """Of the drive below that did most: a cache before others need not pass them on. Of an NFS mount its writes and
        commits, one of which makes a write last. None where it is not known.
        """
        if self.nfs:
            return (usage.get("nfs") or {}).get("flushes")
        disks = usage.get("disks", {})
        counts = [disks.get(name, {}).get("flushes") for name in self.caches]
        return max(counts) if counts and None not in counts else None

    def most_bytes(self, claimed_bytes: float, ios: int) -> float:
        """Most that may be counted for a claim while nothing else uses the path."""
        if self.devices or self.nfs:
            return claimed_bytes
        return FRAME_SHARE * claimed_bytes + FRAME_BYTES_PER_IO * ios


@dataclass(frozen=True)
class CountedPaths(KeptRecord):
    """Where the bytes of each target are counted, by its name."""

    NAME, CONTENT = "counted", "paths"
    paths: Mapping[str, CountedPath] = field(default_factory=dict)


def _total(table: Mapping[str, Mapping[str, Any]], names: Sequence[str], key: str) -> int | None:
    return sum(int(table[name][key]) for name in names) if all(name in table for name in names) else None


def shortage(path: CountedPath, direction: str, claimed_bytes: int, counted_bytes: int | None) -> str:
    """Reason when a whole fio process claims over 2% more than was counted, else ''.

    Counters are read before the process starts and after it ended, so no window's edge is in doubt, however short
    it is; other traffic only adds to them. A cache answered, blocks were holes, or data was reduced on the way.
    """
    if (
        counted_bytes is None
        or claimed_bytes < FEWEST_SHORT_BYTES
        or counted_bytes >= (1 - COUNTER_TOLERANCE) * claimed_bytes
    ):
        return ""
    share = f"{counted_bytes / claimed_bytes:.1%}"
    return (
        f"kernel counters: {path.name} carried {share} of the bytes {_PAST[direction]}; the rest was answered before it"
    )


def excess(path: CountedPath, direction: str, claimed_bytes: int, ios: int, counted_bytes: int | None) -> str:
    """Reason when twice as much was counted as a whole fio process claims and its protocol takes, else ''."""
    if counted_bytes is None or not claimed_bytes or counted_bytes - claimed_bytes < FEWEST_FOREIGN_BYTES:
        return ""
    if counted_bytes <= FAR_MORE * path.most_bytes(claimed_bytes, ios):
        return ""
    share = f"{counted_bytes / claimed_bytes:.1%}"
    return (
        f"kernel counters: {path.name} carried {share} of the bytes {_PAST[direction]}; another load was on it, or "
        "they are amplified"
    )


_PAST = {"read": "read", "write": "written"}


@dataclass(frozen=True)
class BatchCount:
    """One direction of one batch: bytes fio claims and bytes that `path` counted, over `seconds`.

    visits: of the batch on that path. most_bytes: what may be counted for the claim while nothing else uses the
    path; None: the claim itself.
    """

    direction: str
    claimed_bytes: int
    counted_bytes: int
    seconds: float
    path: str = ""
    visits: int = 0
    most_bytes: float | None = None

    @property
    def _most(self) -> float:
        return max(self.claimed_bytes, self.most_bytes or 0.0)

    @property
    def failed(self) -> bool:
        """Over 2% less than claimed, or over 2% more than may be; the counters bracket a whole process, so its
        length does not matter.
        """
        return (
            not (1 - COUNTER_TOLERANCE) * self.claimed_bytes
            <= self.counted_bytes
            <= (1 + COUNTER_TOLERANCE) * self._most
        )

    @property
    def judged(self) -> bool:
        """Enough bytes to say something."""
        return self.claimed_bytes >= FEWEST_BYTES or self.excess_bytes >= FEWEST_FOREIGN_BYTES

    @property
    def excess_bytes(self) -> float:
        """Counted beyond what the claim and its protocol take; 0 when there is none."""
        return max(0.0, self.counted_bytes - self._most)


def other_traffic(path: str, counts: Sequence[BatchCount]) -> tuple[OtherTraffic, ...]:
    """What else used a path, in each direction in which it was too much: over 2% of all batches' claims together. What
    agrees is not news, nor is what is too little beside the whole to matter.
    """
    found = []
    for direction in ("read", "write"):
        judged = [count for count in counts if count.direction == direction and count.claimed_bytes and count.judged]
        over = [count for count in judged if count.failed and count.counted_bytes > count.claimed_bytes]
        excess, claimed = sum(count.excess_bytes for count in over), sum(count.claimed_bytes for count in judged)
        if excess > COUNTER_TOLERANCE * claimed:
            found.append(OtherTraffic(path, direction, excess, excess / claimed, len(over), len(judged)))
    return tuple(found)


def counter_findings(path: str, counts: Sequence[BatchCount], target: str = "") -> Iterator[Finding]:
    """What the counters of one path say about each direction. Fewer bytes counted than claimed prove a cache in
    between. target: whose path it is, where it is of one.

    More bytes are trouble when those of all batches together are over 2% of the claims; a batch by itself may meet
    a moment's work of the system.
    """
    others = {one.direction: one for one in other_traffic(path, counts)}
    for direction in ("read", "write"):
        judged = [count for count in counts if count.direction == direction and count.claimed_bytes and count.judged]
        short = [count for count in judged if count.failed and count.counted_bytes < count.claimed_bytes]
        values: dict[str, Value] = {"path": path, "n_judged": len(judged)}
        if short:
            claimed, counted = sum(count.claimed_bytes for count in short), sum(count.counted_bytes for count in short)
            values |= {"missing_bytes": claimed - counted, "share": counted / claimed, "n_batches": len(short)}
            yield Finding(FindingCode.CACHE, values, target=target, direction=direction)
        elif (other := others.get(direction)) is not None:
            values |= {"excess_bytes": other.excess_bytes, "n_batches": other.batches}
            yield Finding(FindingCode.COUNTERS, values, target=target, direction=direction)


def dropped_flushes(target: Target, bed: Testbed | None) -> str:
    """What of a target and its testbed keeps flushes from what lasts; '' where nothing says so."""
    if not target.takes_flushes:
        return "the server takes none"
    values = {fact.name: str(fact.value) for fact in (bed.facts if bed else ())}
    if word := values.get("server.drops_flushes"):
        return f"its server was started with {word}"
    layers = values.get("device.stack", "").split(" > ")
    caches = {name: values.get(f"device.{name}.write_cache") for name in layers}
    under = [values.get(f"device.{name}.backing_fs", "") for name in layers]
    for mount in (f"{values.get('fs.type')} {values.get('mount.options')}", *under, *layers):
        kind, _, options = mount.partition(" ")
        words = {*options.split(",")}
        if kind.startswith(_MEMORY):
            return f"{kind} keeps everything in this machine's memory"
        if words & _DROPPING and (kind == "overlay" or "write back" in caches.values()):
            return f"{kind} is mounted with {min(words & _DROPPING)}"
    for name in (name for name, cache in caches.items() if cache == "write through"):
        own = "cache_type", "volatile_write_cache", "direct_io"  # the last is said of loop devices
        told = [values.get(f"device.{name}.{one}", "") for one in own]
        if told[0].startswith("write back") or told[1] == "True" or told[2]:
            return f"{name} has a volatile cache, and its queue/write_cache is set to write through"
    return ""


def early_findings(
    target: str, bed: Testbed | None, path: CountedPath | None, flushed: Histogram, alone: Histogram
) -> tuple[Finding, ...]:
    """That writes were said to last before anything that lasts can have had them: before a packet came back from the
    server, or disks with a volatile cache had turned. flushed: writes, each with its flush. alone: flushes; of NFS the
    kernel sends none after a direct write, which lasts by itself.
    """
    known, found = bed.number if bed else lambda _: None, path or CountedPath()
    turns = [known(f"device.{name}.rotation_rpm") or 0.0 for name in found.caches]
    half_ns = 30e9 / max(turns) if turns and all(turns) else 0.0
    # A drive of this machine may be a cache before one far away.
    trip_ns = 0.0 if found.devices else 1e9 * (known("path.round_trip") or 0.0)
    sent: dict[str, Value] = {"trip_ns": trip_ns}
    turned: dict[str, Value] = {"disks": " + ".join(found.caches), "quarter_ns": half_ns / 2}
    for one, ns, values in (
        (flushed, trip_ns, sent | {"of": "writes"}),
        (Histogram() if found.nfs else alone, trip_ns, sent | {"of": "flushes"}),
        (flushed, half_ns, turned),
    ):
        early = sum(n for at, n in one.bins if at < EARLY * ns) / max(1, one.count)
        if ns >= SHORTEST_TRIP_NS and early >= EARLY_PROOF and one.count >= FEWEST_FLUSHES:
            return (Finding(FindingCode.FLUSHES, values | {"share": early}, target=target),)
    return ()


def flush_findings(
    target: str, path: CountedPath, waited: int, apart: float, sent: int, cells: Sequence[str]
) -> tuple[Finding, ...]:
    """Whether the flushes that were waited for reached the drives. Only where next to none did is that a doubt: the
    drives say that they have a cache, and whoever flushed was told that it was empty. apart: as many as cannot have
    been joined with others.
    """
    if waited < FEWEST_FLUSHES:
        return ()
    good = sent >= LEAST_SENT * apart
    values: dict[str, Value] = {"n_sent": sent, "n_waited": waited, "lost": not good}
    values["drives"] = "" if path.nfs else " + ".join(path.caches)
    return (Finding(FindingCode.FLUSHES, values, tuple(cells), in_order=good, target=target),)
