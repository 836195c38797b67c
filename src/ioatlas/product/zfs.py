# SPDX-License-Identifier: Apache-2.0
"""What OpenZFS allocates for a block: parity, padding, and the space it keeps from everybody."""

from __future__ import annotations

SLOP_SHIFT, MOST_SLOP, LEAST_SLOP = 5, 128 << 30, 128 << 20


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
