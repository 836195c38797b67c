# SPDX-License-Identifier: Apache-2.0
"""What a simulated target is made of."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

KIB, MIB = 1 << 10, 1 << 20
LINE = 32 * KIB
"""What a read cache takes in at once, and reads of the medium for it."""


@dataclass(frozen=True)
class Way:
    """One direction of the medium.

    latency: s, of every I/O, any number at once. service: s, for which one of `servers` is taken, and bytes / lane
    more. bandwidth: bytes/s of all together.
    """

    latency: float
    service: float
    lane: float
    bandwidth: float
    servers: int


@dataclass(frozen=True)
class Limiter:
    """A token bucket. rate and size: of bytes, or of I/Os; peak: of its second bucket, inf without, which holds
    `short` seconds of it. quantum: s, tokens are given out in slices that long.
    """

    unit: str
    ways: tuple[str, ...]
    rate: float
    size: float
    peak: float = math.inf
    short: float = 0.1
    quantum: float = 0.0
    behind: bool = False
    """Between cache and medium, not before both."""


@dataclass(frozen=True)
class ReadCache:
    """Lines of LINE bytes, least recently used first out. second: taken in when touched twice."""

    size: float
    latency: float
    bandwidth: float
    takes_writes: bool = False
    second: bool = False
    random_out: bool = False


@dataclass(frozen=True)
class WriteBack:
    """Takes writes until `size` bytes are dirty. merged: share of the medium's time that draining takes of what the
    same writes took directly. small: it takes only blocks up to this; 0 all.
    """

    size: float
    latency: float
    bandwidth: float
    merged: float = 1.0
    small: int = 0


@dataclass(frozen=True)
class Slc:
    """The first `size` bytes written go `factor` times as fast. idle: bytes/s that come back while nothing is asked."""

    size: float
    factor: float
    idle: float = 0.0


@dataclass(frozen=True)
class Link:
    """rate: bytes/s each way. delay: s one way. loss: probability that a packet is lost."""

    rate: float
    delay: float
    loss: float = 0.0


@dataclass(frozen=True)
class Pauses:
    """The medium stands still for `seconds` (low, high) after every `every` bytes written."""

    every: float
    seconds: tuple[float, float]


@dataclass(frozen=True)
class Shingled:
    """Random writes beyond the first `size` bytes cost `rewrite` seconds each; `idle` bytes/s come back at rest."""

    size: float
    rewrite: float
    idle: float


@dataclass(frozen=True)
class Thermal:
    """Speed falls to `factor` once the medium has worked `hot` s more than it rested, until half of that is gone."""

    hot: float
    factor: float


@dataclass(frozen=True)
class Neighbour:
    """Another user: takes `share` of the medium for times around `on` s with pauses around `off` s."""

    share: float
    on: float
    off: float


@dataclass(frozen=True)
class Novel:
    """What no other target here does, and no law was made for.

    per_io: bytes for which a limit in I/Os counts one; 0: an I/O is one. stall: (every so many s, for s) in which no
    write is taken. step: (s, factor) of the medium's speed from then on. warms: (s of work, share of the speed that it
    begins with). first: how many times as long a place takes that is written for the first time.
    """

    per_io: int = 0
    stall: tuple[float, float] | None = None
    step: tuple[float, float] | None = None
    warms: tuple[float, float] | None = None
    first: float = 1.0


@dataclass(frozen=True)
class Physics:
    """What a target is made of.

    apart: reads and writes have servers and channels of their own. arm: s (least, most) of a seek, one arm for each
    server; None where places cost nothing. spread: of service times (sd of the logarithm). flush: s.
    visit, jitter, memory: noise between loads, within them (sd of the logarithm), and its correlation from one
    20 ms to the next. drift, tau: by how much the logarithm of the speed changes in the end, and how fast.
    """

    read: Way
    write: Way
    apart: bool = False
    arm: tuple[float, float] | None = None
    spread: float = 0.1
    flush: float = 0.0
    limiters: tuple[Limiter, ...] = ()
    read_cache: ReadCache | None = None
    write_back: WriteBack | None = None
    slc: Slc | None = None
    link: Link | None = None
    visit: float = 0.0
    jitter: float = 0.0
    memory: float = 0.0
    drift: float = 0.0
    tau: float = 20.0
    pauses: Pauses | None = None
    shingled: Shingled | None = None
    thermal: Thermal | None = None
    neighbour: Neighbour | None = None
    novel: Novel = Novel()
    pace: float = 1.0
    cpu_seconds: float = 3e-6
    seed: int = 0


def without_noise(physics: Physics) -> Physics:
    """The same target at its usual speed."""
    return replace(physics, visit=0.0, jitter=0.0, drift=0.0)
