# SPDX-License-Identifier: Apache-2.0
"""How drives can be laid out: kinds of redundancy, their rules and sources, and how ZFS allocates."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

SLOP_SHIFT, MOST_SLOP, LEAST_SLOP = 5, 128 << 30, 128 << 20


class LayoutKind(StrEnum):
    """As a sheet writes them."""

    SINGLE = "single"
    RAID0 = "raid0"
    RAID1 = "raid1"
    RAID5 = "raid5"
    RAID6 = "raid6"
    RAID10 = "raid10"
    RAID50 = "raid50"
    RAID60 = "raid60"
    RAID_F1 = "raid-f1"
    SHR1 = "shr-1"
    SHR2 = "shr-2"
    MIRROR = "mirror"
    RAIDZ1 = "raidz1"
    RAIDZ2 = "raidz2"
    RAIDZ3 = "raidz3"
    DRAID1 = "draid1"
    DRAID2 = "draid2"
    DRAID3 = "draid3"
    ERASURE = "erasure"
    REPLICA = "replica"


@dataclass(frozen=True)
class Rule:
    """What a kind of layout is.

    name:   for people. parity: drives' worth of redundancy in a group. fewest: drives a group has at least.
    source: where its capacity formula stands; a key of SOURCES.
    """

    name: str
    parity: int
    fewest: int
    source: str


SOURCES = {
    "raid": "Chen, Lee, Gibson, Katz, Patterson: RAID: High-Performance, Reliable Secondary Storage, ACM Computing "
    "Surveys 26(2), 1994",
    "synology": "Synology, Choose a RAID Type: RAID F1 keeps (N - 1) x the smallest SSD; SHR optimises mixed sizes",
    "zfs": "OpenZFS, zpoolconcepts(7); allocation by vdev_raidz_asize() in module/zfs/vdev_raidz.c",
    "draid": "OpenZFS, zpoolconcepts(7); allocation by vdev_draid_asize() in module/zfs/vdev_draid.c",
    "slop": "OpenZFS, spa_get_slop_space() in module/zfs/spa_misc.c: 1/32 of the pool, at most 128 GiB",
    "erasure": "Ceph, Erasure code profiles: k of k + m chunks are data; each chunk in a failure domain of its own",
    "replica": "Ceph, Pools: each object is stored once in each of n failure domains",
    "small-write": "Patterson, Gibson, Katz: A Case for RAID, SIGMOD 1988; P + Q likewise in Chen et al. 1994",
    "arithmetic": "arithmetic",
}

RULES = {
    LayoutKind.SINGLE: Rule("single drives", 0, 1, "arithmetic"),
    LayoutKind.RAID0: Rule("RAID 0", 0, 1, "raid"),
    LayoutKind.RAID1: Rule("RAID 1", 0, 2, "raid"),
    LayoutKind.RAID5: Rule("RAID 5", 1, 3, "raid"),
    LayoutKind.RAID6: Rule("RAID 6", 2, 4, "raid"),
    LayoutKind.RAID10: Rule("RAID 10", 0, 4, "raid"),
    LayoutKind.RAID50: Rule("RAID 50", 1, 3, "raid"),
    LayoutKind.RAID60: Rule("RAID 60", 2, 4, "raid"),
    LayoutKind.RAID_F1: Rule("RAID F1", 1, 3, "synology"),
    LayoutKind.SHR1: Rule("SHR-1", 1, 2, "synology"),
    LayoutKind.SHR2: Rule("SHR-2", 2, 4, "synology"),
    LayoutKind.MIRROR: Rule("mirrors", 0, 2, "zfs"),
    LayoutKind.RAIDZ1: Rule("RAIDZ1", 1, 2, "zfs"),
    LayoutKind.RAIDZ2: Rule("RAIDZ2", 2, 3, "zfs"),
    LayoutKind.RAIDZ3: Rule("RAIDZ3", 3, 4, "zfs"),
    LayoutKind.DRAID1: Rule("dRAID1", 1, 2, "draid"),
    LayoutKind.DRAID2: Rule("dRAID2", 2, 3, "draid"),
    LayoutKind.DRAID3: Rule("dRAID3", 3, 4, "draid"),
    LayoutKind.ERASURE: Rule("erasure code", 0, 1, "erasure"),
    LayoutKind.REPLICA: Rule("replicas", 0, 1, "replica"),
}

RAIDZ = frozenset({LayoutKind.RAIDZ1, LayoutKind.RAIDZ2, LayoutKind.RAIDZ3})
DRAID = frozenset({LayoutKind.DRAID1, LayoutKind.DRAID2, LayoutKind.DRAID3})
ONE_GROUP = frozenset({LayoutKind.ERASURE, LayoutKind.REPLICA})


def raidz_allocated(psize: int, *, width: int, parity: int, ashift: int) -> int:
    """Bytes that a block of `psize` takes on a RAIDZ vdev, as `vdev_raidz_asize()` has it.

    Parity for every row of up to width - parity sectors; then up to a multiple of parity + 1, so that no hole is left
    that is too small to be used.
    """
    sectors = -(-psize // (1 << ashift))
    total = sectors + parity * -(-sectors // (width - parity))
    return -(-total // (parity + 1)) * (parity + 1) << ashift


def draid_allocated(psize: int, *, data: int, parity: int, ashift: int) -> int:
    """Bytes that a block takes on dRAID: whole rows of data and parity, as `vdev_draid_asize()` has it."""
    rows = -(-psize // (data << ashift))
    return rows * (data + parity) << ashift


def slop_bytes(space_bytes: int) -> int:
    """What ZFS keeps of a pool: 1/32, at most 128 GiB, at least 128 MiB or half of a tiny pool."""
    return max(min(space_bytes >> SLOP_SHIFT, MOST_SLOP), min(space_bytes >> 1, LEAST_SLOP))
