# SPDX-License-Identifier: Apache-2.0
"""A simulated target made of parts through which I/Os pass one by one: link, limiters, caches, servers, a channel.

Nothing here is a formula for a rate. Every I/O waits for tokens, a free server and the channel; what is fast enough
falls out of that. Fast loads move in parcels: each slot then makes `g` I/Os in a row as one event of `g` times the
cost, so that a second takes some thousand events however fast the target is.
"""

from __future__ import annotations

import copy
import heapq
import itertools
import math
import random
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from parts import LINE, MIB, Physics, WriteBack
from record import Event, Run, load_of
from tests.simulate.device import Device, Load
from tests.simulate.jobs import SimulatedJob
from tests.simulate.law import Law
from tokens import Bucket, is_on, limited, turns_of

EVENTS_PER_S = 3000.0
NEAR = 2 * MIB
"""Within this of the head a disk arm is in place."""
SPAN = 4 << 30
"""Range over which an arm takes its whole seek."""
_NOISE_STEP = 0.02
_MTU = 1448


@dataclass(frozen=True)
class Parcel:
    """I/Os that a slot makes one after the other. places: of up to 64 of them; of a sequence where it begins."""

    way: str
    block: int
    ios: float
    places: list[int]
    scattered: bool

    @property
    def bytes(self) -> float:
        return self.block * self.ios

    def lines(self) -> list[tuple[int, int]]:
        """(first, last) line of every I/O, or of the run that they make together."""
        if self.scattered:
            return [(place // LINE, (place + self.block - 1) // LINE) for place in self.places]
        return [(self.places[0] // LINE, int(self.places[0] + self.bytes - 1) // LINE)]


Journey = Iterator[float]


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
        self._written: set[int] | None = set()
        self._warmth, self._warmed_at = 0.0, 0.0

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
            "_written": None if self._written is None else set(self._written),
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
        self._written, self._warmth = None, math.inf
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
        runs = [Run.of(job, now, limit) for job, limit in zip(jobs, limits, strict=True)]
        order = itertools.count()
        # What is next: a slot that asks, or a parcel on its way that has come to where it may have to wait.
        due: list[tuple[float, int, Run, int, Journey | None]] = [
            (now + 1e-4 * clone, next(order), run, clone, None)
            for run in runs
            for clone in range(run.job.numjobs)
            for _ in range(run.job.iodepth)
        ]
        heapq.heapify(due)
        while due:
            t, _, run, clone, journey = heapq.heappop(due)
            if journey is None:
                if t >= run.ends or run.left[clone] <= 0:
                    continue
                journey = self._asked(run, clone, t)
            stop = next(journey)
            heapq.heappush(due, (abs(stop), next(order), run, clone, journey if stop > 0 else None))
        loads = []
        for run, limit in zip(runs, limits, strict=True):
            load = load_of(run.job, run.events, limit)
            if run.job.flag("end_fsync") and load.ran_seconds < limit:
                load.ran_seconds = min(limit, self._flushed(now + load.ran_seconds) - now)
            loads.append(load)
        return loads

    def _asked(self, run: Run, clone: int, t: float) -> Journey:
        """The way of the parcel that a slot makes at t."""
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
            run.unsynced[clone] = (run.unsynced[clone] + group) % every
        flushes = bool(every) and not run.unsynced[clone]
        size = max(block, job.size_bytes)
        if job.random:
            places = [int(draw() * (size // block)) * block for _ in range(min(group, 64))]
        else:
            first = int(job.number("offset") + job.number("offset_increment") * clone)
            places = [first + (run.offsets[clone] - first) % size]
            run.offsets[clone] += group * block
        run.left[clone] -= group * block
        began, done = t, t
        for done in self._journey(Parcel(way, block, group, places, job.random), t):
            if done > 0:
                yield done
        done = -done if done < 0 else done
        if flushes:
            done = self._flushed(done)
        event = Event(began - run.began, done - run.began, float(group), way, clone)
        run.done(event, done, self._events_per_s)
        yield -done

    # -- one parcel

    def _journey(self, one: Parcel, t: float) -> Journey:
        """Moments at which a parcel that is sent at t has to queue again, and the negative of that when it is back."""
        parts = self.physics
        begin, link, way = t, parts.link, one.way
        if link:
            t = self._through(0, t, one.bytes if way == "write" else 0.0, one.ios)
        t = self._passed(one, t, behind=False)
        back, cache = parts.write_back, parts.read_cache
        if way == "write" and back and (not back.small or one.block <= back.small):
            t = self._buffered(back, one, t)
            self._fill(one)
        else:
            hits = self._hits(one) if way == "read" and cache else 0.0
            if hits:
                t = max(t, self._cache_free)
                self._cache_free = t + hits * one.block / cache.bandwidth
                t = self._cache_free + hits * cache.latency
            if hits < one.ios:
                taken = max(one.block, LINE) if way == "read" and cache else one.block
                missed = Parcel(way, taken, one.ios - hits, one.places, one.scattered)
                t, speed, fast = self._served(missed, self._passed(missed, t, behind=True))
                yield t
                t = self._carried(missed, t, speed, fast)
            if way == "write":
                self._fill(one)
        if link:
            yield t
            t = self._through(1, t, one.bytes if way == "read" else 0.0, one.ios)
        yield -max(t, begin + 1e-7 * one.ios)

    def _passed(self, one: Parcel, t: float, *, behind: bool) -> float:
        novel = self.physics.novel
        counted = math.ceil(one.block / novel.per_io) if novel.per_io else 1
        for limiter, (main, peak) in zip(self.physics.limiters, self._limits, strict=True):
            if limiter.behind == behind and one.way in limiter.ways:
                t = limited(limiter, main, peak, t, one.bytes, one.ios * counted)
        if novel.stall and one.way == "write" and not behind:
            every, lasts = novel.stall
            t += max(0.0, lasts - t % every)
        return t

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
        if one.novel.step and t > one.novel.step[0]:
            speed *= one.novel.step[1]
        if one.novel.warms:
            lasts, begins = one.novel.warms
            idle = t - self._warmed_at
            self._warmth = self._warmth + idle if idle < 0.3 else self._warmth * math.exp(-idle / lasts / 2)
            self._warmed_at = max(t, self._warmed_at)
            speed *= 1 - (1 - begins) * math.exp(-self._warmth / lasts)
        return speed

    def _served(self, one: Parcel, t: float) -> tuple[float, float, float]:
        """(when a server is done with it, the medium's speed then, how many times as fast its cells take writes)."""
        parts = self.physics
        path = parts.read if one.way == "read" else parts.write
        if self._dirty:
            self._drain(t)
        self._rested(t)
        speed = self._speed(t)
        fast = 1.0
        if one.way == "write" and parts.slc and self._slc_left > 0:
            self._slc_left -= one.bytes
            fast = parts.slc.factor
        if one.way == "read" and self._dirty:
            speed *= 0.5  # it is draining beside
        servers = self._servers[one.way]
        service = path.service + one.block / (path.lane * fast)
        if parts.spread:
            drawn = math.exp(self._random.gauss(0, parts.spread) - parts.spread**2 / 2)
            service *= 1 + (drawn - 1) / math.sqrt(one.ios)
        if one.way == "write" and parts.novel.first > 1 and self._written is not None:
            lines = {line for first, last in one.lines() for line in range(first, last + 1)}
            service *= 1 + (parts.novel.first - 1) * len(lines - self._written) / len(lines)
            self._written |= lines
        service += self._seek(servers, one)
        if one.way == "write" and one.scattered and parts.shingled:
            self._shingle_left -= one.bytes
            service += parts.shingled.rewrite if self._shingle_left < 0 else 0.0
        done = max(t, servers[0]) + service * one.ios / speed
        if one.way == "write" and parts.pauses:
            self._to_pause -= one.bytes
            if self._to_pause < 0:
                self._to_pause = parts.pauses.every
                done += self._random.uniform(*parts.pauses.seconds)
                for place in range(len(servers)):
                    servers[place] = max(servers[place], done)
        heapq.heapreplace(servers, done)
        self._worked(t, max(one.block / (path.bandwidth * fast), service / len(servers)) * one.ios / speed)
        if one.way == "read":
            self._read_at = t
        return done, speed, fast

    def _carried(self, one: Parcel, t: float, speed: float, fast: float) -> float:
        """When the channel has carried what a server is done with at t, and the latency is over."""
        path = self.physics.read if one.way == "read" else self.physics.write
        side = one.way if self.physics.apart else "read"
        self._channel[side] = max(t, self._channel[side]) + one.bytes / (path.bandwidth * fast * speed)
        self._idle_at = self._channel[side]
        return self._channel[side] + path.latency * one.ios / speed

    def _seek(self, servers: list[float], one: Parcel) -> float:
        """Mean seconds of seeks for each I/O of a parcel. The heads are kept in the order of the servers."""
        arm = self.physics.arm
        if arm is None:
            return 0.0
        heads = self._heads[id(servers)]
        total = 0.0
        head = heads[0]
        for place in one.places:
            far = abs(place - head)
            if far > NEAR * len(heads):
                total += arm[0] + (arm[1] - arm[0]) * math.sqrt(min(1.0, far / SPAN))
                total += self._random.random() * arm[0]
            head = place + one.block
        heads[0] = head if one.scattered else head + one.block * (int(one.ios) - 1)
        if len(heads) > 1:
            heads.append(heads.pop(0))
        return total / len(one.places) if one.scattered else total / one.ios

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

    def _hits(self, one: Parcel) -> float:
        """How many of the I/Os the read cache answers; it takes in what it did not."""
        cache = self.physics.read_cache
        found = 0
        asked = 0
        for first, last in one.lines():
            for line in range(first, last + 1):
                asked += 1
                if line in self._lines:
                    found += 1
                    if not cache.random_out:
                        self._lines.move_to_end(line)
                else:
                    self._take(line)
        return one.ios * found / asked

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

    def _fill(self, one: Parcel) -> None:
        """Written data may stay in the read cache."""
        cache = self.physics.read_cache
        if cache is None or not cache.takes_writes:
            return
        for first, last in one.lines():
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

    def _buffered(self, back: WriteBack, one: Parcel, t: float) -> float:
        parts, moved = self.physics, one.bytes
        self._rested(t)
        self._drain(t)
        cost = self._cost(one.block, one.scattered) * one.ios
        if self._dirty_full:  # long ago
            self._dirty_full = False
            self._dirty.append([back.size, back.size / moved * cost])
            self._dirty_bytes = back.size
        if parts.slc:
            self._slc_left -= moved
        if one.scattered and parts.shingled:
            self._shingle_left -= moved
        if parts.pauses:
            self._to_pause -= moved
            if self._to_pause < 0:
                self._to_pause = parts.pauses.every
                cost += self._random.uniform(*parts.pauses.seconds)
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
        return self._cache_free + back.latency * one.ios

    def _flushed(self, t: float) -> float:
        """When a flush is done that is asked for at t."""
        self._drain(t)
        if self._dirty:
            t += sum(seconds for _, seconds in self._dirty) / self._speed(t)
            self._dirty.clear()
            self._dirty_bytes, self._drained_at = 0.0, t
        return t + self.physics.flush
