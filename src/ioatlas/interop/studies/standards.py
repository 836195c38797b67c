# SPDX-License-Identifier: Apache-2.0
"""Loads shaped like industry standards: SNIA's performance test (solid-state) and an Emerald-like energy load. No claim
to conform.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ioatlas.interop.studies import Study
from ioatlas.interop.translate.vdbench_data import hot_band
from ioatlas.model.workload import Address, Stream, Workload

KIB, GIB = 1 << 10, 1 << 30
_PTS_SIZES = (512, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB, 1024 * KIB)
_PTS_MIXES = (100, 95, 65, 50, 35, 5, 0)
# Emerald-like size mix of the hot-band phase: (bytes, per cent).
_EMERALD_SIZES = (
    (8 * KIB, 31.0),
    (4 * KIB, 27.0),
    (64 * KIB, 20.0),
    (16 * KIB, 5.0),
    (32 * KIB, 5.0),
    (128 * KIB, 2.0),
    (KIB, 2.0),
    (60 * KIB, 2.0),
    (512, 2.0),
    (256 * KIB, 2.0),
    (48 * KIB, 1.0),
    (56 * KIB, 1.0),
)
_BANDS = ((28.0, 10.0, 18.0), (14.0, 32.0, 40.0), (7.0, 55.0, 63.0), (5.0, 80.0, 88.0))


def snia_pts(size_bytes: int | None) -> Study:
    """Two sequential fills, then rounds of 8 sizes x 7 mixes of random I/O, one minute each."""
    size = size_bytes or 64 * GIB
    fill = Stream(
        "fill",
        0.0,
        sizes=((128 * KIB, 100.0),),
        depth=32,
        size_bytes=size,
        direct=True,
        engine="libaio",
        options={"refill_buffers": 1},
    )
    workloads = [Workload("precondition", (fill,), passes=2)]
    for mix in _PTS_MIXES:
        for block in reversed(_PTS_SIZES):
            name = f"r{mix}-{block}b"
            stream = Stream(
                name,
                float(mix),
                Address("random"),
                ((block, 100.0),),
                jobs=2,
                depth=16,
                size_bytes=size,
                direct=True,
                engine="libaio",
                options={"refill_buffers": 1} if mix < 100 else {},
            )
            workloads.append(Workload(name, (stream,), runtime_seconds=60.0))
    return Study(
        "snia-pts",
        "fill twice, then at most 25 rounds of 8 block sizes x 7 read shares, until five are steady",
        tuple(workloads),
        ordered=True,
        repeats=25,
        remarks=(
            (
                "The standard purges the device first. A file or a share cannot be purged, so the state before the "
                "fill is the target's own."
            ),
            (
                "Steady is judged by five rounds of 4 KiB random writes. They range within 20% of their mean, and "
                "their fitted line moves by 10% at most."
            ),
            "Targets whose blocks are larger than 512 bytes leave the 512-byte cells out.",
            "Threads and depth are free in the standard: 2 x 16 here, stated with the result.",
        ),
        unsure=("the seven read shares and the minute a cell", "threads and depth"),
    )


def emerald_like(size_bytes: int | None) -> Study:
    """Hot-band mix, random and sequential phases; run with power at each of them and at idle."""
    size = size_bytes or 64 * GIB
    streams = [_mix("uniform", 6.0, 50.0, 0, size, Address("random"))]
    for number, (share, low, high) in enumerate(_BANDS, 1):
        start, length = int(size * low / 100) // 4096 * 4096, int(size * (high - low) / 100) // 4096 * 4096
        address, _ = hot_band(length, 4096, 70.0)
        streams.append(_mix(f"hot{number}", share, 70.0, start, length, address))
    for number in range(5):
        start = size // 5 * number // 4096 * 4096
        streams.append(_mix(f"seqread{number + 1}", 5.0, 100.0, start, size - start, Address("sequential")))
    for number in range(3):
        start = size // 3 * number // 4096 * 4096
        streams.append(_mix(f"seqwrite{number + 1}", 5.0, 0.0, start, size - start, Address("sequential")))
    workloads = [Workload("hotband", tuple(streams), runtime_seconds=1860.0)]
    for name, read, block, law in (
        ("random-read", 100.0, 8, "random"),
        ("random-write", 0.0, 8, "random"),
        ("sequential-read", 100.0, 256, "sequential"),
        ("sequential-write", 0.0, 256, "sequential"),
    ):
        address = Address("random") if law == "random" else Address("sequential")
        stream = Stream(
            name, read, address, ((block * KIB, 100.0),), depth=32, size_bytes=size, direct=True, engine="libaio"
        )
        workloads.append(Workload(name, (stream,), runtime_seconds=1860.0))
    return Study(
        "emerald-like",
        "a hot-band mix of thirteen streams, random 8 KiB and sequential 256 KiB, 31 minutes each, with power",
        tuple(workloads),
        ordered=True,
        remarks=(
            "Shares of streams that run freely are kept by fio's flow, which counts I/Os.",
            (
                "A hot band is 50 zones of equal shares of the I/O, uniform inside each. Writes are not shifted by "
                "1% of the band."
            ),
            (
                "Bands and conditioning follow the published template as recalled; the result does not carry the "
                "standard's name."
            ),
            "Idle is measured for as long as a phase; watts come from a meter that the campaign names.",
        ),
        unsure=("shares and places of the bands after the first", "shares of the sequential streams", "the size mix"),
    )


def _mix(name: str, share: float, read: float, start: int, length: int, address: Address) -> Stream:
    stream = Stream(
        name,
        read,
        address,
        _EMERALD_SIZES,
        depth=8,
        offset_bytes=start,
        size_bytes=length,
        direct=True,
        engine="libaio",
        share=share / 100,
    )
    return replace(stream, address=replace(address, align_bytes=4096) if address.law != "sequential" else address)


BUILDERS: dict[str, Callable[[int | None], Study]] = {"snia-pts": snia_pts, "emerald-like": emerald_like}
