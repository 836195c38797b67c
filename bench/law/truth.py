# SPDX-License-Identifier: Apache-2.0
"""What a simulated target does for good at a cell, by running it there; and what limits it, by making parts faster."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from generate import Target
from parts import Novel, Physics, without_noise
from physics import SteppedDevice
from tests.simulate.jobs import SimulatedJob

LOOKED_S = 40.0
WARMS_S = 4.0
"""A cache of reads that warms for longer than this may be told as it was cold."""
LONGEST_S = 60.0
"""Of a run, over which a drift is looked at."""


@dataclass(frozen=True)
class Cell:
    """A load. flight: I/Os in flight."""

    rw: str
    bs: int
    flight: int
    size: int

    @property
    def way(self) -> str:
        return "write" if "write" in self.rw else "read"


@dataclass(frozen=True)
class Lasting:
    """I/Os a second: as it usually is, and the least and most where that changes with time."""

    iops: float
    low: float
    high: float
    falls_after: float = 0.0
    """Seconds of this load, from a rested target, until the rate is within a tenth of it; inf when not within
    LOOKED_S.
    """


def run(physics: Physics, cell: Cell, *, long: bool = False, rough: bool = False) -> float:
    """I/Os a second of the target from which all credit was taken."""
    device = SteppedDevice(physics, events_per_s=500 if rough else 1000)
    device.exhausted(cell.way, "rand" in cell.rw, cell.size)
    at, rate = 0.0, 0.0
    slices = 2 * max((limiter.quantum for limiter in physics.limiters), default=0.0)
    for seconds in (2.0 + slices, 0.0) if rough else (4.0 + slices, 0.0):
        lasts = seconds or min(4000.0, max(60.0 if long else 4.0 if rough else 8.0, (800 if rough else 3000) / rate))
        counted, end = _made(device, cell, at, lasts)
        rate, at = counted / lasts, end
    return rate


def _made(device: SteppedDevice, cell: Cell, at: float, seconds: float) -> tuple[float, float]:
    """(I/Os while it was asked, when the last was back)."""
    options = _options(cell, seconds)
    (load,) = device.make([SimulatedJob("truth", options, options, 0)], at, [math.inf])
    # The work in flight at the start and at the end are of equal size.
    ios = load.ios(cell.way)
    return ios - min(cell.flight, ios - 1), at + load.ran_seconds


def _options(cell: Cell, seconds: float) -> dict[str, str]:
    """As the tool makes such loads: in sequence by several jobs, each through its own part of the file."""
    part = cell.size // cell.flight // cell.bs * cell.bs
    apart = not cell.rw.startswith("rand") and cell.flight > 1 and part > 0
    return {
        "rw": cell.rw,
        "bs": str(cell.bs),
        "size": str(part if apart else cell.size),
        "ioengine": "libaio",
        "iodepth": str(1 if apart else cell.flight),
        **({"numjobs": str(cell.flight), "offset_increment": str(part)} if apart else {}),
        "time_based": "1",
        "runtime": f"{seconds:.3f}s",
    }


def lasting(target: Target, cell: Cell) -> Lasting:
    """What lasts at a cell."""
    quiet = without_noise(target.physics)
    long = bool(
        quiet.pauses or quiet.novel.stall or quiet.neighbour or (quiet.link and quiet.link.loss) or quiet.shingled
    )
    usual = run(replace(quiet, thermal=None), cell, long=long)
    values = [usual]
    drift = target.physics.drift * (1 - math.exp(-LONGEST_S / target.physics.tau))
    if drift:
        values.append(run(replace(quiet, pace=math.exp(drift)), cell, long=long))
    if quiet.thermal:
        values.append(run(replace(quiet, thermal=None, pace=quiet.thermal.factor * math.exp(drift)), cell, long=long))
    if quiet.novel.step:
        values = [run(replace(quiet, novel=Novel(), pace=pace), cell, long=long) for pace in (1.0, quiet.novel.step[1])]
    if quiet.neighbour:
        values.append(run(replace(quiet, neighbour=None), cell))
        values.append(run(replace(quiet, neighbour=None, pace=1 - quiet.neighbour.share), cell))
    if quiet.pauses and cell.way == "write":
        values.append(run(replace(quiet, pauses=None), cell))
    if quiet.link and quiet.link.loss:
        values.append(run(replace(quiet, link=replace(quiet.link, loss=0.0)), cell))
    if quiet.shingled and cell.rw == "randwrite":
        values.append(run(replace(quiet, shingled=None), cell))
    falls = _falls_after(quiet, cell, min(values), max(values))
    if quiet.read_cache and cell.way == "read" and falls > WARMS_S:
        values.append(run(replace(quiet, read_cache=None), cell, long=long))
    return Lasting(usual, min(values), max(values), falls)


def _falls_after(quiet: Physics, cell: Cell, low: float, high: float) -> float:
    """When a rested target comes to what lasts."""
    device = SteppedDevice(replace(quiet, thermal=None), events_per_s=500)
    # A window holds some I/Os: all in flight may come back together.
    window = max(1, math.ceil((40 + 10 * cell.flight) / high / 0.5))
    looked = max(LOOKED_S, 2.5 * window)
    options = _options(cell, looked) | {"log_avg_msec": "500"}
    (load,) = device.make([SimulatedJob("truth", options, options, 0)], 0.0, [math.inf])
    rows, fell = load.intervals[:-1], 0.0
    for place in range(window - 1, len(rows)):
        part = rows[place + 1 - window : place + 1]
        mean = sum(one.ios[cell.way] for one in part) / sum(one.seconds for one in part)
        if not low / 1.1 < mean < high * 1.1:
            fell = rows[place].end_seconds
    return math.inf if fell > looked - 2 else fell


def limits(target: Target, cell: Cell) -> dict[str, float]:
    """{name of a limit: by how much the logarithm of the rate rises with that of the part's speed}, what counts."""
    quiet = replace(without_noise(target.physics), thermal=None, neighbour=None, pauses=None, shingled=None)
    usual = run(quiet, cell, rough=True)
    found: dict[str, float] = {}
    for name, faster in _faster(quiet, cell):
        gain = math.log(run(faster, cell, rough=True) / usual) / math.log(1.5)
        if gain > 0.2:
            found[name] = max(found.get(name, 0.0), gain)
    # What is told as latency is where more in flight gives more.
    more = replace(cell, flight=max(cell.flight + 1, cell.flight * 3 // 2))
    gain = math.log(run(quiet, more, rough=True) / usual) / math.log(more.flight / cell.flight)
    if gain > 0.2:
        found["latency"] = max(found.get("latency", 0.0), gain)
    return found


def _faster(one: Physics, cell: Cell) -> Iterator[tuple[str, Physics]]:
    way = cell.way
    path = one.read if way == "read" else one.write

    def with_path(**more: float) -> Physics:
        made = replace(path, **more)
        return replace(one, **{way: made})

    for place, limiter in enumerate(one.limiters):
        if way in limiter.ways:
            others = list(one.limiters)
            others[place] = replace(limiter, rate=limiter.rate * 1.5)
            yield ("bytes" if limiter.unit == "bytes" else "ios"), replace(one, limiters=tuple(others))
    back = one.write_back if way == "write" else None
    if back:
        yield "bytes", replace(with_path(bandwidth=path.bandwidth * 1.5, lane=path.lane * 1.5))
        yield "ios", with_path(service=path.service / 1.5)
        yield "latency", replace(one, write_back=replace(back, latency=back.latency / 1.5))
        if one.arm:
            yield "ios", replace(one, arm=(one.arm[0] / 1.5, one.arm[1] / 1.5))
    else:
        # Where as many are in flight as there are servers, all of these are busy, and no I/O waits: it is both.
        shares = cell.flight >= path.servers
        for name in [name for name, held in (("bytes", shares), ("latency", cell.flight <= path.servers)) if held]:
            yield name, with_path(lane=path.lane * 1.5)
        yield "bytes", with_path(bandwidth=path.bandwidth * 1.5)
        yield "latency", with_path(latency=path.latency / 1.5)
        for name in [name for name, held in (("ios", shares), ("latency", cell.flight <= path.servers)) if held]:
            yield name, with_path(service=path.service / 1.5)
            if one.arm:
                yield name, replace(one, arm=(one.arm[0] / 1.5, one.arm[1] / 1.5))
    if one.link:
        yield "link", replace(one, link=replace(one.link, rate=one.link.rate * 1.5))
        yield "latency", replace(one, link=replace(one.link, delay=one.link.delay / 1.5))
    if one.read_cache and way == "read":
        cache = one.read_cache
        quick, wide = replace(cache, latency=cache.latency / 1.5), replace(cache, bandwidth=cache.bandwidth * 1.5)
        yield "latency", replace(one, read_cache=quick)
        yield "bytes", replace(one, read_cache=wide)
        yield "cache", replace(one, read_cache=replace(quick, bandwidth=cache.bandwidth * 1.5))


def credits_of(physics: Physics) -> dict[str, list[tuple[str, float, float]]]:
    """{direction: (unit, size, seconds of the lasting rate)} of what makes it faster for a while."""
    found: dict[str, list[tuple[str, float, float]]] = {"read": [], "write": []}
    for one in physics.limiters:
        for way in one.ways:
            if one.size > 0.2 * one.rate:
                found[way].append((one.unit, one.size, one.size / one.rate))
    if physics.write_back:
        drain = min(physics.write.bandwidth, physics.write.lane * physics.write.servers)
        found["write"].append(("bytes", physics.write_back.size, physics.write_back.size / drain))
    if physics.slc:
        found["write"].append(("bytes", physics.slc.size, math.inf))
    if physics.shingled:
        found["write"].append(("bytes", physics.shingled.size, math.inf))
    if physics.read_cache:
        found["read"].append(("bytes", physics.read_cache.size, math.inf))
    return found
