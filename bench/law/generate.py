# SPDX-License-Identifier: Apache-2.0
"""Random targets by seed. Parts are drawn independently, so that every combination comes.

Seeds 0 to 149 are open. Those from 150 on are kept closed until nothing is changed any more. Those from NOVEL on have
one part that the others have not.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace

from parts import (
    KIB,
    MIB,
    Limiter,
    Link,
    Neighbour,
    Novel,
    Pauses,
    Physics,
    ReadCache,
    Shingled,
    Slc,
    Thermal,
    Way,
    WriteBack,
)

BOTH = ("read", "write")
NOVEL = 10_000


@dataclass(frozen=True)
class Target:
    """seed, what it is made of, words for it. kind: 'plain' what a law can hold; 'odd' with what none here holds."""

    seed: int
    physics: Physics
    words: tuple[str, ...]
    kind: str

    @property
    def deterministic(self) -> bool:
        return not (self.physics.visit or self.physics.jitter or self.physics.drift) and self.kind == "plain"


class Draws(random.Random):
    def log(self, low: float, high: float) -> float:
        return math.exp(self.uniform(math.log(low), math.log(high)))

    def chance(self, probability: float) -> bool:
        return self.random() < probability


def target(seed: int) -> Target:
    """The target of a seed."""
    return _novel(seed) if seed >= NOVEL else _usual(seed)


def _usual(seed: int) -> Target:
    draws = Draws(f"law of a target {seed}")
    medium, words = _medium(draws)
    while _too_slow(medium):
        medium, words = _medium(draws)
    physics = replace(medium, seed=seed)
    kind = "plain"
    limiters, more = _limiters(draws, physics)
    words += more
    physics = replace(physics, limiters=limiters)
    if draws.chance(0.2):
        physics, more = _linked(draws, physics)
        words += more
    if draws.chance(0.15):
        physics, more = _read_cached(draws, physics)
        words += more
    if draws.chance(0.18) and not any(one.size > one.rate for one in limiters if "write" in one.ways):
        physics, more = _write_backed(draws, physics)
        words += more
    elif draws.chance(0.15) and physics.write.lane * physics.write.servers > 3e6:
        fast = min(physics.write.bandwidth, physics.write.lane * physics.write.servers)
        factor = draws.uniform(2, 10)
        slow = fast / factor
        write = replace(physics.write, bandwidth=slow, lane=physics.write.lane / factor)
        size = draws.uniform(0.5, 10) * fast
        made = replace(physics, write=write, slc=Slc(size, factor, draws.choice((0.0, 0.0, 0.2 * slow))))
        if not _too_slow(made):
            physics = made
            words += (f"slc {size / 1e6:.0f} MB at x{factor:.1f}",)
    physics = replace(physics, flush=draws.choice((0.0, draws.log(1e-4, 2e-2))))
    if draws.chance(0.65):
        physics = replace(
            physics,
            visit=draws.log(0.003, 0.05),
            jitter=draws.choice((draws.log(0.003, 0.13), draws.log(0.003, 0.03))),
            memory=draws.choice((0.0, draws.uniform(0, 0.8))),
        )
        words += (f"noise {physics.visit:.1%}/{physics.jitter:.1%}",)
    if draws.chance(0.1):
        physics = replace(physics, drift=-draws.uniform(0.1, 0.9), tau=draws.uniform(5, 60))
        words += (f"drift {physics.drift:.2f}/{physics.tau:.0f} s",)
    if draws.chance(0.2):
        physics, more = _odd(draws, physics)
        words += more
        kind = "odd"
    return Target(seed, physics, words, kind)


def _novel(seed: int) -> Target:
    """A usual target of few parts, and one more."""
    draws = Draws(f"novel {seed}")
    while not _is_simple(one := _usual(draws.randrange(10**9))):
        pass
    physics, top = one.physics, min(one.physics.write.bandwidth, one.physics.write.lane * one.physics.write.servers)
    iops = physics.read.servers / (physics.read.service + (0.006 if physics.arm else 0))
    what = ("window", "per io", "stall", "step", "warms slowly", "warms", "cache", "first")[seed % 8]
    novel, kind = Novel(), "odd"
    if what == "window":
        unit, lasts = draws.choice(("bytes", "ios")), draws.choice((1.0, 2.0, 5.0))
        rate = max(1e6, top * draws.uniform(0.1, 0.5)) if unit == "bytes" else max(30, iops * draws.uniform(0.1, 0.5))
        physics = replace(physics, limiters=(*physics.limiters, Limiter(unit, BOTH, rate, rate * lasts, quantum=lasts)))
        words = f"{rate:.4g} {unit}/s given out every {lasts:.0f} s"
    elif what == "per io":
        rate, novel = max(60, iops * draws.uniform(0.05, 0.5)), Novel(per_io=draws.choice((16, 64, 256)) * KIB)
        physics = replace(physics, limiters=(*physics.limiters, Limiter("ios", BOTH, rate, rate * 0.1)))
        kind = "plain"
        words = f"{rate:.4g} IOPS of {novel.per_io // KIB} KiB"
    elif what == "stall":
        every = draws.uniform(3, 12)
        novel = Novel(stall=(every, every * draws.uniform(0.1, 0.5)))
        words = f"writes stand still {novel.stall[1]:.1f} of every {every:.1f} s"
    elif what == "step":
        novel = Novel(step=(draws.uniform(8, 50), math.exp(draws.uniform(-1.2, 1.2))))
        words = f"x{novel.step[1]:.2f} from {novel.step[0]:.0f} s on"
    elif what == "cache":
        cache = ReadCache(64 << 30, 5e-5, min(3e9, physics.read.bandwidth * draws.uniform(2, 20)), draws.chance(0.6))
        physics, words, kind = replace(physics, read_cache=cache), "a cache of reads larger than all", "plain"
    elif what == "first":
        novel, kind = Novel(first=draws.uniform(1.5, 6)), "plain"
        words = f"first writes x{novel.first:.1f} as long"
    else:
        slow = what == "warms slowly"
        novel = Novel(warms=(draws.uniform(10, 40), draws.uniform(0.1, 0.5)) if slow else (draws.uniform(1, 4), 0.2))
        words = f"begins at x{novel.warms[1]:.2f}, warm after {novel.warms[0]:.0f} s of work"
    return Target(seed, replace(physics, novel=novel), (*one.words, words), kind)


def _is_simple(one: Target) -> bool:
    parts = one.physics
    odd = (one.kind != "plain", parts.slc, parts.write_back, parts.read_cache, parts.drift)
    return not any(odd) and all(limiter.size <= 2 * limiter.rate for limiter in parts.limiters)


def _too_slow(physics: Physics) -> bool:
    """Slower than 20 I/Os or 1 MB a second."""
    for path in (physics.read, physics.write):
        seek = physics.arm[1] if physics.arm else 0.0
        alone = path.latency + path.service + seek
        large = min(8, path.servers) / (path.service + MIB / path.lane)
        if alone + 4 * KIB / path.lane > 1 / 20 or min(large, 8 / (alone + MIB / path.lane)) * MIB < 1.05e6:
            return True
    return False


def _medium(draws: Draws) -> tuple[Physics, tuple[str, ...]]:
    what = draws.choice(("spindle", "array", "flash", "flash", "cloud", "far", "far"))
    spread = draws.choice((0.02, 0.1, 0.3, 0.6))
    if what in ("spindle", "array"):
        servers = 1 if what == "spindle" else draws.choice((2, 4, 8, 12))
        lane = draws.log(10e6, 250e6)
        arm = (draws.uniform(0.5e-3, 3e-3), draws.uniform(5e-3, 20e-3))
        way = Way(draws.log(5e-5, 5e-4), draws.log(5e-5, 4e-3), lane, lane * servers, servers)
        return Physics(way, way, arm=arm, spread=spread), (f"{what} {servers} x {lane / 1e6:.0f} MB/s",)
    servers = draws.choice((1, 2, 4, 8, 16, 32))
    if what == "flash":
        latency, iops, bandwidth = draws.log(1e-5, 5e-4), draws.log(2000, 200_000), draws.log(20e6, 2e9)
    elif what == "cloud":
        latency, iops, bandwidth = draws.log(3e-4, 3e-3), draws.log(500, 40_000), draws.log(10e6, 1e9)
    else:
        latency, iops, bandwidth = draws.log(1e-3, 2e-2), draws.log(20, 10_000), draws.log(1e6, 3e8)
    lane = bandwidth / servers * draws.uniform(1.0, 3.0)
    read = Way(latency, servers / iops, lane, bandwidth, servers)
    write = replace(
        read,
        latency=latency * draws.log(0.2, 3),
        service=read.service * draws.log(0.7, 4),
        lane=lane / (factor := draws.log(1, 4)),
        bandwidth=max(1e6, bandwidth / factor),
    )
    if draws.chance(0.3):
        write = read
    apart = draws.chance(0.3)
    said = f"{what} {latency * 1e3:.2g} ms, {iops:.0f} IOPS, {bandwidth / 1e6:.3g} MB/s, {servers} servers"
    return Physics(read, write, apart=apart, spread=spread), (said,)


def _limiters(draws: Draws, physics: Physics) -> tuple[tuple[Limiter, ...], tuple[str, ...]]:
    found: list[Limiter] = []
    ways = [BOTH] if draws.chance(0.6) else [("read",), ("write",)]
    bytes_wanted, ios_wanted = draws.chance(0.4), draws.chance(0.3)
    for mine in ways:
        path = physics.read if "read" in mine else physics.write
        top = {
            "bytes": min(path.bandwidth, path.lane * path.servers),
            "ios": path.servers / (path.service + (0.006 if physics.arm else 0)),
        }
        for unit, wanted, least in (("bytes", bytes_wanted, 1e6), ("ios", ios_wanted, 20.0)):
            if not wanted or top[unit] < 2 * least or (len(ways) > 1 and draws.chance(0.25)):
                continue
            rate = max(least, top[unit] * draws.log(0.04, 0.7))
            size, peak = rate * draws.choice((0.0, 0.1)), math.inf
            if draws.chance(0.55):
                lasts = draws.uniform(25, 80) if draws.chance(0.06) else draws.log(0.3, 12)
                room = max(1.3, top[unit] / rate)
                factor = draws.uniform(1.3, max(1.4, min(10.0, room)))
                size = lasts * rate * (factor - 1)
                peak = rate * factor if draws.chance(0.6) else math.inf
            quantum = 0.1 if draws.chance(0.08) else 0.0
            size = max(size, rate * quantum)
            found.append(Limiter(unit, mine, rate, size, peak, draws.uniform(0.05, 0.2), quantum))
    words = tuple(
        f"{'+'.join(one.ways)} {one.rate / (1e6 if one.unit == 'bytes' else 1):.4g} "
        f"{'MB/s' if one.unit == 'bytes' else 'IOPS'}, credit {one.size / one.rate:.2g} s, "
        f"peak x{one.peak / one.rate:.2g}"
        for one in found
    )
    return tuple(found), words


def _linked(draws: Draws, physics: Physics) -> tuple[Physics, tuple[str, ...]]:
    link = Link(draws.log(1.2e6, 1.2e9), draws.choice((5e-5, draws.log(5e-5, 2e-2))))
    return replace(physics, link=link), (f"link {link.rate / 1e6:.3g} MB/s, {link.delay * 1e3:.2g} ms",)


def _read_cached(draws: Draws, physics: Physics) -> tuple[Physics, tuple[str, ...]]:
    cache = ReadCache(
        draws.log(16 * MIB, 2048 * MIB),
        draws.log(2e-5, 3e-4),
        min(3e9, draws.log(2, 10) * physics.read.bandwidth),
        takes_writes=draws.chance(0.5),
        random_out=draws.chance(0.3),
    )
    physics = replace(physics, read_cache=cache)
    if draws.chance(0.5):
        physics = replace(physics, limiters=tuple(replace(one, behind=True) for one in physics.limiters))
    return physics, (f"read cache {cache.size / MIB:.0f} MiB",)


def _write_backed(draws: Draws, physics: Physics) -> tuple[Physics, tuple[str, ...]]:
    drains = min(physics.write.bandwidth, physics.write.lane * physics.write.servers)
    back = WriteBack(
        draws.log(0.3, 10) * drains, draws.log(2e-5, 5e-4), draws.log(1.5, 12) * drains, draws.uniform(0.3, 1.0)
    )
    return replace(physics, write_back=back), (
        f"write-back {back.size / 1e6:.0f} MB at {back.bandwidth / 1e6:.0f} MB/s, merged {back.merged:.2f}",
    )


def _odd(draws: Draws, physics: Physics) -> tuple[Physics, tuple[str, ...]]:
    rate = min(physics.write.bandwidth, physics.write.lane * physics.write.servers)
    what = draws.choice(("pauses", "shingled", "heat", "loss", "neighbour", "cache", "small writes"))
    if what == "pauses":
        pauses = Pauses(rate * draws.log(0.3, 4), (0.2, draws.uniform(0.3, 1.5)))
        return replace(physics, pauses=pauses), (f"pauses every {pauses.every / 1e6:.0f} MB",)
    if what == "shingled":
        shingled = Shingled(draws.log(4 * MIB, 200 * MIB), draws.log(0.01, 0.1), draws.log(1e5, 1e7))
        return replace(physics, shingled=shingled), (f"shingled after {shingled.size / MIB:.0f} MiB",)
    if what == "heat":
        heat = Thermal(draws.uniform(3, 25), draws.uniform(0.2, 0.7))
        return replace(physics, thermal=heat), (f"heat after {heat.hot:.0f} s to x{heat.factor:.2f}",)
    if what == "loss":
        link = physics.link or Link(draws.log(2e6, 1e8), draws.log(1e-4, 2e-2))
        link = replace(link, loss=draws.log(1e-5, 3e-3))
        return replace(physics, link=link), (f"packet loss {link.loss:.1e}",)
    if what == "neighbour":
        other = Neighbour(draws.uniform(0.2, 0.85), draws.log(0.5, 10), draws.log(1, 20))
        return replace(physics, neighbour=other), (
            f"neighbour {other.share:.0%} for {other.on:.1f} of {other.off:.1f} s",
        )
    if what == "cache":
        cache = ReadCache(draws.log(32 * MIB, 512 * MIB), 1e-4, 4 * physics.read.bandwidth, second=True)
        return replace(physics, read_cache=cache), (f"cache of second touches {cache.size / MIB:.0f} MiB",)
    back = WriteBack(draws.log(1, 20) * MIB, 5e-5, 4 * rate, 0.5, small=64 * KIB)
    return replace(physics, write_back=back, slc=None), (f"cache of small writes {back.size / MIB:.0f} MiB",)
