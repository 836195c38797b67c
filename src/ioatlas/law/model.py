# SPDX-License-Identifier: Apache-2.0
"""The law of a target: a device, and limiters before it, with parameters that have names and units.

Device: an I/O of b bytes with n outstanding completes every 1/D seconds,

    1/D = (((L + s + lam b)/n)^p + sat^p)^(1/p)        sat = ((1/C + s')^q + (b/B)^q)^(1/q)

L, lam: latency of an I/O alone and what a byte adds. C, B: most I/Os and bytes a second. s: what a random place costs,
in latency alone (s' = 0) or of the device too (s' = s). p: how sharp the knee between the two is (the asymptotic bounds
of Denning and Buzen 1978 are p = inf); q: whether I/Os and bytes are limits of one resource (1) or of two (large).

Limiter: a token bucket of size S that refills at R, in bytes or I/Os, of one direction or shared, with a peak rate P.
Without refill it is space that is fast once, as the SLC part of a drive. By min-plus algebra (Le Boudec and Thiran,
Network Calculus, 2001) a load that never waits has completed after t seconds

    N(t) = min(D t, (level_i + R_i t)/x_i, (M P_i + P_i t)/x_i)                  x = b, or 1 of I/Os

and levels run on through every load and pause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ioatlas.law.course import Course, Floats

PEAK_SECONDS = 0.1
"""The peak limit has a bucket of its own, of what passes in this time at its rate: throttles count in such slices."""
Seek = Literal["none", "latency", "both"]
DEVICE = ("latency", "per_byte", "iops", "bytes")
SHARED = ("corner", "knee")


@dataclass(frozen=True)
class Limiter:
    """A limit in bytes or I/Os, of reads, of writes, or of both together."""

    unit: Literal["bytes", "ios"]
    ways: tuple[str, ...]
    refills: bool = True

    def covers(self, direction: str) -> bool:
        return direction in self.ways

    def size(self, bs: float) -> float:
        return bs if self.unit == "bytes" else 1.0


@dataclass(frozen=True)
class Shape:
    """Which parts a law has."""

    ways: tuple[str, ...]
    seek: Seek = "none"
    limiters: tuple[Limiter, ...] = ()
    drifts: bool = False

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the parameters, in their order; all are logarithms of what the names say, but for `drift`."""
        named = [f"{way}.{part}" for way in self.ways for part in DEVICE] + list(SHARED)
        named += ["seek"] if self.seek != "none" else []
        named += [f"{number}.{part}" for number in range(len(self.limiters)) for part in ("rate", "size", "peak")]
        return (*named, *(("drift", "drift_seconds") if self.drifts else ()))

    @cached_property
    def index(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def value(self, theta: Floats, name: str) -> Floats:
        """A parameter in its unit, shape (...) of theta (..., parameters)."""
        return np.asarray(np.exp(np.clip(theta[..., self.index[name]], -60.0, 60.0)))


@dataclass(frozen=True)
class Loads:
    """Loads side by side, as arrays of shape (loads,): what the law needs to know of each."""

    ways: NDArray[np.int64]
    bs: Floats
    outstanding: Floats
    random: NDArray[np.bool_]


@dataclass(frozen=True)
class Stack:
    """All courses of a target as arrays. The first axis is that of the courses that count, in the order of time.

    ends, lengths: of bins, s, shape (loads, most bins); beyond a course's last bin the ends repeat and `real` is False.
    steps: of every course, counted or not: (pause before it, s; how long it took, s; way; bytes an I/O; I/Os moved;
    its row among those that count, or -1).
    """

    ways: tuple[str, ...]
    loads: Loads
    ends: Floats
    lengths: Floats
    real: NDArray[np.bool_]
    begun: Floats
    steps: tuple[tuple[float, float, int, float, float, int], ...]

    @property
    def lasted(self) -> float:
        """Seconds from the first load's beginning to the end of the last that counts."""
        return float((self.begun + self.ends[:, -1]).max())

    @classmethod
    def of(cls, courses: Sequence[Course], ways: tuple[str, ...]) -> Stack:
        counted = [course for course in courses if course.taught]
        most = max(course.edges.size - 1 for course in counted)
        ends = np.array([np.pad(one.edges[1:], (0, most + 1 - one.edges.size), mode="edge") for one in counted])
        real = np.array([np.arange(most) < one.edges.size - 1 for one in counted])
        lengths = np.where(real, np.diff(ends, axis=1, prepend=0.0), 1.0)
        row, clock, steps = 0, 0.0, []
        for course in courses:
            pause, clock = max(0.0, course.start - clock), max(clock, course.start)
            took = max(0.0, course.start + course.ended - clock)
            clock += took
            way = ways.index(course.direction) if course.direction in ways else -1
            steps.append((pause, took, way, course.bs, course.moved, row if course.taught else -1))
            row += course.taught
        loads = Loads(
            np.array([ways.index(one.direction) for one in counted]),
            np.array([one.bs for one in counted]),
            np.array([one.outstanding for one in counted]),
            np.array([one.random for one in counted]),
        )
        return cls(ways, loads, ends, lengths, real, np.array([one.start for one in counted]), tuple(steps))


def _of_ways(shape: Shape, theta: Floats, part: str, loads: Loads) -> Floats:
    """A device's parameter for each load, shape (points, loads)."""
    places = [shape.index[f"{way}.{part}"] for way in shape.ways]
    return np.asarray(np.exp(np.clip(theta[:, places], -60.0, 60.0))[:, loads.ways])


def seconds_alone(shape: Shape, theta: Floats, loads: Loads) -> Floats:
    """Latency of an I/O alone, s; shape (points, loads) of theta (points, parameters)."""
    alone = _of_ways(shape, theta, "latency", loads) + loads.bs * _of_ways(shape, theta, "per_byte", loads)
    return alone if shape.seek == "none" else np.asarray(alone + shape.value(theta, "seek")[:, None] * loads.random)


def seconds_of_ios(shape: Shape, theta: Floats, loads: Loads) -> Floats:
    """Time that the saturated device takes for an I/O, whatever its size, s; shape (points, loads)."""
    each = 1 / _of_ways(shape, theta, "iops", loads)
    return np.asarray(each + shape.value(theta, "seek")[:, None] * loads.random) if shape.seek == "both" else each


def seconds_of_bytes(shape: Shape, theta: Floats, loads: Loads) -> Floats:
    """Time that the saturated device takes for the bytes of an I/O, s; shape (points, loads)."""
    return np.asarray(loads.bs / _of_ways(shape, theta, "bytes", loads))


def device_rate(shape: Shape, theta: Floats, loads: Loads) -> Floats:
    """I/Os a second that the device makes, shape (points, loads) of theta (points, parameters)."""
    corner = 1 + shape.value(theta, "corner")[:, None]
    knee = np.clip(shape.value(theta, "knee"), 1.0, 25.0)[:, None]
    alone = np.log(seconds_alone(shape, theta, loads) / loads.outstanding)
    by_ios, by_bytes = np.log(seconds_of_ios(shape, theta, loads)), np.log(seconds_of_bytes(shape, theta, loads))
    saturated = np.logaddexp(corner * by_ios, corner * by_bytes) / corner
    return np.asarray(np.exp(-np.logaddexp(knee * alone, knee * saturated) / knee))


def expected(shape: Shape, theta: Floats, stack: Stack) -> Floats:
    """Logarithm of each bin's rate in I/Os a second, shape (points, loads, most bins) of theta (points, parameters).

    What was moved takes from the levels as it was seen, so that an error does not run on.
    """
    alone = device_rate(shape, theta, stack.loads)[:, :, None]
    done = alone * stack.ends
    for number, limiter in enumerate(shape.limiters):
        rate = shape.value(theta, f"{number}.rate")
        level = _levels(limiter, rate, shape.value(theta, f"{number}.size"), stack)[:, :, None]
        size = (stack.loads.bs if limiter.unit == "bytes" else np.ones_like(stack.loads.bs))[None, :, None]
        rate = rate[:, None, None]
        if limiter.refills:
            peak = rate + shape.value(theta, f"{number}.peak")[:, None, None]
            allowed = np.minimum(level + rate * stack.ends, peak * (PEAK_SECONDS + stack.ends)) / size
        else:
            allowed = (level * (1 - rate / np.maximum(alone * size, rate)) + rate * stack.ends) / size
        covered = np.array([limiter.covers(way) for way in stack.ways])[stack.loads.ways]
        done = np.where(covered[None, :, None], np.minimum(done, allowed), done)
    steps = np.diff(done, axis=2, prepend=0.0)
    logs = np.log(np.maximum(steps, 1e-300)) - np.log(stack.lengths)
    if shape.drifts:
        at = stack.begun[:, None] + stack.ends - stack.lengths / 2
        tau = shape.value(theta, "drift_seconds")[:, None, None]
        so_far = np.expm1(-at / tau) / np.expm1(-stack.lasted / tau)
        logs = logs - theta[:, [shape.index["drift"]]][:, :, None] * so_far
    return np.asarray(np.where(stack.real, logs, 0.0))


def _levels(limiter: Limiter, rate: Floats, size: Floats, stack: Stack) -> Floats:
    """What a limiter's bucket holds when each load that counts begins, shape (points, loads)."""
    back = rate if limiter.refills else np.zeros_like(rate)
    level, found = size, []
    for pause, took, way, bs, moved, row in stack.steps:
        level = np.minimum(size, level + back * pause)
        if row >= 0:
            found.append(level)
        covered = way >= 0 and limiter.covers(stack.ways[way])
        spent = moved * (bs if limiter.unit == "bytes" else 1.0) if covered else 0.0
        level = np.clip(level + back * took - spent, 0.0, size)
    return np.asarray(np.stack(found, axis=1))
