# SPDX-License-Identifier: Apache-2.0
"""Loads shaped like those of two standards. No claim to conform.

SNIA's Emerald: energy of an array, with vdbench's hot band: I/O biased to the start of a region, as zones of equal
shares.

SPC-1 (structure of version 1): eight streams, among them hierarchical reuse random walks, as fio streams. Facts: the
parameters of the open implementation of the version 1 generator (NetApp, 2009) and of published disclosures. A unit of
load is 50 I/Os per second. The load may not carry the benchmark's name, and its results are not comparable with audited
ones.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, replace

from ioatlas.interop.fidelity import Fidelity, approximate, not_expressible
from ioatlas.interop.studies import Study
from ioatlas.model.workload import Address, Arrival, Stream, Workload

# Cumulative share of the I/O within the first N megabytes (of 1,000,000 bytes) of a hot band before it is folded into
# the band's size.
_HOT_MB = (0, *(16 << k for k in range(27)), 10737418240)
_HOT_SHARES = """
    0 0.087217 0.10101 0.132206 0.159946 0.201713 0.262602 0.32645 0.366902 0.386175 0.436941 0.482631 0.523752
    0.56076 0.594068 0.624045 0.651024 0.675305 0.697159 0.716827 0.734528 0.750459 0.764797 0.777701 0.789314
    0.799767 0.809174 0.81764 1
"""
_HOT_SHARE = tuple(map(float, _HOT_SHARES.split()))
_ZONES = 50


def folded_share(megabytes: float, band_megabytes: float) -> float:
    """Share of the I/O in the first `megabytes` of a band: offsets beyond the band wrap around it."""

    def covered(end: float) -> float:
        """How much of 0 to `end`, wrapped around the band, lies in its first `megabytes`."""
        turns, rest = divmod(end, band_megabytes)
        return turns * megabytes + min(rest, megabytes)

    total = 0.0
    for (low, high), (below, above) in zip(itertools.pairwise(_HOT_MB), itertools.pairwise(_HOT_SHARE), strict=True):
        total += (above - below) / (high - low) * (covered(high) - covered(low))
    return total


@functools.lru_cache(maxsize=64)
def hot_band(size: int | None, block: int, read_percent: float) -> tuple[Address, Fidelity]:
    """A band of `size` bytes as zones of equal shares of the I/O."""
    if size is None:
        return Address("random"), approximate(
            "hot band",
            "the hot band's curve runs over megabytes, and the size of the sd is not given (size=)",
            "uniform inside the band instead of biased to its start",
        )
    band = size / 1e6
    if band < 1:
        return Address("random"), not_expressible(
            "hot band", "a hot band needs at least one megabyte; uniform offsets stand in"
        )
    edges = [0.0]
    for k in range(1, _ZONES):
        low, high = edges[-1], band
        for _ in range(40):
            middle = (low + high) / 2
            if folded_share(middle, band) < k / _ZONES:
                low = middle
            else:
                high = middle
        edges.append(high)
    edges.append(band)
    cuts = [round(edge * 1e6) // block * block for edge in edges[:-1]] + [size]
    zones: list[tuple[float, float]] = []
    carried = 0.0
    for low_cut, high_cut in itertools.pairwise(cuts):
        carried += 100 / _ZONES
        if high_cut > low_cut:
            zones.append((carried, float(high_cut - low_cut)))
            carried = 0.0
    if carried and zones:
        zones[-1] = (zones[-1][0] + carried, zones[-1][1])
    shift = "; writes are not shifted by 1% of the band" if read_percent < 100 else ""
    note = approximate(
        "hot band",
        f"the hot band's curve as {len(zones)} zones, uniform inside each{shift}",
        f"cumulative share within {100 / _ZONES:g} points of the curve everywhere",
    )
    return Address("zoned", zones=tuple(zones), zones_are_bytes=True), note


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


BLOCK = 4 * KIB
UNIT_IOPS = 50
LEAF_BLOCKS = 8
_ASU = (0.45, 0.45, 0.10)
_MIX = ((4 * KIB, 40.0), (8 * KIB, 24.0), (16 * KIB, 20.0), (32 * KIB, 8.0), (64 * KIB, 8.0))
RAMP_PERCENT = (95, 90, 80, 50, 10)


@dataclass(frozen=True)
class _Kind:
    name: str
    asu: int
    share: float
    read_percent: int
    law: str
    low: float = 0.0
    high: float = 1.0
    run: float = 0.0


STREAMS = (
    _Kind("asu1-1", 0, 0.035, 50, "uniform"),
    _Kind("asu1-2", 0, 0.281, 50, "walk", 0.15, 0.20),
    _Kind("asu1-3", 0, 0.070, 100, "runs", 0.20, 0.60, 0.10),
    _Kind("asu1-4", 0, 0.210, 50, "walk", 0.70, 0.75),
    _Kind("asu2-1", 1, 0.018, 30, "uniform"),
    _Kind("asu2-2", 1, 0.070, 30, "walk", 0.47, 0.52),
    _Kind("asu2-3", 1, 0.035, 100, "runs", 0.20, 0.60, 0.10),
    _Kind("asu3-1", 2, 0.281, 0, "runs", 0.0, 0.70, 0.30),
)


def reuse_theta(leaves: int) -> float:
    """The zipf theta whose reuse distances over leaves come nearest to the walk's: `bench/translate` has them."""
    return 0.8 if leaves < 2100 else 0.9


def _workload(size: int, units: int, percent: int, theta: float) -> Workload:
    """All streams at a share of the full load; reads and writes of a stream are jobs of their own with independent
    arrivals.
    """
    total = size // BLOCK
    blocks = [int(total * share) for share in _ASU]
    starts = [0, blocks[0], blocks[0] + blocks[1]]
    streams = []
    for kind in STREAMS:
        rate = UNIT_IOPS * units * kind.share * percent / 100
        low = starts[kind.asu] + int(blocks[kind.asu] * kind.low)
        reach = min(1.0, kind.high + kind.run) - kind.low if kind.law == "runs" else kind.high - kind.low
        length = max(1, int(blocks[kind.asu] * reach)) * BLOCK
        address = {
            "uniform": Address("random"),
            "walk": Address("zipf", parameter=theta),
            "runs": Address("sequential"),
        }[kind.law]
        for read, share in ((100.0, kind.read_percent / 100), (0.0, 1 - kind.read_percent / 100)):
            if share:
                streams.append(
                    Stream(
                        f"{kind.name}-{'read' if read else 'write'}",
                        read,
                        address,
                        _MIX if kind.law == "runs" else ((BLOCK, 100.0),),
                        arrival=Arrival("poisson", rate_iops=rate * share),
                        depth=64,
                        offset_bytes=low * BLOCK,
                        size_bytes=length,
                        direct=True,
                        engine="libaio",
                    )
                )
    return Workload(f"load{percent}", tuple(streams), runtime_seconds=600.0, warmup_seconds=180.0)


_REMARKS = (
    (
        "The load is open: I/Os arrive at exponential gaps whether or not earlier ones are done, so response time is "
        "the result."
    ),
    (
        "fio has no reuse walk: a zipf distribution over the region takes its place, calibrated to the walk's reuse "
        "distances."
    ),
    "Sequential runs pass over the whole of their range, where the source restarts them at random places.",
    (
        "The structure is that of version 1; later versions add compression, deduplication and other refinements that "
        "are not public."
    ),
    "The benchmark's name may not be used for a result of this load.",
)


def spc1_like(size: int) -> Study:
    """Full load and the ramp of response times; units of load are 10 here and scaled by the campaign."""
    theta = reuse_theta(int(size // BLOCK * 0.45 * 0.05) // LEAF_BLOCKS)
    workloads = tuple(_workload(size, 10, percent, theta) for percent in (100, *RAMP_PERCENT))
    remark = f"Here zipf {theta:g}: the cumulative reuse distances differ by at most 14 points from the walk's."
    return Study(workloads, (*_REMARKS, remark))


def spc1e_like(size: int) -> Study:
    """The same loads with power at idle and at each of them."""
    base = spc1_like(size)
    remark = "Watts come from a meter that the campaign names, at idle and during each load."
    return Study(base.workloads, (*base.remarks, remark))
