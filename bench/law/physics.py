# SPDX-License-Identifier: Apache-2.0
"""A simulated target made of parts through which I/Os pass one by one: link, limiters, caches, servers, a channel.

Nothing here is a formula for a rate. Every I/O waits for tokens, a free server and the channel; what is fast enough
falls out of that. Fast loads move in parcels: each slot then makes `g` I/Os in a row as one event of `g` times the
cost, so that a second takes some thousand events however fast the target is.
"""

from __future__ import annotations

import copy
import heapq
import math
import random
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from parts import LINE, MIB, Physics, WriteBack
from record import Event, load_of
from tokens import Bucket, is_on, limited, turns_of

from ioatlas.simulate.device import Device, Load
from ioatlas.simulate.jobs import SimulatedJob
from ioatlas.simulate.law import Law

EVENTS_PER_S = 4000.0
NEAR = 2 * MIB
"""Within this of the head a disk arm is in place."""
SPAN = 4 << 30
"""Range over which an arm takes its whole seek."""
_NOISE_STEP = 0.02
_MTU = 1448


@dataclass
class _Run:
    """A job as it goes on. ends: when nothing more is asked. left: bytes of each clone. group: I/Os of a parcel."""

    job: SimulatedJob
    ends: float
    began: float
    offsets: list[int]
    left: list[float]
    unsynced: list[int]
    group: int = 1
    counted: float = 0.0
    since: float = 0.0
    events: list[Event] = field(default_factory=list)

    @classmethod
    def of(cls, job: SimulatedJob, now: float, limit: float) -> _Run:
        return cls(
            job,
            now + min(limit, job.runtime_seconds or math.inf),
            now,
            [int(job.number("offset") + job.number("offset_increment") * clone) for clone in range(job.numjobs)],
            [job.work_bytes or math.inf] * job.numjobs,
            [0] * job.numjobs,
            since=now,
        )

    def done(self, event: Event, now: float, per_s: float) -> None:
        """Book a parcel, and see how large the next ones may be."""
        self.events.append(event)
        self.counted += event.ios
        spent = now - self.since
        if spent > 0.05 and self.counted >= 20 * self.group:
            self.group = max(1, min(int(self.counted / spent / per_s + 0.5), 4 * self.group))
            self.counted, self.since = 0.0, now


class SteppedDevice(Device):
    """A target of such parts, and all that it remembers."""

    def __init__(self, physics: Physics, *, events_per_s: float = EVENTS_PER_S) -> None:
        super().__init__(Law(spread=0.2, cpu_seconds=physics.cpu_seconds, seed=physics.seed))
        self.physics = physics
        self._events_per_s = events_per_s
        self._random = random.Random(f"target {physics.seed}")
        one = physics
        self._servers = {"read": [0.0] * one.read.servers, "write": [0.0] * one.write.servers}
        if not one.apart:
            self._servers["write"] = self._servers["read"]
        self._channel = {"read": 0.0, "write": 0.0}
        self._heads = {id(each): [0] * len(each) for each in self._servers.values()}
        self._limits = [
            (
                Bucket(each.rate, each.size, each.quantum),
                Bucket(each.peak, each.peak * each.short, 0.0) if math.isfinite(each.peak) else None,
            )
            for each in one.limiters
        ]
        self._lines: OrderedDict[int, None] = OrderedDict()
        self._touched: OrderedDict[int, None] = OrderedDict()
        self._dirty: deque[list[float]] = deque()
        self._dirty_bytes = 0.0
        self._drained_at = 0.0
        self._cache_free = 0.0
        self._links = [0.0, 0.0]
        self._slc_left = one.slc.size if one.slc else 0.0
        self._shingle_left = one.shingled.size if one.shingled else 0.0
        self._to_pause = one.pauses.every if one.pauses else math.inf
        self._heat, self._hot, self._heat_at = 0.0, False, 0.0
        self._idle_at = 0.0
        self._read_at = -1.0
        self._neighbour = turns_of(one.neighbour, one.seed) if one.neighbour else None
        self._visit, self._ar, self._ar_step = 1.0, 0.0, -1

    def copy(self) -> SteppedDevice:
        """As it is now, to try something out."""
        other = copy.copy(self)
        draws = random.Random()
        draws.setstate(self._random.getstate())
        servers = {"read": list(self._servers["read"])}
        servers["write"] = list(self._servers["write"]) if self.physics.apart else servers["read"]
        state = {
            "_random": draws,
            "_servers": servers,
            "_heads": {id(servers[way]): list(self._heads[id(self._servers[way])]) for way in ("read", "write")},
            "_channel": dict(self._channel),
            "_limits": [(main.copy(), peak.copy() if peak else None) for main, peak in self._limits],
            "_lines": self._lines.copy(),
            "_touched": self._touched.copy(),
            "_dirty": deque(list(each) for each in self._dirty),
            "_links": list(self._links),
        }
        vars(other).update(state)
        return other

    def exhausted(self, way: str, rw_random: bool, footprint: float) -> None:
        """Bring it to the state that hours of a load leave: no credit, caches as that load fills them."""
        for main, peak in self._limits:
            main.level = min(0.0, main.level)
            if peak:
                peak.level = 0.0
        self._slc_left = self._shingle_left = 0.0
        if self.physics.write_back and way == "write":
            self._dirty_full = True
        if self.physics.read_cache and footprint and way == "read":
            lines = range(max(1, int(footprint // LINE)))
            room = int(self.physics.read_cache.size // LINE)
            kept = (
                self._random.sample(lines, min(room, len(lines)))
                if rw_random or self.physics.read_cache.random_out
                else lines[-room:]
            )
            for line in kept:
                self._lines[line] = None

    # -- loads

    def make(self, jobs: Sequence[SimulatedJob], now: float, limits: Sequence[float]) -> list[Load]:
        """Run jobs that start together at `now`; each ends after its limit at the latest."""
        if any(job.paced for job in jobs):
            raise NotImplementedError("paced loads")
        self._visit = math.exp(self._random.gauss(0, self.physics.visit)) if self.physics.visit else 1.0
        runs = [_Run.of(job, now, limit) for job, limit in zip(jobs, limits, strict=True)]
        order = 0
        slots: list[tuple[float, int, _Run, int]] = []
        for run in runs:
            for clone in range(run.job.numjobs):
                for _ in range(run.job.iodepth):
                    slots.append((now + 1e-4 * clone, order, run, clone))
                    order += 1
        heapq.heapify(slots)
        while slots:
            t, _, run, clone = heapq.heappop(slots)
            if t < run.ends and run.left[clone] > 0:
                heapq.heappush(slots, (self._asked(run, clone, t), order, run, clone))
                order += 1
        loads = []
        for run, limit in zip(runs, limits, strict=True):
            load = load_of(run.job, run.events, limit)
            if run.job.flag("end_fsync") and load.ran_seconds < limit:
                load.ran_seconds = min(limit, self._flushed(now + load.ran_seconds) - now)
            loads.append(load)
        return loads

    def _asked(self, run: _Run, clone: int, t: float) -> float:
        """A slot makes its next parcel at t; when it is back."""
        job, draw = run.job, self._random.random
        way = job.directions[0]
        if len(job.directions) > 1 and draw() >= job.read_share:
            way = job.directions[1]
        block = int(job.block_bytes(way))
        group = run.group
        if math.isfinite(run.left[clone]):
            group = max(1, min(group, int(run.left[clone] // block)))
        every = int(job.number("fsync")) if way == "write" else 0
        if every:
            group = min(group, every - run.unsynced[clone])
        size = max(block, job.size_bytes)
        if job.random:
            places = [int(draw() * (size // block)) * block for _ in range(min(group, 64))]
        else:
            places = [run.offsets[clone] % size]
            run.offsets[clone] += group * block
        done = self._serve(way, block, group, places, job.random, t)
        if every:
            run.unsynced[clone] = (run.unsynced[clone] + group) % every
            if not run.unsynced[clone]:
                done = self._flushed(done)
        run.left[clone] -= group * block
        run.done(Event(t - run.began, done - run.began, float(group), way, clone), done, self._events_per_s)
        return done

    # -- one parcel

    def _serve(self, way: str, block: int, group: int, places: list[int], scattered: bool, t: float) -> float:
        """When `group` I/Os are back that a slot issues at t one after the other."""
        one = self.physics
        moved = block * group
        begin = t
        link = one.link
        if link:
            t = self._through(0, t, moved if way == "write" else 0.0, group)
        for limiter, (main, peak) in zip(one.limiters, self._limits, strict=True):
            if not limiter.behind and way in limiter.ways:
                t = limited(limiter, main, peak, t, moved, group)
        back = one.write_back
        if way == "write" and back and (not back.small or block <= back.small):
            t = self._buffered(back, block, group, scattered, t)
            self._fill(places, block, group, scattered, written=True)
        else:
            hits = self._hits(places, block, group, scattered) if way == "read" and one.read_cache else 0.0
            if hits:
                cache = one.read_cache
                t = max(t, self._cache_free)
                self._cache_free = t + hits * block / cache.bandwidth
                t = self._cache_free + hits * cache.latency
            if hits < group:
                taken = max(block, LINE) if way == "read" and one.read_cache else block
                for limiter, (main, peak) in zip(one.limiters, self._limits, strict=True):
                    if limiter.behind and way in limiter.ways:
                        t = limited(limiter, main, peak, t, (group - hits) * taken, group - hits)
                t = self._medium(way, taken, group - hits, places, scattered, t)
            if way == "write" and one.read_cache:
                self._fill(places, block, group, scattered, written=True)
        if link:
            t = self._through(1, t, moved if way == "read" else 0.0, group)
        return max(t, begin + 1e-7 * group)

    def _through(self, side: int, t: float, moved: float, group: float) -> float:
        link = self.physics.link
        if moved:
            start = max(t, self._links[side])
            self._links[side] = start + moved / link.rate
            t = self._links[side]
            if link.loss:
                # Each is found missing by a timer, and the connection starts slowly again.
                lost = int(moved / _MTU * link.loss + self._random.random())
                if lost:
                    t += min(lost, group) * (0.2 + 0.1 * self._random.random())
                    self._links[side] += 20 * _MTU / link.rate
        return t + link.delay * group

    def _speed(self, t: float) -> float:
        one = self.physics
        speed = self._visit * one.pace
        if one.jitter:
            step = int(t / _NOISE_STEP)
            while self._ar_step < step:
                if step - self._ar_step > 200:
                    self._ar_step = step - 200
                keep = one.memory
                self._ar = keep * self._ar + math.sqrt(1 - keep * keep) * self._random.gauss(0, one.jitter)
                self._ar_step += 1
            speed *= math.exp(self._ar)
        if one.drift:
            speed *= math.exp(one.drift * (1 - math.exp(-t / one.tau)))
        if self._neighbour is not None and is_on(self._neighbour, t):
            speed *= 1 - one.neighbour.share
        if one.thermal and self._hot:
            speed *= one.thermal.factor
        return speed

    def _medium(self, way: str, block: int, group: float, places: list[int], scattered: bool, t: float) -> float:
        """Through a server, the channel and the latency; `group` I/Os in a row."""
        one = self.physics
        path = one.read if way == "read" else one.write
        self._rested(t)
        speed = self._speed(t)
        fast = 1.0
        if way == "write" and one.slc and self._slc_left > 0:
            self._slc_left -= block * group
            fast = one.slc.factor
        if way == "read" and self._dirty:
            speed *= 0.5  # it is draining beside
        servers = self._servers[way]
        free = servers[0]
        start = max(t, free)
        service = path.service + block / (path.lane * fast)
        if one.spread:
            service *= 1 + (math.exp(self._random.gauss(0, one.spread) - one.spread**2 / 2) - 1) / math.sqrt(group)
        service += self._seek(servers, places, block, group, scattered)
        if way == "write" and scattered and one.shingled:
            self._shingle_left -= block * group
            if self._shingle_left < 0:
                service += one.shingled.rewrite
        done = start + service * group / speed
        if way == "write" and one.pauses:
            self._to_pause -= block * group
            if self._to_pause < 0:
                self._to_pause = one.pauses.every
                pause = self._random.uniform(*one.pauses.seconds)
                done += pause
                for place in range(len(servers)):
                    servers[place] = max(servers[place], done)
        heapq.heapreplace(servers, done) if len(servers) > 1 else servers.__setitem__(0, done)
        side = way if one.apart else "read"
        begin = max(done, self._channel[side])
        self._channel[side] = begin + block * group / (path.bandwidth * fast * speed)
        self._worked(t, max(block / (path.bandwidth * fast), service / len(servers)) * group / speed)
        self._idle_at = self._channel[side]
        if way == "read":
            self._read_at = t
        return self._channel[side] + path.latency * group / speed

    def _seek(self, servers: list[float], places: list[int], block: int, group: float, scattered: bool) -> float:
        """Mean seconds of seeks for each I/O of a parcel. The heads are kept in the order of the servers."""
        arm = self.physics.arm
        if arm is None:
            return 0.0
        heads = self._heads[id(servers)]
        total = 0.0
        head = heads[0]
        for place in places:
            far = abs(place - head)
            if far > NEAR * len(heads):
                total += arm[0] + (arm[1] - arm[0]) * math.sqrt(min(1.0, far / SPAN))
                total += self._random.random() * arm[0]
            head = place + block
        heads[0] = head if scattered else head + block * (int(group) - 1)
        if len(heads) > 1:
            heads.append(heads.pop(0))
        return total / len(places) if scattered else total / group

    def _rested(self, t: float) -> None:
        """What comes back while nothing is asked."""
        one = self.physics
        idle = t - self._idle_at
        if idle > 0.05 and not self._dirty:
            if one.slc and one.slc.idle:
                self._slc_left = min(one.slc.size, max(0.0, self._slc_left) + one.slc.idle * idle)
            if one.shingled:
                self._shingle_left = min(one.shingled.size, max(0.0, self._shingle_left) + one.shingled.idle * idle)

    def _worked(self, t: float, seconds: float) -> None:
        heat = self.physics.thermal
        if heat is None:
            return
        rest = max(0.0, t - self._heat_at)
        self._heat_at = t
        self._heat = max(0.0, self._heat - 0.5 * rest) + min(seconds, 2.0)
        if self._heat > heat.hot:
            self._hot, self._heat = True, min(self._heat, 1.2 * heat.hot)
        elif self._heat < heat.hot / 2:
            self._hot = False

    # -- caches

    def _hits(self, places: list[int], block: int, group: int, scattered: bool) -> float:
        """How many of the I/Os the read cache answers; it takes in what it did not."""
        cache = self.physics.read_cache
        found = 0
        asked = 0
        for first, last in _spans(places, block, group, scattered):
            for line in range(first, last + 1):
                asked += 1
                if line in self._lines:
                    found += 1
                    if not cache.random_out:
                        self._lines.move_to_end(line)
                else:
                    self._take(line)
        return group * found / asked

    def _take(self, line: int) -> None:
        cache = self.physics.read_cache
        if cache.second:
            if line not in self._touched:
                self._touched[line] = None
                if len(self._touched) > 4 * cache.size // LINE:
                    self._touched.popitem(last=False)
                return
            del self._touched[line]
        if (len(self._lines) + 1) * LINE > cache.size:
            if cache.random_out and self._random.random() < 0.5:
                return
            self._lines.popitem(last=False)
        self._lines[line] = None

    def _fill(self, places: list[int], block: int, group: int, scattered: bool, *, written: bool) -> None:
        cache = self.physics.read_cache
        if cache is None or (written and not cache.takes_writes):
            return
        for first, last in _spans(places, block, group, scattered):
            for line in range(first, last + 1):
                if line in self._lines:
                    self._lines.move_to_end(line)
                else:
                    self._take(line)

    def _cost(self, block: int, scattered: bool) -> float:
        """Seconds for which a written I/O keeps the medium when it is drained."""
        one = self.physics
        path = one.write
        each = path.service + block / path.lane
        if scattered and one.arm:
            each += one.arm[0] * 1.5 + (one.arm[1] - one.arm[0]) * 0.15
        if scattered and one.shingled and self._shingle_left < 0:
            each += one.shingled.rewrite
        factor = one.slc.factor if one.slc and self._slc_left > 0 else 1.0
        seconds = max(each / path.servers, block / path.bandwidth / factor) * one.write_back.merged
        for limiter in one.limiters:
            if limiter.behind and "write" in limiter.ways:
                seconds = max(seconds, (block if limiter.unit == "bytes" else 1) / limiter.rate)
        return seconds

    def _drain(self, t: float) -> None:
        """What was drained up to t."""
        spent = t - self._drained_at
        if spent <= 0:
            return
        self._drained_at = t
        speed = self._speed(t) * (0.5 if t - self._read_at < 0.05 else 1.0)
        budget = spent * speed
        while self._dirty and budget > 0:
            first = self._dirty[0]
            if first[1] <= budget:
                budget -= first[1]
                self._dirty_bytes -= first[0]
                self._dirty.popleft()
            else:
                share = budget / first[1]
                self._dirty_bytes -= first[0] * share
                first[0] *= 1 - share
                first[1] -= budget
                budget = 0.0
        if not self._dirty:
            self._dirty_bytes = 0.0

    _dirty_full = False

    def _buffered(self, back: WriteBack, block: int, group: int, scattered: bool, t: float) -> float:
        one = self.physics
        self._rested(t)
        self._drain(t)
        cost = self._cost(block, scattered) * group
        moved = block * group
        if self._dirty_full:  # long ago
            self._dirty_full = False
            self._dirty.append([back.size, back.size / moved * cost])
            self._dirty_bytes = back.size
        if one.slc:
            self._slc_left -= moved
        if scattered and one.shingled:
            self._shingle_left -= moved
        if one.pauses:
            self._to_pause -= moved
            if self._to_pause < 0:
                self._to_pause = one.pauses.every
                cost += self._random.uniform(*one.pauses.seconds)
        self._worked(t, cost)
        over = self._dirty_bytes + moved - back.size
        if over > 0 and self._dirty:
            t = max(t, self._drained_at)
            speed = self._speed(t)
            wait = 0.0
            for held, seconds in self._dirty:
                if held >= over:
                    wait += seconds * over / held
                    break
                over -= held
                wait += seconds
            t += wait / speed
            self._drain(t)
        self._dirty.append([moved, cost])
        self._dirty_bytes += moved
        self._idle_at = t
        t = max(t, self._cache_free)
        self._cache_free = t + moved / back.bandwidth
        return self._cache_free + back.latency * group

    def _flushed(self, t: float) -> float:
        """When a flush is done that is asked for at t."""
        self._drain(t)
        if self._dirty:
            t += sum(seconds for _, seconds in self._dirty) / self._speed(t)
            self._dirty.clear()
            self._dirty_bytes, self._drained_at = 0.0, t
        return t + self.physics.flush


def _spans(places: list[int], block: int, group: float, scattered: bool) -> list[tuple[int, int]]:
    """(first, last) line of every I/O, or of the run that they make together."""
    if scattered:
        return [(place // LINE, (place + block - 1) // LINE) for place in places]
    return [(places[0] // LINE, int(places[0] + block * group - 1) // LINE)]
