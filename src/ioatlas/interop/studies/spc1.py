# SPDX-License-Identifier: Apache-2.0
"""An SPC-1-like load (structure of version 1): eight streams, among them hierarchical reuse random walks, as fio
streams.

Facts: the parameters of the open implementation of the version 1 generator (NetApp, 2009) and of published disclosures.
A unit of load is 50 I/Os per second. The load may not carry the benchmark's name, and its results are not comparable
with audited ones.
"""

from __future__ import annotations

import bisect
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from ioatlas.interop.studies import Study
from ioatlas.model.workload import Address, Arrival, Stream, Workload

KIB = 1 << 10
BLOCK = 4 * KIB
UNIT_IOPS = 50
_LEAF_BLOCKS = 8
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


@dataclass
class Walk:
    """The hierarchical reuse random walk over the leaves of one region; a leaf is 32 KiB.

    From the current leaf a subtree of 64 leaves is chosen, doubled with probability 0.44 at each level, and a leaf in
    it at random. Reads cycle through the leaf's 8 blocks. Writes go to every eighth leaf: half to a random block, half
    to the last one read; 15% are repeated.
    """

    leaves: int
    rng: random.Random
    leaf: int = 0
    repeat: int | None = None
    state: dict[int, int] = field(default_factory=dict)

    def next_block(self, *, read: bool) -> int:
        """The next block of 4 KiB, counted from the start of the region."""
        if not read and self.repeat is not None:
            block, self.repeat = self.repeat, None
            self.leaf = block // _LEAF_BLOCKS
            return block
        levels = max(6, math.ceil(math.log2(self.leaves)))
        old = self.leaf
        for _ in range(100):
            height = 6
            while height < levels and self.rng.random() < 0.44:
                height += 1
            width = 1 << height
            new = width * (old // width) + self.rng.randrange(width)
            if not read:
                new -= new % 8
            if new < self.leaves:
                break
            old = new
        else:
            new = self.rng.randrange(self.leaves)
        last = self.state.get(new, 0)
        if read:
            self.state[new] = (last + 1) % _LEAF_BLOCKS
            block = last
        else:
            block = self.rng.randrange(_LEAF_BLOCKS) if self.rng.random() < 0.5 else (last - 1) % _LEAF_BLOCKS
        self.leaf = new
        address = new * _LEAF_BLOCKS + block
        if not read and self.rng.random() < 0.15:
            self.repeat = address
        return address


def reuse_distances(items: Sequence[int]) -> list[int]:
    """For each repeated item, how many others came since its last use (a Fenwick tree over times of last use)."""
    n = len(items)
    tree = [0] * (n + 1)

    def add(i: int, value: int) -> None:
        i += 1
        while i <= n:
            tree[i] += value
            i += i & -i

    def below(i: int) -> int:
        total = 0
        while i > 0:
            total += tree[i]
            i -= i & -i
        return total

    last: dict[int, int] = {}
    found = []
    for now, item in enumerate(items):
        before = last.get(item)
        if before is not None:
            found.append(below(now) - below(before + 1))
            add(before, -1)
        add(now, 1)
        last[item] = now
    return found


def _zipf(theta: float, n: int, count: int, rng: random.Random) -> list[int]:
    cumulative, total = [], 0.0
    for k in range(1, n + 1):
        total += k**-theta
        cumulative.append(total)
    return [bisect.bisect_left(cumulative, rng.random() * total) for _ in range(count)]


def distance_error(first: Sequence[int], second: Sequence[int], n: int) -> float:
    """Largest gap between two cumulative distributions of reuse distance over n accesses each; first uses count as
    infinitely far.
    """
    a, b = sorted(first), sorted(second)
    return max((abs(bisect.bisect_right(a, x) - bisect.bisect_right(b, x)) / n for x in [*a, *b]), default=0.0)


def calibrate(leaves: int, accesses: int = 20_000, seed: int = 1) -> tuple[float, float]:
    """The zipf theta whose reuse distances over leaves come nearest to the walk's, and how near: the largest gap of the
    cumulative shares.
    """
    rng = random.Random(seed)  # noqa: S311
    walk = Walk(leaves, rng, rng.randrange(leaves))
    reference = reuse_distances([walk.next_block(read=rng.random() < 0.5) // _LEAF_BLOCKS for _ in range(accesses)])
    best = (0.0, 1.0)
    for theta in (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 1.05, 1.2):
        error = distance_error(reference, reuse_distances(_zipf(theta, leaves, accesses, rng)), accesses)
        if error < best[1]:
            best = (theta, error)
    return best


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
    leaves = int(size // BLOCK * 0.45 * 0.05) // _LEAF_BLOCKS
    theta, error = calibrate(min(leaves, 4096), 8000)
    workloads = tuple(_workload(size, 10, percent, theta) for percent in (100, *RAMP_PERCENT))
    remark = (
        f"Here zipf {theta:g}: the cumulative reuse distances differ by at most {100 * error:.1f} points from "
        f"the walk's over {min(leaves, 4096)} leaves."
    )
    return Study(workloads, (*_REMARKS, remark))


def spc1e_like(size: int) -> Study:
    """The same loads with power at idle and at each of them."""
    base = spc1_like(size)
    remark = "Watts come from a meter that the campaign names, at idle and during each load."
    return Study(base.workloads, (*base.remarks, remark))
