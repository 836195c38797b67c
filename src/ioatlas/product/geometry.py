# SPDX-License-Identifier: Apache-2.0
"""A stripe and the writes that meet it: when a write fills stripes, and what a partial one costs the drives. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ioatlas.model.units import format_size
from ioatlas.product.layout import DRAID, RAIDZ, STRIPED, Layout, LayoutKind, draid_allocated, raidz_allocated

WRITES = tuple(4096 << n for n in range(0, 11, 2))
"""Aligned writes whose cost is told: 4 KiB to 4 MiB."""
USUAL_UNIT = 64 << 10
"""Stripe unit of the example where a sheet says none; the default of many controllers."""


@dataclass(frozen=True)
class WriteCost:
    """What one aligned write at the start of a stripe costs. reads, writes: accesses to drives, one for each unit.

    partial_bytes: what of it does not fill a stripe.
    """

    size_bytes: int
    full_stripes: int
    partial_bytes: int
    reads: int
    writes: int


@dataclass(frozen=True)
class Geometry:
    """Of one group. data, parity: drives' worth. share: of raw bytes that are data. full_stripe_bytes: data of one;
    None where the layout has no fixed stripe or its unit is not known.
    """

    width: int
    data: int
    parity: int
    share: float
    unit_bytes: int | None
    full_stripe_bytes: int | None
    writes: tuple[WriteCost, ...]
    sentences: tuple[str, ...]


def geometry(layout: Layout, width: int) -> Geometry | None:
    """Of a group of `width` drives; None where there is no parity to explain."""
    if layout.kind in STRIPED:
        return _striped(layout, width)
    if layout.kind in RAIDZ:
        return _raidz(layout, width)
    if layout.kind in DRAID:
        return _draid(layout, width)
    if layout.kind is LayoutKind.ERASURE:
        return _erasure(layout)
    return None


def write_cost(size_bytes: int, *, data: int, parity: int, unit_bytes: int) -> WriteCost:
    """Full stripes are written whole. The rest is read and modified, or the stripe is read and reconstructed,
    whichever reads less; the small write of RAID 5 is 2 reads and 2 writes, of RAID 6 3 and 3.
    """
    full, rest = divmod(size_bytes, data * unit_bytes)
    reads = writes = 0
    if rest:
        touched, whole = -(-rest // unit_bytes), rest // unit_bytes
        reads = min(touched + parity, data - whole)
        writes = touched + parity
    return WriteCost(size_bytes, full, rest, reads, writes + full * (data + parity))


def _striped(layout: Layout, width: int) -> Geometry:
    parity = layout.rule.parity
    data = width - parity
    unit = layout.stripe_unit_bytes
    told = [_share_sentence(data, parity)]
    if unit is None:
        told.append("The stripe unit is not known. Write stripe_unit in [layout] to learn what writes cost.")
        told.append(
            f"With {format_size(USUAL_UNIT)} a full stripe would hold {format_size(USUAL_UNIT * data)} of data."
        )
        return Geometry(width, data, parity, data / width, None, None, (), tuple(told))
    stripe = unit * data
    told.append(f"A full stripe holds {data} x {format_size(unit)} = {format_size(stripe)} of data.")
    told += _alignment(stripe)
    costs = tuple(write_cost(size, data=data, parity=parity, unit_bytes=unit) for size in WRITES)
    small = costs[0]
    if small.partial_bytes:
        total = small.reads + small.writes
        told.append(
            f"A {format_size(small.size_bytes)} write costs the drives {small.reads} reads and {small.writes} writes: "
            f"{total} I/Os for one."
        )
    return Geometry(width, data, parity, data / width, unit, stripe, costs, tuple(told))


def _alignment(stripe: int) -> list[str]:
    """Which aligned writes fill stripes: those of common sizes are powers of two."""
    if stripe & (stripe - 1) == 0:
        return [f"Aligned writes of {format_size(stripe)} and its multiples fill whole stripes and read nothing."]
    mebibyte = 1 << 20
    rest = mebibyte % stripe
    parts = f"{mebibyte // stripe} whole stripes and {format_size(rest)} of another"
    if mebibyte < stripe:
        parts = f"{mebibyte / stripe:.0%} of a stripe"
    return [
        f"{format_size(stripe)} is no power of two, so writes of common sizes end within a stripe.",
        f"A 1 MiB write covers {parts}; the rest of that stripe must be read, or its parity.",
    ]


def _raidz(layout: Layout, width: int) -> Geometry:
    parity, record = layout.rule.parity, layout.recordsize_bytes
    data = width - parity
    taken = raidz_allocated(record, width=width, parity=parity, ashift=layout.ashift)
    small = 1 << layout.ashift
    of_small = raidz_allocated(small, width=width, parity=parity, ashift=layout.ashift)
    told = (
        _share_sentence(data, parity),
        "RAIDZ has no fixed stripe.",
        f"A {format_size(record)} record takes {format_size(taken)}, {record / taken:.1%} of it data.",
        f"A {format_size(small)} block takes {format_size(of_small)}, {small / of_small:.0%} of it data.",
        f"A write smaller than its {format_size(record)} record reads and rewrites the whole record.",
    )
    return Geometry(width, data, parity, record / taken, None, None, (), told)


def _draid(layout: Layout, width: int) -> Geometry:
    data, parity, record = layout.data, layout.rule.parity, layout.recordsize_bytes
    taken = draid_allocated(record, data=data, parity=parity, ashift=layout.ashift)
    row = data << layout.ashift
    told = (
        _share_sentence(data, parity),
        f"dRAID allocates whole rows of {format_size(row)} of data; a smaller block is padded to one.",
        f"A {format_size(record)} record takes {format_size(taken)}, {record / taken:.1%} of it data.",
    )
    return Geometry(width, data, parity, record / taken, 1 << layout.ashift, row, (), told)


def _erasure(layout: Layout) -> Geometry:
    data, parity = layout.data, layout.parity
    told = [
        f"{data} data + {parity} coding chunks: {data / (data + parity):.1%} of the raw capacity is data.",
        f"A write smaller than a stripe of {data} chunks has to read the others, or the old chunks.",
    ]
    unit = layout.stripe_unit_bytes
    if unit is None:
        return Geometry(data + parity, data, parity, data / (data + parity), None, None, (), tuple(told))
    stripe = unit * data
    told.insert(1, f"A full stripe holds {data} x {format_size(unit)} = {format_size(stripe)} of data.")
    costs = tuple(write_cost(size, data=data, parity=parity, unit_bytes=unit) for size in WRITES)
    return Geometry(data + parity, data, parity, data / (data + parity), unit, stripe, costs, tuple(told))


def _share_sentence(data: int, parity: int) -> str:
    rebuild = f"A rebuild reads all of {data} drives."
    return f"{data} data + {parity} parity drives: {data / (data + parity):.1%} of the raw capacity is data. {rebuild}"


def widths(groups: Sequence[int]) -> tuple[int, ...]:
    """Different widths of groups, ascending: each has a geometry of its own."""
    return tuple(sorted(set(groups)))
