# SPDX-License-Identifier: Apache-2.0
"""A load shaped like SNIA's Emerald: energy of an array. No claim to conform."""

from __future__ import annotations

from dataclasses import replace

from ioatlas.interop.studies import Study
from ioatlas.interop.studies.hot_band import hot_band
from ioatlas.model.workload import Address, Stream, Workload

KIB = 1 << 10
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


def emerald_like(size: int) -> Study:
    """Hot-band mix, random and sequential phases; run with power at each of them and at idle."""
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
        tuple(workloads),
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
