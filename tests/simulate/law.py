# SPDX-License-Identifier: Apache-2.0
"""The law of a simulated target: how fast loads are that run side by side, from latencies and limits that are known.

A closed loop of N I/Os in flight makes N / latency I/Os a second until a limit of the target or of the client is
reached; from then on I/Os wait. A paced load makes what it offers while that is below the limit. Limits are shared: of
loads that ask for more together than there is, paced ones come first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tests.simulate.jobs import SimulatedJob


@dataclass(frozen=True)
class Way:
    """One direction, one pattern: latency of an I/O alone but for its transfer, the most I/Os and bytes a second."""

    latency_seconds: float
    iops: float
    bytes_per_s: float

    def seconds(self, block_bytes: float) -> float:
        """Latency of an I/O alone."""
        return self.latency_seconds + block_bytes / self.bytes_per_s

    def cost_seconds(self, block_bytes: float) -> float:
        """Share of a second of the target that an I/O takes."""
        return max(1 / self.iops, block_bytes / self.bytes_per_s)


@dataclass(frozen=True)
class Cache:
    """Memory before the target that answers I/Os in `directions`, as much of a range as it holds."""

    size_bytes: float
    way: Way
    directions: tuple[str, ...] = ("read",)

    def hits(self, job: SimulatedJob, direction: str) -> float:
        """Share of I/Os that it answers."""
        if direction not in self.directions or not job.footprint_bytes:
            return 0.0
        return min(1.0, self.size_bytes / job.footprint_bytes)


@dataclass(frozen=True)
class Burst:
    """A token bucket: while its `bytes` last, the target is `factor` times as fast. They come back with time."""

    bytes: float
    factor: float
    refill_bytes_per_s: float


@dataclass(frozen=True)
class Law:
    """What a simulated target does.

    read, write: sequential; random_read, random_write: at random offsets, as sequential where None. Trims go as writes.
    client_iops: of one job; client_bytes_per_s: of all together. cpu_seconds: of the client for each I/O.
    noise:       relative spread of whole visits, drawn from the seed of each. jitter: of intervals in a visit.
    spread:      standard deviation of the logarithm of latencies within an interval.
    drift_per_hour: relative change of the speed.
    ramp_share, ramp_seconds: part of the speed that is missing when a load starts, and the time constant with which it
                 comes. stall_every_seconds, stall_seconds: pauses of the whole target.
    flush_seconds: of a flush, for which each write of a job waits that asks for flushes.
    """

    read: Way = Way(100e-6, 200_000, 2e9)
    write: Way = Way(50e-6, 80_000, 1e9)
    random_read: Way | None = None
    random_write: Way | None = None
    caches: tuple[Cache, ...] = ()
    burst: Burst | None = None
    client_iops: float = 500_000.0
    client_bytes_per_s: float = 20e9
    cpu_seconds: float = 2e-6
    noise: float = 0.0
    jitter: float = 0.01
    spread: float = 0.3
    drift_per_hour: float = 0.0
    ramp_share: float = 0.0
    ramp_seconds: float = 1.0
    stall_every_seconds: float = 0.0
    stall_seconds: float = 0.0
    flush_seconds: float = 0.0
    seed: int = 0

    def way(self, job: SimulatedJob, direction: str) -> Way:
        """Which of its ways a job's I/Os in one direction go."""
        if direction == "read":
            return (self.random_read if job.random else None) or self.read
        return (self.random_write if job.random else None) or self.write

    def alone(self, job: SimulatedJob, direction: str) -> tuple[float, float]:
        """(latency of an I/O alone, share of a second of the target that one takes), with what caches answer."""
        block = job.block_bytes(direction)
        missed, latency, cost = 1.0, 0.0, 0.0
        for cache in self.caches:
            hits = missed * cache.hits(job, direction)
            latency += hits * cache.way.seconds(block)
            cost += hits * cache.way.cost_seconds(block)
            missed -= hits
        way = self.way(job, direction)
        latency += self.flush_seconds if direction == "write" and job.flushes else 0.0
        return latency + missed * way.seconds(block), cost + missed * way.cost_seconds(block)


@dataclass(frozen=True)
class Rate:
    """Of one job (all of its clones): I/Os a second by direction, and their mean latency."""

    iops: dict[str, float]
    latency_seconds: dict[str, float]


@dataclass(frozen=True)
class Demand:
    """What a job asks of the target at its usual speed. offered_iops: of all its clones, 0 of a closed loop."""

    shares: dict[str, float]
    blocks: dict[str, float]
    alone_seconds: dict[str, float]
    cost_seconds: float
    in_flight: int
    offered_iops: float
    client_iops: float
    weight: float

    @cached_property
    def mean_seconds(self) -> float:
        """Mean latency of an I/O alone."""
        return sum(share * self.alone_seconds[way] for way, share in self.shares.items())

    @cached_property
    def block_bytes(self) -> float:
        """Mean size of an I/O."""
        return sum(share * self.blocks[way] for way, share in self.shares.items())

    def free_iops(self, speed: float) -> float:
        """What the job would make if the target had no limit."""
        most = min(self.in_flight * speed / self.mean_seconds, self.client_iops)
        return min(most, self.offered_iops) if self.offered_iops else most


def demand(law: Law, job: SimulatedJob) -> Demand:
    """What a job asks for."""
    offered = {way: job.offered_iops(way) * job.numjobs for way in job.directions}
    total = sum(offered.values())
    shares = {way: offered[way] / total if total else job.share(way) for way in job.directions}
    alone = {way: law.alone(job, way) for way in job.directions}
    return Demand(
        shares,
        {way: job.block_bytes(way) for way in job.directions},
        {way: latency for way, (latency, _) in alone.items()},
        sum(share * alone[way][1] for way, share in shares.items()),
        job.numjobs * job.iodepth,
        total,
        law.client_iops * job.numjobs,
        job.number("flow"),
    )


def rates(law: Law, demands: Sequence[Demand], speed: float = 1.0) -> list[Rate]:
    """What jobs make that run at the same time. speed: of the target at that moment, 1 as the law says."""
    made = _in_step(demands, [one.free_iops(speed) for one in demands])
    used = [iops * one.cost_seconds / speed for iops, one in zip(made, demands, strict=True)]
    paced = sum(each for each, one in zip(used, demands, strict=True) if one.offered_iops)
    free = sum(used) - paced
    if paced + free > 1:
        paced_factor = min(1.0, 1 / paced) if paced else 1.0
        # Free running loads keep a little even beside a paced load that takes everything.
        free_factor = min(1.0, max(1 - paced, 0.02) / free) if free > 0 else 1.0
        made = [
            iops * (paced_factor if one.offered_iops else free_factor) for iops, one in zip(made, demands, strict=True)
        ]
    moved = sum(iops * one.block_bytes for iops, one in zip(made, demands, strict=True))
    if moved > law.client_bytes_per_s:
        made = [iops * law.client_bytes_per_s / moved for iops in made]
    made = _in_step(demands, made)
    return [_rate(one, iops, min(paced + free, 1.0), speed) for one, iops in zip(demands, made, strict=True)]


def _in_step(demands: Sequence[Demand], made: list[float]) -> list[float]:
    """Jobs with `flow` keep the ratio of their weights: those that are ahead wait."""
    held = [iops / one.weight for iops, one in zip(made, demands, strict=True) if one.weight]
    if not held:
        return made
    return [min(held) * one.weight if one.weight else iops for iops, one in zip(made, demands, strict=True)]


def _rate(one: Demand, iops: float, used: float, speed: float) -> Rate:
    """Latencies by Little's law: what a loop has in flight over what it makes; of a paced load, some waiting."""
    mean = one.mean_seconds / speed
    waiting = max(0.0, one.in_flight / iops - mean) if iops else 0.0
    if one.offered_iops or one.weight:
        waiting = min(waiting, mean * 0.5 * used / max(1 - used, 0.02))
    return Rate(
        {way: share * iops for way, share in one.shares.items()},
        {way: seconds / speed + waiting for way, seconds in one.alone_seconds.items()},
    )
