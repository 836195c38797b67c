# SPDX-License-Identifier: Apache-2.0
"""Targets of random physics in steps of 5 ms, by no formula of the law; a map's loads on them, without fio."""

import math
import random
from dataclasses import dataclass, field, replace

import numpy as np

from ioatlas.answer.law.choose import next_load
from ioatlas.answer.law.course import Course, cut
from ioatlas.model.cell import Cell

STEP = 0.005
START = 0.35
MIB = 1 << 20


def cell(rw, bs, jobs):
    options = {"rw": rw, "bs": bs, "numjobs": jobs, "iodepth": 1, "size": 256 * MIB, "direct": 1, "ioengine": "psync"}
    return Cell.of("t", options, sharing="shared")


QUICK = [
    cell(rw, bs, jobs) for rw in ("read", "write", "randread", "randwrite") for bs in (4096, MIB) for jobs in (1, 4, 16)
]


@dataclass
class Bucket:
    """unit, ways as of a limiter; rate and peak a second, size: in its unit."""

    unit: str
    ways: tuple[str, ...]
    rate: float
    size: float
    peak: float
    level: float = field(init=False)
    burst: float = field(init=False)

    def __post_init__(self):
        self.level, self.burst = self.size, 0.1 * self.peak

    def of(self, bs):
        return bs if self.unit == "bytes" else 1.0

    def pass_time(self, seconds):
        self.level = min(self.size, self.level + self.rate * seconds)
        self.burst = min(0.1 * self.peak, self.burst + self.peak * seconds)

    def take(self, ios, bs):
        self.level -= ios * self.of(bs)
        self.burst -= ios * self.of(bs)

    def lasting(self, bs):
        return self.rate / self.of(bs)


@dataclass
class WriteBack(Bucket):
    """Space for so many bytes, before a medium that takes `rate` bytes a second or `ios` I/Os of what came first."""

    ios: float = math.inf
    queue: list[list[float]] = field(default_factory=list)
    """[I/Os, bytes of each]"""

    def pass_time(self, seconds):
        super().pass_time(0.0)
        self.burst = self.size
        while self.queue and seconds > 0:
            ios, bs = self.queue[0]
            gone = min(ios, seconds * self.lasting(bs))
            seconds -= gone / self.lasting(bs)
            self.level += gone * bs
            self.queue[0][0] -= gone
            if self.queue[0][0] < 1e-9:
                self.queue.pop(0)

    def take(self, ios, bs):
        super().take(ios, bs)
        if self.queue and self.queue[-1][1] == bs:
            self.queue[-1][0] += ios
        else:
            self.queue.append([ios, bs])

    def lasting(self, bs):
        return min(self.ios, self.rate / bs)


@dataclass
class Target:
    """latency in s, iops, bandwidth in B/s by direction; serial: I/Os and bytes share one resource.

    between, within: noise of whole loads and of 50 ms within one, as logarithms.
    """

    latency: dict[str, float]
    iops: dict[str, float]
    bandwidth: dict[str, float]
    serial: bool = True
    buckets: list[Bucket] = field(default_factory=list)
    between: float = 0.01
    within: float = 0.02
    pauses: tuple[float, float, float] | None = None
    """Mean seconds that it works, and stands still in between, and which share of its speed that takes."""
    rng: random.Random = field(default_factory=lambda: random.Random(1))
    now: float = 0.0
    spans: list[tuple[float, float]] = field(default_factory=list)

    def alone(self, way, bs, outstanding):
        """I/Os a second without a bucket."""
        latency = (self.latency[way] + 0.5 * bs / self.bandwidth[way]) / outstanding
        each, transfer = 1 / self.iops[way], bs / self.bandwidth[way]
        return 1 / max(latency, each + transfer if self.serial else max(each, transfer))

    def paused(self, moment):
        """Share of its speed that a pause takes from it then."""
        if self.pauses is None:
            return 0.0
        works, stands, depth = self.pauses
        while not self.spans or self.spans[-1][1] < moment:
            begin = (self.spans[-1][1] if self.spans else -self.rng.uniform(0, works)) + self.rng.expovariate(1 / works)
            self.spans.append((begin, begin + self.rng.expovariate(1 / stands)))
        return depth * any(begin <= moment < end for begin, end in self.spans)

    def lasting(self, one):
        """I/Os a second that a cell gives for good."""
        (way,) = one.directions
        caps = [each.lasting(one.bs_bytes) for each in self.buckets if way in each.ways]
        works, stands, depth = self.pauses or (1.0, 0.0, 0.0)
        usual = self.alone(way, one.bs_bytes, one.outstanding) * (1 - depth * stands / (works + stands))
        return min([usual, *caps])

    def load(self, one, seconds):
        """The course of a load, after the start of a process; None where too little came back."""
        (way,) = one.directions
        self.now += START
        for each in self.buckets:
            each.pass_time(START)
        start, usual = self.now, self.alone(way, one.bs_bytes, one.outstanding)
        usual *= math.exp(self.rng.gauss(0, self.between))
        seconds = max(seconds, 1.1 / usual)  # fio waits for what is in flight
        done, noise, log, grain = 0.0, 0.0, [(0.0, 0.0)], max(0.01, seconds / 50)
        for step in range(1, round(seconds / STEP) + 1):
            noise = self.rng.gauss(0, self.within) if step % 10 == 1 else noise
            more = usual * math.exp(noise) * STEP * (1 - self.paused(start + step * STEP))
            mine = [each for each in self.buckets if way in each.ways]
            for each in self.buckets:
                each.pass_time(STEP)
            for each in mine:
                more = min(more, each.level / each.of(one.bs_bytes), each.burst / each.of(one.bs_bytes))
            for each in mine:
                each.take(more, one.bs_bytes)
            done += more
            if step * STEP >= len(log) * grain - 1e-9:
                log.append((step * STEP, math.floor(done)))
        self.now += seconds
        times, counts = (np.array(column) for column in zip(*log, strict=True))
        if counts[-1] < 1:
            return None
        edges, ios = cut(times, counts, one.outstanding)
        return Course(one, way, start, edges, ios, done, seconds, counted=bool((np.diff(ios) > 0).all()))


def drawn(seed):
    """A random target: half of them with credit."""
    rng = random.Random(seed)

    def log_uniform(low, high):
        return math.exp(rng.uniform(math.log(low), math.log(high)))

    latency, iops, bandwidth = log_uniform(1e-4, 2e-2), log_uniform(50, 20_000), log_uniform(2e6, 5e8)
    found = Target(
        {"read": latency, "write": latency * log_uniform(0.5, 1.5)},
        {"read": iops, "write": iops * log_uniform(0.5, 1.2)},
        {"read": bandwidth, "write": bandwidth * log_uniform(0.4, 1.2)},
        serial=rng.random() < 0.5,
        between=log_uniform(0.003, 0.05),
        within=log_uniform(0.01, 0.13),
        rng=rng,
    )
    if rng.random() < 0.5:
        rate = bandwidth * log_uniform(0.1, 0.7)
        ways = rng.choice([("read", "write"), ("write",), ("read",)])
        found.buckets.append(Bucket("bytes", ways, rate, rate * log_uniform(0.6, 2), rate * log_uniform(2, 8)))
    return found


def mapped(target, total=60.0, cells=QUICK):
    """All courses of a map within a budget: written for a sixth of it, then what `next_load` asks for."""
    laid = replace(cell("write", MIB, 8), target="t")
    courses = [target.load(laid, total / 6)]
    left = total - 4 - total / 6 - START
    while (one := next_load(cells, [c for c in courses if c], total=total, left=left)) is not None:
        made = target.load(one.cell, one.seconds)
        courses.append(made and replace(made, visit_id=len(courses)))
        left -= one.seconds + START
    return [course for course in courses if course is not None], left


def pausing(seed):
    """A random target that stands still, or is slow, now and then."""
    found = replace(drawn(seed), buckets=[], pauses=None)
    rng = random.Random(f"pauses {seed}")
    works, stands = (math.exp(rng.uniform(*map(math.log, ends))) for ends in ((0.5, 10), (0.1, 3)))
    found.pauses = (works, stands, rng.choice((1.0, 1.0, rng.uniform(0.3, 0.9))))
    return found


def visited(target, cells, visits, seconds):
    """The courses of so many loads of each cell, in turns; none of a load in which nothing came back."""
    made = (target.load(one, seconds) for _ in range(visits) for one in cells)
    return [replace(course, visit_id=n) for n, course in enumerate(made, 1) if course is not None]
