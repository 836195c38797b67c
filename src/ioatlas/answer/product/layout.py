# SPDX-License-Identifier: Apache-2.0
"""How drives can be laid out: kinds of redundancy, their rules and sources, and how ZFS allocates."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ioatlas.store.toml import shipped

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


_SHIPPED = shipped("ioatlas.answer.product", "layouts.toml")
SOURCES: dict[str, str] = _SHIPPED["sources"]
RULES = {LayoutKind(kind): Rule(*words) for kind, words in _SHIPPED["rules"].items()}

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
