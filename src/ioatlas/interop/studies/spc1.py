# SPDX-License-Identifier: Apache-2.0
"""An SPC-1-like load (structure of version 1): eight streams, among them hierarchical reuse random walks, as fio
streams.

Facts: the parameters of the open implementation of the version 1 generator (NetApp, 2009) and of published disclosures.
A unit of load is 50 I/Os per second. The load may not carry the benchmark's name, and its results are not comparable
with audited ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from ioatlas.interop.studies import Study
from ioatlas.model.workload import Address, Arrival, Stream, Workload

KIB = 1 << 10
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
