# SPDX-License-Identifier: Apache-2.0
"""A simulated target in time: what a job's load did, step by step, from the law and from what happened before."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tests.simulate.jobs import SimulatedJob
from tests.simulate.law import Demand, Law, Rate, demand, rates

STEPS = 50
"""Steps of a load without a log."""
_LONGEST_SECONDS = 30 * 86400.0


@dataclass
class Interval:
    """One step of a job: its end in seconds since the load started, I/Os and mean latency by direction.

    seconds: how long it was, where a log's clock was not on time; 0 of one that lasts a log's interval, or ends before.
    """

    end_seconds: float
    ios: dict[str, float]
    latency_seconds: dict[str, float]
    seconds: float = 0.0


@dataclass
class Load:
    """What became of one job. start_seconds: since the process started. error: fio's, 0 when all went well.

    clones: of each clone its own intervals, where they were not alike. latencies: seconds, ascending, that stand for
    all by direction, where they are known.
    """

    job: SimulatedJob
    start_seconds: float
    ran_seconds: float = 0.0
    intervals: list[Interval] = field(default_factory=list)
    error: int = 0
    clones: list[list[Interval]] = field(default_factory=list)
    latencies: dict[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def end_seconds(self) -> float:
        return self.start_seconds + self.ran_seconds

    def ios(self, direction: str) -> int:
        """Finished I/Os."""
        return round(sum(one.ios.get(direction, 0.0) for one in self.intervals))

    def latency_seconds(self, direction: str) -> float:
        """Mean over all finished I/Os."""
        counts = sum(one.ios.get(direction, 0.0) for one in self.intervals)
        total = sum(one.ios.get(direction, 0.0) * one.latency_seconds.get(direction, 0.0) for one in self.intervals)
        return total / counts if counts else 0.0


class Device:
    """The target: its law, and the credit that its burst has left."""

    def __init__(self, law: Law) -> None:
        self.law = law
        self._credit_bytes = law.burst.bytes if law.burst else 0.0
        self._last_seconds = 0.0

    def copy(self) -> "Device":
        """As it is now, to try something out."""
        other = Device(self.law)
        other._credit_bytes, other._last_seconds = self._credit_bytes, self._last_seconds
        return other

    def make(self, jobs: Sequence[SimulatedJob], now: float, limits: Sequence[float]) -> list[Load]:
        """Run jobs that start together at `now` (seconds since the target began).

        limits: seconds after which each ends at the latest, whatever its own time.
        """
        self._refill(now)
        demands = [demand(self.law, job) for job in jobs]
        step = min(self._step(job, asked) for job, asked in zip(jobs, demands, strict=True))
        loads = [Load(job, 0.0) for job in jobs]
        # Draws depend on the visit alone: the same visit made at another time gives the same.
        draws = random.Random(" ".join([str(self.law.seed), *(_seed(job) for job in jobs)]))
        visit = math.exp(draws.gauss(0.0, self.law.noise)) if self.law.noise else 1.0
        left = {job.name: job.work_bytes * job.numjobs for job in jobs}
        going = list(zip(loads, demands, limits, strict=True))
        spent = 0.0
        while going and spent < _LONGEST_SECONDS:
            usual = visit * self._speed(now + spent, spent) * math.exp(draws.gauss(0.0, self.law.jitter))
            made = rates(
                self.law, [asked for _, asked, _ in going], usual * self._burst([a for _, a, _ in going], usual, step)
            )
            moving = [
                sum(iops * asked.blocks[way] for way, iops in rate.iops.items())
                for (_, asked, _), rate in zip(going, made, strict=True)
            ]
            length = min(
                self._length(load.job, limit, moves, left[load.job.name], spent, step)
                for (load, _, limit), moves in zip(going, moving, strict=True)
            )
            working = length - self._stalled(now + spent, now + spent + length)
            for (load, _, _), rate, moves in zip(going, made, moving, strict=True):
                _add(load, rate, spent + length, working, length)
                left[load.job.name] -= moves * working
                self._spend(moves * working, length)
            spent += length
            going = [one for one in going if not _is_done(one[0].job, spent, one[2], left[one[0].job.name])]
        self._last_seconds = now + spent
        return [self._drained(load, limit, now) for load, limit in zip(loads, limits, strict=True)]

    def _step(self, job: SimulatedJob, asked: Demand) -> float:
        """Seconds of a step: the log's own interval, or a part of the load."""
        logged = job.number("log_avg_msec", math.inf) / 1000
        if job.work_bytes:
            (rate,) = rates(self.law, [asked], 1.0)
            moved = sum(iops * asked.blocks[way] for way, iops in rate.iops.items())
            return min(logged, max(1e-6, job.work_bytes * job.numjobs / max(moved, 1e-9) / STEPS))
        if logged < math.inf:
            return logged
        return max(0.001, job.runtime_seconds / STEPS)

    def _length(self, job: SimulatedJob, limit: float, moves: float, left: float, spent: float, step: float) -> float:
        """Seconds until the next step, the end of the load's time, or that of its work."""
        ends = [step, limit - spent]
        if job.runtime_seconds:
            ends.append(job.runtime_seconds - spent)
        if job.work_bytes and moves:
            ends.append(left / moves)
        return max(1e-9, min(ends))

    def _drained(self, load: Load, limit: float, began: float) -> Load:
        """What is in flight when the time is up still has to come back."""
        if load.job.paced or load.job.work_bytes or load.ran_seconds >= limit - 1e-9:
            return load
        pause = self._pause(began + load.ran_seconds)
        if pause:
            return self._after_pause(load, pause, limit)
        last = load.intervals[-1]
        first = max(last.latency_seconds.values(), default=0.0)
        if load.ran_seconds < first:  # all that was asked for is still under way
            ways = last.latency_seconds
            each = load.job.numjobs * load.job.iodepth / max(1, len(ways))
            load.ran_seconds = min(first, limit)
            if first <= limit:
                load.intervals.append(Interval(first, dict.fromkeys(ways, each), dict(ways)))
            return load
        drain = max(last.latency_seconds.values(), default=0.0)
        begin = load.intervals[-2].end_seconds if len(load.intervals) > 1 else 0.0
        length = last.end_seconds - begin
        end = min(load.ran_seconds + drain, limit)
        step = load.job.number("log_avg_msec") / 1000 if "log_avg_msec" in load.job.options else drain
        # They count, as with fio: those that were in flight, at the speed of the end.
        while load.ran_seconds < end - 1e-9:
            until = min(end, (math.floor(load.ran_seconds / step + 1e-6) + 1) * step)
            share = (until - load.ran_seconds) / length
            more = {way: ios * share for way, ios in last.ios.items()}
            load.intervals.append(Interval(until, more, last.latency_seconds))
            load.ran_seconds = until
        return load

    def _after_pause(self, load: Load, pause: float, limit: float) -> Load:
        """The target stands still when the time is up: what is in flight comes back when it goes on."""
        step = load.job.number("log_avg_msec") / 1000 if "log_avg_msec" in load.job.options else pause
        until = math.ceil((load.ran_seconds + pause) / step - 1e-6) * step
        if until > limit:
            load.ran_seconds = limit
            return load
        began = max((one.end_seconds for one in load.intervals if sum(one.ios.values()) > 0.5), default=0.0)
        ways = load.intervals[-1].ios
        share = load.job.numjobs * load.job.iodepth / len(ways)
        load.intervals.append(Interval(until, dict.fromkeys(ways, share), dict.fromkeys(ways, until - began)))
        load.ran_seconds = until
        return load

    def _pause(self, at: float) -> float:
        """Seconds for which the target still stands still at a moment; 0 where it works."""
        every, long = self.law.stall_every_seconds, self.law.stall_seconds
        if not every or not long:
            return 0.0
        done = at % every
        return every - done if done > every - long else 0.0

    def _speed(self, at: float, spent: float) -> float:
        law = self.law
        speed = max(0.05, 1 + law.drift_per_hour * at / 3600)
        if law.ramp_share:
            speed *= 1 - law.ramp_share * math.exp(-spent / law.ramp_seconds)
        return speed

    def _burst(self, demands: Sequence[Demand], speed: float, step: float) -> float:
        """How many times as fast the target is while its credit lasts, if not for the whole step then as its mean."""
        burst = self.law.burst
        if burst is None or self._credit_bytes <= 0:
            return 1.0

        def moved(factor: float) -> float:
            made = rates(self.law, demands, speed * factor)
            pairs = zip(demands, made, strict=True)
            return sum(iops * asked.blocks[way] for asked, rate in pairs for way, iops in rate.iops.items())

        fast = moved(burst.factor)
        allowed = burst.refill_bytes_per_s + self._credit_bytes / step
        return burst.factor if fast <= allowed else max(1.0, burst.factor * allowed / fast)

    def _stalled(self, begin: float, end: float) -> float:
        """Seconds of pause between two moments."""
        every, long = self.law.stall_every_seconds, self.law.stall_seconds
        if not every or not long:
            return 0.0

        def before(at: float) -> float:
            whole, rest = divmod(at, every)
            return whole * long + max(0.0, rest - (every - long))

        return before(end) - before(begin)

    def _refill(self, now: float) -> None:
        if self.law.burst:
            more = self.law.burst.refill_bytes_per_s * max(0.0, now - self._last_seconds)
            self._credit_bytes = min(self.law.burst.bytes, self._credit_bytes + more)

    def _spend(self, moved: float, seconds: float) -> None:
        if self.law.burst:
            self._credit_bytes -= moved - self.law.burst.refill_bytes_per_s * seconds
            self._credit_bytes = min(self.law.burst.bytes, max(0.0, self._credit_bytes))


def _add(load: Load, rate: Rate, end: float, working: float, length: float) -> None:
    """One more step of a load, of whose length the target worked for a part. Nothing is back before its latency."""
    factor = length / working if working > 1e-9 else 1.0
    latency = {way: each * factor for way, each in rate.latency_seconds.items()}
    first = {way: 0.0 if load.job.paced or load.job.work_bytes else latency.get(way, 0.0) for way in rate.iops}
    back = {way: min(1.0, max(0.0, (end - first[way]) / length)) for way in rate.iops}
    ios = {way: each * working * back[way] for way, each in rate.iops.items()}
    load.intervals.append(Interval(end, ios, latency))
    load.ran_seconds = end


def _seed(job: SimulatedJob) -> str:
    return job.options.get("randseed", job.name)


def _is_done(job: SimulatedJob, spent: float, limit: float, left: float) -> bool:
    if spent >= limit - 1e-9:
        return True
    if job.work_bytes and left <= 0.5:
        return True
    return bool(job.runtime_seconds) and spent >= job.runtime_seconds - 1e-9
