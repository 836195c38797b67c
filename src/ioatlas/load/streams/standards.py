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

from ioatlas.load.streams.fidelity import Fidelity, notes_in
from ioatlas.model.errors import UsageError
from ioatlas.model.workload import Address, Arrival, Stream, Workload
from ioatlas.store.toml import shipped

_TOLD = shipped("ioatlas.load.streams", "standards.toml")
_NOTES = notes_in("ioatlas.load.streams", "hot_band")
_HOT_MB = (0, *(16 << k for k in range(27)), 10737418240)
_HOT_SHARE: list[float] = _TOLD["hot_band"]["shares"]
_ZONES = 50


@dataclass(frozen=True)
class Study:
    """workloads: in the order they run. remarks: what is done differently from the source and why, a sentence each."""

    workloads: tuple[Workload, ...]
    remarks: tuple[str, ...] = ()


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
        return Address("random"), _NOTES["unsized"]
    band = size / 1e6
    if band < 1:
        return Address("random"), _NOTES["small"]
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
    note = _NOTES["zones"].filled(count=len(zones), shift=shift, points=100 / _ZONES)
    return Address("zoned", zones=tuple(zones), zones_are_bytes=True), note


KIB = 1 << 10
_EMERALD_SIZES = tuple((size, share) for size, share in _TOLD["emerald"]["sizes"])


def emerald_like(size: int) -> Study:
    """Hot-band mix, random and sequential phases; run with power at each of them and at idle."""
    streams = [_mix("uniform", 6.0, 50.0, 0, size, Address("random"))]
    for number, (share, low, high) in enumerate(_TOLD["emerald"]["bands"], 1):
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
    return Study(tuple(workloads), tuple(_TOLD["emerald"]["remarks"]))


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
_MIX = tuple((size, share) for size, share in _TOLD["spc1"]["mix"])
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


STREAMS = tuple(_Kind(**one) for one in _TOLD["spc1"]["stream"])


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


def spc1_like(size: int) -> Study:
    """Full load and the ramp of response times; units of load are 10 here and scaled by the campaign."""
    theta = reuse_theta(int(size // BLOCK * 0.45 * 0.05) // LEAF_BLOCKS)
    workloads = tuple(_workload(size, 10, percent, theta) for percent in (100, *RAMP_PERCENT))
    remark = f"Here zipf {theta:g}: the cumulative reuse distances differ by at most 14 points from the walk's."
    return Study(workloads, (*_TOLD["spc1"]["remarks"], remark))


def spc1e_like(size: int) -> Study:
    """The same loads with power at idle and at each of them."""
    base = spc1_like(size)
    remark = "Watts come from a meter that the campaign names, at idle and during each load."
    return Study(base.workloads, (*base.remarks, remark))


NAMES = ("emerald-like", "spc1-like", "spc1e-like")


def study(name: str, size_bytes: int) -> Study:
    """The standard-like load of that name on a target of `size_bytes`. Raises UsageError."""
    if name not in NAMES:
        raise UsageError(f"there is no study {name!r}", where="study", remedy="name one of " + ", ".join(NAMES))
    return dict(zip(NAMES, (emerald_like, spc1_like, spc1e_like), strict=True))[name](size_bytes)
